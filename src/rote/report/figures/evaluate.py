"""Figures of an evaluation, drawn from the result alone: one read from JSON will do."""

from __future__ import annotations

import math
from typing import Any

from rote.core.errors import OptionError
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.report.figures._looks import colour_and_shape
from rote.report.terminal import harmless

_SOURCE = "source"
_NAME_WIDTH = 260


def figures(result: Result) -> dict[str, Any]:
    """The accuracy of each group."""
    chart = accuracy(result)
    if chart is None:
        raise OptionError("nothing to draw: no item was answered")
    return {"accuracy": chart}


def accuracy(result: Result) -> Any:
    """Accuracy with its interval, a line for each group, models beside each other; a grey mark
    where chance is."""
    import altair as alt

    rows = _rows(result)
    if not rows:
        return None
    names = list(dict.fromkeys(row["name"] for row in rows))
    models = list(dict.fromkeys(row["source"] for row in rows))
    colour, shape = colour_and_shape(models)
    if len(models) == 1:
        colour = alt.value("#2f5d8a")
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=_NAME_WIDTH))
    beside = alt.YOffset("source:N", sort=models)
    x = alt.X("accuracy:Q", title="accuracy", axis=alt.Axis(format=".0%"), scale=_whole())
    base = alt.Chart(alt.Data(values=rows)).encode(y=y, yOffset=beside)
    chance = base.transform_filter("isValid(datum.chance)").mark_tick(
        color="#999", thickness=2, size=14
    )
    reach = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, color=colour, shape=shape)
    if len(models) == 1:
        points = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, color=colour)
    layers = [chance.encode(x="chance:Q"), reach, points]
    height = max(22, 13 * len(models)) * len(names)
    return alt.layer(*layers).properties(width=420, height=height)


def _rows(result: Result) -> list[dict[str, Any]]:
    rows = []
    for group, found in result.sources.items():
        share = found.values.get("accuracy", math.nan)
        if math.isnan(share):
            continue
        fields = dict(zip(result.by, group.split(JOINT)))
        model = fields.pop(_SOURCE, "")
        low, high = found.intervals.get("accuracy", (share, share))
        chance = found.values.get("chance", math.nan)
        rows.append(
            {
                "name": harmless(JOINT.join(fields.values()) or "all items"),
                "source": harmless(model),
                "accuracy": share,
                "low": low,
                "high": high,
                "chance": None if math.isnan(chance) else chance,
            }
        )
    return rows


def _whole() -> Any:
    import altair as alt

    return alt.Scale(domain=[0, 1])
