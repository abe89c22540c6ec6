"""Popularity and accuracy for the eye and for other programs: a line for each group, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rote.core.result import Result, SourceResult
from rote.report._grid import rounded, rounded_like
from rote.report.tables._blocks import p_value, plain_text, print_end, table
from rote.report.tables._latex import escaped, tabular

_SHARES = ("ahead", "accuracy", "accuracy_low", "accuracy_high", "accuracy_difference")
_WITH_INTERVAL = ("difference", "ahead", "accuracy_difference")
_COLUMNS = {
    "items": "items",
    "ips": "right",
    "ips_wrong": "wrong",
    "difference": "difference",
    "ahead": "ahead",
    "advantage": "relative",
    "accuracy": "accuracy",
    "accuracy_low": "low",
    "accuracy_high": "high",
    "accuracy_difference": "high - low",
}
_LEGEND = (
    "right, wrong: mean popularity (1 to 10) of the instances with the right option and with the "
    "wrong ones; difference: right - wrong, 0 where popularity does not tell them apart",
    "ahead: of the items in which one is ahead, the percentage in which the right one is: 50 by "
    "chance; p: of the difference, its signs turned by chance, corrected over the groups",
    "accuracy in percent; low, high: of the items up to the median of their task's difference "
    "(popularity, where there is one option) and above it",
)
_RELATIVE = (
    "relative: the mean of (right - wrong) / right, as Ruzzetti et al. have it, biased below 0; "
    "low and high are by it"
)
_P = "p"


def print_result(result: Result, console: Any) -> None:
    """Print a line for each group, and what must be known of it."""
    console.print(table({", ".join(result.by): "left", **_heads(result)}, _lines(result)))
    level = (
        [f"[ ] interval of {result.interval.level:.0%}: {result.interval.method}"]
        if result.interval
        else []
    )
    answered = "accuracy" in _shown(result)
    relative = [_RELATIVE] if "advantage" in _shown(result) else []
    for line in (*_LEGEND[: 2 + answered], *relative, *level):
        console.print(line, style="dim", highlight=False, markup=False)
    own = [(name, note) for name, found in result.sources.items() for note in found.notes]
    reasons = {note: [n for n, said in own if said == note] for _, note in own}
    for note, names in reasons.items():
        who = "" if len(names) == len(result.sources) else f"{', '.join(names)}: "
        console.print(f"note: {who}{note}", highlight=False, markup=False)
    print_end(result, console)


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    """A booktabs table with a row for each group."""
    heads = map(escaped, [", ".join(result.by), *_heads(result)])
    lines = [[*map(escaped, line)] for line in _lines(result)]
    return "\n".join(tabular([*heads], lines, said=[str(result.signature)])) + "\n"


def _shown(result: Result) -> list[str]:
    """The columns that hold a number anywhere."""
    found = result.sources.values()
    return [
        name
        for name in _COLUMNS
        if name == "items" or any(not math.isnan(one.values.get(name, math.nan)) for one in found)
    ]


def _heads(result: Result) -> dict[str, str]:
    heads = {}
    for name in _shown(result):
        heads[_COLUMNS[name]] = "right"
        if name == "ahead":
            heads[_P] = "right"
    return heads


def _lines(result: Result) -> list[Sequence[str]]:
    tests = {row["group"]: row["p_corrected"] for row in result.tables.get("tests", ())}
    lines: list[Sequence[str]] = []
    for name, found in result.sources.items():
        line = [name]
        for column in _shown(result):
            line.append(_cell(found, column))
            if column == "ahead":
                line.append(p_value(tests[name]) if name in tests else "–")
        lines.append(line)
    return lines


def _cell(found: SourceResult, name: str) -> str:
    if name == "items":
        return f"{found.texts:,}"
    value = found.values.get(name, math.nan)
    if math.isnan(value):
        return "–"
    sign = "+" if name in ("difference", "accuracy_difference") and value > 0 else ""
    interval = found.intervals.get(name) if name in _WITH_INTERVAL else None
    if name not in _SHARES:
        return f"{sign}{rounded(value)}" + (
            f" [{', '.join(rounded_like(end, value) for end in interval)}]" if interval else ""
        )
    return f"{sign}{100 * value:.1f}" + (
        f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]" if interval else ""
    )
