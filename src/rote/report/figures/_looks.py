"""A colour and a shape for every source, so that lines and points can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REFERENCE = "#b2440e"
# Far from the reference's red; where they run out, shapes tell the sources apart.
_COLOURS = ("#2f5d8a", "#4c9f70", "#8a5fa8", "#3aa6c2", "#7d7d2b", "#c27ba0", "#5b6b7a", "#d9a03f")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
NAME_WIDTH = 320


def names_axis(**settings: Any) -> Any:
    """An axis of names, which are shown whole."""
    import altair as alt

    return alt.Axis(labelLimit=NAME_WIDTH, **settings)


def colour_and_shape(names: Sequence[str], reference: str | None = None) -> tuple[Any, Any]:
    """The encodings of the field `source`; no two sources have both colour and shape in common."""
    import altair as alt

    legend = alt.Legend(labelLimit=NAME_WIDTH, symbolLimit=0, symbolOpacity=1, title=None)
    colours, shapes = {reference: REFERENCE}, {reference: _SHAPES[0]}
    for place, name in enumerate(name for name in names if name != reference):
        colours[name] = _COLOURS[place % len(_COLOURS)]
        shapes[name] = _SHAPES[place // len(_COLOURS) % len(_SHAPES)]
    domain = list(names)
    return (
        alt.Color(
            "source:N",
            scale=alt.Scale(domain=domain, range=[colours[name] for name in names]),
            legend=legend,
        ),
        alt.Shape(
            "source:N",
            scale=alt.Scale(domain=domain, range=[shapes[name] for name in names]),
            legend=legend,
        ),
    )
