"""The tables of `correlate` as they are shown: matrices, and the pairs to look at.

Of the pairs all with a quality column are listed, since that is what was asked, and the strongest
of the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rote.compare.permutation import LEVEL
from rote.core.chart import Chart
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import VALUES, Column, Pivot, Row, Rows, Table, defined, distinct, ends

POOLED = "pooled"
_STRONGEST, _EVERY = 10, 1000


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


def ranked(result: Result) -> tuple[list[tuple[str, Row]], list[tuple[str, Row]]]:
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
    return list(dict.fromkeys([*distinct(rows, "a"), *distinct(rows, "b")]))


def short(name: str) -> str:
    """`semantic.semantic` says no more than `semantic`."""
    measure, _, value = name.partition(".")
    return measure if value.replace("_", "-") == measure else name


def significant(row: Row, name: str) -> bool:
    p = row[f"{name}_p_corrected"]
    return defined(p) and p < LEVEL


def _cells(rows: Rows, result: Result) -> list[Row]:
    """Pearson below the diagonal, Spearman above it; columns are numbered, as names would not
    fit."""
    found: list[Row] = []
    for title, own in matrices(result).items():
        names = column_names(own)
        held = {}
        for row in own:
            held[row["b"], row["a"]] = row["pearson"], "*" * significant(row, "pearson")
            held[row["a"], row["b"]] = row["spearman"], "*" * significant(row, "spearman")
        few, many = min(row["n"] for row in own), max(row["n"] for row in own)
        for place, a in enumerate(names, 1):
            for number, b in enumerate(names, 1):
                value, sign = ("·", "") if a == b else held.get((a, b), (None, ""))
                found.append(
                    {
                        "facet": title,
                        "number": str(place),
                        "name": short(a),
                        "other": str(number),
                        "value": value,
                        "sign": sign,
                        "sources": f"{many}" if few == many else f"{few} to {many}",
                    }
                )
    return found


def _explained(rows: Rows, result: Result) -> str:
    corrected = dict(result.signature.settings).get("correction", "")
    return (
        "below the diagonal Pearson, above it Spearman, over sources; "
        f"* corrected p < {LEVEL} ({corrected}, over all pairs of a matrix)"
    )


def _pairs(rows: Rows, result: Result, *, quality: bool) -> list[Row]:
    several = len(matrices(result)) > 1
    return [
        {
            **row,
            "facet": title if several else None,
            "a": short(row["a"]),
            "b": short(row["b"]),
            "without": row["weakest_without"],
        }
        for title, row in ranked(result)[0 if quality else 1]
    ]


_PAIR = (
    *(Column("facet", optional=True), Column("a", "one"), Column("b", "other")),
    Column("n", kind="count"),
    Column("pearson", "Pearson", "number", 2, ends=ends("pearson")),
    *(Column("pearson_p", "p", "p"), Column("pearson_p_corrected", "corrected", "p")),
    Column("weakest", "without one", "number", 2, also=Column("without")),
    Column("spearman", "Spearman", "number", 2, ends=ends("spearman")),
    *(Column("spearman_p", "p", "p"), Column("spearman_p_corrected", "corrected", "p")),
)
_SAID = (
    "p: share of the orders of the sources with as strong a correlation; without one: Pearson "
    "without the source that holds it up the most"
)

LAYOUT = (
    Table(VALUES, "Values", limit=0, page=False),
    Table(
        "correlations",
        lambda rows, result: f"{rows[0]['facet'] or 'Correlations'} ({rows[0]['sources']} sources)",
        (Column("number", " "), Column("name", " ")),
        said=_explained,
        rows=_cells,
        split=("facet",),
        limit=_EVERY,
        pivot=Pivot("other", Column("value", kind="number", decimals=2, mark="sign")),
    ),
    Table(
        "correlations",
        "Pairs with quality",
        _PAIR,
        said=_SAID,
        rows=lambda rows, result: _pairs(rows, result, quality=True),
        limit=_EVERY,
    ),
    Table(
        "correlations",
        "The strongest pairs",
        _PAIR,
        said=_SAID,
        rows=lambda rows, result: _pairs(rows, result, quality=False),
        limit=_STRONGEST,
    ),
)


_DRAWN, _WITH_QUALITY = 6, 12


def _squares(rows: Rows, result: Result) -> Rows:
    """Both triangles of each matrix; an undefined correlation is a dash on grey."""
    cells = []
    for title, held in matrices(result).items():
        most = max(row["n"] for row in held)
        said = (
            f"{several(most, 'source')}; below: Pearson, above: Spearman; * corrected p < {LEVEL}"
        )
        about = {"title": title or "correlations over sources", "said": said}
        order = {name: place for place, name in enumerate(column_names(held))}
        found = []
        for row in held:
            for name, (a, b) in (
                ("pearson", (row["b"], row["a"])),
                ("spearman", (row["a"], row["b"])),
            ):
                r = row[name] if defined(row[name]) else None
                shown = (
                    "–" if r is None else f"{format_number(r, '.2f')}{'*' * significant(row, name)}"
                )
                found.append((order[a], order[b], short(a), short(b), r, shown))
        cells += [
            {"a": a, "b": b, "r": r, "shown": shown, **about}
            for _, _, a, b, r, shown in sorted(found, key=lambda cell: cell[:2])
        ]
    return cells


def _points(rows: Rows, result: Result) -> Rows:
    """The sources of some pairs: those with a quality column first, then the strongest."""
    with_quality, others = (
        [pair for pair in pairs if pair[0] != POOLED] for pairs in ranked(result)
    )
    found = with_quality[:_WITH_QUALITY]
    found += others[: max(0, _DRAWN - len(found))]
    drawn = []
    for facet, row in found:
        about = {
            "title": f"Pearson {format_number(row['pearson'], '.2f')}, "
            f"Spearman {format_number(row['spearman'], '.2f')}",
            "facet": facet,
            "a": short(row["a"]),
            "b": short(row["b"]),
        }
        for member in result.tables["members"]:
            held = result.by_source[member["source"]].values
            x, y = held.get(row["a"], math.nan), held.get(row["b"], math.nan)
            if member["facet"] == facet and defined(x) and defined(y):
                drawn.append({"source": member["name"], "x": x, "y": y, **about})
    return drawn


CHARTS = (
    Chart(
        "correlations",
        "Correlations over sources",
        table="correlations",
        shape="matrix",
        x="b",
        y="a",
        colour="r",
        text="shown",
        panel=("title", "said"),
        titles={"r": "correlation"},
        rows=_squares,
        says="One matrix for each facet and a pooled one: Pearson below the diagonal, Spearman "
        "above it.",
    ),
    Chart(
        "pairs",
        "Pairs of values",
        table="correlations",
        shape="points",
        x="x",
        y="y",
        colour="source",
        panel=("title", "facet", "a", "b"),
        titles={"x": "a", "y": "b"},
        rows=_points,
        says="The sources of some pairs as points: what a coefficient rests on.",
    ),
)
