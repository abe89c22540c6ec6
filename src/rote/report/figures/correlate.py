"""Correlations as figures: a matrix per facet, and the pairs to look at as points.

Drawn from a result's tables alone: one read from JSON will do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape, names_axis
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless
from rote.studies._correlate_layout import (
    POOLED,
    column_names,
    matrices,
    ranked,
    short,
    significant,
)

_LOW, _NONE, _HIGH = "#b2440e", "#f7f7f7", "#2f5d8a"
_POINT = "#2f5d8a"
_CELL, _STRONGEST, _WITH_QUALITY, _WIDE = 44, 6, 12, 5
_TOLD_APART = 15
"""Sources with colours of their own; of more, nobody finds one in a legend."""


def figures(result: Result) -> dict[str, Any]:
    """Every figure that a result of `rote correlate` gives, by name."""
    return {"correlations": matrix_chart(result), "pairs": pairs_chart(result)}


def matrix_chart(result: Result) -> Any:
    """One matrix per facet and a pooled one: Pearson below the diagonal, Spearman above it."""
    import altair as alt

    panels = []
    for title, rows in matrices(result).items():
        order = [harmless(short(name)) for name in column_names(rows)]
        base = alt.Chart(alt.Data(values=_cells(rows))).encode(
            x=alt.X("b:N", sort=order, title=None, axis=names_axis(labelAngle=-40)),
            y=alt.Y("a:N", sort=order, title=None, axis=names_axis()),
        )
        scale = alt.Scale(domain=[-1, 0, 1], range=[_LOW, _NONE, _HIGH], clamp=True)
        squares = base.mark_rect(stroke="white").encode(
            color=alt.Color("r:Q", title="correlation", scale=scale)
        )
        numbers = base.mark_text(fontSize=11).encode(
            text="shown:N",
            color=alt.condition("abs(datum.r) > 0.6", alt.value("white"), alt.value("#222")),
        )
        most = max(row["n"] for row in rows)
        subtitle = f"{most} sources; below: Pearson, above: Spearman; * corrected p < 0.05"
        panels.append(
            alt.layer(squares, numbers).properties(
                width=alt.Step(_CELL),
                height=alt.Step(30),
                title=alt.TitleParams(
                    harmless(title) or "correlations over sources",
                    subtitle=subtitle,
                    fontSize=12,
                    subtitleFontSize=10,
                    anchor="start",
                ),
            )
        )
    columns = 1 if len(result.tables["values"]) > _WIDE else 2
    return alt.concat(*panels, columns=min(columns, len(panels)))


def pairs_chart(result: Result) -> Any:
    """The sources of some pairs as points: what a coefficient rests on.

    Pairs with a quality column come first, then the strongest.
    """
    import altair as alt

    with_quality, others = (
        [pair for pair in pairs if pair[0] != POOLED] for pairs in ranked(result)
    )
    found = with_quality[:_WITH_QUALITY]
    found += others[: max(0, _STRONGEST - len(found))]
    sources = list(dict.fromkeys(harmless(row["name"]) for row in result.tables["members"]))
    if len(sources) > _TOLD_APART:
        look = {"color": alt.value(_POINT), "tooltip": alt.Tooltip("source:N")}
    else:
        look = dict(zip(("color", "shape"), colour_and_shape(sources)))
    scale = alt.Scale(zero=False, nice=True, padding=12)
    axis = alt.Axis(tickCount=5)
    panels = []
    for title, row in found:
        data = [
            {"source": harmless(own), "x": x, "y": y}
            for own, x, y in _points(result, title, row["a"], row["b"])
        ]
        points = (
            alt.Chart(alt.Data(values=data))
            .mark_point(filled=True, size=60, opacity=1)
            .encode(
                x=alt.X("x:Q", title=harmless(short(row["a"])), scale=scale, axis=axis),
                y=alt.Y("y:Q", title=harmless(short(row["b"])), scale=scale, axis=axis),
                **look,
            )
        )
        r, rho = f"Pearson {row['pearson']:.2f}", f"Spearman {row['spearman']:.2f}"
        panels.append(
            points.properties(
                width=240,
                height=200,
                title=alt.TitleParams(
                    f"{r}, {rho}", subtitle=harmless(title), fontSize=12, anchor="start"
                ),
            )
        )
    return alt.concat(*panels, columns=min(3, len(panels)))


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Both triangles; an undefined correlation is a dash on grey."""
    cells = []
    for row in rows:
        a, b = harmless(short(row["a"])), harmless(short(row["b"]))
        for name, (first, second) in (("pearson", (b, a)), ("spearman", (a, b))):
            r = row[name] if defined(row[name]) else None
            mark = "*" if significant(row, name) else ""
            shown = "–" if r is None else f"{r:.2f}{mark}"
            cells.append({"a": first, "b": second, "r": r, "shown": shown})
    return cells


def _points(result: Result, facet: str, a: str, b: str) -> list[tuple[str, float, float]]:
    """The sources of a facet that have both values, by their names within it."""
    points = []
    for row in result.tables["members"]:
        held = result.sources[row["source"]].values
        x, y = held.get(a, math.nan), held.get(b, math.nan)
        if row["facet"] == facet and defined(x) and defined(y):
            points.append((row["name"], x, y))
    return points
