"""A colour and a shape for every source, so that lines and points can be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REFERENCE = "#b2440e"
# Far from the reference's red; where they run out, shapes tell the sources apart.
_COLOURS = ("#2f5d8a", "#4c9f70", "#8a5fa8", "#3aa6c2", "#7d7d2b", "#c27ba0", "#5b6b7a", "#d9a03f")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
_NAME_WIDTH = 260


def colour_and_shape(names: Sequence[str]) -> tuple[Any, Any]:
    """The encodings of the field `source`; no two sources have both colour and shape in common."""
    import altair as alt

    legend = alt.Legend(labelLimit=_NAME_WIDTH, symbolLimit=0, symbolOpacity=1, title=None)
    colours = [_COLOURS[place % len(_COLOURS)] for place in range(len(names))]
    shapes = [_SHAPES[place // len(_COLOURS) % len(_SHAPES)] for place in range(len(names))]
    return (
        alt.Color("source:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
        alt.Shape("source:N", scale=alt.Scale(domain=names, range=shapes), legend=legend),
    )
