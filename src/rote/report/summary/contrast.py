"""A source beside the reference in one value: by how much they differ, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rote.compare.intervals import difference_interval
from rote.core.numbers import format_number
from rote.core.record import Headline
from rote.core.registry import of_result
from rote.core.result import Result
from rote.report._grid import Cell, GridRow, grid

Sure = Literal["sure", "likely", "not", "untested"]
_STEADY = 1.5
"""Sides of its interval that a value has to be away from 0 before something is divided by it."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """One value of a source and of the reference; numbers are nan where they are not known.

    `low` and `high` bound the difference, `relative_low` and `relative_high` its share of the
    reference's value: as the result has them, of paired differences where texts are paired.
    """

    row: GridRow
    headline: Headline
    source: str
    level: float
    own: Cell
    reference: Cell
    units: tuple[int, int] = (0, 0)
    """On how many independent texts the two values rest."""
    same: Contrast | None = None
    """The same at equal length of sentences, where the measure has it."""

    @property
    def value(self) -> float:
        return self.own.estimate

    @property
    def other(self) -> float:
        return self.reference.estimate

    @property
    def difference(self) -> float:
        return self.value - self.other

    @property
    def reaches(self) -> float:
        """How many half widths of its interval the difference is away from none."""
        half = (self.high - self.low) / 2
        if half == 0:
            return math.inf if self.difference else 0.0
        return abs(self.difference) / half

    @property
    def low(self) -> float:
        return self._ends[0]

    @property
    def high(self) -> float:
        return self._ends[1]

    @property
    def _ends(self) -> tuple[float, float]:
        known = self.own.difference_low, self.own.difference_high
        return self._independent(lambda number: number) if math.isnan(known[0]) else known

    def _independent(self, scale: Callable[[float], float]) -> tuple[float, float]:
        """The interval of the difference on a scale, of values that have nothing to do with each
        other: measures that are not tested give no interval of their own."""
        cells = self.own, self.reference
        if not self.level or any(math.isnan(cell.low) for cell in cells):
            return math.nan, math.nan
        own, other = ((scale(cell.low), scale(cell.high)) for cell in cells)
        values = scale(self.value), scale(self.other)
        return difference_interval(values, (own, other), self.units, self.level)

    @property
    def relative(self) -> float:
        """The difference as a share of the reference's value; nan where that is about 0."""
        if not self.headline.ratio or self.other <= 0 or self.value < 0:
            return math.nan
        far = max(self.reference.high - self.other, self.other - self.reference.low)
        if not math.isnan(far) and self.other < _STEADY * far:
            return math.nan
        return self.value / self.other - 1

    @property
    def relative_ends(self) -> tuple[float, float]:
        """The interval of the relative difference; nan where there is none."""
        low, high = self.own.relative_low, self.own.relative_high
        if math.isnan(self.relative) or self.value == 0:
            return math.nan, math.nan
        if math.isnan(low):
            low, high = map(math.expm1, self._independent(_log))
        return (low, high) if math.isfinite(low + high) else (math.nan, math.nan)

    @property
    def p(self) -> float:
        return self.own.p_corrected

    @property
    def apart(self) -> bool:
        """Whether the interval of the difference leaves out none."""
        return self.low > 0 or self.high < 0

    @property
    def sure(self) -> Sure:
        if self.own.verdict == "not tested":
            return "untested"
        if self.own.verdict == "not found" or self.own.beyond * self.difference < 0:
            return "not"
        return "sure" if self.apart or math.isnan(self.low) else "likely"

    @property
    def at_equal_length(self) -> Sure | None:
        """How sure the difference is at equal length; None where that was not tested."""
        if self.same is not None and self.same.sure != "untested":
            return self.same.sure
        if self.own.matched_verdict == "not tested":
            return None
        return "sure" if self.own.matched_verdict == "differs" else "not"

    @property
    def equal_difference(self) -> float:
        """The difference at equal length."""
        return self.same.difference if self.same else self.own.matched_difference


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


def headlines(measure: str) -> Sequence[Headline]:
    """The values of a measure that a summary speaks of."""
    record = of_result(measure)
    return record.headlines if record else ()


def contrasts(result: Result, headline: Headline) -> list[Contrast]:
    """All sources of one facet beside its reference; none where the value is not there."""
    rows = {row.value: row for row in grid(result)}
    found = (_contrast(result, headline, source, rows, headline.value) for source in result.sources)
    return [one for one in found if one is not None and one.source != result.reference]


