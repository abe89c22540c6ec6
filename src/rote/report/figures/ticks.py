"""Round numbers for a narrow axis, so few that their labels stand apart, within the cell.

Where all values are nearly equal, labels need many digits: Vega's own ticks then run into each
other, and into those of the next cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

_DIGIT = 5.6
"""Width of a digit in a label of 10 pixels."""
_APART = 5
_MOST = 5
_PLAIN = (1e-4, 1e7)
"""Numbers that are written without an exponent."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Where labels stand, and how they are written (a format of d3, and of Python)."""

    values: tuple[float, ...]
    format: str

    @property
    def widest(self) -> float:
        """Width of the widest label, in pixels."""
        return max(len(format(value, self.format)) for value in self.values) * _DIGIT


def round_ticks(low: float, high: float, width: float, beyond: float = 0.0) -> Ticks:
    """Round numbers from low to high for an axis of `width` pixels.

    A label may reach `beyond` its ends by so much. There is always one number.
    """
    span = high - low
    power = math.floor(math.log10(span / _MOST))
    alone: Ticks | None = None
    for finest, digit in product((power, power + 1, power + 2), (1, 2, 4, 5)):
        ticks = _multiples(low, high, digit, finest)
        if not ticks.values:
            continue
        reach = ticks.widest / 2 - beyond
        inside = [v for v in ticks.values if min(v - low, high - v) / span * width >= reach]
        apart = digit * 10.0**finest / span * width - ticks.widest
        if 2 <= len(inside) <= _MOST and apart >= _APART:
            return Ticks(tuple(inside), ticks.format)
        if inside and alone is None:
            middle = min(inside, key=lambda value: abs(value - (low + high) / 2))
            alone = Ticks((middle,), ticks.format)
    return alone or Ticks(((low + high) / 2,), ".3g")


def _multiples(low: float, high: float, digit: int, finest: int) -> Ticks:
    """All multiples of digit * 10^finest, with the digits that tell them apart."""
    step, decimals = digit * 10.0**finest, max(0, -finest)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    # Rounded, so that 3 * 0.1 is 0.3.
    values = tuple(round(number * step, decimals) for number in numbers)
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or _PLAIN[0] <= largest < _PLAIN[1]:
        return Ticks(values, f".{decimals}f")
    return Ticks(values, f".{max(0, math.floor(math.log10(largest)) - finest)}e")
