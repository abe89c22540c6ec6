"""Figures of memorization.

`membership` shows which attack tells members from others, group by group; `prediction` is figure 5
of Ruzzetti et al. (2026): macro-F1 of a regression on the scores beside the guess of the majority.
"""

from __future__ import annotations

from rote.core.chart import Chart, defined
from rote.core.result import Result
from rote.core.table import Rows

TITLES = {
    "tde_accuracy": "TDE accuracy",
    "tde_likelihood": "TDE likelihood",
    "loss": "loss",
    "neighbours": "neighbours",
    "zlib": "zlib",
    "min_k": "Min-K%",
    "min_k_plus": "Min-K%++",
}


def _membership(rows: Rows, result: Result) -> Rows:
    drawn = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model and defined(row["auc"])]
        at = max((row["false_alarms"] for row in own), default=0)
        for value, title in (("auc", "AUC"), ("found", f"found at {at:.1%} false alarms")):
            drawn += [
                {
                    **{name: row[name] for name in ("group", "attack", "model")},
                    "value": row[value],
                    "low": row[f"{value}_low"],
                    "high": row[f"{value}_high"],
                    "title": title,
                }
                for row in own
            ]
    return drawn


def _prediction(rows: Rows, result: Result) -> Rows:
    order = list(TITLES)
    return [
        {**row, "attack": TITLES[row["attack"]]}
        for row in sorted(rows, key=lambda row: order.index(row["attack"]))
    ]


CHARTS = (
    Chart(
        "membership",
        "Members told from others",
        table="membership",
        shape="lines",
        x="group",
        y="value",
        colour="attack",
        names=TITLES,
        panel=("title", "model"),
        ends=("low", "high"),
        domain=(0, 1),
        rows=_membership,
        whole=True,
        says="AUC, and members found at few false alarms, over the groups; a line for each attack.",
    ),
    Chart(
        "prediction",
        "Right answers predicted from the scores",
        table="prediction",
        shape="bars",
        x="attack",
        y="logistic_f1",
        panel=("group", "model"),
        titles={"logistic_f1": "macro-F1"},
        domain=(0, 1),
        rule="majority_f1",
        rows=_prediction,
        whole=True,
        says="Macro-F1 by attack; the dashed line is the guess of the majority.",
    ),
    Chart("values", "Values"),
)
