"""A result facet by facet: every facet as a result of its own.

`--by task,source --reference human` compares the sources of each task with the human texts of
that task. Tables and figures show one facet at a time, in which a source has a short name and the
reference is one of the sources; so nothing else here has to know of facets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.core.facets import Facet
from rote.core.result import Result, Row

# Fields of a table's row that hold the name of a group, and those keyed by such names.
_NAMING, _KEYED = ("source", "other", "reference", "favoured_by"), ("counts",)


def split(result: Result) -> list[tuple[Facet, Result]]:
    """Every facet and what the result says of it.

    Where there are facets, rows that are about none of their groups (a sweep over groups) are in
    no part: they are about the result as a whole.
    """
    facets = result.facets()
    if all(group == name for facet in facets for group, name in facet.names.items()):
        return [(facets[0], result)]
    return [(facet, _part(result, facet)) for facet in facets]


def split_panel(results: Sequence[Result]) -> list[tuple[str, list[Result]]]:
    """The facets of several measures on the same texts, each with its title."""
    found: dict[str, list[Result]] = {}
    for result in results:
        for facet, part in split(result):
            found.setdefault(facet.title, []).append(part)
    return list(found.items())


def _part(result: Result, facet: Facet) -> Result:
    names = facet.names
    return replace(
        result,
        reference=None if facet.reference is None else names[facet.reference],
        sources={name: result.sources[group] for group, name in names.items()},
        comparisons=_rows(result.comparisons, names),
        tables={
            table: rows if table == "values" else _rows(rows, names)
            for table, rows in result.tables.items()
        },
    )


def _rows(rows: Sequence[Row], names: Mapping[str, str]) -> list[Row]:
    return [
        {field: _renamed(field, value, names) for field, value in row.items()}
        for row in rows
        if row.get("source") in names
    ]


def _renamed(field: str, value: Any, names: Mapping[str, str]) -> Any:
    if field in _NAMING:
        return names.get(value, value)
    if field in _KEYED and isinstance(value, Mapping):
        return {names.get(group, group): count for group, count in value.items()}
    return value
