"""Names that a figure can hold: an absurdly long one is cut, and two that were cut stay two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rote.core.facets import JOINT
from rote.core.result import Result, Row

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
        sources={cut(name): found for name, found in result.sources.items()},
        comparisons=rows(result.comparisons),
        tables={name: rows(table) for name, table in result.tables.items()},
    )


def _any_long(result: Result) -> bool:
    return any(len(name) > _LONGEST for name in result.sources) or any(
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
