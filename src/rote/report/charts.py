"""The figures of results: every chart that the record of a measure declares, values and verdicts.

Drawn from a result alone: one read from JSON will do. The figure of the verdicts shows the effects
of the sources in each aspect. Filled: the difference holds after correction; hollow: it does not;
a ring with a point: borderline.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rote.core import registry
from rote.core.chart import Chart
from rote.core.errors import OptionError, UnknownName
from rote.core.files import write_atomically
from rote.core.json_reader import parse_json
from rote.core.metric import Metric
from rote.core.record import Study
from rote.core.result import Result
from rote.core.table import Row, Rows, defined
from rote.report.grid import make_grid, order_sources, round_number, split_panel
from rote.report.shapes import (
    LETTER,
    REFERENCE,
    ROLE,
    SHAPES,
    ChartPanel,
    add_marks,
    chart_rows,
    layer_charts,
    names_axis,
    set_properties,
    stack_facets,
)
from rote.report.svg import chart_spec, render_html, render_png, render_svg
from rote.report.terminal import strip_controls
from rote.report.verdicts import (
    MEANING,
    Aspect,
    VerdictComparison,
    Verdicts,
    judge_facets,
    rank_sources,
)

FORMATS = (".png", ".svg", ".html", ".json")
_WIDTHS = {1: 420, 2: 300, 3: 220, 4: 220, 5: 220, 6: 220}
_NARROW_PANEL, _FIGURE_WIDTH, _SMALL_LETTER = 160, 1000, 5.2
_AXIS_WIDTH = 50


def _value_rows(rows: Rows, result: Result) -> Rows:
    drawn = []
    for row in make_grid(result) if rows else ():
        reference = row.cells.get(result.reference or "")
        for source, cell in row.cells.items():
            drawn.append(
                {
                    "measure": row.measure,
                    "title": row.title,
                    "said": row.aspect
                    + ("" if row.higher == "neither" else f"\nhigher: more {row.higher}"),
                    "source": source,
                    "estimate": cell.estimate,
                    "low": cell.low,
                    "high": cell.high,
                    "role": "reference" if source == result.reference else "source",
                    "reference": reference and reference.estimate,
                }
            )
    return drawn


def _curve_rows(rows: Rows, result: Result) -> Rows:
    titles = {row["value"]: row["title"] for row in result.tables.get("values", ())}
    aspect, drawn = registry.title_of(result), []
    for row in rows:
        unit = next(unit for unit in ("words", "sentences", "texts") if unit in row)
        ends = {"low": None, "high": None}
        if defined(row["mean"]):
            ends = {"low": row["mean"] - row["sd"], "high": row["mean"] + row["sd"]}
        about = {"measure": result.measure, "title": titles[row["value"]], "said": aspect}
        drawn.append({**row, **about, **ends, "size": row[unit], "unit": unit})
    return drawn


VALUES = Chart(
    "values",
    "Values",
    table="values",
    x="estimate",
    y="source",
    colour="role",
    colours={"reference": "reference", "source": "plain"},
    panel=("title", "said", "measure"),
    ends=("low", "high"),
    rule="reference",
    rows=_value_rows,
    says="All values of all sources with intervals; the dashed line is the reference.",
)
CURVE = Chart(
    "curve",
    "Values over the amount of text",
    table="curve",
    shape="lines",
    x="size",
    y="mean",
    colour="source",
    panel=("title", "said", "measure"),
    ends=("low", "high"),
    titles={"size": "unit"},
    scales={"size": "log"},
    rows=_curve_rows,
    says="How each length-dependent value grows with the amount of text: compare sources at the "
    "same amount.",
)


def list_charts(measure: str) -> list[Chart]:
    """All charts of a measure, the main one first; a study draws values where it says so."""
    try:
        known = registry.find(measure)
    except UnknownName:
        return [VALUES, CURVE]
    return [*([VALUES, CURVE] if isinstance(known, Metric) else []), *known.charts]


def draw_figures(result: Result) -> dict[str, Any]:
    """Every figure that there is something to draw for, by name; the first is the main one."""
    drawn = {chart.name: draw_chart(chart, [result]) for chart in list_charts(result.measure)}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def draw_panel(results: Sequence[Result]) -> Any:
    """The verdicts of several measures on the same texts, or their values without a comparison."""
    if any(facet.drawn for facet in judge_facets(results)):
        return draw_verdicts(results)
    if (drawn := draw_chart(VALUES, results)) is None:
        raise OptionError("nothing to plot: no value is defined")
    return drawn


def draw_panel_figures(results: Sequence[Result]) -> dict[str, Any]:
    """Verdicts, the values of all measures, and the figures of each under its name."""
    drawn: dict[str, Any] = {}
    if any(facet.drawn for facet in judge_facets(results)):
        drawn["verdicts"] = draw_verdicts(results)
    drawn |= {chart.name: draw_chart(chart, results) for chart in (VALUES, CURVE)}
    for result in results:
        for chart in list_charts(result.measure)[2:]:
            drawn[f"{result.measure}-{chart.name}"] = draw_chart(chart, [result])
    return {name: chart for name, chart in drawn.items() if chart is not None}


def draw_figure(result: Result, name: str | None = None) -> Any:
    """One figure by its name; without one the first. No other is drawn."""
    for chart in list_charts(result.measure):
        if name in (None, chart.name) and (drawn := draw_chart(chart, [result])) is not None:
            return drawn
    if name is None or not (drawn_figures := draw_figures(result)):
        raise OptionError("nothing to plot: no value is defined")
    raise UnknownName("figure", name, list(drawn_figures))


def draw_chart(chart: Chart, results: Sequence[Result]) -> Any:
    """The chart of one result, or of several measures on the same texts; None if it is empty."""
    import altair as alt

    if not chart.table and not chart.rows:
        chart = VALUES
    # What a study draws is about the result as a whole; facets of texts have a figure each.
    is_of_study = chart is not VALUES and isinstance(registry.of_result(results[0].measure), Study)
    parts = [("", list(results))] if is_of_study else split_panel(results)
    facets = [(title, list(_clean_rows(chart, part_results))) for title, part_results in parts]
    names = _colour_names(chart, [row for _, rows in facets for row in rows], results)
    drawn = []
    for (title, rows), (_, part_results) in zip(facets, parts):
        panels = _draw_panels(chart, rows, names, part_results[0].reference)
        if panels:
            figure = alt.concat(*panels, columns=_count_columns(chart, rows, panels))
            if chart.shape == "matrix" and chart.share:
                figure = figure.resolve_scale(color="independent")
            figure = panels[0] if len(panels) == 1 else figure
            drawn.append((title, figure.resolve_scale(y="shared") if chart.shared else figure))
    return stack_facets(drawn) if drawn else None


def _clean_rows(chart: Chart, results: Sequence[Result]) -> Iterator[Row]:
    """The rows with the fields that are drawn; names cannot act on anything."""
    wanted = {chart.x, chart.y, chart.colour, *chart.panel, chart.hollow, chart.text, chart.weight}
    wanted |= {*chart.titles.values(), *chart.scales.values(), chart.format, str(chart.rule)}
    for result in results:
        rows = result.tables.get(chart.table, ())
        reference = strip_controls(result.reference or "")
        for row in chart.rows(rows, result) if chart.rows else rows:
            cleaned = {n: _clean_value(value) for n, value in row.items() if n in wanted}
            for field in chart.panel[1:2]:  # what stands below a title may have several lines
                lines = (row.get(field) or "").split("\n")
                cleaned[field] = "\n".join(map(strip_controls, lines))
            for name, end in zip(("low", "high"), chart.ends or ()):
                known = defined(row.get(end))
                cleaned[name] = row[end] if known else cleaned[_number_field(chart, cleaned)]
            colour = cleaned[chart.colour] if chart.colour else None
            if not isinstance(colour, (int, float, type(None))):
                cleaned[chart.colour] = chart.names.get(colour, colour)
            if chart.shape == "lines" and chart.colour == "source" and reference:
                cleaned[ROLE] = "reference" if cleaned["source"] == reference else "source"
            yield cleaned


def _number_field(chart: Chart, row: Row) -> str:
    """The field with the number, without which a row is not drawn."""
    if chart.shape in ("matrix", "heat"):
        return chart.colour
    across = chart.shape in ("dots", "boxes", "histogram")
    across = across or (chart.shape == "bars" and isinstance(row[chart.y], str))
    return chart.x if across else chart.y


def _is_drawable(chart: Chart, row: Row) -> bool:
    return chart.shape == "matrix" or row[_number_field(chart, row)] is not None


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return strip_controls(value)
    return value if not isinstance(value, float) or defined(value) else None


def _colour_names(chart: Chart, rows: Rows, results: Sequence[Result]) -> list[str]:
    """The values of the colours, in the order declared, else the reference first."""
    if not chart.colour or chart.shape in ("matrix", "heat"):
        return []
    values = dict.fromkeys(row[chart.colour] for row in rows if _is_drawable(chart, row))
    declared = [chart.names.get(name, name) for name in (*chart.names, *chart.colours)]
    if declared:
        return [name for name in dict.fromkeys(declared) if name in values]
    order = {strip_controls(name): place for place, name in enumerate(order_sources(results))}
    return sorted(values, key=lambda name: order.get(name, len(order)))


def _draw_panels(
    chart: Chart, rows: Rows, names: Sequence[str], reference: str | None
) -> list[Any]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(field) or "" for field in chart.panel), []).append(row)
    groups = {k: part for k, part in groups.items() if any(_is_drawable(chart, r) for r in part)}
    width = _WIDTHS.get(len(groups), _NARROW_PANEL)
    room, first, drawn = int(width / _SMALL_LETTER), strip_controls(reference or ""), []
    for key, part in groups.items():
        drawable = [row for row in part if _is_drawable(chart, row)]
        panel = ChartPanel(chart, drawable, names, first, width, _field_order(part, first))
        title, subtitle = (*map(str, key), "", "")[:2]
        lines = textwrap.wrap(title, int(width / LETTER))
        about = {
            "text": lines if len(lines) > 1 else "".join(lines),
            "subtitle": [line for p in subtitle.split("\n") for line in textwrap.wrap(p, room)],
            "fontSize": 12,
            "subtitleFontSize": 10,
            "anchor": "start",
            "frame": "group",
        }
        drawn_panel = SHAPES[chart.shape](panel)
        drawn.append(set_properties(drawn_panel, title=about) if title or subtitle else drawn_panel)
    return drawn


def _field_order(rows: Rows, first: str) -> Callable[[str], list[Any]]:
    def order(field: str) -> list[Any]:
        return sorted(dict.fromkeys(row[field] for row in rows), key=lambda name: name != first)

    return order


def _count_columns(chart: Chart, rows: Rows, panels: Sequence[Any]) -> int:
    names = [str(row.get(chart.y, "")) for row in rows]
    beside = chart.shape in ("dots", "boxes", "matrix", "heat") or (
        chart.shape == "bars" and not isinstance(rows[0][chart.x], str)
    )
    width: Any = panels[0].width
    if chart.shape == "matrix":
        width = 44 * len(set(names))
    used_width = width + (max(map(len, names)) * LETTER if beside else _AXIS_WIDTH) + 20
    return max(1, min(len(panels), int(_FIGURE_WIDTH // used_width)))


def save_figure(chart: Any, *paths: Path) -> None:
    """Write a chart; the format follows from the file's ending."""
    for path in paths:
        if path.suffix not in FORMATS:
            raise OptionError(f"{path}: figures end in one of {', '.join(FORMATS)}")
    spec = chart_spec(chart)
    drawn: dict[str, Callable[[], str | bytes]] = {
        ".svg": lambda: render_svg(spec),
        ".png": lambda: render_png(spec),
        ".json": lambda: json.dumps(parse_json(spec)),
    }
    for path in paths:
        write_atomically(path, drawn.get(path.suffix, lambda: render_html(spec))())


