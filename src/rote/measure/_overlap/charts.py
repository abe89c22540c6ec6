"""Figures of overlap: scores over the bins, one panel for each score."""

from __future__ import annotations

from collections.abc import Callable

from rote.core.chart import Chart
from rote.core.result import Result
from rote.core.table import Rows
from rote.measure._overlap.layout import bin_name, score_title


def _scores(kind: str, named: str, setting: str) -> Callable[[Rows, Result], Rows]:
    """Rows with the numbers of one kind, under the title of their score."""

    def rows(rows: Rows, result: Result) -> Rows:
        other = dict(result.signature.settings).get(setting, "")
        return [
            {
                "source": row["source"],
                "bin": bin_name(row),
                "score": row[kind],
                "low": row[f"{kind}_low"],
                "high": row[f"{kind}_high"],
                "title": named.format(score_title(row["score"]), other),
            }
            for row in rows
            if kind in row and row["bin"] is not None
        ]

    return rows


def _chart(name: str, heading: str, says: str, rows: Callable[[Rows, Result], Rows]) -> Chart:
    return Chart(
        name,
        heading,
        table="bins",
        shape="lines",
        x="bin",
        y="score",
        colour="source",
        panel=("title",),
        ends=("low", "high"),
        titles={"bin": "n-grams of the item in the training set, %"},
        zero=True,
        rows=rows,
        says=says,
    )


CHARTS = (
    _chart(
        "bins",
        "Scores over closeness",
        "Each score over the share of an item's n-grams that occur in the training set.",
        _scores("mean", "{}", ""),
    ),
    _chart(
        "normalized",
        "Scores over closeness, normalized",
        "Each score divided by that of the system that it is normalized to.",
        _scores("normalized", "{} / that of {}", "normalize_to"),
    ),
    _chart(
        "excess",
        "Scores above the control",
        "Each score above that of the control, which never saw the training set.",
        _scores("excess", "{} above that of {}", "control"),
    ),
)
