"""Figures of style memorization; `frequency` is figure 7 of Shaib et al. (2024): what is memorized,
by how often the model saw it."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.result import Result
from rote.core.table import Rows
from rote.studies._style.layout import seen

_KINDS = {"exact": "word for word", "style": "in style (tags)"}


def _frequency(rows: Rows, result: Result) -> Rows:
    return [
        {
            "group": row["group"],
            "seen": seen(row),
            "kind": kind,
            "share": row[kind],
            "low": row[f"{kind}_low"],
            "high": row[f"{kind}_high"],
        }
        for row in sorted(rows, key=lambda row: row["bin"])
        for kind in _KINDS
    ]


CHARTS = (
    Chart(
        "frequency",
        "Memorized, by how often it was seen",
        table="frequency",
        shape="bars",
        x="seen",
        y="share",
        colour="kind",
        names=_KINDS,
        colours={"exact": "plain", "style": "pale"},
        panel=("group",),
        ends=("low", "high"),
        titles={"seen": "times in the training data", "share": "memorized"},
        share=True,
        rows=_frequency,
        whole=True,
        says="What is memorized word for word, and in style, by how often the model saw it.",
    ),
    Chart("values", "Values"),
)