def _contrast(
    result: Result, headline: Headline, source: str, rows: Mapping[str, GridRow], value: str
) -> Contrast | None:
    row, reference = rows.get(value), str(result.reference)
    if row is None or source not in row.cells or reference not in row.cells:
        return None
    own, other = row.cells[source], row.cells[reference]
    same = None
    if headline.equal and value != headline.equal:
        same = _contrast(result, headline, source, rows, headline.equal)
    level = result.interval.level if result.interval else 0.0
    units = result.sources[source].units, result.sources[reference].units
    return Contrast(row, headline, source, level, own, other, units, same)


def number(value: float, headline: Headline) -> str:
    return percent(value) if headline.percent else rounded(value)


def rounded(value: float) -> str:
    """Three digits that count: the tables have more."""
    if math.isnan(value):
        return "–"
    return format_number(value, f".{_decimals(value)}f", typeset=True)


def pair(value: float, other: float, headline: Headline) -> str:
    """`compression ratio 2.25 against 1.91`."""
    shown = f"{number(value, headline)} against {number(other, headline)}"
    return " ".join(filter(None, (headline.name, shown, headline.unit)))


def _decimals(value: float) -> int:
    if value == 0:
        return 0
    return max(0, min(4, 2 - math.floor(math.log10(abs(value)))))


def percent(share: float | None, signed: bool = False) -> str:
    """A share as a percentage, with decimals only where it is small; null in JSON is undefined."""
    if share is None or math.isnan(share):
        return "–"
    hundredths = 100 * share
    decimals = 0 if abs(hundredths) >= 10 else 1 if abs(hundredths) >= 1 else 2
    spec = f"{'+' if signed else ''}.{decimals}f"
    return f"{format_number(hundredths, spec, typeset=True)} %"


def points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    decimals = 1 if abs(difference) >= 0.001 else 3
    return f"{format_number(100 * difference, f'+.{decimals}f', typeset=True)} points"


def p_value(p: float) -> str:
    if math.isnan(p):
        return "not tested"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {format_number(p, '.3f')}" if p < 0.01 else f"p = {format_number(p, '.2f')}"


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def how_much(contrast: Contrast) -> str:
    """The difference with its interval and p: `+54 %, 95 % interval +40 to +68 %, p = 0.002`."""
    relative, ends = contrast.relative, contrast.relative_ends
    parts = []
    if not math.isnan(relative):
        parts.append(percent(relative, signed=True))
        if not math.isnan(ends[0]):
            parts.append(_between(*ends, contrast.level))
    else:
        parts.append(f"difference {size(contrast.difference, contrast)}")
        if not math.isnan(contrast.low):
            low, high = size(contrast.low, contrast), size(contrast.high, contrast)
            parts.append(f"{percent(contrast.level)} interval {low} to {high}")
    untested = contrast.own.verdict == "not tested"
    return ", ".join([*parts, *([] if untested else [p_value(contrast.p)])])


def at_most(contrast: Contrast) -> str:
    """How large a difference that was not found may be: the farther end of its interval."""
    if contrast.value == contrast.other == 0:
        return "none in either"
    ends = contrast.relative_ends
    if not math.isnan(ends[0]):
        return f"could be up to {percent(max(map(abs, ends)))}"
    far = max(abs(contrast.low), abs(contrast.high))
    return f"could be up to {'any size' if math.isnan(far) else size(far, contrast).lstrip('+')}"


def could_show(contrast: Contrast) -> str:
    """How large a difference the test would have found, and whether one beyond the margin is ruled
    out."""
    said, cell = "", contrast.own
    if cell.verdict == "not found" and not math.isnan(cell.detectable):
        said = f"; the test finds {_size_of(cell.detectable, contrast)} four times in five"
    if cell.equivalent:
        said += f"; within {_size_of(cell.margin, contrast)}, p of equivalence "
        said += p_value(cell.equivalence_p_corrected).removeprefix("p ").removeprefix("= ")
    return said


def _size_of(amount: float, contrast: Contrast) -> str:
    """Without a sign: a share of the reference's value where that means something."""
    if math.isnan(contrast.relative):
        return size(amount, contrast).lstrip("+")
    return percent(amount / abs(contrast.other))


def _between(low: float, high: float, level: float) -> str:
    decimals = 0 if max(abs(low), abs(high)) >= 0.1 else 1
    spec = f"+.{decimals}f"
    first, last = (format_number(100 * end, spec, typeset=True) for end in (low, high))
    return f"{percent(level)} interval {first} to {last} %"


def size(difference: float, contrast: Contrast) -> str:
    """A difference with its sign: in points, or with the digits of the two values."""
    if contrast.headline.percent:
        return points(difference)
    decimals = _decimals(max(abs(contrast.value), abs(contrast.other)))
    return format_number(difference, f"+.{decimals}f", typeset=True)
