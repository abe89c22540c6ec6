"""The first screen of a report as a figure for files: for each aspect the effects of the sources
with their intervals; where none is the reference, their values with letters.

Filled: the difference holds after correction; hollow: it does not; a ring with a point: borderline.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report._grid import rounded
from rote.report.figures.looks import (
    REFERENCE,
    below_each_other,
    charted,
    having,
    layered,
    marked,
    names_axis,
)
from rote.report.ranks import ranked
from rote.report.terminal import harmless
from rote.report.verdicts import MEANING, Aspect, Comparison, Verdicts, verdicts

_LOOKS = {"right": REFERENCE, "left": "#00708a", "neither": "#6d4bc0", "none": "#6b7280"}
_WIDTH, _STEP, _BESIDE = 260, 18, 58
_SAID, _LETTERS = "#555", 95
_COLUMNS = 2
_MARKS = {"differs": "Filled", "borderline": "Ring"}
_RING, _DOT, _POINT = 75, 55, 14
"""Sizes of marks: hollow, filled, and the point in a borderline one."""
_APART = "\u00a0" * 12


def verdict_chart(results: Sequence[Result]) -> Any:
    """One figure of all aspects, facet by facet."""
    shown = [facet for facet in verdicts(results) if facet.drawn]
    if not shown:
        raise OptionError("nothing to draw: no sources were compared")
    return below_each_other([("", facet_chart(facet)) for facet in shown])


def facet_chart(facet: Verdicts) -> Any:
    """The aspects of one facet, which has some to draw."""
    import altair as alt

    if facet.reference is None:
        order, found = ranked(facet)
        rows = {
            aspect.name: [
                {
                    "source": harmless(source),
                    "at": own.value,
                    "low": own.value if math.isnan(own.low) else own.low,
                    "high": own.value if math.isnan(own.high) else own.high,
                    "size": f"{rounded(own.value)} {own.letters}",
                    "look": "left",
                    "state": "differs",
                }
                for source, own in found[aspect.name].items()
            ]
            for aspect in facet.drawn
        }
        said = "Values with their intervals. Sources that share a letter cannot be told apart."
    else:
        order = list(facet.sources)
        rows = {aspect.name: [_row(one, facet) for one in aspect.drawn] for aspect in facet.drawn}
        key = [f"{_MARKS.get(state, 'Hollow')}: {MEANING[state]}." for state in facet.key]
        said = " ".join([f"Line at 0: {facet.reference}.", *key, facet.said])
    names = [harmless(name) for name in order]
    panels = [_panel(facet, aspect, rows[aspect.name], names) for aspect in facet.drawn]
    title = {
        "text": harmless(facet.title),
        "subtitle": textwrap.wrap(harmless(said), _LETTERS),
        "anchor": "start",
        "fontSize": 14,
        "subtitleFontSize": 11,
        "subtitleColor": _SAID,
        "offset": 12,
    }
    columns = min(_COLUMNS, len(panels))
    return having(alt.concat(*panels, columns=columns, spacing=18), title=title)


def _row(one: Comparison, facet: Verdicts) -> dict[str, Any]:
    low, high = facet.bounds
    ends = (one.effect if math.isnan(end) else end for end in one.effect_interval)
    first, last = (min(max(end, low), high) for end in ends)
    side = "none" if one.state != "differs" else "right" if one.effect > 0 else "left"
    if side != "none" and one.row.higher == "neither":
        side = "neither"
    known = not math.isnan(one.effect)
    return {
        "source": harmless(one.source),
        "at": one.effect if known else None,
        "low": first if known else None,
        "high": last if known else None,
        "size": one.size,
        "look": side,
        "state": one.state,
    }


def _panel(
    facet: Verdicts, aspect: Aspect, rows: Sequence[dict[str, Any]], names: Sequence[str]
) -> Any:
    import altair as alt

    left, right = aspect.ways
    if facet.reference is None and aspect.row.higher == "diverse":
        left, right = right, left
    title = f"← {left}{_APART}{right} →"
    scale: dict[str, Any] = {"nice": False, "zero": False, "padding": 6}
    if facet.reference is not None:
        scale["domain"] = list(facet.bounds)
    x = alt.X("at:Q", title=title, scale=scale, axis={"tickCount": 5, "titleFontWeight": "normal"})
    y = alt.Y("source:N", title=None, sort=list(names), axis=names_axis(ticks=False, domain=False))
    colour = {"domain": list(_LOOKS), "range": list(_LOOKS.values())}
    base = charted(rows).encode(y=y, color=alt.Color("look:N", legend=None, scale=colour))
    layers = []
    if facet.reference is not None:
        zero = marked(charted([{"at": 0.0}]), "rule", color="#222", strokeWidth=1.2)
        layers.append(zero.encode(x=x))
    reach = marked(base, "rule", strokeWidth=2)
    layers.append(reach.encode(x=alt.X("low:Q", scale=scale, title=title), x2=alt.X2("high:Q")))
    for size, chosen in _kinds(rows):
        points = marked(
            charted(chosen).encode(y=y, color=alt.Color("look:N", legend=None, scale=colour)),
            "point",
            **({"fill": "white"} if size == _RING else {"filled": True}),
            size=size,
            opacity=1,
            strokeWidth=1.6,
        )
        layers.append(points.encode(x=x))
    sizes = marked(base, "text", align="right", dx=_BESIDE, fontSize=11, color="#222")
    layers.append(
        sizes.encode(x=alt.XValue(_WIDTH), text=alt.Text("size:N"), color=alt.ColorValue("#222"))
    )
    count = len({row["source"] for row in rows})
    return having(
        layered(*layers),
        width=_WIDTH,
        height=_STEP * max(1, count),
        title={"text": harmless(aspect.name), "fontSize": 12, "anchor": "start", "frame": "group"},
    )


def _kinds(rows: Sequence[dict[str, Any]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """The size of marks and the rows that have them."""
    known = [row for row in rows if row["at"] is not None]
    hollow = [row for row in known if row["state"] != "differs"]
    whole = [row for row in known if row["state"] == "differs"]
    points = [row for row in known if row["state"] == "borderline"]
    return [kind for kind in ((_RING, hollow), (_DOT, whole), (_POINT, points)) if kind[1]]
