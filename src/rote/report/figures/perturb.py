"""Figures of a perturbation, drawn from the tables alone: a result read from JSON will do.

`frequencies` is figure 2 of Ruzzetti et al. (2026), `popularity` figure 4, `similarity` figure 3;
`answers` shows its tables 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
_COLOURS = {"original": "#2f5d8a", "perturbed": "#b2440e"}
_WIDTH, _HEIGHT = 320, 200
_BINS = 24


def figures(result: Result) -> dict[str, Any]:
    """What there is to draw."""
    charts = {
        "popularity": popularity(result),
        "frequencies": frequencies(result),
        "similarity": similarity(result),
        "answers": answers(result),
    }
    drawn = {name: chart for name, chart in charts.items() if chart is not None}
    if not drawn:
        raise OptionError("nothing to draw: there are no items")
    return drawn


def frequencies(result: Result) -> Any:
    """How often the words and their synonyms are in the corpus, each replacement once."""
    rows = [
        {
            "items": name,
            "value": math.log10(1 + row[f"{what}_count"]),
            "weight": row["times"],
        }
        for row in result.tables.get("replacements", ())
        if "original_count" in row
        for what, name in (("original", "original"), ("replacement", "perturbed"))
    ]
    if not rows:
        return None
    return _histogram(rows, "log10(1 + occurrences in the corpus)", "replacements")


def popularity(result: Result) -> Any:
    """The popularity of the items before and after, a panel for each task."""
    import altair as alt

    panels = []
    for task in result.sources:
        rows = [
            {"items": name, "value": row[f"ips_{when}"], "weight": 1}
            for row in result.tables.get("items", ())
            if row["task"] == task
            for when, name in (("before", "original"), ("after", "perturbed"))
            if _known(row.get(f"ips_{when}"))
        ]
        if rows:
            panels.append(
                _histogram(rows, "popularity (1 to 10)", "items").properties(title=harmless(task))
            )
    return alt.concat(*panels, columns=3) if panels else None


def similarity(result: Result) -> Any:
    """ROUGE-L, and the cosine of embeddings where there is one, of each item with its original."""
    import altair as alt

    titles = {"rouge_l": "ROUGE-L", "cosine": "cosine of embeddings", "bertscore": "BERTScore F"}
    rows = [
        {"task": harmless(row["task"]), "measure": title, "value": row[name]}
        for row in result.tables.get("items", ())
        for name, title in titles.items()
        if _known(row.get(name))
    ]
    if not rows:
        return None
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_boxplot(extent="min-max")
        .encode(
            x=alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1], clamp=True)),
            y=alt.Y("task:N", title=None, sort=list(result.sources)),
            color=alt.value(_COLOURS["original"]),
            column=alt.Column("measure:N", title=None),
        )
        .properties(width=_WIDTH)
    )


def answers(result: Result) -> Any:
    """Accuracy before and after, task by task, a panel for each model that was asked."""
    import altair as alt

    panels = []
    told = [row for row in result.tables.get("answers", ()) if row["source"]]
    for source in dict.fromkeys(row["source"] for row in told):
        own = [row for row in told if row["source"] == source]
        main = [row for row in own if row["pos"] == own[0]["pos"]]
        rows = [
            {
                "task": harmless(row["task"]),
                "items": name,
                "accuracy": row[f"accuracy_{when}"],
                # A share without an interval has one of no width: one mark for all.
                **{
                    end: known if _known(known := row[f"accuracy_{when}_{end}"]) else share
                    for end in ("low", "high")
                    for share in (row[f"accuracy_{when}"],)
                },
            }
            for row in main
            for when, name in (("before", "original"), ("after", "perturbed"))
            if _known(row[f"accuracy_{when}"])
        ]
        if not rows:
            continue
        base = alt.Chart(alt.Data(values=rows)).encode(
            y=alt.Y("task:N", sort=None, title=None, axis=alt.Axis(labelLimit=220)),
            yOffset=alt.YOffset("items:N", sort=list(_COLOURS)),
            color=_colour(),
        )
        x = alt.X(
            "accuracy:Q", axis=alt.Axis(format=".0%"), scale=alt.Scale(domain=[0, 1]),
            title="accuracy",
        )  # fmt: skip
        layers = [base.mark_rule().encode(x="low:Q", x2="high:Q"), base.mark_circle().encode(x=x)]
        panels.append(
            alt.layer(*layers).properties(
                width=_WIDTH, height=28 * len(main), title=harmless(source)
            )
        )
    return alt.concat(*panels, columns=2) if panels else None


def _colour() -> Any:
    import altair as alt

    return alt.Color(
        "items:N",
        scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
        legend=alt.Legend(title=None),
    )


def _histogram(rows: Rows, title: str, unit: str) -> Any:
    import altair as alt

    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(opacity=0.55)
        .encode(
            x=alt.X("value:Q", bin=alt.Bin(maxbins=_BINS), title=title),
            y=alt.Y("sum(weight):Q", stack=None, title=unit),
            color=_colour(),
        )
        .properties(width=_WIDTH, height=_HEIGHT)
    )


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)
