"""Figures of correlations: a matrix for each facet, and the pairs to look at as points."""

from __future__ import annotations

import math

from rote.compare.permutation import LEVEL
from rote.core.chart import Chart, defined
from rote.core.result import Result
from rote.core.table import Rows
from rote.studies._correlate_layout import (
    POOLED,
    column_names,
    matrices,
    ranked,
    short,
    significant,
)

_STRONGEST, _WITH_QUALITY = 6, 12


def _cells(rows: Rows, result: Result) -> Rows:
    """Both triangles of each matrix; an undefined correlation is a dash on grey."""
    cells = []
    for title, held in matrices(result).items():
        most = max(row["n"] for row in held)
        said = f"{most} sources; below: Pearson, above: Spearman; * corrected p < {LEVEL}"
        about = {"title": title or "correlations over sources", "said": said}
        order = {name: place for place, name in enumerate(column_names(held))}
        found = []
        for row in held:
            for name, (a, b) in (
                ("pearson", (row["b"], row["a"])),
                ("spearman", (row["a"], row["b"])),
            ):
                r = row[name] if defined(row[name]) else None
                shown = "–" if r is None else f"{r:.2f}{'*' * significant(row, name)}"
                found.append((order[a], order[b], short(a), short(b), r, shown))
        cells += [
            {"a": a, "b": b, "r": r, "shown": shown, **about}
            for _, _, a, b, r, shown in sorted(found, key=lambda cell: cell[:2])
        ]
    return cells


def _pairs(rows: Rows, result: Result) -> Rows:
    """The sources of some pairs: those with a quality column first, then the strongest."""
    with_quality, others = (
        [pair for pair in pairs if pair[0] != POOLED] for pairs in ranked(result)
    )
    found = with_quality[:_WITH_QUALITY]
    found += others[: max(0, _STRONGEST - len(found))]
    drawn = []
    for facet, row in found:
        about = {
            "title": f"Pearson {row['pearson']:.2f}, Spearman {row['spearman']:.2f}",
            "facet": facet,
            "a": short(row["a"]),
            "b": short(row["b"]),
        }
        for member in result.tables["members"]:
            held = result.sources[member["source"]].values
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
        rows=_cells,
        whole=True,
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
        rows=_pairs,
        whole=True,
        says="The sources of some pairs as points: what a coefficient rests on.",
    ),
)
