"""Test items and what a model may have seen of them; and measures without a part of their own."""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.result import Result
from rote.report.blocks import Block, Group, Said, Section
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.tables.layout import on_page
from rote.report.tables.values import comparisons_table, key, values_table


def shown(
    id: str, heading: str, results: Sequence[Result], *, one_alone: bool = False
) -> Section | None:
    """Results below headings of their own; `one_alone`: but for one that is there by itself."""
    if not results:
        return None
    alone = one_alone and len(results) == 1
    return Section(id, heading, _blocks(results[0]) if alone else _each(results))


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
