"""How numbers are written for people: one formatter, so that they look alike everywhere."""

from __future__ import annotations


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
