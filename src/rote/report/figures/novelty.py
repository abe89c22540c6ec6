"""Figures of the measure novelty, drawn from its tables alone: a result read from JSON will do.

Each figure is named after the table that it shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
_NEARLY_ALL = 0.995
_FLAT = 2
"""How far a curve goes on after it has reached the top."""


def figures(result: Result) -> dict[str, Any]:
    """Every figure that the tables of a result give; none for other measures."""
    if result.measure != "novelty":
        return {}
    drawn = {"novelty": curves, "coverage": coverage}
    charts = {name: draw(result.tables.get(name, ()), result) for name, draw in drawn.items()}
    return {name: chart for name, chart in charts.items() if chart is not None}


def curves(rows: Rows, result: Result) -> Any:
    """The share of new n-grams over n, one panel for each layer, one line for each source."""
    import altair as alt

    layers = list(dict.fromkeys(row["layer"] for row in rows))
    tags = dict(result.signature.settings).get("tags")
    panels = [
        panel
        for layer in layers
        if (
            panel := _lines(
                _rising([row for row in rows if row["layer"] == layer]),
                result,
                ("n", "items in an n-gram"),
                ("novel", f"new n-grams of {'tags' if layer == tags else 'words'}"),
            )
        )
    ]
    return alt.hconcat(*panels) if panels else None


def coverage(rows: Rows, result: Result) -> Any:
    """The share of words in copied runs, over the length of the runs."""
    return _lines(
        rows, result, ("length", "words in a run, at least"), ("coverage", "words in copied runs")
    )


def _lines(rows: Rows, result: Result, x: tuple[str, str], y: tuple[str, str]) -> Any:
    import altair as alt

    data = [
        {
            "source": harmless(row["source"]),
            "x": row[x[0]],
            "y": row[y[0]],
            # A point without an interval has one of no width: one mark for all.
            "low": row["low"] if defined(row["low"]) else row[y[0]],
            "high": row["high"] if defined(row["high"]) else row[y[0]],
        }
        for row in rows
        if defined(row[y[0]])
    ]
    if not data:
        return None
    colour, shape = colour_and_shape([harmless(name) for name in result.sources])
    axis = alt.Axis(format=".0%", tickCount=5)
    across = alt.X("x:Q", title=x[1], scale=alt.Scale(nice=False), axis=alt.Axis(format="d"))
    base = alt.Chart(alt.Data(values=data)).encode(x=across, color=colour)
    band = base.mark_area(opacity=0.15).encode(
        y=alt.Y("low:Q", title=None, axis=axis, scale=alt.Scale(domain=[0, 1])), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=2).encode(y=alt.Y("y:Q", title=None, axis=axis))
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        y=alt.Y("y:Q", title=None, axis=axis), shape=shape
    )
    return alt.layer(band, line, points).properties(width=300, height=220, title=y[1])


def _rising(rows: Rows) -> Rows:
    """Without the long n-grams that are new in every source: there the curves are flat."""
    old = [row["n"] for row in rows if defined(row["novel"]) and row["novel"] < _NEARLY_ALL]
    last = max(old, default=0) + _FLAT
    return [row for row in rows if row["n"] <= last]