_SIDE_COLOURS = {"right": REFERENCE, "left": "#00708a", "neither": "#6d4bc0", "none": "#6b7280"}
_STRIP_WIDTH, _STRIP_STEP, _SIZE_OFFSET = 260, 18, 58
_CAPTION_COLOUR, _CAPTION_WIDTH = "#555", 95
_MAX_COLUMNS = 2
_MARK_NAMES = {"differs": "Filled", "borderline": "Ring"}
_RING, _DOT, _POINT = 75, 55, 14
"""Sizes of marks: hollow, filled, and the point in a borderline one."""
_TITLE_GAP = "\u00a0" * 12


def draw_verdicts(results: Sequence[Result]) -> Any:
    facets = [facet for facet in judge_facets(results) if facet.drawn]
    if not facets:
        raise OptionError("nothing to plot: no sources were compared")
    return stack_facets([("", draw_facet(facet)) for facet in facets])


def draw_facet(facet: Verdicts) -> Any:
    import altair as alt

    if facet.reference is None:
        order, ranks_by_aspect = rank_sources(facet)
        rows = {
            aspect.name: [
                {
                    "source": strip_controls(source),
                    "at": rank.value,
                    "low": rank.value if math.isnan(rank.low) else rank.low,
                    "high": rank.value if math.isnan(rank.high) else rank.high,
                    "size": f"{round_number(rank.value)} {rank.letters}",
                    "look": "left",
                    "state": "differs",
                }
                for source, rank in ranks_by_aspect[aspect.name].items()
            ]
            for aspect in facet.drawn
        }
        caption = (
            "Values with their intervals. Sources that share a letter do not differ significantly."
        )
    else:
        order = list(facet.sources)
        rows = {a.name: [_verdict_row(c, facet) for c in a.drawn] for a in facet.drawn}
        key = [f"{_MARK_NAMES.get(state, 'Hollow')}: {MEANING[state]}." for state in facet.key]
        caption = " ".join([f"Line at 0: {facet.reference}.", *key, facet.reading_note])
    names = [strip_controls(name) for name in order]
    panels = [_aspect_panel(facet, aspect, rows[aspect.name], names) for aspect in facet.drawn]
    lines = textwrap.wrap(strip_controls(caption), _CAPTION_WIDTH)
    title: dict[str, Any] = {"text": strip_controls(facet.title), "subtitle": lines}
    title |= {"anchor": "start", "fontSize": 14, "subtitleFontSize": 11}
    title |= {"subtitleColor": _CAPTION_COLOUR, "offset": 12}
    columns = min(_MAX_COLUMNS, len(panels))
    return set_properties(alt.concat(*panels, columns=columns, spacing=18), title=title)


