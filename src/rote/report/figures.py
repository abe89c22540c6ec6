"""Results as Altair charts, saved as PNG, SVG, HTML or Vega-Lite JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report._grid import grid, ordered_sources

FORMATS = (".png", ".svg", ".html", ".json")
_REFERENCE, _OTHER = "#b2440e", "#2f5d8a"
_COLUMNS = 4


def values_chart(results: Sequence[Result]) -> Any:
    """One small panel per value: every source with its interval, the reference as a line."""
    import altair as alt

    reference = results[0].reference
    order = ordered_sources(results)
    panels = []
    for row in (row for result in results for row in grid(result)):
        data = [
            {
                "source": source,
                "estimate": cell.estimate,
                # A point without an interval still gets a (zero-width) bar: one mark for all.
                "low": cell.estimate if math.isnan(cell.low) else cell.low,
                "high": cell.estimate if math.isnan(cell.high) else cell.high,
                "role": "reference" if source == reference else "source",
            }
            for source, cell in row.cells.items()
            if not math.isnan(cell.estimate)
        ]
        if not data:
            continue
        y = alt.Y("source:N", sort=order, title=None)
        color = alt.Color(
            "role:N",
            legend=None,
            scale=alt.Scale(domain=["reference", "source"], range=[_REFERENCE, _OTHER]),
        )
        base = alt.Chart(alt.Data(values=data))
        scale = alt.Scale(zero=False, nice=True)
        bars = base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", scale=scale, title=None), x2="high:Q", y=y, color=color
        )
        points = base.mark_point(filled=True, size=55, opacity=1).encode(
            x=alt.X("estimate:Q", scale=scale, title=None), y=y, color=color
        )
        layers = [bars, points]
        if reference in row.cells and not math.isnan(row.cells[reference].estimate):
            line = alt.Data(values=[{"estimate": row.cells[reference].estimate}])
            rule = alt.Chart(line).mark_rule(strokeDash=[4, 3], color=_REFERENCE, opacity=0.7)
            layers.insert(0, rule.encode(x="estimate:Q"))
        higher = "" if row.higher == "neither" else f"higher: more {row.higher}"
        title = alt.TitleParams(row.title, subtitle=higher, fontSize=12, subtitleFontSize=10)
        panels.append(alt.layer(*layers).properties(width=150, height=18 * len(order), title=title))
    return alt.concat(*panels, columns=_COLUMNS).resolve_scale(x="independent")


def curve_chart(results: Sequence[Result]) -> Any:
    """How each length-sensitive value grows with the amount of text, one line per source."""
    import altair as alt

    panels, order = [], ordered_sources(results)
    for result in results:
        rows = result.tables.get("curve", ())
        titles = {row["value"]: row["title"] for row in result.tables["values"]}
        for name in dict.fromkeys(row["value"] for row in rows):
            # An undefined mean is nan here, null in a result that was read from JSON.
            data = [dict(row) for row in rows if row["value"] == name and _defined(row["mean"])]
            if not data:
                continue
            unit = "words" if "words" in data[0] else "texts"
            for row in data:
                row["low"], row["high"] = row["mean"] - row["sd"], row["mean"] + row["sd"]
            x = alt.X(
                f"{unit}:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(title=unit, format="~s", labelOverlap=True),
            )
            # The band is pale; its legend must not be.
            legend = alt.Legend(symbolOpacity=1, symbolType="circle")
            color = alt.Color("source:N", sort=order, title=None, legend=legend)
            base = alt.Chart(alt.Data(values=data)).encode(x=x, color=color)
            y = alt.Y("mean:Q", scale=alt.Scale(zero=False), title=None)
            band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
            line = base.mark_line(point=True).encode(y=y)
            panels.append(
                alt.layer(band, line).properties(width=220, height=150, title=titles[name])
            )
    if not panels:
        raise OptionError("no curve here: it needs --matched and a value that moves with length")
    return alt.concat(*panels, columns=3).resolve_scale(y="independent", x="independent")


def _defined(number: float | None) -> bool:
    return number is not None and not math.isnan(number)


def save(chart: Any, path: Path) -> None:
    """Write a chart; the format follows from the file's ending."""
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: figures end in one of {', '.join(FORMATS)}")
    keywords = {"scale_factor": 2.0} if path.suffix == ".png" else {}
    chart.save(str(path), **keywords)
