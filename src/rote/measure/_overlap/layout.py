"""The tables of `overlap` as they are shown: bin by bin, from the most novel items to the most
similar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.core.result import Result
from rote.core.table import Column, Pivot, Rows, Table, defined, distinct, ends

_TITLES = {
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
    "rouge_lsum": "ROUGE-Lsum",
    "entity_recall": "E_Rec",
    "entity_precision": "E_Prc",
    "entity_remembered": "E_Rem",
}
_KINDS = {
    "mean": "mean in each bin",
    "normalized": "divided by the score of the source that --normalize-to names",
    "excess": "above the control, on the same items",
}
_MANY = 40


def score_title(name: str) -> str:
    """What a score is called for the eye; a field's name stays as it is."""
    return _TITLES.get(name, name)


def bin_name(row: Mapping[str, Any]) -> str:
    """A bin as the paper writes it: 0-10, 10-15, >45; in points."""
    if row["bin"] is None:
        return str(row["name"])
    low, high = f"{100 * row['low']:g}", f"{100 * row['high']:g}"
    return f">{low}" if row["high"] == 1 and row["low"] > 0 else f"{low}-{high}"


def _partition(rows: Rows, result: Result) -> Rows:
    """The bins, and how many items they hold: the same for all sources."""
    first = [row for row in rows if row["source"] == rows[0]["source"]]
    return [
        # A row without a bin is named already.
        {**row, "of": "items", "points": bin_name(row) + _aside(row)}
        for row in first
    ]


def _aside(row: Mapping[str, Any]) -> str:
    return f" {row['name']}" if row["bin"] is not None and row["name"] else ""


def _bins(rows: Rows, result: Result) -> Rows:
    """A row for each score, bin and kind of number that there is."""
    return [
        {
            "source": row["source"],
            "score": score,
            "kind": kind,
            "texts": row["texts"],
            "points": bin_name(row),
            "mean": row[kind],
            "low": row[f"{kind}_low"],
            "high": row[f"{kind}_high"],
        }
        for score in distinct(rows, "score")
        for kind in _KINDS
        for row in rows
        if row["score"] == score and defined(row.get(kind))
    ]


def _scored(rows: Rows, result: Result) -> Rows:
    return [{**row, "title": score_title(row["score"])} for row in rows]


def _rising(rows: Rows, result: Result) -> list[Column]:
    """Above the control where there is one."""
    columns = [
        Column("source"),
        Column("title", "score"),
        Column("ratio", "ratio", "number", 2, ends=ends("ratio"), said="similar / novel"),
        Column("trend", "correlation", "number", 2, ends=ends("trend"), said="with closeness"),
        Column("p", kind="p"),
    ]
    if "rise" in rows[0]:
        columns += [
            Column("rise", "rise above control", "number", 3, ends=ends("rise")),
            Column("excess_trend", "its correlation", "number", 2, ends=ends("excess_trend")),
            Column("excess_p", "p", "p"),
        ]
    return columns


def _beside(rows: Rows, result: Result) -> Rows:
    return [row for row in _scored(rows, result) if "over_placebo" in row]


LAYOUT = (
    Table(
        "partition",
        "Bins",
        (Column("of", " "),),
        said="percent of an item's n-grams that the training set holds",
        rows=_partition,
        pivot=Pivot("points", Column("items", kind="count")),
    ),
    Table(
        "bins",
        lambda rows, result: f"{score_title(rows[0]['score'])} by closeness to the training set",
        (Column("source"),),
        said=lambda rows, result: f"{_KINDS[rows[0]['kind']]}; bins in percent of n-grams",
        rows=_bins,
        split=("score", "kind"),
        by="source",
        pivot=Pivot("points", Column("mean", kind="number", ends=("low", "high"))),
    ),
    Table(
        "trends",
        "From T_nov to T_sim, the most novel to the most similar items",
        _rising,
        said=lambda rows, result: (
            "ratio of the means; rank correlation with the overlap, over items"
            + ("; how much more it rises than the control's" if "rise" in rows[0] else "")
        ),
        rows=_scored,
        by="source",
    ),
    Table(
        "trends",
        "Above the placebo",
        (
            Column("source"),
            Column("title", "score"),
            Column("train_ratio", "ratio, train", "number", 2),
            Column("placebo_ratio", "placebo", "number", 2),
            Column("over_placebo", "train / placebo", "number", 2, ends=ends("over_placebo")),
            Column("train_trend", "correlation, train", "number", 2),
            Column("placebo_trend", "placebo", "number", 2),
            Column(
                "trend_over_placebo", "difference", "number", 2, ends=ends("trend_over_placebo")
            ),
        ),
        said="by the training set and by the placebo at equal size: ratio of the ratios, "
        "difference of the correlations",
        rows=_beside,
        by="source",
    ),
)
