"""Rows of a perturbation: tests, answers of models, words and how frequent they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import share_interval
from rote.compare.exact_tests import mcnemar, signed_ranks
from rote.core.progress import Reporter
from rote.core.result import Row
from rote.core.table import estimate
from rote.curate._perturb.replacing import Replacement
from rote.curate.perturb import Perturbed
from rote.search.backends import Backend
from rote.studies._items import mean_of
from rote.studies._perturb import checks
from rote.studies._perturb.checks import Floats, Pairs, Told

Groups = Mapping[str, NDArray[np.int64]]
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def test_rows(
    columns: Mapping[str, Floats],
    groups: Groups,
    told: Sequence[Told],
    bases: NDArray[np.int64],
) -> list[Row]:
    """McNemar on the answers; Wilcoxon on the popularity of all items, and of those that go from
    right to wrong (table 3 of the paper). Rows of several models name theirs. Items with the same
    number in `bases` are twins."""
    rows: list[Row] = []
    for task, own in groups.items():
        chosen: list[tuple[dict[str, Any], NDArray[np.bool_]]] = [
            ({"of": "all"}, np.ones(len(own), bool))
        ]
        for one in told:
            before, after = one.before[own], one.after[own]
            by = {"source": one.source} if one.source else {}
            rows.append(
                {"task": task, **by, "test": "mcnemar", **_mcnemar(before, after, bases[own])}
            )
            chosen.append(({**by, "of": "lost"}, (before == 1) & (after == 0)))
        for named, part in chosen if "ips_after" in columns else ():
            first, second = columns["ips_before"][own][part], columns["ips_after"][own][part]
            ranks = signed_ranks(first, second, bases[own][part])
            both = np.isfinite(first) & np.isfinite(second)
            rows.append(
                {
                    "task": task,
                    "test": "wilcoxon",
                    **named,
                    "items": int(both.sum()),
                    "before": mean_of(first[both]),
                    "before_sd": _deviation(first[both]),
                    "after": mean_of(second[both]),
                    "after_sd": _deviation(second[both]),
                    "differ": ranks.pairs,
                    "statistic": ranks.statistic,
                    "p": ranks.p,
                }
            )
    return rows


def _mcnemar(before: Floats, after: Floats, bases: NDArray[np.int64]) -> dict[str, Any]:
    both = np.isfinite(before) & np.isfinite(after)
    found = mcnemar(before[both] == 1, after[both] == 1, bases[both])
    return {"items": int(both.sum()), "lost": found.lost, "gained": found.gained, "p": found.p}


def answer_rows(
    told: Sequence[Told],
    groups: Groups,
    kinds: Mapping[str, str | None],
    level: float,
    bases: NDArray[np.int64],
) -> list[Row]:
    """Accuracy, and perplexity where last words are asked for, before and after: a row for each
    model, task and kind of perturbation (tables 1, 2, C and D of the paper).

    Items count that were answered both times.
    """
    rows: list[Row] = []
    for one in told:
        for task, own in groups.items():
            before, after = one.before[own], one.after[own]
            both = np.isfinite(before) & np.isfinite(after)
            rows.append(
                {
                    "source": one.source,
                    "task": task,
                    "kind": kinds[task],
                    "pos": one.pos,
                    **_share("accuracy_before", before[both], bases[own][both], level),
                    **_share("accuracy_after", after[both], bases[own][both], level),
                    "accuracy_change": _change(mean_of(before[both]), mean_of(after[both])),
                    **_perplexities(one.words_before[own], one.words_after[own]),
                    **_mcnemar(before, after, bases[own]),
                }
            )
    return rows


def _share(name: str, answers: Floats, bases: NDArray[np.int64], level: float) -> dict[str, Any]:
    return estimate(name, mean_of(answers), share_interval(answers, bases, level))


def _perplexities(before: Floats, after: Floats) -> dict[str, Any]:
    both = np.isfinite(before) & np.isfinite(after)
    if not both.any():
        return {}
    with np.errstate(over="ignore"):
        first, second = (float(np.exp(-words[both].mean())) for words in (before, after))
    return {
        "perplexity_before": first,
        "perplexity_after": second,
        "perplexity_change": _change(first, second),
    }


def _change(before: float, after: float) -> float:
    """Relative to what it was."""
    return (after - before) / before if before and math.isfinite(before) else math.nan


def judge_rows(same: Floats, groups: Groups, level: float, bases: NDArray[np.int64]) -> list[Row]:
    """How many of the judged items mean the same (table B of the paper)."""
    rows: list[Row] = []
    for task, own in groups.items():
        reach = share_interval(same[own], bases[own], level)
        share = estimate("same", mean_of(same[own]), reach, ("low", "high"))
        rows.append({"task": task, "judged": int(np.isfinite(same[own]).sum()), **share})
    return rows


def count_rows(pairs: Pairs, done: Perturbed, groups: Groups) -> list[Row]:
    """How many items and words changed, and how many words stay, for each task."""
    replaced = Counter(row.task for row in done.replacements)
    return [
        {
            "task": task,
            "items": len(own),
            "changed": sum(pairs.before[n] != pairs.after[n] for n in own.tolist()),
            "replaced": replaced[task],
            "stay": done.kept[task].total(),
        }
        for task, own in groups.items()
    ]


def item_rows(pairs: Pairs, columns: Mapping[str, Floats], names: Sequence[str]) -> list[Row]:
    """Every check of every item."""
    return [
        {"id": item.id, "task": item.task, **{name: float(columns[name][n]) for name in names}}
        for n, item in enumerate(pairs.before)
    ]


def replacement_rows(
    replacements: Iterable[Replacement], backend: Backend | None, reporter: Reporter
) -> Sequence[Row]:
    """Every word with what took its place: how often it did, how often each is in the corpus."""
    seen = Counter(
        (row.pos, row.original.lower(), row.replacement.lower(), row.synset) for row in replacements
    )
    rows: list[dict[str, Any]] = [
        {"pos": pos, "original": old, "replacement": new, "synset": synset, "times": times}
        for (pos, old, new, synset), times in seen.most_common()
    ]
    if backend is not None and rows:
        words = list(
            dict.fromkeys(row[what] for row in rows for what in ("original", "replacement"))
        )
        counts = dict(zip(words, checks.counts_of(words, backend, reporter).tolist()))
        for row in rows:
            row["original_count"] = counts[row["original"]]
            row["replacement_count"] = counts[row["replacement"]]
    return rows


def frequency_rows(replacements: Sequence[Row]) -> list[Row]:
    """How often words and their synonyms are in the corpus, over all replacements (figure 2)."""
    rows: list[Row] = []
    for what in ("original", "replacement"):
        counts = np.repeat(
            np.array([row[f"{what}_count"] for row in replacements], np.int64),
            [row["times"] for row in replacements],
        )
        if len(counts):
            logs = np.log10(1 + counts)
            rows.append(
                {
                    "words": what,
                    "occurrences": len(counts),
                    "absent": float((counts == 0).mean()),
                    "mean_log10": float(logs.mean()),
                    "sd_log10": _deviation(logs),
                    **{f"q{q * 100:g}": float(np.quantile(counts, q)) for q in _QUANTILES},
                }
            )
    return rows


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
