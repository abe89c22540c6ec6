"""The one look of all figures: colours and shapes of names, axes of names and of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

REFERENCE, PLAIN, PALE = "#b2440e", "#2f5d8a", "#9fb8d1"
DASHES = {"source": [1, 0], "reference": [6, 3]}
_MARKED = {"plain": PLAIN, "reference": REFERENCE, "pale": PALE}
# Far from the reference's red; where they run out, shapes tell the names apart.
_COLOURS = (PLAIN, "#4c9f70", "#8a5fa8", "#3aa6c2", "#7d7d2b", "#c27ba0", "#5b6b7a", "#d9a03f")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross")
NAME_WIDTH = 320
LETTER = 6.2
"""Width of a letter in the name of a source."""


def names_axis(**settings: Any) -> Any:
    """An axis of names, which are shown whole."""
    import altair as alt

    return alt.Axis(labelLimit=NAME_WIDTH, **settings)


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
        scale=alt.Scale(domain=list(names), range=[chosen[name] for name in names]),
        legend=alt.Legend(labelLimit=NAME_WIDTH, symbolLimit=0, symbolOpacity=1, title=None)
        if legend
        else None,
    )
