"""The figures of results: every chart that the record of a measure declares, and the values.

Drawn from a result alone: one read from JSON will do.
"""

from __future__ import annotations

import json
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
from rote.report._grid import grid, ordered_sources, split_panel
from rote.report._svg import html_file, png, spec, svg_file
from rote.report.figures.looks import LETTER, below_each_other, having
from rote.report.figures.shapes import ROLE, SHAPES, Panel
from rote.report.figures.verdicts import verdict_chart
from rote.report.terminal import harmless
from rote.report.verdicts import verdicts

FORMATS = (".png", ".svg", ".html", ".json")
_WIDTHS = {1: 420, 2: 300, 3: 220, 4: 220, 5: 220, 6: 220}
_NARROW, _ALL, _SMALL_LETTER = 160, 1000, 5.2
_AXIS = 50


def _values(rows: Rows, result: Result) -> Rows:
    """Every value of every source, beside the reference's."""
    drawn = []
    for row in grid(result) if rows else ():
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


def _curve(rows: Rows, result: Result) -> Rows:
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
    rows=_values,
    says="Every value of every source, with its interval; the dashed line is the reference.",
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
    rows=_curve,
    says="How each value that moves with length grows with the amount of text: sources are "
    "comparable where their lines stand above the same amount.",
)


def charts(measure: str) -> list[Chart]:
    """All charts of a measure, the main one first: the values of a measure of texts, and what its
    record declares. A study draws values where it says so."""
    try:
        known = registry.find(measure)
    except UnknownName:
        return [VALUES, CURVE]
    return [*([VALUES, CURVE] if isinstance(known, Metric) else []), *known.charts]


def figures(result: Result) -> dict[str, Any]:
    """Every figure that there is something to draw for, by name; the first is the main one."""
    drawn = {chart.name: draw(chart, [result]) for chart in charts(result.measure)}
    return {name: chart for name, chart in drawn.items() if chart is not None}


def panel_figure(results: Sequence[Result]) -> Any:
    """The figure of several measures on the same texts: their verdicts, or where no sources were
    compared, their values."""
    if any(facet.drawn for facet in verdicts(results)):
        return verdict_chart(results)
    if (drawn := draw(VALUES, results)) is None:
        raise OptionError("nothing to draw: no value is defined")
    return drawn


def panel_figures(results: Sequence[Result]) -> dict[str, Any]:
    """The figures of several measures on the same texts: their verdicts, the values of all, and
    those of each under its name."""
    drawn: dict[str, Any] = {}
    if any(facet.drawn for facet in verdicts(results)):
        drawn["verdicts"] = verdict_chart(results)
    drawn |= {chart.name: draw(chart, results) for chart in (VALUES, CURVE)}
    for result in results:
        for chart in charts(result.measure)[2:]:
            drawn[f"{result.measure}-{chart.name}"] = draw(chart, [result])
    return {name: chart for name, chart in drawn.items() if chart is not None}


def figure(result: Result, name: str | None = None) -> Any:
    """One figure by its name; without one the first. No other is drawn."""
    for chart in charts(result.measure):
        if name in (None, chart.name) and (drawn := draw(chart, [result])) is not None:
            return drawn
    if name is None or not (found := figures(result)):
        raise OptionError("nothing to draw: no value is defined")
    raise UnknownName("figure", name, list(found))


def draw(chart: Chart, results: Sequence[Result]) -> Any:
    """The chart of one result, or of several measures on the same texts; None if it is empty."""
    import altair as alt

    if not chart.table and not chart.rows:
        chart = VALUES
    # What a study draws is about the result as a whole; facets of texts have a figure each.
    whole = chart is not VALUES and isinstance(registry.of_result(results[0].measure), Study)
    parts = [("", list(results))] if whole else split_panel(results)
    facets = [(title, list(_clean(chart, own))) for title, own in parts]
    names = _names(chart, [row for _, rows in facets for row in rows], results)
    drawn = []
    for (title, rows), (_, own) in zip(facets, parts):
        panels = _panels(chart, rows, names, own[0].reference)
        if panels:
            shown = alt.concat(*panels, columns=_columns(chart, rows, panels))
            if chart.shape == "matrix" and chart.share:
                shown = shown.resolve_scale(color="independent")
            shown = panels[0] if len(panels) == 1 else shown
            drawn.append((title, shown.resolve_scale(y="shared") if chart.shared else shown))
    return below_each_other(drawn) if drawn else None


