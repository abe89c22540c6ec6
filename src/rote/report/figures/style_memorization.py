"""Figures of style memorization, drawn from the tables alone: a result read from JSON will do.

`frequency` is figure 7 of Shaib et al. (2024): what is memorized, by how often the model saw it.
"""

from __future__ import annotations

from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape, names_axis
from rote.report.figures.results import values_chart
from rote.report.terminal import harmless
from rote.studies._style.layout import seen

_KINDS = {"style": "in style (tags)", "exact": "word for word"}
_COLOURS = ("#9fb8d1", "#2f5d8a")
_FEW = 3
"""Up to so many groups each has a panel of bars; more of them are lines over the frequencies."""


def figures(result: Result) -> dict[str, Any]:
    """The shares of all groups; by frequency, where that is known."""
    found = {"frequency": frequency(result), "values": values_chart([result])}
    return {name: chart for name, chart in found.items() if chart is not None}


def frequency(result: Result) -> Any:
    """Exact and style side by side over the frequencies."""
    import altair as alt

    rows = [
        {
            "group": harmless(row["group"]),
            "seen": seen(row),
            "bin": row["bin"],
            "kind": title,
            "share": row[name],
            "low": row[f"{name}_low"],
            "high": row[f"{name}_high"],
        }
        for row in result.tables.get("frequency", ())
        for name, title in _KINDS.items()
    ]
    if not rows:
        return None
    groups = list(dict.fromkeys(row["group"] for row in rows))
    order = list(dict.fromkeys(row["seen"] for row in sorted(rows, key=lambda row: row["bin"])))
    x = alt.X(
        "seen:N", sort=order, title="times in the training data", axis=names_axis(labelAngle=-30)
    )
    y = alt.Y(
        "share:Q", title="memorized", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1])
    )
    panels = (
        [_bars(rows, group, x, y, 34 * len(order)) for group in groups]
        if len(groups) <= _FEW
        else [_lines(rows, kind, groups, x, y, 34 * len(order)) for kind in _KINDS.values()]
    )
    return alt.hconcat(*panels).resolve_scale(y="shared")


def _bars(rows: list[dict[str, Any]], group: str, x: Any, y: Any, width: int) -> Any:
    import altair as alt

    data = [row for row in rows if row["group"] == group]
    kinds = list(_KINDS.values())
    base = alt.Chart(alt.Data(values=data)).encode(
        x=x, xOffset=alt.XOffset("kind:N", sort=kinds[::-1])
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds[::-1], range=list(_COLOURS[::-1])),
        legend=alt.Legend(title="memorized"),
    )
    bars = base.mark_bar().encode(y=y, color=colour)
    reach = base.mark_rule(color="#333", strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    return alt.layer(bars, reach).properties(width=max(160, width), height=220, title=group)


def _lines(
    rows: list[dict[str, Any]], kind: str, groups: list[str], x: Any, y: Any, width: int
) -> Any:
    import altair as alt

    colour, shape = colour_and_shape(groups)
    data = [{**row, "source": row["group"]} for row in rows if row["kind"] == kind]
    base = alt.Chart(alt.Data(values=data)).encode(x=x, color=colour)
    line = base.mark_line(strokeWidth=2).encode(y=y)
    points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
    reach = base.mark_rule(opacity=0.35).encode(y="low:Q", y2="high:Q")
    return alt.layer(reach, line, points).properties(width=max(160, width), height=220, title=kind)
