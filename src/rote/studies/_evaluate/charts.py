"""The figure of an evaluation."""

from __future__ import annotations

from rote.core.chart import Chart
from rote.core.facets import JOINT
from rote.core.result import Result
from rote.core.table import Rows

_SOURCE = "source"


def _accuracy(rows: Rows, result: Result) -> Rows:
    drawn = []
    for group, found in result.sources.items():
        fields = dict(zip(result.by, group.split(JOINT)))
        model = fields.pop(_SOURCE, "")
        low, high = found.intervals.get("accuracy", (None, None))
        drawn.append(
            {
                "name": JOINT.join(fields.values()) or "all items",
                "source": model,
                "accuracy": found.values.get("accuracy"),
                "low": low,
                "high": high,
                "chance": found.values.get("chance"),
            }
        )
    return drawn


CHARTS = (
    Chart(
        "accuracy",
        "Accuracy",
        x="accuracy",
        y="name",
        colour="source",
        ends=("low", "high"),
        titles={"accuracy": "accuracy"},
        share=True,
        rule="chance",
        rows=_accuracy,
        whole=True,
        says="The accuracy of each group of items, with its interval; chance is marked.",
    ),
)
