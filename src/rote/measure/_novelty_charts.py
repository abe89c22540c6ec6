"""Figures of novelty."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.result import Result
from rote.core.table import Rows, defined

_NEARLY_ALL = 0.995
_FLAT = 2
"""How far a curve goes on after it has reached the top."""


def _curves(rows: Rows, result: Result) -> Rows:
    """Without the long n-grams that are new in every source: there the curves are flat."""
    tags = dict(result.signature.settings).get("tags")
    drawn = []
    for layer in dict.fromkeys(row["layer"] for row in rows):
        title = f"new n-grams of {'tags' if layer == tags else 'words'}"
        own = [row for row in rows if row["layer"] == layer]
        old = [row["n"] for row in own if defined(row["novel"]) and row["novel"] < _NEARLY_ALL]
        last = max(old, default=0) + _FLAT
        drawn += [{**row, "title": title} for row in own if row["n"] <= last]
    return drawn


def _coverage(rows: Rows, result: Result) -> Rows:
    return [{**row, "title": "words in copied runs"} for row in rows]


CHARTS = (
    Chart(
        "novelty",
        "New n-grams",
        table="novelty",
        shape="lines",
        x="n",
        y="novel",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"n": "items in an n-gram"},
        share=True,
        rows=_curves,
        says="The share of n-grams that the corpus does not hold, over their length.",
    ),
    Chart(
        "coverage",
        "Copied runs",
        table="coverage",
        shape="lines",
        x="length",
        y="coverage",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"length": "words in a run, at least"},
        share=True,
        rows=_coverage,
        says="The share of words that lie in runs that the corpus holds, over the length of the "
        "runs.",
    ),
)
