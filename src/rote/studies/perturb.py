"""Replace nouns and verbs of test items by synonyms, and check what that changed.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Synonyms come from WordNet:


  rote perturb piqa.jsonl --write piqa.perturbed.jsonl --log piqa.log.jsonl
  rote perturb piqa.jsonl --pos noun --write piqa.nouns.jsonl --corpus IDX -n 4

When a model has answered both, compare them; each file says in a field what was right:


  rote perturb piqa.jsonl --perturbed piqa.perturbed.jsonl --correct olmo --corpus IDX -n 4

Or let a model answer both here, with nouns, verbs and both replaced (tables 1, 2, 3, C and D of
Ruzzetti et al. 2026), and another one judge whether they mean the same (table B):


  rote perturb blimp.jsonl piqa.jsonl --model small=numpy:FOLDER --judge M --corpus IDX -n 4
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rote.compare.clusters import number_clusters
from rote.core.errors import OptionError
from rote.core.metric import (
    LONGEST_NGRAM,
    OptionSet,
    check_options,
    handle,
    is_given,
    lines_option,
    option,
    unsigned_option,
)
from rote.core.progress import Reporter, several
from rote.core.record import Call, Findings, Study
from rote.core.result import Row, SourceResult
from rote.corpus.items import ItemOptions, fingerprint, take_items
from rote.curate import perturb
from rote.curate.perturb import Perturbed, PerturbOptions
from rote.models.options import ModelOptions
from rote.search.backends import Backend, BackendOptions, open_backend
from rote.studies import _perturb_checks, _perturb_output
from rote.studies._evaluation import ANSWER_FIELDS, unanswered_notes
from rote.studies._items import CORRECTNESS, Floats, Labels, describe_values, estimate_columns
from rote.studies._perturb_checks import (
    BeforeAfter,
    ItemPairs,
    JudgeOptions,
    PerturbAnswers,
)
from rote.studies._perturb_output import CHARTS, LAYOUT
from rote.studies._popularity_scores import DecileScale


@dataclass(frozen=True, slots=True)
class Options:
    """What is read and written beside the result, and who answers."""

    SECTION: ClassVar[str] = "Items, before and after"
    write: Path | None = lines_option(
        None, "Write the perturbed items to this file, in the form of the input (JSON Lines)"
    )
    log: Path | None = lines_option(None, "Write every replacement to this file (JSON Lines)")
    perturbed: tuple[Path, ...] = handle(
        (),
        "Items perturbed earlier: compare them, replace nothing",
        "FILE,...",
        takes="items",
    )
    write_answers: Path | None = lines_option(
        None, "Write every answer of --model to this file, before and after (JSON Lines)"
    )
    corpus: str | None = handle(
        None,
        "Corpus to count popularity and frequency in: an index of rote, a folder of infini-gram, "
        "infini-gram:NAME",
        "IDX",
        takes="index",
    )
    model: tuple[str, ...] = handle(
        (),
        "Models that answer the items before and after, as in `rote evaluate`; NAME=MODEL names a "
        "model",
        "M1,M2,...",
    )
    each_pos: bool = unsigned_option(
        True, "Also perturb nouns only and verbs only, with --model (the authors' tables C and D)"
    )

    def __post_init__(self) -> None:
        check_options(self)
        if is_given(self.perturbed) and (self.write or self.log):
            raise OptionError("--perturbed compares existing items: there is nothing to write")
        if self.write_answers and not self.model:
            raise OptionError("--write-answers needs a model: name one with --model")


def run(call: Call) -> Findings:
    """Replace words, or take what others replaced; then compare before and after."""
    from rote.curate.corpus_reader import write_lines
    from rote.search.open_models import open_model, open_models

    options, judging, reporter = call.options, call.of(JudgeOptions), call.reporter
    _check_options(options, call.of(PerturbOptions), call.of(CheckOptions))
    # What cannot be opened is noticed before the work.
    backend: Backend | None = None
    if options.corpus is not None:
        backend = open_backend(options.corpus, call.of(BackendOptions), reporter)
    how = call.of(ModelOptions)
    models = open_models(options.model, how, reporter)
    judge = open_model(judging.judge, how, reporter) if judging.judge else None
    act = _read_perturbed if is_given(options.perturbed) else _perturb_items
    pairs, done, parts, records = act(call, answering=bool(models))
    answers = _perturb_checks.ask_models(models, call.inputs, parts, reporter) if models else None
    if answers and options.write_answers:
        write_lines(options.write_answers, answers.rows)
    spoken = ModelVerdicts(answers)
    if judge is not None:
        seed = call.of(PerturbOptions).seed
        same = _perturb_checks.judge_items(pairs, judge, judging, reporter, seed=seed)
        signed = f"{judge.signature}/{judging.judge_by}/{judging.judge_items}"
        spoken = ModelVerdicts(answers, same, signed)
    findings = compare_items(pairs, done, call.of(CheckOptions), backend, spoken, reporter)
    return replace(findings, records=records)


def _check_options(options: Options, replacing: PerturbOptions, checks: CheckOptions) -> None:
    if is_given(options.perturbed) and replacing != PerturbOptions():
        raise OptionError(
            "--perturbed compares existing items: how words are replaced (--pos, --variant, "
            "--lexicon, --sense, --sure, --seed) was decided when they were made"
        )
    if is_given(options.perturbed) and checks.correct and options.model:
        raise OptionError(
            f"correctness is given twice, by --model and by the field '{checks.correct}': leave "
            "one out"
        )
    if checks.bertscore:
        from rote.measure.reference_scores.neural import check_bertscore

        check_bertscore(checks.bertscore, checks.bertscore_layer)


def _read_perturbed(call: Call, *, answering: bool) -> tuple[Any, ...]:
    """Items that others perturbed, put beside the originals."""
    before = [record.item for record in call.inputs]
    chosen = call.of(ItemOptions)
    others = take_items(call.options.perturbed, chosen, call.reporter, called="perturbed")
    pairs = ItemPairs(before, perturb.match_items(before, [record.item for record in others]))
    return pairs, None, {"given": perturb.order_records(pairs.after, others)}, ()


def _perturb_items(call: Call, *, answering: bool) -> tuple[Any, ...]:
    """Items that are perturbed here, and written if that was asked for."""
    from rote.curate.corpus_reader import write_lines

    options, records = call.of(PerturbOptions), call.inputs
    models = call.of(ModelOptions)
    items = [record.item for record in records]
    perturb.check_ids(items)
    forms = list(dict.fromkeys(record.form for record in records))
    if call.options.write and len(forms) > 1:
        raise OptionError(
            f"{call.options.write} cannot store items of several forms ({', '.join(forms)}): "
            "perturb each benchmark on its own"
        )
    result = perturb.perturb(items, options, call.reporter, models=models)
    # Earlier answers do not go with the perturbed items.
    correct = call.of(CheckOptions).correct
    stale = (*CORRECTNESS, *ANSWER_FIELDS, *((correct,) if correct else ()))
    changed = [
        perturb.rewrite_record(record, item, stale) for record, item in zip(records, result.items)
    ]
    if call.options.log:
        write_lines(call.options.log, map(asdict, result.replacements))
    parts = {",".join(options.pos): _perturb_checks.replace_items(records, result.items)}
    if answering and call.options.each_pos and len(options.pos) > 1:
        for pos in options.pos:
            part = perturb.perturb(
                items, replace(options, pos=(pos,)), call.reporter, models=models
            )
            parts[pos] = _perturb_checks.replace_items(records, part.items)
    return ItemPairs(items, result.items), result, parts, changed


TITLES = {
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
_METHOD = "jackknife (means), Wilson (shares); twins are kept together"


@dataclass(frozen=True, slots=True)
class CheckOptions(OptionSet):
    """How perturbed items are compared with the originals."""

    SECTION: ClassVar[str] = "Checks"
    n: int = option(7, "Tokens in an n-gram, for popularity", short="-n", most=LONGEST_NGRAM)
    deciles: Path | None = option(
        None,
        "Deciles of the original items, from `rote popularity --save-deciles`; default: those of "
        "the items given",
        metavar="FILE",
    )
    max_undefined: float = option(0.1, "Maximum share of instances shorter than n")
    embedder: str = option(
        _perturb_checks.NO_EMBEDDER,
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
        "Field of both files with whether an item was answered correctly (true or 1, false or 0); "
        "acc in logs of lm-evaluation-harness",
        metavar="FIELD",
    )
    interval: float = option(0.95, "Confidence level of the intervals; 0: no intervals")


@dataclass(frozen=True, slots=True)
class ModelVerdicts:
    """What models said: their answers, and what a judge thinks of each item (1 same, 0 not)."""

    answers: PerturbAnswers | None = None
    same: Floats | None = None
    judge: str = ""


def compare_items(
    pairs: ItemPairs,
    done: Perturbed | None,
    options: CheckOptions,
    backend: Backend | None,
    spoken: ModelVerdicts,
    reporter: Reporter,
) -> Findings:
    """Everything that can be said with what is given.

    Where the items were perturbed just now (`done`), only models that were asked here (`spoken`)
    can have answered them; otherwise their own fields may say what was right.
    """
    columns = _check_columns(pairs, options, backend, reporter)
    if spoken.same is not None:
        columns["judged_same"] = spoken.same
    tasks = np.array([item.task for item in pairs.before])
    groups = {task: np.flatnonzero(tasks == task) for task in dict.fromkeys(tasks.tolist())}
    recorded = spoken.answers.changes if spoken.answers else _recorded_answers(pairs, done, options)
    main = [entry for entry in recorded if entry.pos == recorded[0].pos]
    if len(main) == 1:
        columns |= {"accuracy_before": main[0].before, "accuracy_after": main[0].after}
    if done:
        replaced = Counter((row.task, row.item) for row in done.replacements)
        columns["replaced"] = np.array(
            [float(replaced[item.task, item.id]) for item in pairs.before]
        )
    kinds = {task: _task_kind(pairs, task_items) for task, task_items in groups.items()}
    names = [name for name in TITLES if name in columns]
    bases = number_clusters([item.base for item in pairs.before])
    rows: dict[str, Sequence[Row]] = {
        "tests": list(_perturb_output.test_rows(columns, groups, main, bases)),
        "items": _perturb_output.item_rows(pairs, columns, names),
    }
    if recorded:
        answered = _perturb_output.answer_rows(recorded, groups, kinds, options.interval, bases)
        rows["answers"] = list(answered)
    if spoken.same is not None:
        rows["judge"] = _perturb_output.judge_rows(spoken.same, groups, options.interval, bases)
    if done:
        rows["replacements"] = _perturb_output.replacement_rows(
            done.replacements, backend, reporter
        )
        rows["counts"] = _perturb_output.count_rows(pairs, done, groups)
        rows["kept"] = [
            {"task": task, "why": why, "words": words}
            for task, reasons in done.unreplaced.items()
            for why, words in reasons.most_common()
        ]
        if backend is not None:
            rows["frequencies"] = list(_perturb_output.frequency_rows(rows["replacements"]))
    sources = {
        task: _source_result(task, task_items, pairs, columns, done, options.interval)
        for task, task_items in groups.items()
    }
    present = {
        n: t for n, t in TITLES.items() if any(n in source.values for source in sources.values())
    }
    return Findings(
        signed=_signature(pairs, done, options, backend, spoken),
        by=("task",),
        method=_METHOD,
        sources=sources,
        values=describe_values(present, shares=_SHARES),
        tables=rows,
        notes=(*_answer_notes(spoken), *_meaning_notes(spoken, columns["changed"], done)),
    )


def _recorded_answers(
    pairs: ItemPairs, done: Perturbed | None, options: CheckOptions
) -> tuple[BeforeAfter, ...]:
    """What fields of the items say about answers."""
    if done is not None:
        return ()
    before = _perturb_checks.read_answers(pairs.before, options.correct)
    after = _perturb_checks.read_answers(pairs.after, options.correct)
    if not (np.isfinite(before).any() and np.isfinite(after).any()):
        return ()
    words = [_perturb_checks.last_words(items) for items in (pairs.before, pairs.after)]
    return (BeforeAfter("", "", before, after, *words),)


def _task_kind(pairs: ItemPairs, task_items: Labels) -> str | None:
    """Formal or functional, where all items of a task say the same."""
    kinds = {pairs.before[n].meta.get("kind") for n in task_items.tolist()}
    return kinds.pop() if len(kinds) == 1 else None


def _answer_notes(spoken: ModelVerdicts) -> Iterator[str]:
    yield from unanswered_notes(spoken.answers.rows if spoken.answers else ())
    # A judge that says the same of everything may not be able to judge.
    marks = spoken.same[np.isfinite(spoken.same)] if spoken.same is not None else np.empty(0)
    if len(marks) > 1 and len(set(marks.tolist())) == 1:
        verdict = "same" if marks[0] else "different"
        yield f"the judge says '{verdict}' of all {len(marks):,} items: it may be unable to judge"


_READ_BY_HAND = {"careful": (87, 98), "exact": (17, 99)}
"""Items that kept their meaning, of those that were read by hand (docs/perturb.md)."""


def _meaning_notes(spoken: ModelVerdicts, changed: Floats, done: Perturbed | None) -> Iterator[str]:
    """How many of the items that changed keep their meaning, as far as anybody knows."""
    number = int(np.nansum(changed))
    if not number:
        return
    if spoken.same is not None:
        marks = spoken.same[np.isfinite(spoken.same)]
        yield f"the judge says that {int(marks.sum()):,} of {len(marks):,} items keep their meaning"
        return
    line = (
        f"no judge checked whether {several(number, 'changed item')} kept the meaning: use "
        "--judge to ask a model"
    )
    kept_meaning, read = _READ_BY_HAND.get(done.settings["variant"], (0, 0)) if done else (0, 0)
    known = f"; of {read} made this way and checked by hand, {kept_meaning} did" if read else ""
    yield f"{line}{known}"


def _check_columns(
    pairs: ItemPairs, options: CheckOptions, backend: Backend | None, reporter: Reporter
) -> dict[str, Floats]:
    """Of each check one number per item."""
    columns = {"rouge_l": _perturb_checks.rouge_l(pairs)}
    columns["changed"] = np.array(
        [float(a.instances() != b.instances()) for a, b in zip(pairs.before, pairs.after)]
    )
    if options.embedder != _perturb_checks.NO_EMBEDDER:
        columns["cosine"] = _perturb_checks.cosine(pairs, options.embedder, reporter)
    if options.bertscore:
        columns["bertscore"] = _perturb_checks.bertscore(
            pairs, options.bertscore, options.bertscore_layer, reporter
        )
    if backend is not None:
        columns["ips_before"], columns["ips_after"] = _perturb_checks.pair_popularity(
            pairs,
            backend,
            options.n,
            scale=DecileScale.read(options.deciles) if options.deciles else None,
            max_undefined=options.max_undefined,
            reporter=reporter,
        )
    return columns


def _source_result(
    task: str,
    task_items: Labels,
    pairs: ItemPairs,
    columns: Mapping[str, Floats],
    done: Perturbed | None,
    level: float,
) -> SourceResult:
    bases = number_clusters([pairs.before[n].base for n in task_items.tolist()])
    task_columns = {name: column[task_items] for name, column in columns.items()}
    values, intervals = estimate_columns(task_columns, bases, level, _SHARES)
    notes = []
    for name, column in task_columns.items():
        lost = int(np.isnan(column).sum())
        if lost == len(task_items):
            notes.append(f"{name}: no item has one")
        elif lost and name != "judged_same":
            notes.append(f"{name}: {lost:,} of {len(task_items):,} items have none")
    for what in ("ips", "accuracy"):
        if f"{what}_before" in values:
            first, second = values[f"{what}_before"], values[f"{what}_after"]
            values[f"{what}_change"] = (second - first) / first if first else math.nan
            if not first:
                notes.append(f"{what}_change: the value before is 0")
    if done:
        unchanged = sum(done.unreplaced.get(task, Counter()).values())
        replaced = sum(row.task == task for row in done.replacements)
        every = replaced + unchanged
        values["replaced_share"] = replaced / every if every else math.nan
        if not every:
            notes.append("replaced_share: there is no noun or verb")
    words = sum(
        len(text.split()) for n in task_items.tolist() for text in pairs.before[n].instances()
    )
    return SourceResult(len(task_items), words, values, intervals, tuple(notes))


def _signature(
    pairs: ItemPairs,
    done: Perturbed | None,
    options: CheckOptions,
    backend: Backend | None,
    spoken: ModelVerdicts,
) -> dict[str, Any]:
    deciles = DecileScale.read(options.deciles).fingerprint if options.deciles else "own"
    signatures = spoken.answers.signatures.values() if spoken.answers else ()
    counted = {"n": options.n, "counts": backend.signature, "deciles": deciles} if backend else {}
    return {
        **(done.settings if done else {}),
        "embedder": options.embedder,
        **counted,
        **({"bertscore": options.bertscore} if options.bertscore else {}),
        **({"judge": spoken.judge} if spoken.judge else {}),
        **({"models": tuple(signatures)} if signatures else {"correct": options.correct or "acc"}),
        "items": fingerprint(pairs.before),
        "perturbed": fingerprint(pairs.after),
    }


STUDY = Study(
    name="perturb",
    title="Perturbation",
    says="What changes where nouns and verbs of test items are replaced by synonyms.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(PerturbOptions, CheckOptions, JudgeOptions, ItemOptions, ModelOptions, BackendOptions),
    run=run,
    citation="Ruzzetti, Zanzotto and Caselli, Lexical Popularity: Quantifying the Impact of "
    "Pre-training for LLM Performance",
    section="items",
    charts=CHARTS,
    layout=LAYOUT,
)
