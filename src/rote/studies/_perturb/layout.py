"""The tables of `perturb` as they are shown; those of answers as Ruzzetti et al. (2026) have them:
functional tasks are their tables 1 and C, formal ones 2 and D, and popularity is table 3."""

from __future__ import annotations

from typing import Any

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
    Table("replacements", "Most frequent replacements", limit=_SHOWN),
    Table(
        "kept",
        "Words that stay",
        (Column("task"), Column("why"), Column("words", kind="count")),
        limit=_EVERY,
    ),
    Table("items", "Items", limit=0),
)
