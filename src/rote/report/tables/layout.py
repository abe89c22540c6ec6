"""Which tables a result shows, in order: those of its record, or what its rows hold.

A record is found by the name of the result's measure, ours or that of another package.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core import registry
from rote.core.errors import UnknownName
from rote.core.result import Result
from rote.core.table import VALUES, Column, Pivot, Row, Rows, Table
from rote.report.tables.sheet import Sheet, columns_of, sheets

_MACHINERY = (VALUES, "matched", "curve", "highlight")
"""Tables that are part of others, or are no tables for the eye."""
TEXTS, SWEEP = "texts", "sweep"
_EVERY = 100


def layout(result: Result) -> list[Table]:
    """The tables of a result, without its values."""
    declared = _declared(result.measure)
    if not declared:
        names = [name for name in result.tables if name not in (*_MACHINERY, TEXTS, SWEEP)]
        declared = [undeclared(name) for name in names]
    own = [table for table in declared if table.name != VALUES]
    shared = [one for one in _SHARED if one.name not in {table.name for table in own}]
    return [*own, *shared]


def values_layout(result: Result) -> Table | None:
    """How a study shows its values, where that is not as values by sources."""
    return next((one for one in _declared(result.measure) if one.name == VALUES), None)


def undeclared(name: str) -> Table:
    """A table with a column for each field of its rows."""
    return Table(name, name.replace("_", " ").capitalize(), _any_columns, by="source")


def on_page(result: Result) -> list[Sheet]:
    """The tables of a result in a report; the first rows of each are on the page."""
    return [
        sheet
        for table in layout(result)
        if table.page
        for sheet in sheets(table, result)
        if sheet.data
    ]


def _declared(measure: str) -> Sequence[Table]:
    try:
        return registry.find(measure).layout
    except UnknownName:
        return ()


def _any_columns(rows: Rows, result: Result) -> list[Column]:
    return columns_of(rows)


def _text_columns(rows: Rows, result: Result) -> list[Column]:
    first = (Column("source"), Column("id"))
    return [*first, *(c for c in columns_of(rows) if c.field not in ("source", "id"))]


def _titled(rows: Rows, result: Result) -> list[Row]:
    titles = {row["value"]: row["title"] for row in result.tables.get(VALUES, ())}
    return [{**row, "title": titles.get(row["value"], row["value"])} for row in rows]


_SHARED = (
    Table(
        TEXTS,
        "Values of each text",
        _text_columns,
        said=lambda rows, result: f"the first of a source; JSON and CSV hold all {len(rows):,}",
        by="source",
        page=False,
    ),
    Table(
        SWEEP,
        lambda rows, result: f"Over {rows[0]['over']}",
        (Column("source"),),
        said="mean ± standard deviation (largest - smallest)",
        rows=_titled,
        limit=_EVERY,
        pivot=Pivot(
            "value",
            Column("mean", kind="number", spread="sd", also=Column("range", kind="number")),
            lambda row: str(row["title"]),
        ),
        page=False,
    ),
)
