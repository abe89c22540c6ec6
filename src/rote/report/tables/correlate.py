"""Correlations for the eye and for other programs: matrices, pairs, LaTeX.

Of the pairs all with a quality column are listed, since that is what was asked, and the strongest
of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._grid import SIGNIFICANT
from rote.report.tables._blocks import (
    defined,
    number,
    p_value,
    plain_text,
    print_end,
    with_interval,
)
from rote.report.tables._latex import escaped, tabular
from rote.report.terminal import harmless, plain_table

Rows = Sequence[Mapping[str, Any]]
Found = tuple[str, Mapping[str, Any]]
POOLED = "pooled"
_STRONGEST = 10


def print_result(result: Result, console: Any) -> None:
    """Print a matrix for each facet, the pairs to look at, and what must be known of them."""
    shown = matrices(result)
    for title, rows in shown.items():
        for part in _matrix(title, rows, console.width):
            console.print(part)
    with_quality, others = ranked(result)
    for title, pairs in (("with quality", with_quality), ("strongest", others[:_STRONGEST])):
        if pairs:
            console.print(_listed(title, pairs, facets=len(shown) > 1))
    level = f"[ ] interval of {result.interval.level:.0%}; " if result.interval else ""
    corrected = dict(result.signature.settings).get("correction", "")
    for line in (
        "below the diagonal Pearson, above it Spearman, over sources; "
        f"* corrected p < {SIGNIFICANT} ({corrected}, over all pairs of a matrix)",
        f"{level}p: share of the orders of the sources with as strong a "
        "correlation; without one: Pearson without the source that holds it up the most",
    ):
        console.print(line, style="dim", highlight=False)
    print_end(result, console)


def as_text(result: Result, width: int = 120) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    """A booktabs matrix for each facet: Pearson below the diagonal, Spearman above it."""
    lines = []
    for title, rows in matrices(result).items():
        names = column_names(rows)
        cells = _cells(rows)
        heads = [escaped(title), *(escaped(short(name)) for name in names)]
        body = [
            [
                escaped(short(a)),
                *(_tex_number(cells.get((a, b), ("", ""))) if a != b else "" for b in names),
            ]
            for a in names
        ]
        lines += [*([f"% {harmless(title)}"] if title else []), *tabular(heads, body), ""]
    return "\n".join([*lines, f"% {harmless(str(result.signature))}"]) + "\n"


def matrices(result: Result) -> dict[str, Rows]:
    """The rows of each facet that has a correlation, and the pooled ones under their own name."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in result.tables["correlations"]:
        found.setdefault(row["facet"], []).append(row)
    if result.tables.get("pooled"):
        found[POOLED] = list(result.tables["pooled"])
    return {
        title: rows for title, rows in found.items() if any(defined(row["pearson"]) for row in rows)
    }


def ranked(result: Result) -> tuple[list[Found], list[Found]]:
    """Pairs of a measure and a quality column, and the others, the strongest of each first.

    With the facet that each belongs to. Two quality columns are a pair like any other.
    """
    quality = {row["column"] for row in result.tables["columns"] if row["quality"]}
    found = [
        (title, row)
        for title, rows in matrices(result).items()
        for row in rows
        if defined(row["pearson"])
    ]
    found.sort(key=lambda one: -abs(one[1]["pearson"]))
    one_of_two = [(row["a"] in quality) != (row["b"] in quality) for _, row in found]
    return (
        [pair for pair, wanted in zip(found, one_of_two) if wanted],
        [pair for pair, wanted in zip(found, one_of_two) if not wanted],
    )


def column_names(rows: Rows) -> list[str]:
    """The columns of a matrix, in their order."""
    return list(dict.fromkeys([*(row["a"] for row in rows), *(row["b"] for row in rows)]))


def short(name: str) -> str:
    """`semantic.semantic` says no more than `semantic`."""
    measure, _, value = name.partition(".")
    return measure if value.replace("_", "-") == measure else name


def significant(row: Mapping[str, Any], name: str) -> bool:
    p = row[f"{name}_p_corrected"]
    return defined(p) and p < SIGNIFICANT


def _matrix(title: str, rows: Rows, width: int) -> Iterator[Any]:
    """Columns are numbered, since names would not fit; the rest goes below where it is wide."""
    names, cells = column_names(rows), _cells(rows)
    longest = max(len(short(name)) for name in names) + len(str(len(names))) + 6
    each = max(1, (width - longest) // 9)
    counts = [row["n"] for row in rows]
    few, many = min(counts), max(counts)
    sources = f"{many} sources" if few == many else f"{few} to {many} sources"
    for start in range(0, len(names), each):
        part = range(start, min(start + each, len(names)))
        columns = {"": "right", f"{title or 'correlations'} ({sources})": "left"}
        columns |= {str(number + 1): "right" for number in part}
        yield plain_table(
            columns,
            [
                [
                    str(place + 1),
                    short(a),
                    *("·" if a == b else "".join(cells[a, b]) for b in (names[i] for i in part)),
                ]
                for place, a in enumerate(names)
            ],
        )


def _cells(rows: Rows) -> dict[tuple[str, str], tuple[str, str]]:
    """(row, column) of the matrix -> number and mark."""
    cells = {}
    for row in rows:
        for name, place in (("pearson", (row["b"], row["a"])), ("spearman", (row["a"], row["b"]))):
            cells[place] = (number(row[name], ".2f"), "*" if significant(row, name) else " ")
    return cells


def _listed(heading: str, pairs: Sequence[Found], *, facets: bool) -> Any:
    columns = {"facet": "left"} if facets else {}
    columns |= {heading: "left", " ": "left", "n": "right", "Pearson": "right", "p": "right"}
    columns |= {"corrected": "right", "without one": "right"}
    columns |= {"Spearman": "right", "p ": "right", "corrected ": "right"}
    lines = [
        [
            *([title] if facets else []),
            *(short(row["a"]), short(row["b"]), str(row["n"])),
            *_described(row, "pearson"),
            _weakest(row),
            *_described(row, "spearman"),
        ]
        for title, row in pairs
    ]
    return plain_table(columns, lines)


def _described(row: Mapping[str, Any], name: str) -> list[str]:
    estimate = with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], ".2f")
    return [estimate, p_value(row[f"{name}_p"]), p_value(row[f"{name}_p_corrected"])]


def _weakest(row: Mapping[str, Any]) -> str:
    if row["weakest_without"] is None:
        return "–"
    return f"{number(row['weakest'], '.2f')} ({row['weakest_without']})"


def _tex_number(cell: tuple[str, str]) -> str:
    shown, mark = cell
    return f"${shown}^*$" if mark == "*" else ("--" if shown in ("–", "") else f"${shown}$")
