"""A result as a grid of cells: one row per value, one column per source.

The grid is where numbers are rounded; every written form (terminal, LaTeX, CSV)
is made from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.result import Result

SIGNIFICANT = 0.05
_LOPSIDED = 0.1


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of one source, unrounded, with all that is known about it."""

    estimate: float
    low: float = math.nan
    high: float = math.nan
    difference: float = math.nan
    expected: float = math.nan
    """What sizes alone make of the difference."""
    p: float = math.nan
    p_corrected: float = math.nan
    matched: float = math.nan
    matched_sd: float = math.nan
    matched_difference: float = math.nan
    matched_p_corrected: float = math.nan

    @property
    def reach(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def ends(self) -> tuple[str, str] | None:
        """The ends of an interval that is lop-sided, as that of a ratio, rounded; else None."""
        if not lopsided(self.estimate, self.low, self.high):
            return None
        return rounded_like(self.low, self.estimate), rounded_like(self.high, self.estimate)

    @property
    def mark(self) -> str:
        """An arrow where the source differs from the reference."""
        beyond = self.difference - (0.0 if math.isnan(self.expected) else self.expected)
        return _arrow(beyond, self.p_corrected)

    @property
    def matched_mark(self) -> str:
        """An arrow where it differs at equal size."""
        return _arrow(self.matched_difference, self.matched_p_corrected)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One value over all sources."""

    measure: str
    value: str
    title: str
    higher: str
    length_sensitive: bool
    matched_at: str
    cells: dict[str, Cell]


def grid(result: Result) -> list[GridRow]:
    """The values of a result, each with its intervals, tests and matched values."""
    tests = {(row["source"], row["value"]): row for row in result.comparisons}
    matched = {(row["source"], row["value"]): row for row in result.tables.get("matched", ())}
    rows = []
    for value in result.tables["values"]:
        name = value["value"]
        cells = {
            source: _cell(
                found.values[name],
                found.intervals.get(name),
                tests.get((source, name), {}),
                matched.get((source, name), {}),
            )
            for source, found in result.sources.items()
        }
        sizes = [matched[key] for key in matched if key[1] == name]
        rows.append(
            GridRow(
                measure=result.measure,
                value=name,
                title=value["title"],
                higher=value["higher"],
                length_sensitive=value["length_sensitive"],
                matched_at=_size(sizes[0]) if sizes else "",
                cells=cells,
            )
        )
    return rows


def ordered_sources(results: Sequence[Result]) -> list[str]:
    """All sources, the reference first."""
    names = dict.fromkeys(name for result in results for name in result.sources)
    reference = results[0].reference if results else None
    return sorted(names, key=lambda name: name != reference)


def lopsided(estimate: float, low: float, high: float) -> bool:
    """Whether an interval reaches so much farther on one side that half its width misleads."""
    return abs(high + low - 2 * estimate) > _LOPSIDED * (high - low)


def rounded(number: float) -> str:
    """About four significant digits, and no more decimals than a reader can use."""
    if math.isnan(number):
        return "–"
    size = abs(number)
    if size >= 1000:
        return f"{number:,.0f}"
    decimals = 1 if size >= 100 else 2 if size >= 10 else 3 if size >= 1 else 4
    return f"{number:.{decimals}f}"


def rounded_like(number: float, model: float) -> str:
    """As many decimals as `model` is shown with: a value and its interval agree."""
    if math.isnan(number):
        return ""
    shown = rounded(model)
    decimals = len(shown.rpartition(".")[2]) if "." in shown else 0
    return f"{number:.{decimals}f}"


def _cell(
    estimate: float,
    interval: tuple[float, float] | None,
    test: Any,
    matched: Any,
) -> Cell:
    low, high = interval if interval else (math.nan, math.nan)
    return Cell(
        estimate=_number(estimate),
        low=_number(low),
        high=_number(high),
        difference=_number(test.get("difference")),
        expected=_number(test.get("expected")),
        p=_number(test.get("p")),
        p_corrected=_number(test.get("p_corrected")),
        matched=_number(matched.get("mean")),
        matched_sd=_number(matched.get("sd")),
        matched_difference=_number(test.get("matched_difference")),
        matched_p_corrected=_number(test.get("matched_p_corrected")),
    )


def _arrow(difference: float, p: float) -> str:
    if not p < SIGNIFICANT:
        return ""
    return "▲" if difference > 0 else "▼"


def _size(row: Any) -> str:
    unit = "words" if "words" in row else "texts"
    return f"{row[unit]:,} {unit}"


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
