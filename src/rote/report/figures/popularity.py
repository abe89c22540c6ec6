"""Figures of popularity, drawn from the tables alone: a result read from JSON will do.

`halves` is figure 1 of Ruzzetti et al. (2026): the accuracy of the less and the more popular half
of each task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.errors import OptionError
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape, names_axis
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
_COLOURS = {"low": "#9fb8d1", "high": "#2f5d8a"}


def figures(result: Result) -> dict[str, Any]:
    """Figure 1 where it is known what was answered rightly, and the popularity of the items."""
    charts = {
        "halves": halves(result),
        "deciles": deciles(result),
        "popularity": spread(result),
    }
    drawn = {name: chart for name, chart in charts.items() if chart is not None}
    if not drawn:
        raise OptionError("nothing to draw: no item has a score")
    return drawn


def halves(result: Result) -> Any:
    """Accuracy of low and high popularity side by side; a panel for each value of the first of
    several fields (formal, functional)."""
    import altair as alt

    panels = []
    for title, rows in _facets(result, "groups").items():
        order = list(dict.fromkeys(row["name"] for row in rows))
        x = alt.X("name:N", sort=order, title=None, axis=names_axis(labelAngle=-30))
        beside = alt.XOffset("popularity:N", sort=list(_COLOURS))
        y = alt.Y("accuracy:Q", title="accuracy", axis=alt.Axis(format=".0%"), scale=_whole())
        colour = alt.Color(
            "popularity:N",
            scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
            legend=alt.Legend(title="popularity"),
        )
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, xOffset=beside)
        bars = base.mark_bar().encode(y=y, color=colour)
        reach = base.mark_rule(color="#333", strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
        panels.append(
            alt.layer(bars, reach).properties(
                width=max(90, 60 * len(order)), height=220, title=title
            )
        )
    return alt.hconcat(*panels).resolve_scale(y="shared") if panels else None


def deciles(result: Result) -> Any:
    """Accuracy over the deciles of popularity, a line for each group."""
    import altair as alt

    panels = []
    for title, rows in _facets(result, "accuracy").items():
        names = list(dict.fromkeys(row["name"] for row in rows))
        colour, shape = colour_and_shape(names)
        data = [{**row, "source": row["name"]} for row in rows]
        base = alt.Chart(alt.Data(values=data)).encode(
            x=alt.X("decile:O", title="decile of popularity", axis=alt.Axis(labelAngle=0)),
            color=colour,
        )
        y = alt.Y("accuracy:Q", title="accuracy", axis=alt.Axis(format=".0%"), scale=_whole())
        line = base.mark_line(strokeWidth=2).encode(y=y)
        points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
        reach = base.mark_rule(opacity=0.35).encode(y="low:Q", y2="high:Q")
        panels.append(alt.layer(reach, line, points).properties(width=320, height=220, title=title))
    if not panels:
        return None
    return alt.hconcat(*panels).resolve_scale(color="independent", shape="independent")


def spread(result: Result) -> Any:
    """How the popularity of the right instances is spread in each group."""
    import altair as alt

    data = [
        {"name": harmless(row["group"]), "ips": row["ips"][row["answer"]]}
        for row in result.tables["items"]
        if row["answer"] is not None and defined(row["ips"][row["answer"]])
    ]
    if not data:
        return None
    order = [harmless(name) for name in result.sources]
    return (
        alt.Chart(alt.Data(values=data))
        .mark_boxplot(color=_COLOURS["high"], size=14, outliers={"size": 8, "opacity": 0.3})
        .encode(
            x=alt.X("ips:Q", title="popularity (IPS)", scale=alt.Scale(domain=[1, 10])),
            y=alt.Y("name:N", sort=order, title=None, axis=names_axis(labelAngle=-30)),
        )
        .properties(width=360, height=24 * len(order))
    )


def _facets(result: Result, table: str) -> dict[str, list[dict[str, Any]]]:
    """The rows with an accuracy, under what the first of several fields says."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in result.tables[table]:
        if not defined(row["accuracy"]):
            continue
        first, joint, rest = row["group"].partition(JOINT)
        title, name = (first, rest) if joint else ("", row["group"])
        # A share without an interval has one of no width: one mark for all.
        ends = {e: row[e] if defined(row[e]) else row["accuracy"] for e in ("low", "high")}
        found.setdefault(harmless(title), []).append({**row, **ends, "name": harmless(name)})
    return found


def _whole() -> Any:
    import altair as alt

    return alt.Scale(domain=[0, 1])
