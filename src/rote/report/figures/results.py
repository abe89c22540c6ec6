"""Results as Altair charts, saved as PNG, SVG, HTML or Vega-Lite JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report._facets import split_panel
from rote.report._grid import grid, ordered_sources
from rote.report.figures._looks import REFERENCE, colour_and_shape, names_axis
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

FORMATS = (".png", ".svg", ".html", ".json")
_OTHER = "#2f5d8a"
_COLUMNS = 4


def values_chart(results: Sequence[Result]) -> Any:
    """One small panel per value: every source with its interval, the reference as a line."""
    import altair as alt

    facets = [(title, _value_panels(parts)) for title, parts in split_panel(results)]
    drawn = [(title, panels) for title, panels in facets if panels]
    if not drawn:
        raise OptionError("nothing to draw: no value is defined for these texts")
    return below_each_other(
        [
            (title, alt.concat(*panels, columns=_COLUMNS).resolve_scale(x="independent"))
            for title, panels in drawn
        ]
    )


def _value_panels(results: Sequence[Result]) -> list[Any]:
    import altair as alt

    reference = results[0].reference
    order = [harmless(source) for source in ordered_sources(results)]
    panels = []
    for row in (row for result in results for row in grid(result)):
        data = [
            {
                "source": harmless(source),
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
        y = alt.Y("source:N", sort=order, title=None, axis=names_axis())
        color = alt.Color(
            "role:N",
            legend=None,
            scale=alt.Scale(domain=["reference", "source"], range=[REFERENCE, _OTHER]),
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
            rule = alt.Chart(line).mark_rule(strokeDash=[4, 3], color=REFERENCE, opacity=0.7)
            layers.insert(0, rule.encode(x="estimate:Q"))
        higher = "" if row.higher == "neither" else f"higher: more {row.higher}"
        title = alt.TitleParams(row.title, subtitle=higher, fontSize=12, subtitleFontSize=10)
        panels.append(alt.layer(*layers).properties(width=150, height=18 * len(order), title=title))
    return panels


def curve_chart(results: Sequence[Result]) -> Any:
    """How each value that moves with the number of texts grows, one line per source."""
    import altair as alt

    # A source has the same colour in every facet.
    facets = split_panel(results)
    order = list(dict.fromkeys(s for _, parts in facets for s in ordered_sources(parts)))
    drawn = []
    for title, parts in facets:
        panels = [panel for part in parts for panel in _curve_panels(part, order)]
        if panels:
            chart = alt.concat(*panels, columns=3).resolve_scale(y="independent", x="independent")
            drawn.append((title, chart))
    if not drawn:
        raise OptionError(
            "no curve here: it needs --matched and a value that moves with the number of texts"
        )
    return below_each_other(drawn)


def _curve_panels(result: Result, order: Sequence[str]) -> Iterator[Any]:
    import altair as alt

    names = [harmless(source) for source in order]
    color, shape = colour_and_shape(names, harmless(result.reference or ""))
    rows = result.tables.get("curve", ())
    titles = {row["value"]: row["title"] for row in result.tables["values"]}
    for name in dict.fromkeys(row["value"] for row in rows):
        # An undefined mean is nan here, null in a result that was read from JSON.
        data = [
            {
                **row,
                "source": harmless(row["source"]),
                "low": row["mean"] - row["sd"],
                "high": row["mean"] + row["sd"],
            }
            for row in rows
            if row["value"] == name and defined(row["mean"])
        ]
        if not data:
            continue
        unit = next(unit for unit in ("words", "sentences", "texts") if unit in data[0])
        x = alt.X(
            f"{unit}:Q",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(title=unit, format="~s", labelOverlap=True),
        )
        base = alt.Chart(alt.Data(values=data)).encode(x=x, color=color)
        y = alt.Y("mean:Q", scale=alt.Scale(zero=False), title=None)
        band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
        line = base.mark_line().encode(y=y)
        points = base.mark_point(filled=True, opacity=1).encode(y=y, shape=shape)
        yield alt.layer(band, line, points).properties(width=220, height=150, title=titles[name])


def below_each_other(charts: Sequence[tuple[str, Any]]) -> Any:
    """The chart of each facet under its title."""
    import altair as alt

    titled = [
        chart.properties(
            title=alt.TitleParams(harmless(title), anchor="start", fontSize=14, offset=8)
        )
        if title
        else chart
        for title, chart in charts
    ]
    # A concat of one would only nest: the chart as it is, for those who go on with it.
    return alt.vconcat(*titled, spacing=30) if len(titled) > 1 else titled[0]


def save(chart: Any, path: Path) -> None:
    """Write a chart; the format follows from the file's ending."""
    if path.suffix not in FORMATS:
        raise OptionError(f"{path}: figures end in one of {', '.join(FORMATS)}")
    keywords = {"scale_factor": 2.0} if path.suffix == ".png" else {}
    chart.save(str(path), **keywords)
