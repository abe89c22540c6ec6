"""Figures of templates and favoured patterns, drawn from tables alone: JSON that was read will do.

Each figure is named after the table that it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._facets import split
from rote.report._grid import SIGNIFICANT, ordered_sources
from rote.report.figures._looks import NAME_WIDTH, REFERENCE, colour_and_shape, names_axis
from rote.report.figures.perplexity import perplexity
from rote.report.figures.results import below_each_other
from rote.report.tables._blocks import defined, distinct, sources_of
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
_OTHER, _PALE = "#2f5d8a", "#9aa5b1"
_KINDS = {"templates": _OTHER, "reference templates": REFERENCE, "others": _PALE}
_STRONGEST, _EACH_SIDE = 15, 5
_TITLE_WIDTH = 240


def figures(result: Result) -> dict[str, Any]:
    """Every figure that the tables of a result give; none for other measures."""
    drawn: dict[str, Callable[[Rows, Result], Any]] = {}
    if result.measure == "templates":
        drawn = {
            "lengths": curve,
            "coverage": coverage,
            "ranks": ranks,
            "distinctive": distinctive,
            "overlap": overlap,
            "perplexity": perplexity,
        }
    elif result.measure == "favoured":
        drawn = {"patterns": patterns}
    charts = {}
    for name, draw in drawn.items():
        parts = [
            (facet.title, draw(part.tables.get(name, ()), part)) for facet, part in split(result)
        ]
        found = [(title, chart) for title, chart in parts if chart is not None]
        if found:
            charts[name] = below_each_other(found)
    return charts


def curve(rows: Rows, result: Result) -> Any:
    """Rate and templates per token over the length of templates, one line per source."""
    import altair as alt

    order = _order(result)
    color, shape = colour_and_shape(order, harmless(result.reference or ""))
    panels = []
    for value, title, form in (
        ("rate", "texts with a template", ".0%"),
        ("per_token", "templates per token", "~g"),
    ):
        data = [
            {
                "source": harmless(row["source"]),
                "n": row["n"],
                "value": row[value],
                "role": "reference" if row["source"] == result.reference else "source",
            }
            for row in rows
            if defined(row[value])
        ]
        if not data:
            continue
        dash = alt.StrokeDash(
            "role:N",
            legend=None,
            scale=alt.Scale(domain=["source", "reference"], range=[[1, 0], [6, 3]]),
        )
        base = alt.Chart(alt.Data(values=data)).encode(
            x=alt.X("n:O", title="items in a template", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=None, axis=alt.Axis(format=form)),
            color=color,
        )
        line = base.mark_line(strokeWidth=2).encode(strokeDash=dash)
        points = base.mark_point(filled=True, size=50, opacity=1).encode(shape=shape)
        panels.append(alt.layer(line, points).properties(width=240, height=220, title=title))
    return alt.hconcat(*panels) if panels else None


def coverage(rows: Rows, result: Result) -> Any:
    """The share of templates, and of other n-grams, that a corpus holds, with intervals."""
    import altair as alt

    order = _order(result)
    lines = []
    for corpus in distinct(rows, "corpus"):
        panels = []
        for value, low, high, title in (
            ("among_frequent", "among_low", "among_high", "among the most frequent n-grams"),
            ("found", "low", "high", "anywhere"),
        ):
            data = [
                {
                    "source": harmless(row["source"]),
                    "kind": row["kind"],
                    "share": row[value],
                    "low": _or(row.get(low), row[value]),
                    "high": _or(row.get(high), row[value]),
                }
                for row in rows
                if row["corpus"] == corpus and defined(row[value])
            ]
            if not data:
                continue
            kinds = [kind for kind in _KINDS if any(row["kind"] == kind for row in data)]
            base = alt.Chart(alt.Data(values=data)).encode(
                y=alt.Y("source:N", sort=order, title=None, axis=names_axis()),
                yOffset=alt.YOffset("kind:N", sort=kinds),
            )
            axis = alt.Axis(format=".0%", tickCount=5)
            scale = alt.Scale(domain=[0, 1])
            bars = base.mark_bar(opacity=0.75).encode(
                x=alt.X("share:Q", title=None, scale=scale, axis=axis),
                color=alt.Color(
                    "kind:N",
                    title=None,
                    scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())),
                    legend=alt.Legend(orient="top", values=kinds, labelLimit=NAME_WIDTH),
                ),
            )
            reach = base.mark_rule(color="#111", strokeWidth=1.5).encode(
                x=alt.X("low:Q", title=None, scale=scale, axis=axis), x2="high:Q"
            )
            panels.append(
                alt.layer(bars, reach).properties(
                    width=220,
                    height=alt.Step(9),
                    title=alt.TitleParams(harmless(corpus), subtitle=title, limit=NAME_WIDTH),
                )
            )
        if panels:
            lines.append(alt.hconcat(*panels))
    return alt.vconcat(*lines) if lines else None


def ranks(rows: Rows, result: Result) -> Any:
    """The share of n-grams that rank at least so high in a corpus: templates against others."""
    import altair as alt

    panels = []
    for corpus in distinct(rows, "corpus"):
        for source in sources_of(rows, result):
            data = []
            for kind in ("templates", "others"):
                found = sorted(
                    row["rank"]
                    for row in rows
                    if (row["corpus"], row["source"], row["kind"]) == (corpus, source, kind)
                    and defined(row["rank"])
                )
                data += [
                    {"kind": kind, "rank": rank, "share": number / len(found)}
                    for number, rank in enumerate(found, 1)
                ]
            if not data:
                continue
            panels.append(
                alt.Chart(alt.Data(values=data))
                .mark_line(interpolate="step-after", strokeWidth=2)
                .encode(
                    x=alt.X(
                        "rank:Q",
                        title="rank in the corpus",
                        scale=alt.Scale(type="log"),
                        axis=alt.Axis(format="~s", tickCount=5, labelOverlap=True),
                    ),
                    y=alt.Y(
                        "share:Q",
                        title="share of n-grams",
                        scale=alt.Scale(domain=[0, 1]),
                        axis=alt.Axis(format=".0%", tickCount=5),
                    ),
                    color=alt.Color(
                        "kind:N",
                        title=None,
                        scale=alt.Scale(domain=["templates", "others"], range=[_OTHER, _PALE]),
                        legend=alt.Legend(orient="top"),
                    ),
                )
                .properties(
                    width=180,
                    height=130,
                    title=alt.TitleParams(
                        harmless(source), subtitle=harmless(corpus), limit=_TITLE_WIDTH, fontSize=11
                    ),
                )
            )
    return alt.concat(*panels, columns=min(4, len(panels))) if panels else None


def distinctive(rows: Rows, result: Result) -> Any:
    """The templates that set each source apart: z against the reference, either way."""
    import altair as alt

    sides = alt.Scale(domain=["source", "reference"], range=[_OTHER, REFERENCE])
    title = f"z (left: more in {harmless(result.reference or 'the reference')})"
    panels = []
    for source in sources_of(rows, result):
        own = [row for row in rows if row["source"] == source and defined(row["z"])]
        own = _strongest(own)
        if not own:
            continue
        # Hollow points: may well be chance.
        data = [
            {
                "template": harmless(row["template"]),
                "z": row["z"],
                "side": "source" if row["z"] > 0 else "reference",
                "sure": "yes" if _or(row["p_corrected"], 1.0) < SIGNIFICANT else "no",
            }
            for row in own
        ]
        order = [row["template"] for row in sorted(data, key=lambda row: -row["z"])]
        base = alt.Chart(alt.Data(values=data)).encode(
            y=alt.Y("template:N", sort=order, title=None, axis=names_axis()),
            color=alt.Color("side:N", legend=None, scale=sides),
        )
        line = base.mark_rule(opacity=0.5).encode(x=alt.X("z:Q", title=title), x2=alt.datum(0))
        fill = alt.condition("datum.sure == 'yes'", alt.value(1), alt.value(0))
        points = base.mark_point(size=55, opacity=1, strokeWidth=1.5).encode(
            x=alt.X("z:Q", title=title),
            fill=alt.Fill("side:N", legend=None, scale=sides),
            fillOpacity=fill,
        )
        panels.append(
            alt.layer(line, points).properties(
                width=200,
                height=alt.Step(15),
                title=alt.TitleParams(harmless(source), limit=NAME_WIDTH, fontSize=11),
            )
        )
    return alt.concat(*panels, columns=min(3, len(panels))) if panels else None


def patterns(rows: Rows, result: Result) -> Any:
    """The patterns that each source favours, and those that it misses, in the same way."""
    return distinctive(
        [
            {**row, "template": row["pattern"], "z": row["z"] if own else -row["z"]}
            for row in rows
            if defined(row["z"])
            for own in (row["favoured_by"] == row["source"],)
        ],
        result,
    )


def overlap(rows: Rows, result: Result) -> Any:
    """How many templates two sources share, as a share of those that either has."""
    import altair as alt

    order = _order(result)
    pairs = {}
    for row in rows:
        if row["source"] != row["other"] and defined(row["jaccard"]):
            for a, b in ((row["source"], row["other"]), (row["other"], row["source"])):
                pairs[harmless(a), harmless(b)] = row["jaccard"]
    data = [{"source": a, "other": b, "jaccard": share} for (a, b), share in pairs.items()]
    if not data:
        return None
    base = alt.Chart(alt.Data(values=data)).encode(
        x=alt.X("other:N", sort=order, title=None, axis=names_axis(labelAngle=-45)),
        y=alt.Y("source:N", sort=order, title=None, axis=names_axis()),
    )
    top = max(row["jaccard"] for row in data)
    squares = base.mark_rect().encode(
        color=alt.Color(
            "jaccard:Q",
            title="shared",
            scale=alt.Scale(scheme="blues", domain=[0, top or 1]),
            legend=alt.Legend(format=".0%"),
        )
    )
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("jaccard:Q", format=".0%"),
        color=alt.condition(f"datum.jaccard > {0.6 * top}", alt.value("white"), alt.value("#222")),
    )
    return alt.layer(squares, numbers).properties(
        width=alt.Step(42), height=alt.Step(28), title="templates shared"
    )


def _strongest(rows: Rows) -> list[Mapping[str, Any]]:
    """The largest z, whichever way; but of each side a few, where it has as many."""
    ordered = sorted(rows, key=lambda row: -abs(row["z"]))
    more = [row for row in ordered if row["z"] > 0][:_EACH_SIDE]
    less = [row for row in ordered if row["z"] < 0][:_EACH_SIDE]
    rest = [row for row in ordered if row not in more and row not in less]
    return [*more, *less, *rest[: _STRONGEST - len(more) - len(less)]]


def _order(result: Result) -> list[str]:
    return [harmless(name) for name in ordered_sources([result])]


def _or(number: float | None, otherwise: float) -> float:
    return number if number is not None and not math.isnan(number) else otherwise
