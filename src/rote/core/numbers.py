"""How numbers are written for people: one formatter, so that they look alike everywhere; and how
people write amounts of memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from rote.core.errors import OptionError

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def format_number(number: float, spec: str, *, typeset: bool = False) -> str:
    """Format a number like `format`, but without a sign where it rounds to zero.

    Whether a difference of nothing comes out as 1e-17, 0 or -1e-17 depends on the machine.
    `typeset` writes a real minus sign.

    >>> format_number(-0.001, "+.2f")
    '0.00'
    >>> format_number(-0.25, "+.0%", typeset=True)
    '−25%'
    """
    text = format(number, spec)
    mantissa = text.partition("e")[0]
    if text[:1] in "+-" and any(c.isdigit() for c in mantissa) and not mantissa.strip("+-0.,%"):
        text = text[1:]
    return text.replace("-", "−", 1) if typeset and text.startswith("-") else text


def format_percent(share: float | None, signed: bool = False) -> str:
    """A share as a percentage, with decimals only where it is small; null in JSON is undefined."""
    if share is None or math.isnan(share):
        return "–"
    hundredths = 100 * share
    places = 0 if abs(hundredths) >= 10 else 1 if abs(hundredths) >= 1 else 2
    spec = f"{'+' if signed else ''}.{places}f"
    return f"{format_number(hundredths, spec, typeset=True)} %"


def format_points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    places = 1 if abs(difference) >= 0.001 else 3
    return f"{format_number(100 * difference, f'+.{places}f', typeset=True)} points"


def join_names(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def name_some(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first names, and how many more there are.

    >>> name_some(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    more = len(names) - most
    rest = f"{separator.strip(', ')} and {more:,} more" if more > 0 else ""
    return separator.join(names[:most]) + rest


def format_interval(
    level: float | None,
    ends: tuple[float, float],
    format_end: Callable[[float], str] = lambda end: format_number(end, ".2f"),
) -> str:
    """` (95 % interval 0.20 to 0.30)`; nothing where there is none."""
    if math.isnan(ends[0]) or level is None:
        return ""
    low, high = map(format_end, ends)
    return f" ({format_percent(level)} interval {low} to {high})"


def parse_memory(text: str) -> int:
    """Bytes, from a size as people write it.

    >>> [parse_memory(size) for size in ("512M", "4G", "1.5 GiB")]
    [536870912, 4294967296, 1610612736]
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if not size:
        raise OptionError(f"'{text}' is not an amount of memory: write 512M or 4G")
    return size


def format_memory(size: int) -> str:
    """The shortest way to write such a size.

    >>> format_memory(4 * 2**30)
    '4G'
    """
    for unit, sign in ((2**30, "G"), (2**20, "M"), (2**10, "K")):
        if size % unit == 0:
            return f"{size // unit}{sign}"
    return str(size)
