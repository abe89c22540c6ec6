"""A result as a grid of cells: one row per value, one column per source.

The grid is where numbers are rounded; every written form (terminal, LaTeX, CSV)
is made from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rote.compare.permutation import LEVEL
from rote.core.result import Result, Row

SIGNIFICANT = LEVEL
Verdict = Literal["differs", "not found", "not tested"]
UNTESTED = "?"
"""The mark of a value that no test could tell apart from the reference, whatever there is."""
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
    tested: bool = False
    """Whether a difference could have been found at all: by a test, and below the level."""
    asked: bool = False
    """Whether it was to be tested."""
    matched: float = math.nan
    matched_sd: float = math.nan
    matched_difference: float = math.nan
    matched_p_corrected: float = math.nan
    matched_tested: bool = False

    @property
    def verdict(self) -> Verdict:
        return _verdict(self.tested, self.p_corrected)

    @property
    def matched_verdict(self) -> Verdict:
        return _verdict(self.matched_tested, self.matched_p_corrected)

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
        """An arrow where the source differs from the reference, a sign where no test can say."""
        beyond = self.difference - (0.0 if math.isnan(self.expected) else self.expected)
        return _mark(beyond, self.verdict, self.asked)

    @property
    def matched_mark(self) -> str:
        """The same at equal size."""
        asked = not math.isnan(self.matched_difference)
        return _mark(self.matched_difference, self.matched_verdict, asked)


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
    tests = {(row["source"], row["value"]): row for row in _judged(result.comparisons)}
    matched = {(row["source"], row["value"]): row for row in result.tables.get("matched", ())}
    rows = []
    for value in result.tables["values"]:
        name = value["value"]
        cells = {
            source: _cell(
                found.values.get(name, math.nan),
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


def _judged(rows: Sequence[Row]) -> list[Row]:
    """Rows that say whether they were tested; a result of an older version says what it takes."""
    families = Counter((row["reference"], row["value"]) for row in rows)
    judged: list[Row] = []
    for row in rows:
        if "tested" not in row:
            others, count = families[row["reference"], row["value"]], row.get("permutations")
            enough = count is None or others / (1 + count) < SIGNIFICANT
            row = {"tested": enough, "matched_tested": enough, **row}
        judged.append(row)
    return judged


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
        tested=bool(test.get("tested")),
        asked=bool(test) and not math.isnan(_number(test.get("difference"))),
        matched=_number(matched.get("mean")),
        matched_sd=_number(matched.get("sd")),
        matched_difference=_number(test.get("matched_difference")),
        matched_p_corrected=_number(test.get("matched_p_corrected")),
        matched_tested=bool(test.get("matched_tested")),
    )


def _verdict(tested: bool, p: float) -> Verdict:
    if not tested or math.isnan(p):
        return "not tested"
    return "differs" if p < SIGNIFICANT else "not found"


def _mark(difference: float, verdict: Verdict, asked: bool) -> str:
    if verdict == "not tested":
        return UNTESTED if asked else ""
    if verdict == "not found":
        return ""
    return "▲" if difference > 0 else "▼"


def _size(row: Any) -> str:
    """What a value at equal size rests on; results of before windows had words or texts alone."""
    unit = next(unit for unit in ("words", "sentences", "texts") if unit in row)
    if "window" in row:
        return f"{row['windows']:,} × {row['window']:,} {unit}"
    return f"{row[unit]:,} {unit}"


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
