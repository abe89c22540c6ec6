"""Results of different times side by side: the same measures, and where their settings differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rote.core.result import Result
from rote.report._grid import Cell, grid, rounded, rounded_like
from rote.web.store.history import Entry

_ARROWS = {"diverse": "higher is more diverse", "repetitive": "higher is more repetitive"}
_NOT_SETTINGS = ("measure",)


@dataclass(frozen=True, slots=True)
class Shown:
    """One value of one source of one entry; `reach` is its interval."""

    estimate: str
    reach: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    entry: Entry
    source: str
    texts: int
    words: int
    cells: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that is not the same in all entries; None: that entry does not have it."""

    setting: str
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """One measure. `alike`: whether the numbers were made in the same way, on whatever texts."""

    measure: str
    entries: tuple[Entry, ...]
    values: tuple[tuple[str, str, str], ...]
    """Name, title, and which way is up."""
    lines: tuple[Line, ...]
    differences: tuple[Difference, ...]
    alike: bool


def side_by_side(held: Sequence[tuple[Entry, Sequence[Result]]]) -> list[Block]:
    """A block for each measure that any of the entries has."""
    found: dict[str, list[tuple[Entry, Result]]] = {}
    counts = [Counter(result.measure for result in results) for _, results in held]
    several = {name for count in counts for name, times in count.items() if times > 1}
    for entry, results in held:
        for result in results:
            name = result.measure
            if name in several:
                name += f" ({dict(result.signature.settings).get('layer', '')})"
            found.setdefault(name, []).append((entry, result))
    return [_block(name, pairs) for name, pairs in found.items()]


def _block(name: str, pairs: Sequence[tuple[Entry, Result]]) -> Block:
    values: dict[str, tuple[str, str, str]] = {}
    for _, result in pairs:
        for row in result.tables.get("values", ()):
            up = _ARROWS.get(row["higher"], "")
            values.setdefault(row["value"], (row["value"], row["title"], up))
    lines = []
    for entry, result in pairs:
        cells = {row.value: row.cells for row in grid(result)} if values else {}
        for source, one in result.sources.items():
            shown = tuple(_shown(cells.get(value, {}).get(source)) for value in values)
            lines.append(Line(entry, source, one.texts, one.words, shown))
    differences = _differences([result for _, result in pairs])
    return Block(
        measure=name,
        entries=tuple(entry for entry, _ in pairs),
        values=tuple(values.values()),
        lines=tuple(lines),
        differences=differences,
        alike=all(one.setting == "texts" for one in differences),
    )


def _differences(results: Sequence[Result]) -> tuple[Difference, ...]:
    held = [dict(result.signature.settings) for result in results]
    names = dict.fromkeys(name for settings in held for name in settings)
    return tuple(
        Difference(name, tuple(settings.get(name) for settings in held))
        for name in names
        if name not in _NOT_SETTINGS and len({settings.get(name) for settings in held}) > 1
    )


def _shown(cell: Cell | None) -> Shown | None:
    if cell is None:
        return None
    if math.isnan(cell.low):
        return Shown(rounded(cell.estimate))
    low, high = (rounded_like(end, cell.estimate) for end in (cell.low, cell.high))
    return Shown(rounded(cell.estimate), f"{low} to {high}")
