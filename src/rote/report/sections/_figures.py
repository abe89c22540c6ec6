"""The figures that a result has, with what one sees in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rote.core.facets import JOINT
from rote.core.result import Result, Row
from rote.report._svg import spec
from rote.report.figures.draw import CURVE, VALUES, charts, draw
from rote.report.report import Block, Figure, Said

_LONGEST, _KEPT = 80, 60


def drawable(result: Result) -> Result:
    """The result with its long names cut: of sources, and of whatever its tables name."""
    if not _any_long(result):
        return result
    short: dict[str, str] = {}

    def cut(value: Any) -> Any:
        if not isinstance(value, str) or len(value) <= _LONGEST:
            return value
        # The fields of a group stay apart, since facets are made of them.
        return JOINT.join(_cut(part, short) for part in value.split(JOINT))

    def rows(given: Sequence[Row]) -> list[Row]:
        return [{name: cut(value) for name, value in row.items()} for row in given]

    return replace(
        result,
        reference=cut(result.reference),
        by_source={cut(name): found for name, found in result.by_source.items()},
        comparisons=rows(result.comparisons),
        tables={name: rows(table) for name, table in result.tables.items()},
    )


def _any_long(result: Result) -> bool:
    return any(len(name) > _LONGEST for name in result.by_source) or any(
        isinstance(value, str) and len(value) > _LONGEST
        for rows in result.tables.values()
        for row in rows
        for value in row.values()
    )


def _cut(name: str, short: dict[str, str]) -> str:
    if len(name) <= _LONGEST:
        return name
    if name not in short:
        # Names that differ in their ends alone must not become one.
        short[name] = f"{name[:_KEPT]}… ({len(short) + 1})"
    return short[name]


_MOST = 80
"""Sources in a figure; of more nobody can read one, and the page would be many megabytes."""


def figures(result: Result) -> dict[str, Block]:
    """Every figure that the tables of a result give, by name; its values are in the panel."""
    own = [chart for chart in charts(result.measure) if chart.name not in (VALUES.name, CURVE.name)]
    if own and (refused := _too_many([result])):
        return {"": refused}
    shown = drawable(result)
    found: dict[str, Block] = {}
    for chart in own:
        if (drawn := draw(chart, [shown])) is not None:
            id = f"figure-{result.measure}-{chart.name}"
            found[chart.name] = Figure(id, chart.title, chart.says, spec(drawn))
    return found


def curves(results: Sequence[Result]) -> list[Figure]:
    """How values grow with the amount of text."""
    drawn = None if _too_many(results) else draw(CURVE, [drawable(result) for result in results])
    return [] if drawn is None else [Figure("figure-curves", CURVE.title, CURVE.says, spec(drawn))]


def _too_many(results: Sequence[Result]) -> Said | None:
    sources = len({name for result in results for name in result.by_source})
    if sources <= _MOST:
        return None
    return Said(
        f"{sources:,} sources are too many for a figure: the tables list them.",
        quiet=True,
    )
