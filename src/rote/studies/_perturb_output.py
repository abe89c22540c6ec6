"""Rows, tables and charts of a perturbation: tests, answers of models, words and their frequencies.

Those of answers as Ruzzetti et al. (2026) have them: functional tasks are their tables 1 and C,
formal ones 2 and D, and popularity is table 3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rote.compare.exact_tests import mcnemar, signed_ranks
from rote.core.arrays import Flags
from rote.core.chart import Colour, make_chart
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.core.table import Column, FullTable, Pivot, Row, Rows, Table, make_columns
from rote.curate.perturb import Perturbed
from rote.curate.synonyms.replacement import Replacement
from rote.search.backends import Backend
from rote.studies import _perturb_checks
from rote.studies._items import Floats, Groups, Labels, defined_mean, share_cells
from rote.studies._perturb_checks import BeforeAfter, ItemPairs

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def test_rows(
    columns: Mapping[str, Floats],
    groups: Groups,
    models: Sequence[BeforeAfter],
    bases: Labels,
) -> Iterator[Row]:
    """McNemar on the answers; Wilcoxon on the popularity of all items, and of those that go from
    right to wrong (table 3 of the paper). Rows of several models name theirs. Items with the same
    number in `bases` are twins."""
    for task, task_items in groups.items():
        everything = np.ones(len(task_items), bool)
        chosen: list[tuple[dict[str, Any], Flags]] = [({"of": "all"}, everything)]
        twins = bases[task_items]
        for answers in models:
            before, after = answers.before[task_items], answers.after[task_items]
            by = {"source": answers.source} if answers.source else {}
            yield {"task": task, **by, "test": "mcnemar", **_mcnemar(before, after, twins)}
            chosen.append(({**by, "of": "lost"}, (before == 1) & (after == 0)))
        for label, part in chosen if "ips_after" in columns else ():
            names = ("ips_before", "ips_after")
            first, second = (columns[name][task_items][part] for name in names)
            ranks = signed_ranks(first, second, twins[part])
            both = np.isfinite(first) & np.isfinite(second)
            yield {
                "task": task,
                "test": "wilcoxon",
                **label,
                "items": int(both.sum()),
                "before": defined_mean(first[both]),
                "before_sd": _deviation(first[both]),
                "after": defined_mean(second[both]),
                "after_sd": _deviation(second[both]),
                "differ": ranks.pairs,
                "statistic": ranks.statistic,
                "p": ranks.p,
            }


def _mcnemar(before: Floats, after: Floats, bases: Labels) -> dict[str, Any]:
    both = np.isfinite(before) & np.isfinite(after)
    test = mcnemar(before[both] == 1, after[both] == 1, bases[both])
    return {"items": int(both.sum()), "lost": test.lost, "gained": test.gained, "p": test.p}


def answer_rows(
    models: Sequence[BeforeAfter],
    groups: Groups,
    kinds: Mapping[str, str | None],
    level: float,
    bases: Labels,
) -> Iterator[Row]:
    """Accuracy, and perplexity where last words are asked for, before and after: a row for each
    model, task and kind of perturbation (tables 1, 2, C and D of the paper).

    Items count that were answered both times.
    """
    for answers in models:
        for task, task_items in groups.items():
            before, after = answers.before[task_items], answers.after[task_items]
            words = answers.words_before[task_items], answers.words_after[task_items]
            both = np.isfinite(before) & np.isfinite(after)
            twins = bases[task_items][both]
            change = _change(defined_mean(before[both]), defined_mean(after[both]))
            yield {
                "source": answers.source,
                "task": task,
                "kind": kinds[task],
                "pos": answers.pos,
                **share_cells("accuracy_before", before[both], twins, level),
                **share_cells("accuracy_after", after[both], twins, level),
                "accuracy_change": change,
                **_perplexities(*words),
                **_mcnemar(before, after, bases[task_items]),
            }


def _perplexities(before: Floats, after: Floats) -> dict[str, Any]:
    both = np.isfinite(before) & np.isfinite(after)
    if not both.any():
        return {}
    with np.errstate(over="ignore"):
        first, second = (float(np.exp(-words[both].mean())) for words in (before, after))
    change = _change(first, second)
    return {"perplexity_before": first, "perplexity_after": second, "perplexity_change": change}


def _change(before: float, after: float) -> float:
    """Relative to what it was."""
    return (after - before) / before if before and math.isfinite(before) else math.nan


def judge_rows(same: Floats, groups: Groups, level: float, bases: Labels) -> list[Row]:
    """How many of the judged items mean the same (table B of the paper)."""
    rows: list[Row] = []
    for task, task_items in groups.items():
        judged = int(np.isfinite(same[task_items]).sum())
        share = share_cells("same", same[task_items], bases[task_items], level, ("low", "high"))
        rows.append({"task": task, "judged": judged, **share})
    return rows


def count_rows(pairs: ItemPairs, done: Perturbed, groups: Groups) -> list[Row]:
    """How many items and words changed, and how many words stay, for each task."""
    replaced = Counter(row.task for row in done.replacements)
    return [
        {
            "task": task,
            "items": len(task_items),
            "changed": sum(pairs.before[n] != pairs.after[n] for n in task_items.tolist()),
            "replaced": replaced[task],
            "stay": done.unreplaced[task].total(),
        }
        for task, task_items in groups.items()
    ]


def item_rows(pairs: ItemPairs, columns: Mapping[str, Floats], names: Sequence[str]) -> list[Row]:
    """Every check of every item."""
    return [
        {"id": item.id, "task": item.task, **{name: float(columns[name][n]) for name in names}}
        for n, item in enumerate(pairs.before)
    ]


def replacement_rows(
    replacements: Iterable[Replacement], backend: Backend | None, reporter: Reporter
) -> Sequence[Row]:
    """Every word with what took its place: how often it did, how often each is in the corpus."""
    row_counts = Counter(
        (row.pos, row.original.lower(), row.replacement.lower(), row.synset) for row in replacements
    )
    rows: list[dict[str, Any]] = [
        {"pos": pos, "original": old, "replacement": new, "synset": synset, "times": times}
        for (pos, old, new, synset), times in row_counts.most_common()
    ]
    if backend is not None and rows:
        whats = ("original", "replacement")
        words = list(dict.fromkeys(row[what] for row in rows for what in whats))
        counts = dict(zip(words, _perturb_checks.count_words(words, backend, reporter).tolist()))
        for row in rows:
            row |= {f"{what}_count": counts[row[what]] for what in whats}
    return rows


def frequency_rows(replacements: Sequence[Row]) -> Iterator[Row]:
    """How often words and their synonyms are in the corpus, over all replacements (figure 2)."""
    times = [row["times"] for row in replacements]
    for what in ("original", "replacement"):
        counts = np.repeat([row[f"{what}_count"] for row in replacements], times)
        if len(counts):
            logs = np.log10(1 + counts)
            yield {
                "words": what,
                "occurrences": len(counts),
                "absent": float((counts == 0).mean()),
                "mean_log10": float(logs.mean()),
                "sd_log10": _deviation(logs),
                **{f"q{q * 100:g}": float(np.quantile(counts, q)) for q in _QUANTILES},
            }


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


_EVERY, _SHOWN = 1000, 15
_POS_MARKS = {"noun": "-N", "verb": "-V"}
_CONDITIONS = {"before": "Original", "after": "Lex. Perturb.", "change": "Change"}


def _answer_cells(rows: Rows, result: Result) -> list[Row]:
    """Original, perturbed and change of each model, a column for each task; in percent, but for
    the perplexity of last words."""
    lines: list[Row] = []
    for row in rows:
        mark = _POS_MARKS.get(row["pos"], "")
        for what, title in _CONDITIONS.items():
            conf = title if what == "before" else f"{title}{mark}" + " (%)" * (what == "change")
            source, kind = row["source"] or "as given", row["kind"] or "all"
            labels = {"source": source, "kind": kind, "conf": conf}
            for of, value, scale in _task_numbers(row, what):
                number = None if value is None else scale * value
                lines.append({**labels, "of": of, "value": number})
    return sorted(lines, key=lambda row: " (" not in row["of"])


def _task_numbers(row: Row, what: str) -> list[tuple[str, Any, int]]:
    points = [(row["task"], row[f"accuracy_{what}"], 100)]
    if "perplexity_before" in row:
        scale = 100 if what == "change" else 1
        points.append((f"{row['task']} (perplexity)", row.get(f"perplexity_{what}"), scale))
    return points


def _select_test(test: str) -> Any:
    return lambda rows, result: [row for row in rows if row["test"] == test]


LAYOUT = (
    FullTable(
        "answers",
        lambda rows, result: f"Accuracy of the models in percent: {rows[0]['kind']} tasks",
        make_columns("source=model conf=conf."),
        note="change: in percent of the original",
        rows=_answer_cells,
        split=("kind",),
        pivot=Pivot("of", Column("value", kind="number", decimals=2)),
    ),
    FullTable(
        "judge", "Judge: items that mean the same", make_columns("task judged:count same:share~low")
    ),
    FullTable(
        "tests",
        "McNemar, exact: answers lost and gained",
        make_columns("source? task items:count lost:count gained:count p:p"),
        rows=_select_test("mcnemar"),
    ),
    FullTable(
        "tests",
        "Wilcoxon signed ranks: popularity before and after",
        (
            *make_columns("source? task of items:count"),
            *(Column(when, kind="number", spread=f"{when}_sd") for when in ("before", "after")),
            *make_columns("p:p"),
        ),
        note="lost: popularity of the items that go from right to wrong",
        rows=_select_test("wilcoxon"),
    ),
    FullTable(
        "frequencies",
        "Words and synonyms in the corpus",
        make_columns(
            "words occurrences:count absent:count mean_log10:number sd_log10:number "
            "q5:number q50:number q95:number"
        ),
        note="log10 of 1 + occurrences",
    ),
    FullTable(
        "counts",
        "Items that changed, words that were replaced and that stay",
        make_columns("task items:count changed:count replaced:count stay:count"),
    ),
    Table("replacements", "Most frequent replacements", limit=_SHOWN),
    FullTable("kept", "Words that stay, and why", make_columns("task why words:count")),
    Table("items", "Items", limit=0),
)


_COLOURS: Mapping[str, Colour] = {"original": "plain", "perturbed": "reference"}
_WHEN = {"before": "original", "after": "perturbed"}
_SIMILAR = {"rouge_l": "ROUGE-L", "cosine": "cosine of embeddings", "bertscore": "BERTScore F"}


def _rows_by_task(rows: Rows, result: Result) -> Rows:
    return [row for task in result.by_source for row in rows if row["task"] == task]


def _chart_popularity(rows: Rows, result: Result) -> Rows:
    return [
        {"task": row["task"], "items": name, "value": row.get(f"ips_{when}")}
        for row in _rows_by_task(rows, result)
        for when, name in _WHEN.items()
    ]


def _chart_frequencies(rows: Rows, result: Result) -> Rows:
    """How often the words and their synonyms are in the corpus, each replacement once."""
    return [
        {"items": name, "value": math.log10(1 + row[f"{what}_count"]), "times": row["times"]}
        for row in rows
        if "original_count" in row
        for what, name in (("original", "original"), ("replacement", "perturbed"))
    ]


def _chart_similarity(rows: Rows, result: Result) -> Rows:
    return [
        {"task": row["task"], "measure": title, "value": row.get(name)}
        for name, title in _SIMILAR.items()
        for row in _rows_by_task(rows, result)
    ]


def _chart_accuracies(rows: Rows, result: Result) -> Rows:
    """Accuracy before and after of each model that was asked, with all parts of speech."""
    with_source = [row for row in rows if row["source"]]
    first = {row["source"]: row["pos"] for row in reversed(with_source)}
    return [
        {
            "source": row["source"],
            "task": row["task"],
            "items": name,
            "accuracy": row[f"accuracy_{when}"],
            "low": row[f"accuracy_{when}_low"],
            "high": row[f"accuracy_{when}_high"],
        }
        for row in with_source
        if row["pos"] == first[row["source"]]
        for when, name in _WHEN.items()
    ]


CHARTS = (
    make_chart(
        "popularity",
        "Popularity before and after",
        "items histogram x=value y=items colour=items panel=task",
        colours=_COLOURS,
        titles={"value": "popularity (1 to 10)", "items": "items"},
        rows=_chart_popularity,
        says="The popularity of the items before and after, task by task.",
    ),
    make_chart(
        "frequencies",
        "Words and their synonyms in the corpus",
        "replacements histogram x=value y=items colour=items weight=times",
        colours=_COLOURS,
        titles={"value": "log10(1 + occurrences in the corpus)", "items": "replacements"},
        rows=_chart_frequencies,
        says="How often the words and their synonyms occur in the corpus.",
    ),
    make_chart(
        "similarity",
        "Items and their originals",
        "items boxes x=value y=task panel=measure",
        domain=(0, 1),
        rows=_chart_similarity,
        says="How similar each item is to its original.",
    ),
    make_chart(
        "answers",
        "Accuracy before and after",
        "answers dots x=accuracy y=task colour=items panel=source ends=low,high",
        colours=_COLOURS,
        titles={"accuracy": "accuracy"},
        share=True,
        rows=_chart_accuracies,
        says="Accuracy before and after, task by task, of each model that was asked.",
    ),
)