def _verdict_row(comparison: VerdictComparison, facet: Verdicts) -> dict[str, Any]:
    low, high = facet.bounds
    ends = (comparison.effect if math.isnan(end) else end for end in comparison.effect_interval)
    first, last = (min(max(end, low), high) for end in ends)
    side = "none" if comparison.state != "differs" else "right" if comparison.effect > 0 else "left"
    if side != "none" and comparison.row.higher == "neither":
        side = "neither"
    place: dict[str, Any] = {"at": comparison.effect, "low": first, "high": last}
    if math.isnan(comparison.effect):
        place = dict.fromkeys(place)
    name, look = strip_controls(comparison.source), {"look": side, "state": comparison.state}
    return {"source": name, **place, "size": comparison.size, **look}


def _aspect_panel(
    facet: Verdicts, aspect: Aspect, rows: Sequence[dict[str, Any]], names: Sequence[str]
) -> Any:
    import altair as alt

    left, right = aspect.ways
    if facet.reference is None and aspect.row.higher == "diverse":
        left, right = right, left
    title = f"← {left}{_TITLE_GAP}{right} →"
    scale: dict[str, Any] = {"nice": False, "zero": False, "padding": 6}
    if facet.reference is not None:
        scale["domain"] = list(facet.bounds)
    x = alt.X("at:Q", title=title, scale=scale, axis={"tickCount": 5, "titleFontWeight": "normal"})
    y = alt.Y("source:N", title=None, sort=list(names), axis=names_axis(ticks=False, domain=False))
    colour = {"domain": list(_SIDE_COLOURS), "range": list(_SIDE_COLOURS.values())}
    look = alt.Color("look:N", legend=None, scale=colour)
    base = chart_rows(rows).encode(y=y, color=look)
    layers = []
    if facet.reference is not None:
        zero = add_marks(chart_rows([{"at": 0.0}]), "rule", color="#222", strokeWidth=1.2)
        layers.append(zero.encode(x=x))
    reach = add_marks(base, "rule", strokeWidth=2)
    layers.append(reach.encode(x=alt.X("low:Q", scale=scale, title=title), x2=alt.X2("high:Q")))
    known = [row for row in rows if row["at"] is not None]
    hollow = [row for row in known if row["state"] != "differs"]
    filled = [row for row in known if row["state"] == "differs"]
    borderline = [row for row in known if row["state"] == "borderline"]
    for size, chosen in ((_RING, hollow), (_DOT, filled), (_POINT, borderline)):
        if not chosen:
            continue
        points = chart_rows(chosen).encode(y=y, color=look)
        fill: dict[str, Any] = {"fill": "white"} if size == _RING else {"filled": True}
        marks = add_marks(points, "point", **fill, size=size, opacity=1, strokeWidth=1.6)
        layers.append(marks.encode(x=x))
    sizes = add_marks(base, "text", align="right", dx=_SIZE_OFFSET, fontSize=11, color="#222")
    place, text = alt.XValue(_STRIP_WIDTH), alt.Text("size:N")
    layers.append(sizes.encode(x=place, text=text, color=alt.ColorValue("#222")))
    count, name = len({row["source"] for row in rows}), strip_controls(aspect.name)
    return set_properties(
        layer_charts(*layers),
        width=_STRIP_WIDTH,
        height=_STRIP_STEP * max(1, count),
        title={"text": name, "fontSize": 12, "anchor": "start", "frame": "group"},
    )
