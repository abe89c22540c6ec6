"""The result of a perturbation: how far the items moved, and whether answers moved with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import around, mean_error
from rote.compare.paired import mcnemar, signed_ranks
from rote.compare.shares import wilson
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Interval, Result, Row, SourceResult
from rote.core.signature import Signature
from rote.curate._perturb import checks
from rote.curate._perturb.checks import Floats, Pairs
from rote.curate._perturb.replacing import Replacement
from rote.index.backends import Backend
from rote.measure._popularity.deciles import Scale

VALUES = {
    "changed": "items that changed",
    "replaced": "words replaced",
    "replaced_share": "share of nouns and verbs",
    "rouge_l": "ROUGE-L with the original",
    "cosine": "cosine with the original",
    "ips_before": "popularity before",
    "ips_after": "popularity after",
    "ips_change": "relative change",
    "accuracy_before": "accuracy before",
    "accuracy_after": "accuracy after",
    "accuracy_change": "relative change of accuracy",
}
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_METHOD = "jackknife over items (means), Wilson (accuracy)"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How perturbed items are compared with the originals."""

    n: int = option(7, "Tokens in an n-gram, for popularity", short="-n")
    deciles: Path | None = option(
        None,
        "Deciles of the original items, from `rote popularity --save-deciles`; default: those of "
        "the items given",
        metavar="FILE",
    )
    max_undefined: float = option(0.1, "Largest share of instances that may be shorter than n")
    embedder: str = option(
        checks.NO_EMBEDDER,
        "Embedder for the similarity in meaning: minilm (extra semantic), "
        "sentence-transformers:NAME, none",
    )
    correct: str | None = option(
        None,
        "Field of both files that says whether an item was answered rightly (true or 1, false or "
        "0); logs of lm-evaluation-harness have it as acc",
        metavar="FIELD",
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        if not 0 <= self.interval < 1:
            raise OptionError(f"interval must be at least 0 and below 1, not {self.interval}")


@dataclass(frozen=True, slots=True)
class Done:
    """What is known of how the items were perturbed; empty where others did it."""

    replacements: Sequence[Replacement] = ()
    kept: Mapping[str, Counter[str]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def study(
    pairs: Pairs,
    done: Done | None,
    options: CheckOptions,
    *,
    backend: Backend | None,
    reporter: Reporter,
) -> Result:
    """Everything that can be said with what is given.

    Where the items were perturbed just now (`done`), nobody has answered them yet.
    """
    columns = _columns(pairs, options, backend, reporter)
    tasks = np.array([item.task for item in pairs.before])
    groups = {task: np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks.tolist())}
    if done is None:
        before = checks.answered(pairs.before, options.correct)
        after = checks.answered(pairs.after, options.correct)
        if np.isfinite(before).any() and np.isfinite(after).any():
            columns |= {"accuracy_before": before, "accuracy_after": after}
    else:
        replaced = Counter((row.task, row.item) for row in done.replacements)
        columns["replaced"] = np.array(
            [float(replaced[item.task, item.id]) for item in pairs.before]
        )
    tables: dict[str, Sequence[Row]] = {
        "tests": _tests(columns, groups),
        "items": _items(pairs, columns),
    }
    if done:
        tables["replacements"] = _replacements(done, backend, reporter)
        tables["kept"] = [
            {"task": task, "why": why, "words": words}
            for task, reasons in done.kept.items()
            for why, words in reasons.most_common()
        ]
        if backend is not None:
            tables["frequencies"] = _frequencies(tables["replacements"])
    sources = {
        task: _source(task, own, pairs, columns, done, options.interval)
        for task, own in groups.items()
    }
    held = [name for name in VALUES if any(name in one.values for one in sources.values())]
    return Result(
        measure="perturb",
        signature=_signature(done, options, backend),
        by=("task",),
        reference=None,
        interval=Interval(options.interval, _METHOD) if options.interval else None,
        sources=sources,
        tables={
            "values": [
                {
                    "value": name,
                    "title": VALUES[name],
                    "higher": "neither",
                    "length_sensitive": False,
                }
                for name in held
            ],
            **tables,
        },
    )


def _columns(
    pairs: Pairs, options: CheckOptions, backend: Backend | None, reporter: Reporter
) -> dict[str, Floats]:
    """Of each check one number per item."""
    found = {"rouge_l": checks.rouge_l(pairs)}
    found["changed"] = np.array(
        [float(a.instances() != b.instances()) for a, b in zip(pairs.before, pairs.after)]
    )
    if options.embedder != checks.NO_EMBEDDER:
        found["cosine"] = checks.cosine(pairs, options.embedder, reporter)
    if backend is not None:
        found["ips_before"], found["ips_after"] = checks.popularity(
            pairs,
            backend,
            options.n,
            scale=Scale.read(options.deciles) if options.deciles else None,
            max_undefined=options.max_undefined,
            reporter=reporter,
        )
    return found


def _source(
    task: str,
    own: NDArray[np.int64],
    pairs: Pairs,
    columns: Mapping[str, Floats],
    done: Done | None,
    level: float,
) -> SourceResult:
    values: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    notes = []
    for name, column in columns.items():
        defined = column[own][~np.isnan(column[own])]
        values[name] = float(defined.mean()) if len(defined) else math.nan
        if not len(defined):
            notes.append(f"{name}: no item has one")
        elif level and name.startswith("accuracy"):
            intervals[name] = wilson(int(defined.sum()), len(defined), level)
        elif level and len(defined) > 1:
            intervals[name] = around(values[name], mean_error(defined), level)
        if (lost := len(own) - len(defined)) and len(defined):
            notes.append(f"{name}: {lost:,} of {len(own):,} items have none")
    for what in ("ips", "accuracy"):
        if f"{what}_before" in values:
            first, second = values[f"{what}_before"], values[f"{what}_after"]
            values[f"{what}_change"] = (second - first) / first if first else math.nan
            if not first:
                notes.append(f"{what}_change: the value before is 0")
    if done:
        kept = sum(done.kept.get(task, Counter()).values())
        replaced = sum(row.task == task for row in done.replacements)
        values["replaced_share"] = replaced / (replaced + kept) if replaced + kept else math.nan
        if not replaced + kept:
            notes.append("replaced_share: there is no noun or verb")
    words = sum(len(text.split()) for n in own.tolist() for text in pairs.before[n].instances())
    return SourceResult(len(own), words, values, intervals, tuple(notes))


def _tests(columns: Mapping[str, Floats], groups: Mapping[str, NDArray[np.int64]]) -> list[Row]:
    """McNemar on the answers; Wilcoxon on the popularity of all items, and of those that go from
    right to wrong (table 3 of the paper)."""
    rows: list[Row] = []
    answers = "accuracy_after" in columns
    popular = "ips_after" in columns
    for task, own in groups.items():
        lost = None
        if answers:
            before, after = columns["accuracy_before"][own], columns["accuracy_after"][own]
            both = np.isfinite(before) & np.isfinite(after)
            found = mcnemar(before[both] == 1, after[both] == 1)
            rows.append(
                {
                    "task": task,
                    "test": "mcnemar",
                    "items": int(both.sum()),
                    "lost": found.lost,
                    "gained": found.gained,
                    "p": found.p,
                }
            )
            lost = (before == 1) & (after == 0)
        chosen = {"all": np.ones(len(own), bool)} | ({"lost": lost} if lost is not None else {})
        for name, part in chosen.items() if popular else ():
            first, second = columns["ips_before"][own][part], columns["ips_after"][own][part]
            ranks = signed_ranks(first, second)
            both = np.isfinite(first) & np.isfinite(second)
            rows.append(
                {
                    "task": task,
                    "test": "wilcoxon",
                    "of": name,
                    "items": int(both.sum()),
                    "before": _mean(first[both]),
                    "before_sd": _deviation(first[both]),
                    "after": _mean(second[both]),
                    "after_sd": _deviation(second[both]),
                    "differ": ranks.pairs,
                    "statistic": ranks.statistic,
                    "p": ranks.p,
                }
            )
    return rows


def _items(pairs: Pairs, columns: Mapping[str, Floats]) -> list[Row]:
    names = [name for name in VALUES if name in columns]
    return [
        {"id": item.id, "task": item.task, **{name: float(columns[name][n]) for name in names}}
        for n, item in enumerate(pairs.before)
    ]


def _replacements(done: Done, backend: Backend | None, reporter: Reporter) -> Sequence[Row]:
    """Every word with what took its place: how often it did, how often each is in the corpus."""
    seen = Counter(
        (row.pos, row.original.lower(), row.replacement.lower(), row.synset)
        for row in done.replacements
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


def _frequencies(replacements: Sequence[Row]) -> list[Row]:
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


def _signature(done: Done | None, options: CheckOptions, backend: Backend | None) -> Signature:
    return Signature.of(
        {
            "measure": "perturb",
            **(done.settings if done else {"perturbed": "given"}),
            "embedder": options.embedder,
            **(
                {
                    "n": options.n,
                    "counts": backend.signature,
                    "deciles": "given" if options.deciles else "own",
                }
                if backend
                else {}
            ),
            "correct": options.correct or "acc",
        }
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
