"""Popularity and accuracy for the eye and for other programs: a line for each group, CSV, LaTeX."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from rote.core.result import Result, SourceResult
from rote.report._grid import rounded
from rote.report.tables._blocks import plain_text, print_end, table, unrounded
from rote.report.tables._latex import escaped, tabular

_CSV_COLUMNS = ("group", "items", "tokens", "value", "estimate", "low", "high")
_SHARES = ("accuracy", "accuracy_low", "accuracy_high", "accuracy_difference")
_COLUMNS = {
    "items": "items",
    "ips": "right",
    "ips_wrong": "wrong",
    "advantage": "advantage",
    "accuracy": "accuracy",
    "accuracy_low": "low",
    "accuracy_high": "high",
    "accuracy_difference": "high - low",
}
_LEGEND = (
    "right, wrong: mean popularity (1 to 10) of the instances with the right option and with the "
    "wrong ones; advantage: (right - wrong) / right",
    "accuracy in percent; low, high: of the items up to the median of their task's advantage "
    "(popularity, where there is one option) and above it",
)


def print_result(result: Result, console: Any) -> None:
    """Print a line for each group, and what must be known of it."""
    console.print(table({", ".join(result.by): "left", **_heads(result)}, _lines(result)))
    level = (
        [f"[ ] interval of {result.interval.level:.0%}: {result.interval.method}"]
        if result.interval
        else []
    )
    answered = "accuracy" in _shown(result)
    for line in (*_LEGEND[: 1 + answered], *level):
        console.print(line, style="dim", highlight=False, markup=False)
    own = [(name, note) for name, found in result.sources.items() for note in found.notes]
    reasons = {note: [n for n, said in own if said == note] for _, note in own}
    for note, names in reasons.items():
        who = "" if len(names) == len(result.sources) else f"{', '.join(names)}: "
        console.print(f"note: {who}{note}", highlight=False, markup=False)
    print_end(result, console)


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_csv(result: Result) -> str:
    """One line per group and value, unrounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS)
    for group, found in result.sources.items():
        for value, estimate in found.values.items():
            low, high = found.intervals.get(value, (math.nan, math.nan))
            numbers = [unrounded(number) for number in (estimate, low, high)]
            writer.writerow([group, found.texts, found.words, value, *numbers])
    return out.getvalue()


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
        if name == "items" or any(not math.isnan(one.values[name]) for one in found)
    ]


def _heads(result: Result) -> dict[str, str]:
    return {_COLUMNS[name]: "right" for name in _shown(result)}


def _lines(result: Result) -> list[Sequence[str]]:
    return [
        [name, *(_cell(found, column) for column in _shown(result))]
        for name, found in result.sources.items()
    ]


def _cell(found: SourceResult, name: str) -> str:
    if name == "items":
        return f"{found.texts:,}"
    value = found.values[name]
    if math.isnan(value):
        return "–"
    if name not in _SHARES:
        return rounded(value)
    sign = "+" if name == "accuracy_difference" and value > 0 else ""
    interval = found.intervals.get(name)
    if name == "accuracy_difference" and interval:
        return f"{sign}{100 * value:.1f} [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"
    return f"{sign}{100 * value:.1f}"
