"""Any table of a result by its own field names, for those that no one laid out by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._tables import Cell, Column, Table, number_cell, text_cell
from rote.report.sections._titles import key, slug

_LOOKED_AT = 200
_OF_THE_MACHINERY = ("values", "matched", "curve", "texts", "sweep")
"""Tables that are shown in other ways, or are too fine for a page."""


def row_tables(result: Result, shown: Sequence[str] = ()) -> list[Table]:
    """Every table of a result but those that are shown already."""
    return [
        row_table(result, name)
        for name, rows in result.tables.items()
        if rows and name not in (*_OF_THE_MACHINERY, *shown)
    ]


def row_table(
    result: Result, name: str, title: str = "", fields: Sequence[str] = (), said: str = ""
) -> Table:
    """The rows as they are; `fields` chooses and orders, otherwise all that hold anything."""
    rows = result.tables[name]
    first = rows[:_LOOKED_AT]
    every = dict.fromkeys(field for row in first for field in row)
    held = {f: [row[f] for row in first if row.get(f) is not None] for f in every}
    names = [f for f in fields if f in every] or [f for f in every if held[f]]
    numbers = {f for f in names if held[f] and all(map(_is_number, held[f]))}

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [_cell(row.get(field), field in numbers) for field in names]

    return Table(
        f"table-{key(result)}-{slug(name)}",
        title or name.replace("_", " ").capitalize(),
        [Column(f.replace("_", " "), "right" if f in numbers else "left") for f in names],
        rows,
        make,
        said=said,
        by="source" if "source" in names else "",
    )


def _cell(value: Any, number: bool) -> Cell:
    if number and (value is None or _is_number(value)):
        return number_cell(value)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (list, tuple, Mapping)):
        return text_cell(_joined(value))
    return text_cell(value)


def _joined(value: Any) -> str:
    """A list of short things as they are, anything deeper as JSON."""
    if not isinstance(value, Mapping) and all(isinstance(one, str) for one in value):
        return " · ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
