"""Numbers and differences as a person writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rote.core.record import Headline
from rote.report.summary.contrast import Contrast


def number(value: float, headline: Headline) -> str:
    return percent(value) if headline.percent else rounded(value)


def rounded(value: float) -> str:
    """Three digits that count: the tables have more."""
    if math.isnan(value):
        return "–"
    return f"{value:.{_decimals(value)}f}".replace("-", "−")


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
    return f"{hundredths:{'+' if signed else ''}.{decimals}f} %".replace("-", "−")


def points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    decimals = 1 if abs(difference) >= 0.001 else 3
    return f"{100 * difference:+.{decimals}f} points".replace("-", "−")


def p_value(p: float) -> str:
    if math.isnan(p):
        return "not tested"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.01 else f"p = {p:.2f}"


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def how_much(contrast: Contrast) -> str:
    """The difference with its interval and p: `+54 %, 95 % interval +40 to +68 %, p = 0.002`."""
    relative, reach = contrast.relative, contrast.relative_reach
    parts = []
    if not math.isnan(relative):
        parts.append(percent(relative, signed=True))
        if not math.isnan(reach):
            # Nothing is more than all of it.
            least = max(relative - reach, -1.0)
            parts.append(_between(least, relative + reach, contrast.level))
    else:
        parts.append(f"difference {_signed(contrast.difference, contrast)}")
        if not math.isnan(contrast.low):
            low, high = _signed(contrast.low, contrast), _signed(contrast.high, contrast)
            parts.append(f"{percent(contrast.level)} interval {low} to {high}")
    untested = contrast.own.verdict == "not tested"
    return ", ".join([*parts, *([] if untested else [p_value(contrast.p)])])


def at_most(contrast: Contrast) -> str:
    """How large a difference that was not found may be: the farther end of its interval."""
    if contrast.value == contrast.other == 0:
        return "none in either"
    relative, reach = contrast.relative, contrast.relative_reach
    if not math.isnan(relative) and not math.isnan(reach):
        return f"could be up to {percent(abs(relative) + reach)}"
    far = max(abs(contrast.low), abs(contrast.high))
    return f"could be up to {'any size' if math.isnan(far) else _plain(far, contrast)}"


def _between(low: float, high: float, level: float) -> str:
    decimals = 0 if max(abs(low), abs(high)) >= 0.1 else 1
    first, last = (f"{100 * end:+.{decimals}f}".replace("-", "−") for end in (low, high))
    return f"{percent(level)} interval {first} to {last} %"


def _signed(difference: float, contrast: Contrast) -> str:
    if contrast.headline.percent:
        return points(difference)
    decimals = _decimals(max(abs(contrast.value), abs(contrast.other)))
    return f"{difference:+.{decimals}f}".replace("-", "−")


def _plain(size: float, contrast: Contrast) -> str:
    return _signed(size, contrast).lstrip("+")
