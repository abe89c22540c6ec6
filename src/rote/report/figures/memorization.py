"""Figures of memorization, drawn from the tables alone: a result read from JSON will do.

`membership` shows which attack tells members from others, group by group; `prediction` is figure 5
of Ruzzetti et al. (2026): macro-F1 of a regression on the scores beside the guess of the majority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report.figures._looks import REFERENCE, colour_and_shape, names_axis
from rote.report.figures.results import values_chart
from rote.report.tables._blocks import defined
from rote.report.terminal import harmless

Rows = Sequence[Mapping[str, Any]]
TITLES = {
    "tde_accuracy": "TDE accuracy",
    "tde_likelihood": "TDE likelihood",
    "loss": "loss",
    "neighbours": "neighbours",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
}


def figures(result: Result) -> dict[str, Any]:
    """Those that the tables allow; the mean scores always."""
    drawn = {
        "membership": membership(result),
        "prediction": prediction(result),
        "values": values_chart([result]),
    }
    return {name: chart for name, chart in drawn.items() if chart is not None}


def membership(result: Result) -> Any:
    """AUC, and members found at few false alarms, over the groups; a line for each attack."""
    import altair as alt

    rows = [row for row in result.tables["membership"] if defined(row["auc"])]
    if not rows:
        return None
    panels = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        at = max(row["false_alarms"] for row in own)
        for value, title in (("auc", "AUC"), ("found", f"found at {at:.1%} false alarms")):
            panels.append(_lines(own, value, title, harmless(model)))
    return alt.concat(*panels, columns=2)


def _lines(rows: Rows, value: str, title: str, model: str) -> Any:
    import altair as alt

    data = [
        {
            "group": harmless(row["group"]),
            "source": TITLES[row["attack"]],
            "value": row[value],
            "low": row[f"{value}_low"],
            "high": row[f"{value}_high"],
        }
        for row in rows
    ]
    order = list(dict.fromkeys(row["group"] for row in data))
    colour, shape = colour_and_shape(list(dict.fromkeys(row["source"] for row in data)))
    x = alt.X("group:N", sort=order, title=None, axis=names_axis(labelAngle=-30))
    y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(alt.Data(values=data)).encode(x=x, color=colour)
    line = base.mark_line(strokeWidth=2).encode(y=y)
    points = base.mark_point(filled=True, size=35, opacity=1).encode(y=y, shape=shape)
    reach = base.mark_rule(opacity=0.3).encode(y=alt.Y("low:Q", title=""), y2="high:Q")
    return alt.layer(reach, line, points).properties(
        width=max(200, 44 * len(order)), height=240, title=model
    )


def prediction(result: Result) -> Any:
    """Macro-F1 by attack, and the guess of the majority as a line."""
    import altair as alt

    rows = [row for row in result.tables["prediction"] if defined(row["logistic_f1"])]
    if not rows:
        return None
    panels = []
    for model, group in dict.fromkeys((row["model"], row["group"]) for row in rows):
        own = [row for row in rows if (row["model"], row["group"]) == (model, group)]
        data = [{"attack": TITLES[row["attack"]], "f1": row["logistic_f1"]} for row in own]
        bars = (
            alt.Chart(alt.Data(values=data))
            .mark_bar(color="#2f5d8a")
            .encode(
                x=alt.X("attack:N", sort=list(TITLES.values()), title=None),
                y=alt.Y("f1:Q", title="macro-F1", scale=alt.Scale(domain=[0, 1])),
            )
        )
        guess = [{"f1": own[0]["majority_f1"]}]
        line = (
            alt.Chart(alt.Data(values=guess))
            .mark_rule(color=REFERENCE, strokeDash=[5, 3], strokeWidth=1.5)
            .encode(y="f1:Q")
        )
        title = harmless(
            f"{group} ({model})" if len(result.tables["prediction"]) > len(own) else group
        )
        panels.append(alt.layer(bars, line).properties(width=180, height=180, title=title))
    return alt.concat(*panels, columns=4)
