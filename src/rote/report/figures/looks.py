"""The one look of all figures: colours and shapes of names, axes of names and of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from rote.report.terminal import harmless

REFERENCE, PLAIN, PALE = "#b2440e", "#2f5d8a", "#9fb8d1"
DASHES = {"source": [1, 0], "reference": [6, 3]}
_MARKED = {"plain": PLAIN, "reference": REFERENCE, "pale": PALE}
# Far from the reference's red; where they run out, shapes tell the names apart.
_COLOURS = (PLAIN, "#4c9f70", "#8a5fa8", "#3aa6c2", "#7d7d2b", "#c27ba0", "#5b6b7a", "#d9a03f")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
NAME_WIDTH = 320
LETTER = 6.2
"""Width of a letter in the name of a source."""


# Marks, axes, scales, legends and titles are dicts: Altair copies a chart with every step, and its
# own objects have a place for each setting that there is, which took most of the time of a figure.


def charted(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A chart of some rows. All that is made of it shares them, and nobody looks through them:
    tests do, at whole figures."""
    import altair as alt
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        data = alt.Data(values=tuple(rows))
    object.__setattr__(data, "__deepcopy__", partial(_itself, data))
    return alt.Chart(data)


def having(chart: Any, **settings: Any) -> Any:
    """The chart, which was just made, with a size or a title; no copy, which would make all layers
    again."""
    for name, value in settings.items():
        chart[name] = value
    return chart


def marked(base: Any, kind: str, **settings: Any) -> Any:
    """The chart with marks of one kind."""
    made = base.copy(deep=False)
    made.mark = {"type": kind, **settings}
    return made


def layered(*layers: Any) -> Any:
    """The charts over each other. What they encode is settled by now, so all that is made of them
    shares it: copies would take half the time of a figure."""
    import altair as alt

    for layer in layers:
        if isinstance(layer.encoding, alt.SchemaBase):
            object.__setattr__(layer.encoding, "__deepcopy__", partial(_itself, layer.encoding))
    return alt.layer(*layers)


def _itself(shared: Any, _: Any) -> Any:
    return shared


def below_each_other(drawn: Sequence[tuple[str, Any]]) -> Any:
    """The chart of each facet under its title."""
    import altair as alt

    titled = [
        alt.concat(chart).properties(
            title={"text": harmless(title), "anchor": "start", "fontSize": 14, "offset": 8}
        )
        if title
        else chart
        for title, chart in drawn
    ]
    # A concat of one would only nest: the chart as it is, for those who go on with it.
    return alt.vconcat(*titled, spacing=30) if len(titled) > 1 else titled[0]


def names_axis(**settings: Any) -> dict[str, Any]:
    """An axis of names, which are shown whole."""
    return {"labelLimit": NAME_WIDTH, **settings}


def paint(
    channel: str,
    field: str,
    names: Sequence[str],
    reference: str | None = None,
    colours: Mapping[str, str] | None = None,
    *,
    legend: bool = True,
) -> Any:
    """Colour, fill or shape of the values of a field; no two have both colour and shape in common.

    `colours` are looks by name, for values that mean something.
    """
    import altair as alt

    drawn, shapes = {reference: REFERENCE}, {reference: _SHAPES[0]}
    for place, name in enumerate(name for name in names if name != reference):
        drawn[name] = _COLOURS[place % len(_COLOURS)]
        shapes[name] = _SHAPES[place // len(_COLOURS) % len(_SHAPES)]
    drawn |= {name: _MARKED[colour] for name, colour in (colours or {}).items()}
    chosen = shapes if channel == "shape" else drawn
    return getattr(alt, channel.capitalize())(
        f"{field}:N",
        scale={"domain": list(names), "range": [chosen[name] for name in names]},
        legend={"labelLimit": NAME_WIDTH, "symbolLimit": 0, "symbolOpacity": 1, "title": None}
        if legend
        else None,
    )


def fixed(channel: str, value: str) -> Any:
    """One look for everything. Like all that is given to Altair, an object: what a string or a
    dictionary stands for, it takes as long to find out as for half a figure."""
    import altair as alt

    return getattr(alt, f"{channel.capitalize()}Value")(value)
