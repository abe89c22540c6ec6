"""Pairs for zero-shot training: each document's most telling sentence as its summary."""

from __future__ import annotations

from rote.cli._listing import SummaryOptions
from rote.cli._record import Further, Given, account, record_command
from rote.core.result import Result


def said(result: Result, given: Given) -> str:
    made = result.about
    lines = [f"{given.options['output']}: {made['pairs']:,} pairs"]
    lines += [f"left out, {reason}: {count:,}" for reason, count in made["left_out"].items()]
    if made["unrelated"]:
        lines.append(
            f"no sentence shares a word with the rest, so the first: {made['unrelated']:,}"
        )
    return "\n".join(lines)


command = record_command("pseudo-summaries", Further(finish=account(said), output=SummaryOptions))
