"""Answers of models for the eye and for other programs: a line for each group, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.facets import JOINT
from rote.core.result import Result, SourceResult
from rote.report._grid import rounded
from rote.report.tables._blocks import p_value, plain_text, print_end, table
from rote.report.tables._latex import escaped, tabular

_COLUMNS = {
    "items": "items",
    "accuracy": "accuracy",
    "accuracy_norm": "norm.",
    "perplexity": "perplexity",
    "chance": "chance",
    "majority": "majority",
    "unanswered": "unanswered",
}
_SHARES = ("accuracy", "accuracy_norm", "chance", "majority")
_SURE = ("accuracy",)
"""Values that stand with their interval; a line has no room for more."""
_SOURCE = "source"
_LEGEND = {
    "accuracy": "accuracy in percent, of the items that were answered",
    "accuracy_norm": "norm.: log-likelihoods divided by the characters of their option first",
    "perplexity": "perplexity: exp(- mean log-likelihood) of the last word as a whole",
    "majority": "chance, majority: by lot, and by the place where the right option is most often",
}
_LISTED = 10


def print_result(result: Result, console: Any) -> None:
    """Print a line for each group, the tests between models, what was not answered."""
    for title, names, groups in _parts(result):
        if title:
            console.print(f" {title}:", style="bold", highlight=False, markup=False)
        lines = [[groups[group], *_cells(result, group)] for group in groups]
        console.print(table({names: "left", **_heads(result)}, lines))
    shown = _shown(result)
    for name, line in _LEGEND.items():
        if name in shown:
            console.print(line, style="dim", highlight=False, markup=False)
    if result.interval:
        said = f"[ ] interval of {result.interval.level:.0%}: {result.interval.method}"
        console.print(said, style="dim", highlight=False, markup=False)
    _print_tests(result, console)
    _print_unanswered(result.tables.get("unanswered", ()), console)
    print_end(result, console)


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    """A booktabs table with a row for each group."""
    heads = map(escaped, [", ".join(result.by), *_heads(result)])
    lines = [[*map(escaped, line)] for line in _lines(result)]
    return "\n".join(tabular([*heads], lines, said=[str(result.signature)])) + "\n"


def _print_tests(result: Result, console: Any) -> None:
    rows = result.tables.get("tests", ())
    if not rows:
        return
    console.print(
        "\nMcNemar, exact: items that only one of two models has right",
        style="bold",
        highlight=False,
        markup=False,
    )
    fields = [name for name in result.by if name in rows[0]]
    columns = {
        **dict.fromkeys((*fields, "one", "other"), "left"),
        **dict.fromkeys(("only one", "only other", "p", "p (Holm)"), "right"),
    }
    lines = [
        [
            *(str(row[name]) for name in (*fields, "one", "other")),
            f"{row['only_one']:,}",
            f"{row['only_other']:,}",
            p_value(row["p"]),
            p_value(row["p_corrected"]),
        ]
        for row in rows
    ]
    console.print(table(columns, lines))


def _print_unanswered(rows: Sequence[Mapping[str, Any]], console: Any) -> None:
    for row in rows[:_LISTED]:
        line = f"unanswered: {row['task']} {row['id']} by {row['source']} ({row['why']})"
        console.print(line, highlight=False, markup=False)
    if len(rows) > _LISTED:
        console.print(f"and {len(rows) - _LISTED:,} more: table `unanswered` of --json")


def _shown(result: Result) -> list[str]:
    """The columns that say something anywhere."""
    found = result.sources.values()
    return [
        name
        for name in _COLUMNS
        if name == "items" or any(_says(name, one.values.get(name)) for one in found)
    ]


def _says(name: str, value: float | None) -> bool:
    return value is not None and not math.isnan(value) and (name != "unanswered" or value > 0)


def _heads(result: Result) -> dict[str, str]:
    return {_COLUMNS[name]: "right" for name in _shown(result)}


def _parts(result: Result) -> list[tuple[str, str, dict[str, str]]]:
    """Groups that stand in one table, under the name of their model where they have one: its
    title, what names its lines, and the lines by their groups."""
    if _SOURCE not in result.by or len(result.by) == 1:
        return [("", ", ".join(result.by), {group: group for group in result.sources})]
    place = result.by.index(_SOURCE)
    names = ", ".join(name for name in result.by if name != _SOURCE)
    found: dict[str, dict[str, str]] = {}
    for group in result.sources:
        fields = group.split(JOINT)
        model = fields.pop(place)
        found.setdefault(model, {})[group] = JOINT.join(fields)
    return [(model, names, groups) for model, groups in found.items()]


def _lines(result: Result) -> list[Sequence[str]]:
    return [[name, *_cells(result, name)] for name in result.sources]


def _cells(result: Result, group: str) -> list[str]:
    return [_cell(result.sources[group], column) for column in _shown(result)]


def _cell(found: SourceResult, name: str) -> str:
    if name == "items":
        return f"{found.texts:,}"
    value = found.values.get(name, math.nan)
    if math.isnan(value):
        return "–"
    if name == "unanswered":
        return f"{value:,.0f}"
    scale = 100 if name in _SHARES else 1
    reach = found.intervals.get(name, ()) if name in _SURE else ()
    numbers = [scale * number for number in (value, *reach)]
    told = [f"{number:.1f}" if name in _SHARES else _large(number) for number in numbers]
    return told[0] + (f" [{told[1]}, {told[2]}]" if len(told) == 3 else "")


def _large(number: float) -> str:
    """A perplexity: no digits behind the point that nobody could mean."""
    if math.isinf(number):
        return "∞"
    if number >= 1e6:
        return f"{number:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{number:,.0f}" if number >= 1000 else rounded(number)
