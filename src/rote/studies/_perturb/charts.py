"""Figures of a perturbation.

`frequencies` is figure 2 of Ruzzetti et al. (2026), `popularity` figure 4, `similarity` figure 3;
`answers` shows its tables 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from rote.core.chart import Chart, Colour
from rote.core.result import Result
from rote.core.table import Rows

_COLOURS: Mapping[str, Colour] = {"original": "plain", "perturbed": "reference"}
_WHEN = {"before": "original", "after": "perturbed"}
_SIMILAR = {"rouge_l": "ROUGE-L", "cosine": "cosine of embeddings", "bertscore": "BERTScore F"}


def _popularity(rows: Rows, result: Result) -> Rows:
    return [
        {"task": task, "items": name, "value": row.get(f"ips_{when}")}
        for task in result.sources
        for row in rows
        if row["task"] == task
        for when, name in _WHEN.items()
    ]


def _frequencies(rows: Rows, result: Result) -> Rows:
    """How often the words and their synonyms are in the corpus, each replacement once."""
    return [
        {"items": name, "value": math.log10(1 + row[f"{what}_count"]), "times": row["times"]}
        for row in rows
        if "original_count" in row
        for what, name in (("original", "original"), ("replacement", "perturbed"))
    ]


def _similarity(rows: Rows, result: Result) -> Rows:
    return [
        {"task": task, "measure": title, "value": row.get(name)}
        for name, title in _SIMILAR.items()
        for task in result.sources
        for row in rows
        if row["task"] == task
    ]


def _answers(rows: Rows, result: Result) -> Rows:
    """Accuracy before and after of each model that was asked, with all parts of speech."""
    told = [row for row in rows if row["source"]]
    first = {row["source"]: row["pos"] for row in reversed(told)}
    return [
        {
            "source": row["source"],
            "task": row["task"],
            "items": name,
            "accuracy": row[f"accuracy_{when}"],
            "low": row[f"accuracy_{when}_low"],
            "high": row[f"accuracy_{when}_high"],
        }
        for row in told
        if row["pos"] == first[row["source"]]
        for when, name in _WHEN.items()
    ]


CHARTS = (
    Chart(
        "popularity",
        "Popularity before and after",
        table="items",
        shape="histogram",
        x="value",
        y="items",
        colour="items",
        colours=_COLOURS,
        panel=("task",),
        titles={"value": "popularity (1 to 10)", "items": "items"},
        rows=_popularity,
        whole=True,
        says="The popularity of the items before and after, task by task.",
    ),
    Chart(
        "frequencies",
        "Words and their synonyms in the corpus",
        table="replacements",
        shape="histogram",
        x="value",
        y="items",
        colour="items",
        colours=_COLOURS,
        weight="times",
        titles={"value": "log10(1 + occurrences in the corpus)", "items": "replacements"},
        rows=_frequencies,
        whole=True,
        says="How often the words and their synonyms stand in the corpus.",
    ),
    Chart(
        "similarity",
        "Items and their originals",
        table="items",
        shape="boxes",
        x="value",
        y="task",
        panel=("measure",),
        domain=(0, 1),
        rows=_similarity,
        whole=True,
        says="How similar each item is to its original.",
    ),
    Chart(
        "answers",
        "Accuracy before and after",
        table="answers",
        x="accuracy",
        y="task",
        colour="items",
        colours=_COLOURS,
        panel=("source",),
        ends=("low", "high"),
        titles={"accuracy": "accuracy"},
        share=True,
        rows=_answers,
        whole=True,
        says="Accuracy before and after, task by task, of each model that was asked.",
    ),
)
