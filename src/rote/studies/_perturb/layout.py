"""The tables of `perturb` as they are shown; those of answers as Ruzzetti et al. (2026) have them:
functional tasks are their tables 1 and C, formal ones 2 and D, and popularity is table 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rote.core.chart import Chart, Colour
from rote.core.result import Result
from rote.core.table import Column, Pivot, Row, Rows, Table

_EVERY, _SHOWN = 1000, 15
_OF = {"noun": "-N", "verb": "-V"}
_WHAT = {"before": "Original", "after": "Lex. Perturb.", "change": "Change"}


def _answers(rows: Rows, result: Result) -> list[Row]:
    """Original, perturbed and change of each model, a column for each task; in percent, but for
    the perplexity of last words."""
    found: list[Row] = []
    for row in rows:
        mark = _OF.get(row["pos"], "")
        for what, title in _WHAT.items():
            conf = title if what == "before" else f"{title}{mark}" + " (%)" * (what == "change")
            named = {
                "source": row["source"] or "as given",
                "kind": row["kind"] or "all",
                "conf": conf,
            }
            for of, value, scale in _numbers(row, what):
                number = None if value is None else scale * value
                found.append({**named, "of": of, "value": number})
    return sorted(found, key=lambda row: " (" not in row["of"])


def _numbers(row: Row, what: str) -> list[tuple[str, Any, int]]:
    told = [(row["task"], row[f"accuracy_{what}"], 100)]
    if "perplexity_before" in row:
        scale = 100 if what == "change" else 1
        told.append((f"{row['task']} (perplexity)", row.get(f"perplexity_{what}"), scale))
    return told


def _asked(test: str) -> Any:
    return lambda rows, result: [row for row in rows if row["test"] == test]


_MODEL = Column("source", optional=True)
LAYOUT = (
    Table(
        "answers",
        lambda rows, result: f"Accuracy of the models in percent: {rows[0]['kind']} tasks",
        (Column("source", "model"), Column("conf", "conf.")),
        said="change: in percent of the original",
        rows=_answers,
        split=("kind",),
        limit=_EVERY,
        pivot=Pivot("of", Column("value", kind="number", decimals=2)),
    ),
    Table(
        "judge",
        "Judge: items that mean the same",
        (
            *(Column("task"), Column("judged", kind="count")),
            Column("same", kind="share", ends=("low", "high")),
        ),
        limit=_EVERY,
    ),
    Table(
        "tests",
        "McNemar, exact: answers lost and gained",
        (
            *(_MODEL, Column("task")),
            *(Column(name, kind="count") for name in ("items", "lost", "gained")),
            Column("p", kind="p"),
        ),
        rows=_asked("mcnemar"),
        limit=_EVERY,
    ),
    Table(
        "tests",
        "Wilcoxon signed ranks: popularity before and after",
        (
            *(_MODEL, Column("task"), Column("of"), Column("items", kind="count")),
            *(Column(when, kind="number", spread=f"{when}_sd") for when in ("before", "after")),
            Column("p", kind="p"),
        ),
        said="lost: popularity of the items that go from right to wrong",
        rows=_asked("wilcoxon"),
        limit=_EVERY,
    ),
    Table(
        "frequencies",
        "Words and synonyms in the corpus",
        (
            Column("words"),
            *(Column(name, kind="count") for name in ("occurrences", "absent")),
            *(Column(n, kind="number") for n in ("mean_log10", "sd_log10", "q5", "q50", "q95")),
        ),
        said="log10 of 1 + occurrences",
        limit=_EVERY,
    ),
    Table(
        "counts",
        "Items that changed, words that were replaced and that stay",
        (
            Column("task"),
            *(Column(name, kind="count") for name in ("items", "changed", "replaced", "stay")),
        ),
        limit=_EVERY,
    ),
    Table("replacements", "Most frequent replacements", limit=_SHOWN),
    Table(
        "kept",
        "Words that stay, and why",
        (Column("task"), Column("why"), Column("words", kind="count")),
        limit=_EVERY,
    ),
    Table("items", "Items", limit=0),
)


_COLOURS: Mapping[str, Colour] = {"original": "plain", "perturbed": "reference"}
_WHEN = {"before": "original", "after": "perturbed"}
_SIMILAR = {"rouge_l": "ROUGE-L", "cosine": "cosine of embeddings", "bertscore": "BERTScore F"}


def _popularity(rows: Rows, result: Result) -> Rows:
    return [
        {"task": task, "items": name, "value": row.get(f"ips_{when}")}
        for task in result.by_source
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
        for task in result.by_source
        for row in rows
        if row["task"] == task
    ]


def _accuracies(rows: Rows, result: Result) -> Rows:
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
        says="How often the words and their synonyms occur in the corpus.",
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
        rows=_accuracies,
        says="Accuracy before and after, task by task, of each model that was asked.",
    ),
)
