"""Subsets of a training set in which no n-gram is repeated more than so often."""

from __future__ import annotations

from rote.cli._listing import SummaryOptions
from rote.cli._record import Further, Given, account, record_command
from rote.core.result import Result


def said(result: Result, given: Given) -> str:
    held = result.about["manifest"]
    about, settings, count = held["input"], held["settings"], len(held["subsets"])
    subsets = f"{count} subset{'s' * (count > 1)}"
    return (
        f"{result.about['folder']}: {subsets} of {about['texts']:,} texts ('"
        f"{settings['field']}', {settings['n']}-grams of {settings['layer']}, "
        f"{settings['tokenizer']}); the most frequent occurs {about['largest_frequency']:,} times"
    )


command = record_command("limit", Further(finish=account(said), output=SummaryOptions))
