"""The panel of diversity: one picture, the values that stand for each measure, then all values."""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.registry import main_values, of_result
from rote.core.result import Result
from rote.report._grid import GridRow, grid
from rote.report.blocks import Block, Group, Listed, Said, Section
from rote.report.sections._figures import curves, panel_figure
from rote.report.sections._titles import says, title
from rote.report.tables.sheet import shown_name
from rote.report.tables.values import comparisons_table, key, sources_table, values_table

_NAMED = 8


def in_panel(result: Result) -> bool:
    record = of_result(result.measure)
    return record is not None and bool(record.panel)


def panel(results: Sequence[Result]) -> Section | None:
    """The results of the panel's measures."""
    own = [result for result in results if in_panel(result)]
    if not own:
        return None
    main = {
        (result.measure, value)
        for result in own
        for value in main_values(result.measure, [row.value for row in grid(result)])
    }

    titles = {key(result): title(result) for result in own}

    def chosen(row: GridRow) -> bool:
        return (row.measure, row.value) in main

    blocks: list[Block] = [
        *panel_figure(own),
        sources_table(own, "panel-values", "The panel in numbers", chosen, titles),
        *(Group("How values move with length", [figure], closed=True) for figure in curves(own)),
    ]
    for result in own:
        values = values_table(result, title=title(result))
        shown: list[Block] = [Said(says(result)), values, *notes(result)]
        blocks.append(Group(title(result), shown, closed=True))
    if tests := comparisons_table(own, titles=titles):
        blocks.append(Group("Tests against the reference", [tests], closed=True))
    return Section("panel", "Diversity", blocks)


def notes(result: Result) -> list[Block]:
    """What must be known of a result: its own notes, and those of its sources."""
    about: dict[str, list[str]] = {note: [] for note in result.notes}
    for name, found in result.sources.items():
        for note in found.notes:
            about.setdefault(note, []).append(name)
    every = len(result.sources)
    said = [
        note + (f" ({_some(names)})" if 0 < len(names) < every else "")
        for note, names in about.items()
    ]
    return [Listed([f"Note: {note}" for note in said], quiet=True)] if said else []


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(map(shown_name, names[:_NAMED])) + more
