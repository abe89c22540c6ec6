"""A factor as small multiples: each value over the levels, one line per source, with intervals.

Drawn from a result's tables alone: one read from JSON will do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import REFERENCE, colour_and_shape
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless
from rote.studies._correlate_layout import short

_COLUMNS = 3
_DASHED: dict[str, Any] = {"strokeDash": [5, 3], "color": REFERENCE}


def figures(result: Result) -> dict[str, Any]:
    """Every figure that a result of `rote factors` gives, by name."""
    return {"factors": factor_chart(result)}


def factor_chart(result: Result) -> Any:
    """One panel per facet and value."""
    import altair as alt

    described = {row["value"]: row for row in result.tables["values"]}
    cells = result.tables["cells"]
    sources = list(dict.fromkeys(c["source"] for c in cells if not c["reference"]))
    facets = list(dict.fromkeys(c["facet"] for c in cells))
    agreement = {(row["facet"], row["column"]): row for row in result.tables["agreement"]}
    lines = []
    for facet in facets:
        panels = []
        for column, about in described.items():
            own = [c for c in cells if (c["facet"], c["column"]) == (facet, column)]
            if not own:
                continue
            panels.append(
                _panel(own, sources, result).properties(
                    width=220,
                    height=180,
                    title=alt.TitleParams(
                        " ".join(filter(None, (harmless(facet), short(column)))),
                        subtitle=_subtitle(about, agreement.get((facet, column)), own),
                        fontSize=12,
                        subtitleFontSize=10,
                        anchor="start",
                    ),
                )
            )
        lines.append(alt.concat(*panels, columns=_COLUMNS).resolve_scale(y="independent"))
    return alt.vconcat(*lines) if len(lines) > 1 else lines[0]


def _panel(cells: Sequence[Mapping[str, Any]], sources: Sequence[str], result: Result) -> Any:
    """The sources' lines; the reference as a line of its own, level where it has one value."""
    import altair as alt

    data = [_drawn(cell) for cell in cells if not cell["reference"]]
    color, shape = colour_and_shape([harmless(source) for source in sources])
    x = _axis(result)
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(alt.Data(values=data)).encode(x=x, color=color)
    ordered = result.tables["levels"][0]["kind"] != "unordered"
    line = base.mark_line(strokeWidth=2 if ordered else 1, opacity=1 if ordered else 0.4).encode(
        y=alt.Y("estimate:Q", scale=scale, title=None), order="number:Q"
    )
    reach = base.mark_rule(strokeWidth=1.5, opacity=0.6).encode(
        y=alt.Y("low:Q", scale=scale, title=None), y2="high:Q"
    )
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        y=alt.Y("estimate:Q", scale=scale, title=None), shape=shape
    )
    layers = [reach, line, points]
    held = [_drawn(cell) for cell in cells if cell["reference"]]
    if held:
        layers.insert(0, _reference(held, x, scale))
    return alt.layer(*layers)


def _reference(held: Sequence[Mapping[str, Any]], x: Any, scale: Any) -> Any:
    import altair as alt

    y = alt.Y("estimate:Q", scale=scale, title=None)
    if len(held) == 1 or any(row["number"] is None for row in held):
        rule = alt.Chart(alt.Data(values=list(held[:1]))).mark_rule(strokeWidth=2, **_DASHED)
        return rule.encode(y=y)
    line = alt.Chart(alt.Data(values=list(held))).mark_line(**_DASHED)
    return line.encode(x=x, y=y, order="number:Q")


def _drawn(cell: Mapping[str, Any]) -> dict[str, Any]:
    estimate = cell["estimate"]
    return {
        "source": harmless(cell["source"] or ""),
        "level": harmless(cell["level"]),
        "number": cell["number"] if defined(cell["number"]) else None,
        "estimate": estimate,
        # A point without an interval still gets a (zero-width) bar: one mark for all.
        "low": cell["low"] if defined(cell["low"]) else estimate,
        "high": cell["high"] if defined(cell["high"]) else estimate,
    }


def _axis(result: Result) -> Any:
    """Numbers to scale, other levels side by side."""
    import altair as alt

    levels = result.tables["levels"]
    settings = dict(result.signature.settings)
    over, first = settings.get("over", ""), levels[0]
    title = f"{over} ({first['unit']})" if first["unit"] else over
    if first["kind"] != "numeric":
        order = [harmless(row["level"]) for row in levels]
        return alt.X("level:N", sort=order, title=title, axis=alt.Axis(labelAngle=0))
    return alt.X(
        "number:Q",
        title=title,
        scale=alt.Scale(type=first["scale"], zero=False, nice=False, padding=10),
        axis=alt.Axis(
            values=[row["number"] for row in levels], format="~s", labelOverlap=True, grid=False
        ),
    )


def _subtitle(
    about: Mapping[str, Any], judged: Mapping[str, Any] | None, cells: Sequence[Mapping[str, Any]]
) -> list[str]:
    lines = [] if about["higher"] == "neither" else [f"higher: more {about['higher']}"]
    more = [f"W = {judged['w']:.2f}"] if judged and defined(judged["w"]) else []
    reference = next((cell["source"] for cell in cells if cell["reference"]), None)
    more += [f"dashed: {harmless(reference)}"] if reference else []
    return [*lines, ", ".join(more)]
