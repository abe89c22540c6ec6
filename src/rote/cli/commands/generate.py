"""Texts by language models: prompts times settings times models, into one file."""

from __future__ import annotations

from rote.cli._listing import SummaryOptions
from rote.cli._record import Further, Given, account, record_command
from rote.core.progress import several
from rote.core.result import Result


def said(result: Result, given: Given) -> str:
    return f"{given.options['output']}: {several(result.about['texts'], 'text')}"


command = record_command("generate", Further(finish=account(said), output=SummaryOptions))
