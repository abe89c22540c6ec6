"""The one look of all figures: colours and shapes of names, axes of names and of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
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


_DIGIT = 5.6
"""Width of a digit in a label of 10 pixels."""
_APART = 5
_MOST = 5
_PLAIN = (1e-4, 1e7)
"""Numbers that are written without an exponent."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """Where labels stand, and how they are written (a format of d3, and of Python)."""

    values: tuple[float, ...]
    format: str

    @property
    def widest(self) -> float:
        """Width of the widest label, in pixels."""
        return max(len(format(value, self.format)) for value in self.values) * _DIGIT


def round_ticks(low: float, high: float, width: float, beyond: float = 0.0) -> Ticks:
    """Round numbers from low to high for an axis of `width` pixels.

    A label may reach `beyond` its ends by so much. There is always one number.
    """
    span = high - low
    power = math.floor(math.log10(span / _MOST))
    alone: Ticks | None = None
    for finest, digit in product((power, power + 1, power + 2), (1, 2, 4, 5)):
        ticks = _multiples(low, high, digit, finest)
        if not ticks.values:
            continue
        reach = ticks.widest / 2 - beyond
        inside = [v for v in ticks.values if min(v - low, high - v) / span * width >= reach]
        apart = digit * 10.0**finest / span * width - ticks.widest
        if 2 <= len(inside) <= _MOST and apart >= _APART:
            return Ticks(tuple(inside), ticks.format)
        if inside and alone is None:
            middle = min(inside, key=lambda value: abs(value - (low + high) / 2))
            alone = Ticks((middle,), ticks.format)
    return alone or Ticks(((low + high) / 2,), ".3g")


def _multiples(low: float, high: float, digit: int, finest: int) -> Ticks:
    """All multiples of digit * 10^finest, with the digits that tell them apart."""
    step, decimals = digit * 10.0**finest, max(0, -finest)
    numbers = range(math.ceil(low / step), math.floor(high / step) + 1)
    # Rounded, so that 3 * 0.1 is 0.3.
    values = tuple(round(number * step, decimals) for number in numbers)
    largest = max(map(abs, values), default=0.0)
    if largest == 0 or _PLAIN[0] <= largest < _PLAIN[1]:
        return Ticks(values, f".{decimals}f")
    return Ticks(values, f".{max(0, math.floor(math.log10(largest)) - finest)}e")
