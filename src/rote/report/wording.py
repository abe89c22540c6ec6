"""Numbers, differences and lists in the words of a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rote.core.numbers import format_number
from rote.core.record import Headline


def number(value: float, headline: Headline) -> str:
    return percent(value) if headline.percent else rounded(value)


def rounded(value: float) -> str:
    """Three digits that count: the tables have more."""
    if math.isnan(value):
        return "–"
    return format_number(value, f".{decimals(value)}f", typeset=True)


def decimals(value: float) -> int:
    if value == 0 or math.isnan(value):
        return 0
    return max(0, min(4, 2 - math.floor(math.log10(abs(value)))))


def pair(value: float, other: float, headline: Headline, title: str) -> str:
    """`gzip compression ratio 2.25 against 1.91`; where the unit says what it is, without a
    title."""
    shown = f"{number(value, headline)} against {number(other, headline)}"
    return f"{shown} {headline.unit}" if headline.unit else f"{title} {shown}"


def percent(share: float | None, signed: bool = False) -> str:
    """A share as a percentage, with decimals only where it is small; null in JSON is undefined."""
    if share is None or math.isnan(share):
        return "–"
    hundredths = 100 * share
    places = 0 if abs(hundredths) >= 10 else 1 if abs(hundredths) >= 1 else 2
    spec = f"{'+' if signed else ''}.{places}f"
    return f"{format_number(hundredths, spec, typeset=True)} %"


def points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    places = 1 if abs(difference) >= 0.001 else 3
    return f"{format_number(100 * difference, f'+.{places}f', typeset=True)} points"


def p_value(p: float) -> str:
    if math.isnan(p):
        return "not tested"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {format_number(p, '.3f')}" if p < 0.01 else f"p = {format_number(p, '.2f')}"


def listed(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
