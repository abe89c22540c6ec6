"""The panel as one picture: all sources on all aspects of diversity, one row of cells per task.

A column is an aspect, drawn so that right is more diverse in every one of them; its scale is
the same for all tasks. The reference is a line with its interval, what the texts were made from
is a line too (figure 1 of Guo et al.); hollow marks are values at equal size.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rote.core.errors import OptionError
from rote.core.facets import is_input
from rote.core.registry import main_values
from rote.core.result import Result
from rote.report._grid import SIGNIFICANT, Cell, GridRow, Verdict, grid, split_panel
from rote.report.figures.looks import REFERENCE, charted, having, layered, marked, round_ticks
from rote.report.terminal import harmless

_INPUT, _SURE, _UNSURE, _UNTESTED = "#5f6b3a", "#2f5d8a", "#9fb8d1", "#8a8a8a"
_ROLES = {
    "reference": REFERENCE,
    "input": _INPUT,
    "differs": _SURE,
    "may not differ": _UNSURE,
    "not tested": _UNTESTED,
}
_SAID, _TASK = "#555", "#222"
_WIDTH, _GAP, _LETTER = 132, 14, 6.2
_PAGE, _SMALL = 1000, 6.0
"""What is seen of a wide figure at first, and a letter of the caption."""
_SAME = 1e-6


@dataclass(frozen=True, slots=True)
class Column:
    """One aspect: a value of a measure, over all facets."""

    measure: str
    value: str
    title: str
    higher: str
    low: float
    high: float

    def diversity(self, cell: Cell) -> float:
        """The value with its sign such that more is more diverse."""
        return -cell.estimate if self.higher == "repetitive" else cell.estimate


@dataclass(frozen=True, slots=True)
class Band:
    """The cells of one facet, by column."""

    title: str
    reference: str | None
    sources: tuple[str, ...]
    rows: dict[tuple[str, str], GridRow]

    def cell(self, column: Column, source: str | None) -> Cell | None:
        row = self.rows.get((column.measure, column.value))
        return None if row is None or source is None else row.cells.get(source)


def panel_chart(results: Sequence[Result]) -> Any:
    """Columns are the aspects, rows the facets, and in each cell every source has a line."""
    import altair as alt

    bands = [_band(title, parts) for title, parts in split_panel(results)]
    columns = _columns(bands)
    if not columns:
        raise OptionError("nothing to draw: no value of the panel is defined for these texts")
    bands = _by_diversity(bands, columns)
    cells = _heads(columns)
    for number, band in enumerate(bands):
        for place, column in enumerate(columns):
            first, last = place == 0, number == len(bands) - 1
            cell = _cell(band, column, names=first, axis=last)
            cells.append(having(cell, title=_task(band)) if first and band.title else cell)
    names = max(len(source) for band in bands for source in band.sources) * _LETTER
    width = int(names + len(columns) * (_WIDTH + _GAP))
    return (
        alt.concat(*cells, columns=len(columns), spacing={"row": 8, "column": _GAP})
        .resolve_scale(x="independent", y="independent")
        .properties(title=_caption(results, bands, columns, width))
        .configure_view(stroke="#d5d9de")
        .configure_axis(gridColor="#eceff2", domainColor="#d5d9de", tickColor="#d5d9de")
    )


def _band(title: str, parts: Sequence[Result]) -> Band:
    reference = parts[0].reference
    names = dict.fromkeys(source for part in parts for source in part.sources)
    order = sorted(names, key=lambda name: (name != reference, not is_input(name)))
    rows: dict[tuple[str, str], GridRow] = {}
    for part in parts:
        found = {row.value: row for row in grid(part)}
        chosen = main_values(part.measure, list(found))
        rows |= {(part.measure, value): found[value] for value in chosen}
    return Band(title, reference, tuple(order), rows)


def _columns(bands: Sequence[Band]) -> list[Column]:
    """The aspects in the order of the panel, each with the range of all that is drawn in it."""
    found: dict[tuple[str, str], list[GridRow]] = {}
    for band in bands:
        for key, row in band.rows.items():
            found.setdefault(key, []).append(row)
    columns = []
    for (measure, value), rows in found.items():
        shown = [n for row in rows for cell in row.cells.values() for n in _extent(cell)]
        if shown:
            first = rows[0]
            low, high = min(shown), max(shown)
            largest = max(abs(low), abs(high))
            # What differs by less than that is one value: nobody reads so many digits.
            apart = high - low if high - low > _SAME * largest else 0.0
            margin = 0.07 * apart or 0.05 * largest or 1.0
            columns.append(
                Column(measure, value, first.title, first.higher, low - margin, high + margin)
            )
    return columns


def _extent(cell: Cell) -> list[float]:
    """All numbers of a cell that are drawn; none where it is undefined."""
    if math.isnan(cell.estimate):
        return []
    spread = 0.0 if math.isnan(cell.matched_sd) else cell.matched_sd
    numbers = (cell.estimate, cell.low, cell.high, cell.matched - spread, cell.matched + spread)
    return [number for number in numbers if not math.isnan(number)]


def _by_diversity(bands: Sequence[Band], columns: Sequence[Column]) -> list[Band]:
    """From the least to the most diverse reference: mean rank over the aspects.

    A facet without a reference comes after all others.
    """
    ranks: dict[str, list[int]] = {band.title: [] for band in bands}
    for column in columns:
        values = {}
        for band in bands:
            cell = band.cell(column, band.reference)
            if cell is not None and not math.isnan(cell.estimate):
                values[band.title] = column.diversity(cell)
        for rank, title in enumerate(sorted(values, key=lambda title: values[title])):
            ranks[title].append(rank)
    mean = {title: sum(own) / len(own) if own else math.inf for title, own in ranks.items()}
    return sorted(bands, key=lambda band: mean[band.title])


def _task(band: Band) -> Any:
    """The name of a facet, above the names of its sources."""
    look: dict[str, Any] = {"fontSize": 12, "offset": 4, "color": _TASK}
    return {"text": harmless(band.title), "anchor": "start", "frame": "bounds", **look}


def _cell(band: Band, column: Column, *, names: bool, axis: bool) -> Any:
    """One aspect of one facet."""
    import altair as alt

    y = alt.Y(
        "source:N",
        title=None,
        scale={"domain": [harmless(source) for source in band.sources]},
        axis={
            "labels": names,
            "ticks": False,
            "domain": False,
            "labelLimit": 0,
            "labelPadding": 6,
        },
    )
    color = alt.Color(
        "role:N", legend=None, scale={"domain": list(_ROLES), "range": list(_ROLES.values())}
    )
    layers, step = _lines(band, column, axis), 22 if len(band.sources) <= 3 else 17
    for filled in (False, True):
        rows = _points(band, column, equal=not filled)
        if not rows:
            continue
        base = charted(rows).encode(y=y, color=color)
        reach = marked(base, "rule", strokeWidth=1.8 if filled else 0.9)
        points = marked(
            base, "point", filled=filled, size=42 if filled else 75, opacity=1, strokeWidth=1.2
        )
        layers.append(reach.encode(x=_x("low", column, axis), x2=alt.X2("high:Q")))
        layers.append(points.encode(x=_x("value", column, axis)))
    return having(layered(*layers), width=_WIDTH, height=step * len(band.sources))


def _heads(columns: Sequence[Column]) -> list[Any]:
    """The titles above the columns."""
    import altair as alt

    wrapped = [textwrap.wrap(harmless(column.title), int(_WIDTH / 5.2)) for column in columns]
    most = max(map(len, wrapped))
    return [
        having(
            marked(charted([{}]), "point", opacity=0),
            width=_WIDTH,
            height=1,
            view=alt.ViewConfig(stroke=None),
            title={
                "text": harmless(column.measure),
                # Blank lines keep all of them at one height.
                "subtitle": [*lines, *[" "] * (most - len(lines))],
                "fontSize": 12,
                "subtitleFontSize": 10,
                "subtitleColor": _SAID,
                "anchor": "start",
                "frame": "group",
                "offset": 0,
            },
        )
        for column, lines in zip(columns, wrapped)
    ]


def _x(field: str, column: Column, labels: bool) -> Any:
    import altair as alt

    repetitive = column.higher == "repetitive"
    ticks = round_ticks(column.low, column.high, _WIDTH, _GAP / 2 - 2)
    return alt.X(
        f"{field}:Q",
        title=None,
        scale={
            "domain": [column.low, column.high],
            "nice": False,
            "zero": False,
            "reverse": repetitive,
        },
        axis={
            "values": list(ticks.values),
            "format": ticks.format,
            "labels": labels,
            "ticks": labels,
            "labelFlush": False,
            "labelOverlap": "greedy",
        },
    )


def _lines(band: Band, column: Column, labels: bool) -> list[Any]:
    """The reference across the cell, with its interval and its value at equal size; the input."""
    import altair as alt

    layers = []
    reference = band.cell(column, band.reference)
    if reference is not None and not math.isnan(reference.low):
        data = charted([{"low": reference.low, "high": reference.high}])
        area = marked(data, "rect", color=REFERENCE, opacity=0.1)
        layers.append(area.encode(x=_x("low", column, labels), x2=alt.X2("high:Q")))
    inputs = [band.cell(column, source) for source in band.sources if is_input(source)]
    for cell, color, dash in (
        (reference, REFERENCE, [4, 3]),
        *((cell, _INPUT, [1, 3]) for cell in inputs),
    ):
        if cell is not None and not math.isnan(cell.estimate):
            data = charted([{"value": cell.estimate}])
            rule = marked(data, "rule", strokeDash=dash, color=color, strokeWidth=1.2)
            layers.append(rule.encode(x=_x("value", column, labels)))
    return layers


def _points(band: Band, column: Column, *, equal: bool) -> list[dict[str, Any]]:
    """Every source as it is, or at equal size with the spread of the draws. A point without an
    interval gets one of no width."""
    rows = []
    for source in band.sources:
        cell = band.cell(column, source)
        if cell is None:
            continue
        value, low, high, verdict = cell.estimate, cell.low, cell.high, cell.verdict
        if equal:
            value, spread, verdict = cell.matched, cell.matched_sd, cell.matched_verdict
            low, high = value - spread, value + spread
        if not math.isnan(value):
            low, high = (value if math.isnan(end) else end for end in (low, high))
            point = {"source": harmless(source), "value": value, "low": low, "high": high}
            rows.append({**point, "role": _role(source, band, verdict)})
    return rows


def _role(source: str, band: Band, verdict: Verdict) -> str:
    if source == band.reference:
        return "reference"
    if is_input(source):
        return "input"
    return "may not differ" if verdict == "not found" else verdict


def _caption(
    results: Sequence[Result], bands: Sequence[Band], columns: Sequence[Column], width: int
) -> Any:
    """What the signs mean; only of those that are there."""
    reference = harmless(results[0].reference or "")
    interval = next((result.interval for result in results if result.interval), None)
    cells = [cell for band in bands for row in band.rows.values() for cell in row.cells.values()]
    said = []
    if interval:
        said.append(f"Bars: {interval.level:.0%} interval.")
    if any(band.reference for band in bands):
        said.append(f"Dashed line: {reference}{', with its interval' if interval else ''}.")
    if any(is_input(source) for band in bands for source in band.sources):
        said.append("Dotted line: what the texts were made from.")
    roles = {
        row["role"]
        for band in bands
        for column in columns
        for equal in (False, True)
        for row in _points(band, column, equal=equal)
    }
    if "may not differ" in roles:
        said.append(f"Pale: not told apart from {reference} (corrected p ≥ {SIGNIFICANT}).")
    if "not tested" in roles and reference:
        said.append("Grey: not tested.")
    if any(not math.isnan(cell.matched) for cell in cells):
        said.append("Ring: at equal length, with the spread of draws.")
    if len(bands) > 1:
        said.append(
            f"Top to bottom: less to more diverse {reference}, by mean rank over the columns."
        )
    if any(column.higher == "repetitive" for column in columns):
        said.append("Axes of ratios and repetition run from right to left.")
    return {
        "text": "Right is more diverse",
        "subtitle": textwrap.wrap(" ".join(said), max(40, int(min(width, _PAGE) / _SMALL))),
        "anchor": "start",
        "fontSize": 14,
        "subtitleFontSize": 11,
        "subtitleColor": _SAID,
        "offset": 14,
    }
