"""Scores over the bins of `overlap`: one panel for each score, one line for each source.

Drawn from the tables alone: a result read from JSON will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.measure._overlap.layout import bin_name, score_title
from rote.report.figures._looks import colour_and_shape
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
_ACROSS = 3
"""Panels side by side."""
_KINDS = {
    "bins": ("mean", "{}"),
    "normalized": ("normalized", "{} / that of {}"),
    "excess": ("excess", "{} above that of {}"),
}


def figures(result: Result) -> dict[str, Any]:
    """Every figure that the tables of a result give; none for other measures."""
    if result.measure != "overlap":
        return {}
    rows = result.tables.get("bins", ())
    named = dict(result.signature.settings)
    others = {"normalized": named.get("normalize_to"), "excess": named.get("control")}
    charts = {
        name: _panels([row for row in rows if kind in row], result, kind, title, others.get(name))
        for name, (kind, title) in _KINDS.items()
    }
    return {name: chart for name, chart in charts.items() if chart is not None}


def _panels(rows: Rows, result: Result, kind: str, title: str, other: str | None) -> Any:
    import altair as alt

    panels = []
    for score in dict.fromkeys(row["score"] for row in rows):
        own = [row for row in rows if row["score"] == score and row["bin"] is not None]
        titled = title.format(score_title(score), harmless(other or ""))
        if panel := _lines(own, result, kind, titled):
            panels.append(panel)
    return alt.concat(*panels, columns=_ACROSS) if panels else None


def _lines(rows: Rows, result: Result, kind: str, title: str) -> Any:
    import altair as alt

    data = [
        {
            "source": harmless(row["source"]),
            "bin": bin_name(row),
            "score": row[kind],
            # A point without an interval has one of no width: one mark for all.
            "low": row[f"{kind}_low"] if defined(row[f"{kind}_low"]) else row[kind],
            "high": row[f"{kind}_high"] if defined(row[f"{kind}_high"]) else row[kind],
        }
        for row in rows
        if defined(row[kind])
    ]
    if not data:
        return None
    names = [harmless(name) for name in result.sources]
    colour, shape = colour_and_shape(names, result.reference and harmless(result.reference))
    order = list(dict.fromkeys(bin_name(row) for row in rows))
    place = {name: number for number, name in enumerate(names)}
    # Intervals of one bin stand side by side, or they would hide each other.
    for point in data:
        point["beside"] = place[point["source"]]
    across = alt.X(
        "bin:N",
        sort=order,
        title="n-grams of the item in the training set, %",
        axis=alt.Axis(labelAngle=0),
    )
    beside = alt.XOffset("beside:Q", scale=alt.Scale(domain=[-2, len(names) + 1]))
    base = alt.Chart(alt.Data(values=data)).encode(x=across, xOffset=beside, color=colour)
    rule = base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("score:Q", title=None))
    points = base.mark_point(filled=True, size=30, opacity=1).encode(
        y=alt.Y("score:Q", title=None), shape=shape
    )
    width = max(220, 45 * len(order))
    return alt.layer(rule, line, points).properties(width=width, height=220, title=title)
