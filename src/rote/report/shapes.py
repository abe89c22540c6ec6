"""The shapes of charts, drawn with Altair, and their theme: colours, marks and axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.chart import Chart
from rote.report.terminal import strip_controls

REFERENCE, PLAIN, PALE = "#b2440e", "#2f5d8a", "#9fb8d1"
DASHES = {"source": [1, 0], "reference": [6, 3]}
_NAMED_COLOURS = {"plain": PLAIN, "reference": REFERENCE, "pale": PALE}
# Far from the reference's red; where they run out, shapes tell the names apart.
_COLOURS = (PLAIN, "#4c9f70", "#8a5fa8", "#3aa6c2", "#7d7d2b", "#c27ba0", "#5b6b7a", "#d9a03f")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
NAME_WIDTH = 320
LETTER = 6.2
"""Width of a letter in the name of a source."""
ROLE = "role"
"""The field that tells the reference from other sources."""
_DASHED: dict[str, Any] = {"strokeDash": [5, 3], "color": REFERENCE, "strokeWidth": 1.5}
_STEP, _BAR, _HEIGHT = 44, 13, 220
_BINS, _TICKS, _FEW_TICKS = 24, 5, 12
_DARK = 0.6
"""The colour from which on a number is written in white."""
_MAX_COLOURS = 15
"""Names with colours of their own; of more, nobody finds one in a legend."""


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """The rows of one panel, clean, with `low` and `high`; `names` are those of the colours in the
    whole figure, `order` the values of a field in order."""

    chart: Chart
    rows: Sequence[Mapping[str, Any]]
    names: Sequence[str]
    reference: str | None
    width: int
    order: Callable[[str], list[Any]]

    def field_text(self, what: str) -> str:
        """A title, format or scale: itself, or what an undrawn field of this name holds."""
        drawn = (self.chart.x, self.chart.y)
        return what if what in drawn else str(self.rows[0].get(what, what))

    @property
    def beside(self) -> bool:
        """Whether several colours share a name, so that they stand side by side."""
        along = self.chart.y if self.chart.shape == "dots" else self.chart.x
        pairs = {(row[along], row.get(self.chart.colour)) for row in self.rows}
        return len(pairs) > len({name for name, _ in pairs})

    def base(self, rows: Sequence[Mapping[str, Any]] | None = None, *more: str) -> Any:
        """The rows with the fields that are drawn, and `more`."""
        chart = self.chart
        drawn = {chart.x, chart.y, chart.colour, chart.hollow, chart.text, chart.weight, *more}
        drawn |= {"low", "high", ROLE}
        chosen_rows = self.rows if rows is None else rows
        return chart_rows({k: v for k, v in row.items() if k in drawn} for row in chosen_rows)

    def number(self, channel: str, name: str, of: str = "", **more: Any) -> Any:
        """An axis of numbers; the ends of an interval have that `of` their value."""
        import altair as alt

        chart, of = self.chart, of or name
        kind = self.field_text(chart.scales.get(of, ""))
        domain = chart.domain or ((0, 1) if chart.share else None)
        scale: dict[str, Any] = {"domain": list(domain), "clamp": True} if domain else {}
        if kind == "log":
            scale = {"type": "log", "nice": False}
        elif not domain:
            scale = {"zero": chart.zero, "nice": True}
        form = ".0%" if chart.share else self.field_text(chart.format) if chart.format else None
        axis: dict[str, Any] = {"format": form} if form else {}
        title = self.field_text(chart.titles.get(of, "")) or None
        axis = {"tickCount": _TICKS, "labelOverlap": True, **axis}
        encode = getattr(alt, channel.upper())
        return encode(f"{name}:Q", title=title, scale={**scale, **more}, axis=axis)

    def named(self, channel: str, name: str, angle: int = 0) -> Any:
        """An axis of names, or of numbers that are drawn like names."""
        import altair as alt

        title = self.field_text(self.chart.titles.get(name, "")) or None
        kind = "O" if self.chart.scales.get(name) == "ordinal" else "N"
        axis = names_axis(labelAngle=angle) if channel == "x" else names_axis()
        order = [value for value in self.order(name) if value is not None]
        return getattr(alt, channel.upper())(f"{name}:{kind}", sort=order, title=title, axis=axis)

    def look(self, channel: str, *, legend: bool = True) -> Any:
        """Colour, fill or shape; one where nothing is to be told apart."""
        chart = self.chart
        known = {chart.names.get(name, name): colour for name, colour in chart.colours.items()}
        if not chart.colour or not any(self.names):
            return encode_constant(channel, "circle" if channel == "shape" else PLAIN)
        if channel == "shape" and known:
            return encode_constant(channel, "circle")
        return encode_names(channel, chart.colour, self.names, self.reference, known, legend=legend)

    def rules(self, channel: str, of: str) -> list[Any]:
        """What the numbers are compared with: across the panel, or in each row."""
        rule = self.chart.rule
        if rule is None:
            return []
        rows = [row for row in self.rows if row.get(str(rule)) is not None]
        values = {row[rule] for row in rows} if isinstance(rule, str) else {rule}
        if len(values) == 1 and len(rows) in (0, len(self.rows)):
            across = add_marks(self.base([{of: values.pop()}]), "rule", **_DASHED)
            return [across.encode(**{channel: self.number(channel, of)})]
        marks = add_marks(self.base(rows, str(rule)), "tick", color="#999", thickness=2, size=14)
        return [marks.encode(**{channel: self.number(channel, str(rule), of)})] if values else []


def draw_dots(panel: ChartPanel) -> Any:
    """Names down, numbers across, with intervals; hollow dots may be chance."""
    import altair as alt

    chart, order = panel.chart, panel.order(panel.chart.y)
    beside = panel.beside
    base = {"y": panel.named("y", chart.y), "color": panel.look("color", legend=beside)}
    if beside:
        base["yOffset"] = alt.YOffset(f"{chart.colour}:N", sort=list(panel.names))
    place, rules = {k: v for k, v in base.items() if k != "color"}, panel.rules("x", chart.x)
    layers = [rule.encode(**place) if rule.mark["type"] == "tick" else rule for rule in rules]
    drawn = panel.base()
    if chart.ends:
        reach = add_marks(drawn, "rule", strokeWidth=2, opacity=0.6 if chart.hollow else 1)
        low = panel.number("x", "low", chart.x)
        layers.append(reach.encode(x=low, x2=alt.X2("high:Q"), **base))
    points = add_marks(drawn, "point", filled=not chart.hollow, size=55, opacity=1)
    more: dict[str, Any] = {"shape": panel.look("shape")} if beside else {}
    if chart.hollow:
        filled = alt.condition(f"datum.{chart.hollow}", alt.value(0), alt.value(1))
        more |= {"fill": panel.look("fill", legend=False), "fillOpacity": filled}
    layers.append(points.encode(x=panel.number("x", chart.x), **base, **more))
    each = max(18, _BAR * len(panel.names) if beside else 0)
    return set_properties(layer_charts(*layers), width=panel.width, height=each * len(order))


def draw_lines(panel: ChartPanel) -> Any:
    """A number over names, whose intervals stand side by side, or over numbers, with bands."""
    import altair as alt

    chart, steps = panel.chart, panel.chart.shape == "steps"
    x, y = chart.x, chart.y
    rows = [row for row in panel.rows if row[x] is not None]
    level = [row for row in panel.rows if row[x] is None]
    order = [value for value in panel.order(x) if value is not None]
    is_ordinal = chart.scales.get(x) == "ordinal" or any(isinstance(value, str) for value in order)
    width = max(panel.width, _STEP * len(order)) if is_ordinal else panel.width
    base: dict[str, Any] = {"color": panel.look("color")}
    if is_ordinal:
        wide = max(len(str(value)) for value in order) * LETTER > width / len(order)
        base["x"] = panel.named("x", x, angle=-30 if wide else 0)
        if chart.ends and panel.beside:
            place = {name: number for number, name in enumerate(panel.names)}
            rows = [{**row, "beside": place[row[chart.colour]]} for row in rows]
            domain = {"domain": [-2, len(place) + 1]}
            base["xOffset"] = alt.XOffset("beside:Q", scale=domain)
    else:
        base["x"] = _number_axis(panel, order)
    levels = (add_marks(panel.base([row]), "rule", **_DASHED) for row in level)
    layers = [mark.encode(y=panel.number("y", y)) for mark in levels] + panel.rules("y", y)
    drawn = panel.base(rows, "beside")
    if chart.ends:
        kind, opacity = ("rule", 0.5) if is_ordinal else ("area", 0.15)
        reach = add_marks(drawn, kind, opacity=opacity)
        layers.append(reach.encode(y=panel.number("y", "low", y), y2=alt.Y2("high:Q"), **base))
    step = {"interpolate": "step-after"} if steps else {}
    line = add_marks(drawn, "line", strokeWidth=2, **step)
    if any(ROLE in row for row in rows):
        scale = {"domain": list(DASHES), "range": list(DASHES.values())}
        line = line.encode(strokeDash=alt.StrokeDash(f"{ROLE}:N", legend=None, scale=scale))
    layers.append(line.encode(y=panel.number("y", y), **base))
    if not steps:
        points = add_marks(drawn, "point", filled=True, size=40, opacity=1)
        layers.append(points.encode(y=panel.number("y", y), shape=panel.look("shape"), **base))
    return set_properties(layer_charts(*layers), width=width, height=_HEIGHT)


def _number_axis(panel: ChartPanel, order: Sequence[float]) -> Any:
    import altair as alt

    chart = panel.chart
    log = panel.field_text(chart.scales.get(chart.x, "")) == "log"
    few = {"values": sorted(order)} if len(order) <= _FEW_TICKS else {"tickCount": _TICKS}
    title = panel.field_text(chart.titles.get(chart.x, "")) or None
    scale = {"type": "log" if log else "linear", "zero": False, "nice": False, "padding": 8}
    axis = {"format": "~s", "labelOverlap": True, "grid": False, **few}
    return alt.X(f"{chart.x}:Q", title=title, scale=scale, axis=axis)


def draw_bars(panel: ChartPanel) -> Any:
    """A bar for each name, those of one name side by side; upright where names are across."""
    import altair as alt

    chart = panel.chart
    upright = isinstance(panel.rows[0][chart.x], str)
    name, value = (chart.x, chart.y) if upright else (chart.y, chart.x)
    along, across = ("x", "y") if upright else ("y", "x")
    order, several = panel.order(name), len(panel.names) if chart.colour else 1
    size = max(panel.width, (20 + 20 * several) * len(order)) if upright else panel.width
    tight = max(len(str(name_value)) for name_value in order) * LETTER > size / len(order)
    base = {along: panel.named(along, name, angle=-30 if tight else 0)}
    if chart.colour:
        offset = alt.XOffset if upright else alt.YOffset
        base[f"{along}Offset"] = offset(f"{chart.colour}:N", sort=list(panel.names))
    drawn = add_marks(panel.base(), "bar", opacity=0.85)
    layers = [
        drawn.encode(**{across: panel.number(across, value)}, **base, color=panel.look("color"))
    ]
    if chart.ends:
        reach = add_marks(drawn, "rule", color="#333", strokeWidth=1.5)
        high = getattr(alt, f"{across.upper()}2")("high:Q")
        ends = {across: panel.number(across, "low", value), f"{across}2": high}
        layers.append(reach.encode(**ends, **base))
    layers += panel.rules(across, value)
    height = _HEIGHT if upright else max(18, 11 * several) * len(order)
    return set_properties(layer_charts(*layers), width=size, height=height)


def draw_matrix(panel: ChartPanel) -> Any:
    """Two names, a number as colour: a share from 0 or the least, anything else from -1 to 1."""
    import altair as alt

    chart = panel.chart
    value = chart.colour
    known = [row[value] for row in panel.rows if row[value] is not None]
    top = max(map(abs, known), default=1) or 1
    least = 0 if chart.zero else min(known, default=0)
    scale: dict[str, Any] = {"scheme": "blues", "domain": [least, top]}
    above = least + _DARK * (top - least)
    if not chart.share:
        ends = [REFERENCE, "#f7f7f7", PLAIN]
        scale, above = {"domain": [-1, 0, 1], "range": ends, "clamp": True}, _DARK
    order = list(dict.fromkeys([*panel.order(chart.y), *panel.order(chart.x)]))
    same = replace(panel, order=lambda field: order)
    base = {"x": same.named("x", chart.x, angle=-40), "y": same.named("y", chart.y)}
    form = chart.format or ".0%"
    legend = {"format": form} if chart.share else {}
    shade = alt.Color(f"{value}:Q", title=chart.titles.get(value), scale=scale, legend=legend)
    drawn = panel.base()
    squares = add_marks(drawn, "rect", stroke="white").encode(color=shade, **base)
    text = alt.Text(f"{chart.text}:N") if chart.text else alt.Text(f"{value}:Q", format=form)
    light = alt.condition(f"abs(datum.{value}) > {above}", alt.value("white"), alt.value("#222"))
    numbers = add_marks(drawn, "text", fontSize=11).encode(text=text, color=light, **base)
    return set_properties(layer_charts(squares, numbers), width=alt.Step(44), height=alt.Step(30))


def draw_heat(panel: ChartPanel) -> Any:
    import altair as alt

    chart = panel.chart
    scale: dict[str, Any] = {"scheme": "blues", "domain": list(chart.domain or (0, 1))}
    title = chart.titles.get(chart.colour)
    shade = alt.Color(f"{chart.colour}:Q", title=title, scale=scale)
    across = alt.X("low:Q", title=chart.titles.get(chart.x), scale={"nice": False, "zero": True})
    down = panel.named("y", chart.y)
    marks = add_marks(panel.base(), "rect")
    drawn = marks.encode(x=across, x2=alt.X2("high:Q"), y=down, color=shade)
    return set_properties(drawn, width=panel.width, height=alt.Step(18))


def draw_boxes(panel: ChartPanel) -> Any:
    chart = panel.chart
    few = {"size": 8, "opacity": 0.3}
    boxes = add_marks(panel.base(), "boxplot", color=PLAIN, size=14, outliers=few)
    drawn = boxes.encode(x=panel.number("x", chart.x), y=panel.named("y", chart.y))
    return set_properties(drawn, width=panel.width, height=24 * len(panel.order(chart.y)))


def draw_histogram(panel: ChartPanel) -> Any:
    import altair as alt

    chart = panel.chart
    bins, count = alt.Bin(maxbins=_BINS), f"sum({chart.weight})" if chart.weight else "count()"
    x = alt.X(f"{chart.x}:Q", bin=bins, title=chart.titles.get(chart.x))
    y = alt.Y(f"{count}:Q", stack=None, title=chart.titles.get(chart.y))
    bars = add_marks(panel.base(), "bar", opacity=0.55)
    drawn = bars.encode(x=x, y=y, color=panel.look("color"))
    return set_properties(drawn, width=panel.width, height=_HEIGHT)


def draw_points(panel: ChartPanel) -> Any:
    """Two numbers; of many colours, the name is told on the screen alone."""
    import altair as alt

    chart = panel.chart
    look = {channel: panel.look(channel) for channel in ("color", "shape")}
    if len(panel.names) > _MAX_COLOURS:
        look = {"color": encode_constant("color", PLAIN)}
        look |= {"tooltip": alt.Tooltip(f"{chart.colour}:N")}
    drawn = add_marks(panel.base(), "point", filled=True, size=60, opacity=1)
    axes = {channel: panel.number(channel, channel, padding=12) for channel in ("x", "y")}
    return set_properties(drawn.encode(**axes, **look), width=panel.width, height=200)


def draw_tree(panel: ChartPanel) -> Any:
    """Branches that meet where a number says, with the names of the leaves to the right."""
    import altair as alt

    chart, drawn = panel.chart, panel.base()
    places = sorted({row[chart.y] for row in panel.rows})
    scale = {"domain": [-0.5, places[-1] + 0.5], "reverse": True, "zero": False, "nice": False}
    base = {"x": panel.number("x", chart.x), "y": alt.Y(f"{chart.y}:Q", axis=None, scale=scale)}
    branches = add_marks(drawn, "line", strokeWidth=1.5, color=PLAIN)
    detail, order = alt.Detail(f"{chart.colour}:N"), alt.Order(f"{chart.weight}:Q")
    branches = branches.encode(detail=detail, order=order, **base)
    leaves = panel.base([row for row in panel.rows if row[chart.text]])
    names = add_marks(leaves, "text", align="left", dx=5, fontSize=11)
    names = names.encode(text=alt.Text(f"{chart.text}:N"), **base)
    height = 18 * int(places[-1] + 1)
    return set_properties(layer_charts(branches, names), width=panel.width, height=height)


SHAPES: Mapping[str, Callable[[ChartPanel], Any]] = {
    "dots": draw_dots,
    "lines": draw_lines,
    "steps": draw_lines,
    "bars": draw_bars,
    "matrix": draw_matrix,
    "heat": draw_heat,
    "boxes": draw_boxes,
    "histogram": draw_histogram,
    "points": draw_points,
    "tree": draw_tree,
}


# Marks, axes, scales, legends and titles are dicts: Altair copies a chart with every step, and its
# own objects have a place for each setting that there is, which took most of the time of a figure.


def chart_rows(rows: Iterable[Mapping[str, Any]]) -> Any:
    """All charts that are made of it share the rows, and nobody validates them: tests do."""
    import altair as alt
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        data = alt.Data(values=tuple(rows))
    _share(data)
    return alt.Chart(data)


def set_properties(chart: Any, **settings: Any) -> Any:
    """The chart with a size or a title; no copy, which would make all layers again."""
    for name, value in settings.items():
        chart[name] = value
    return chart


def add_marks(base: Any, kind: str, **settings: Any) -> Any:
    copy = base.copy(deep=False)
    copy.mark = {"type": kind, **settings}
    return copy


def layer_charts(*layers: Any) -> Any:
    """The charts over each other. What they encode is settled by now, so all that is made of them
    shares it: copies would take half the time of a figure."""
    import altair as alt

    for layer in layers:
        if isinstance(layer.encoding, alt.SchemaBase):
            _share(layer.encoding)
    return alt.layer(*layers)


def _share(part: Any) -> None:
    """A copy of a chart has this very part."""
    object.__setattr__(part, "__deepcopy__", lambda _: part)


def stack_facets(drawn: Sequence[tuple[str, Any]]) -> Any:
    import altair as alt

    titled = []
    for title, chart in drawn:
        look = {"text": strip_controls(title), "anchor": "start", "fontSize": 14, "offset": 8}
        titled.append(alt.concat(chart).properties(title=look) if title else chart)
    # A concat of one would only nest: the chart as it is, for those who go on with it.
    return alt.vconcat(*titled, spacing=30) if len(titled) > 1 else titled[0]


def names_axis(**settings: Any) -> dict[str, Any]:
    return {"labelLimit": NAME_WIDTH, **settings}


def encode_names(
    channel: str,
    field: str,
    names: Sequence[str],
    reference: str | None = None,
    colours: Mapping[str, str] | None = None,
    *,
    legend: bool = True,
) -> Any:
    """Colour, fill or shape of the values of a field: no two alike in both; `colours` by name."""
    import altair as alt

    drawn, shapes = {reference: REFERENCE}, {reference: _SHAPES[0]}
    for place, name in enumerate(name for name in names if name != reference):
        drawn[name] = _COLOURS[place % len(_COLOURS)]
        shapes[name] = _SHAPES[place // len(_COLOURS) % len(_SHAPES)]
    drawn |= {name: _NAMED_COLOURS[colour] for name, colour in (colours or {}).items()}
    chosen = shapes if channel == "shape" else drawn
    scale = {"domain": list(names), "range": [chosen[name] for name in names]}
    look = {"labelLimit": NAME_WIDTH, "symbolLimit": 0, "symbolOpacity": 1, "title": None}
    encode = getattr(alt, channel.capitalize())
    return encode(f"{field}:N", scale=scale, legend=look if legend else None)


def encode_constant(channel: str, value: str) -> Any:
    """One look for everything: an object, since Altair is slow to read a string."""
    import altair as alt

    return getattr(alt, f"{channel.capitalize()}Value")(value)