def _clean(chart: Chart, results: Sequence[Result]) -> Iterator[Row]:
    """The rows with the fields that are drawn; names cannot act on anything."""
    wanted = {chart.x, chart.y, chart.colour, *chart.panel, chart.hollow, chart.text, chart.weight}
    wanted |= {*chart.titles.values(), *chart.scales.values(), chart.format, str(chart.rule)}
    for result in results:
        rows = result.tables.get(chart.table, ())
        reference = harmless(result.reference or "")
        for row in chart.rows(rows, result) if chart.rows else rows:
            kept = {field: _safe(value) for field, value in row.items() if field in wanted}
            kept |= {field: _lines(row.get(field)) for field in chart.panel[1:2]}
            if chart.ends:
                for name, end in zip(("low", "high"), chart.ends):
                    kept[name] = row[end] if defined(row.get(end)) else kept[_number(chart, kept)]
            if chart.colour and not isinstance(kept[chart.colour], (int, float, type(None))):
                kept[chart.colour] = chart.names.get(kept[chart.colour], kept[chart.colour])
            if chart.shape == "lines" and chart.colour == "source" and reference:
                kept[ROLE] = "reference" if kept["source"] == reference else "source"
            yield kept


def _number(chart: Chart, row: Row) -> str:
    """The field with the number, without which a row is not drawn."""
    if chart.shape in ("matrix", "heat"):
        return chart.colour
    across = chart.shape in ("dots", "boxes", "histogram")
    across = across or (chart.shape == "bars" and isinstance(row[chart.y], str))
    return chart.x if across else chart.y


def _drawable(chart: Chart, row: Row) -> bool:
    return chart.shape == "matrix" or row[_number(chart, row)] is not None


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    return value if not isinstance(value, float) or defined(value) else None


def _lines(value: str | None) -> str:
    """What stands below a title may have several lines."""
    return "\n".join(map(harmless, (value or "").split("\n")))


def _names(chart: Chart, rows: Rows, results: Sequence[Result]) -> list[str]:
    """The values of the colours, in the order declared, else the reference first."""
    if not chart.colour or chart.shape in ("matrix", "heat"):
        return []
    found = dict.fromkeys(row[chart.colour] for row in rows if _drawable(chart, row))
    declared = [chart.names.get(name, name) for name in (*chart.names, *chart.colours)]
    if declared:
        return [name for name in dict.fromkeys(declared) if name in found]
    order = {harmless(name): place for place, name in enumerate(ordered_sources(results))}
    return sorted(found, key=lambda name: order.get(name, len(order)))


def _panels(chart: Chart, rows: Rows, names: Sequence[str], reference: str | None) -> list[Any]:

    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(field) or "" for field in chart.panel), []).append(row)
    kept = {key: own for key, own in groups.items() if any(_drawable(chart, row) for row in own)}
    width = _WIDTHS.get(len(kept), _NARROW)
    drawn = []
    for key, own in kept.items():
        shown = [row for row in own if _drawable(chart, row)]
        panel = Panel(
            chart, shown, names, harmless(reference or ""), width, _ordered(own, reference)
        )
        title, said = (*map(str, key), "", "")[:2]
        about = {
            "text": _one(textwrap.wrap(title, int(width / LETTER))),
            "subtitle": [
                line
                for part in said.split("\n")
                for line in textwrap.wrap(part, int(width / _SMALL_LETTER))
            ],
            "fontSize": 12,
            "subtitleFontSize": 10,
            "anchor": "start",
            "frame": "group",
        }
        made = SHAPES[chart.shape](panel)
        drawn.append(having(made, title=about) if title or said else made)
    return drawn


def _one(lines: Sequence[str]) -> str | list[str]:
    return list(lines) if len(lines) > 1 else "".join(lines)


def _ordered(rows: Rows, reference: str | None) -> Callable[[str], list[Any]]:
    """The values of a field as they come, the reference before all others."""
    first = harmless(reference or "")

    def order(field: str) -> list[Any]:
        return sorted(dict.fromkeys(row[field] for row in rows), key=lambda name: name != first)

    return order


def _columns(chart: Chart, rows: Rows, panels: Sequence[Any]) -> int:
    """How many panels have room side by side."""
    names = [str(row.get(chart.y, "")) for row in rows]
    beside = chart.shape in ("dots", "boxes", "matrix", "heat") or (
        chart.shape == "bars" and not isinstance(rows[0][chart.x], str)
    )
    width: Any = panels[0].width
    if chart.shape == "matrix":
        width = 44 * len(set(names))
    taken = width + (max(map(len, names)) * LETTER if beside else _AXIS) + 20
    return max(1, min(len(panels), int(_ALL // taken)))


def save(chart: Any, *paths: Path) -> None:
    """Write a chart; the format follows from the file's ending."""
    for path in paths:
        if path.suffix not in FORMATS:
            raise OptionError(f"{path}: figures end in one of {', '.join(FORMATS)}")
    said = spec(chart)
    drawn: dict[str, Callable[[], str | bytes]] = {
        ".svg": lambda: svg_file(said),
        ".png": lambda: png(said),
        ".json": lambda: json.dumps(parse_json(said)),
    }
    for path in paths:
        write_atomically(path, drawn.get(path.suffix, lambda: html_file(said))())
