"""Test items and what a model may have seen of them; and measures without a part of their own."""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.result import Result
from rote.report.blocks import Block, Group, Said, Section
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.tables.layout import on_page
from rote.report.tables.values import comparisons_table, key, values_table

REPETITION = ("contamination", "overlap", "entity-scores", "memorization")


def repetition(study: Report) -> Section | None:
    """What texts or test items share with what a model was trained on."""
    own = [result for result in study.results if result.measure in REPETITION]
    return Section("repetition", "Repetition of training text", _each(own)) if own else None


def popularity(study: Report) -> Section | None:
    own = [result for result in study.results if result.measure == "popularity"]
    if not own:
        return None
    # One result needs no second heading.
    return Section("popularity", "Popularity", _blocks(own[0]) if len(own) == 1 else _each(own))


def further(study: Report, shown: Sequence[str]) -> Section | None:
    """Measures that have no part of their own."""
    own = [result for result in study.results if result.measure not in shown]
    return Section("further", "Further measures", _each(own)) if own else None


def _each(results: Sequence[Result]) -> list[Block]:
    return [Group(title(result), _blocks(result)) for result in results]


def _blocks(result: Result) -> list[Block]:
    blocks: list[Block] = [Said(says(result))] if says(result) else []
    values = values_table(result, title=title(result))
    blocks += [values, *notes(result), *figures(result).values(), *on_page(result)]
    named = {key(result): title(result)}
    if tests := comparisons_table([result], f"tests-{result.measure}", named):
        blocks.append(Group("Tests against the reference", [tests], closed=True))
    return blocks
