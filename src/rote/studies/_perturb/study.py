"""The result of a perturbation: how far the items moved, and whether answers moved with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import numbered
from rote.core.metric import LONGEST_NGRAM, check_options, option
from rote.core.progress import Reporter, several
from rote.core.record import Findings
from rote.core.result import Row, SourceResult
from rote.corpus.items import fingerprint
from rote.curate.perturb import Perturbed
from rote.search.backends import Backend
from rote.studies._items import described, estimates
from rote.studies._perturb import checks, tables
from rote.studies._perturb.checks import Answers, Floats, Pairs, Told
from rote.studies._popularity.scores import Scale

VALUES = {
    "changed": "items that changed",
    "replaced": "words replaced",
    "replaced_share": "share of nouns and verbs",
    "rouge_l": "ROUGE-L with the original",
    "cosine": "cosine with the original",
    "bertscore": "BERTScore F with the original",
    "judged_same": "same meaning by the judge",
    "ips_before": "popularity before",
    "ips_after": "popularity after",
    "ips_change": "relative change",
    "accuracy_before": "accuracy before",
    "accuracy_after": "accuracy after",
    "accuracy_change": "relative change of accuracy",
}
_SHARES = ("accuracy", "judged", "changed")
_METHOD = "jackknife (means), Wilson (shares); twins belong together"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """How perturbed items are compared with the originals."""

    SECTION: ClassVar[str] = "Checks"
    n: int = option(7, "Tokens in an n-gram, for popularity", short="-n", most=LONGEST_NGRAM)
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
    bertscore: str | None = option(
        None,
        "BERTScore with the original, by this model, such as roberta-large (extra bertscore)",
        metavar="MODEL",
    )
    bertscore_layer: int | None = option(
        None, "Layer of that model; known for those that bert-score names", metavar="N", most=1_000
    )
    correct: str | None = option(
        None,
        "Field of both files that says whether an item was answered rightly (true or 1, false or "
        "0); logs of lm-evaluation-harness have it as acc",
        metavar="FIELD",
    )
    interval: float = option(0.95, "Level of the intervals; 0 leaves them out")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Spoken:
    """What models said: their answers, and what a judge thinks of each item (1 same, 0 not)."""

    answers: Answers | None = None
    same: Floats | None = None
    judge: str = ""


def compared(
    pairs: Pairs,
    done: Perturbed | None,
    options: CheckOptions,
    backend: Backend | None,
    spoken: Spoken,
    reporter: Reporter,
) -> Findings:
    """Everything that can be said with what is given.

    Where the items were perturbed just now (`done`), only models that were asked here (`spoken`)
    can have answered them; otherwise their own fields may say what was right.
    """
    columns = _columns(pairs, options, backend, reporter)
    if spoken.same is not None:
        columns["judged_same"] = spoken.same
    tasks = np.array([item.task for item in pairs.before])
    groups = {task: np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks.tolist())}
    told = spoken.answers.told if spoken.answers else _given(pairs, done, options)
    main = [one for one in told if one.pos == told[0].pos]
    if len(main) == 1:
        columns |= {"accuracy_before": main[0].before, "accuracy_after": main[0].after}
    if done:
        replaced = Counter((row.task, row.item) for row in done.replacements)
        columns["replaced"] = np.array(
            [float(replaced[item.task, item.id]) for item in pairs.before]
        )
    kinds = {task: _kind(pairs, own) for task, own in groups.items()}
    names = [name for name in VALUES if name in columns]
    bases = numbered([item.base for item in pairs.before])
    rows: dict[str, Sequence[Row]] = {
        "tests": tables.test_rows(columns, groups, main, bases),
        "items": tables.item_rows(pairs, columns, names),
    }
    if told:
        rows["answers"] = tables.answer_rows(told, groups, kinds, options.interval, bases)
    if spoken.same is not None:
        rows["judge"] = tables.judge_rows(spoken.same, groups, options.interval, bases)
    if done:
        rows["replacements"] = tables.replacement_rows(done.replacements, backend, reporter)
        rows["counts"] = tables.count_rows(pairs, done, groups)
        rows["kept"] = [
            {"task": task, "why": why, "words": words}
            for task, reasons in done.kept.items()
            for why, words in reasons.most_common()
        ]
        if backend is not None:
            rows["frequencies"] = tables.frequency_rows(rows["replacements"])
    sources = {
        task: _source(task, own, pairs, columns, done, options.interval)
        for task, own in groups.items()
    }
    held = {n: t for n, t in VALUES.items() if any(n in one.values for one in sources.values())}
    return Findings(
        signed=_signed(pairs, done, options, backend, spoken),
        by=("task",),
        method=_METHOD,
        sources=sources,
        values=described(held, shares=_SHARES),
        tables=rows,
        notes=(*_notes(spoken), *_meaning(spoken, columns["changed"], done)),
    )


def _given(pairs: Pairs, done: Perturbed | None, options: CheckOptions) -> tuple[Told, ...]:
    """What fields of the items say about answers."""
    if done is not None:
        return ()
    before = checks.answered(pairs.before, options.correct)
    after = checks.answered(pairs.after, options.correct)
    if not (np.isfinite(before).any() and np.isfinite(after).any()):
        return ()
    words = [checks.last_words(items) for items in (pairs.before, pairs.after)]
    return (Told("", "", before, after, *words),)


def _kind(pairs: Pairs, own: NDArray[np.int64]) -> str | None:
    """Formal or functional, where all items of a task say the same."""
    said = {pairs.before[n].meta.get("kind") for n in own.tolist()}
    return said.pop() if len(said) == 1 else None


def _notes(spoken: Spoken) -> Iterator[str]:
    rows = spoken.answers.rows if spoken.answers else ()
    count = Counter((row["source"], row["unanswered"]) for row in rows if "unanswered" in row)
    for (name, why), number in count.items():
        yield f"{name}: no answer to {several(number, 'item')}, not counted ({why})"
    # A judge that says the same of everything may not be able to judge.
    told = spoken.same[np.isfinite(spoken.same)] if spoken.same is not None else np.empty(0)
    if len(told) > 1 and len(set(told.tolist())) == 1:
        said = "same" if told[0] else "different"
        yield f"the judge says '{said}' of all {len(told):,} items: it may not be able to judge"


_READ = {"careful": (87, 98), "exact": (17, 99)}
"""Items that kept their meaning, of those that were read by hand (docs/perturb.md)."""


def _meaning(spoken: Spoken, changed: Floats, done: Perturbed | None) -> Iterator[str]:
    """How many of the items that changed keep their meaning, as far as anybody knows."""
    number = int(np.nansum(changed))
    if not number:
        return
    if spoken.same is not None:
        told = spoken.same[np.isfinite(spoken.same)]
        yield f"the judge says that {int(told.sum()):,} of {len(told):,} items keep their meaning"
        return
    line = f"nobody judged whether {several(number, 'changed item')} kept the meaning: --judge"
    kept, read = _READ.get(done.settings["variant"], (0, 0)) if done else (0, 0)
    known = f"; of {read} that were made so and read by hand, {kept} did" if read else ""
    yield f"{line} asks a model{known}"


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
    if options.bertscore:
        found["bertscore"] = checks.bertscore(
            pairs, options.bertscore, options.bertscore_layer, reporter
        )
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
    done: Perturbed | None,
    level: float,
) -> SourceResult:
    bases = numbered([pairs.before[n].base for n in own.tolist()])
    held = {name: column[own] for name, column in columns.items()}
    values, intervals = estimates(held, bases, level, _SHARES)
    notes = []
    for name, column in held.items():
        lost = int(np.isnan(column).sum())
        if lost == len(own):
            notes.append(f"{name}: no item has one")
        elif lost and name != "judged_same":
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


def _signed(
    pairs: Pairs,
    done: Perturbed | None,
    options: CheckOptions,
    backend: Backend | None,
    spoken: Spoken,
) -> dict[str, Any]:
    deciles = Scale.read(options.deciles).fingerprint if options.deciles else "own"
    asked = spoken.answers.signatures.values() if spoken.answers else ()
    counted = {"n": options.n, "counts": backend.signature, "deciles": deciles} if backend else {}
    return {
        **(done.settings if done else {}),
        "embedder": options.embedder,
        **counted,
        **({"bertscore": options.bertscore} if options.bertscore else {}),
        **({"judge": spoken.judge} if spoken.judge else {}),
        **({"models": tuple(asked)} if asked else {"correct": options.correct or "acc"}),
        "items": fingerprint(pairs.before),
        "perturbed": fingerprint(pairs.after),
    }
