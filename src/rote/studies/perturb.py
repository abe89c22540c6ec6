"""Replace nouns and verbs of test items by synonyms, and check what that changed.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Synonyms come from WordNet:

\b
  rote perturb piqa.jsonl --write piqa.perturbed.jsonl --log piqa.log.jsonl
  rote perturb piqa.jsonl --pos noun --write piqa.nouns.jsonl --corpus IDX -n 4

When a model has answered both, compare them; each file says in a field what was right:

\b
  rote perturb piqa.jsonl --perturbed piqa.perturbed.jsonl --correct olmo --corpus IDX -n 4

Or let a model answer both here, with nouns, verbs and both replaced (tables 1, 2, 3, C and D of
Ruzzetti et al. 2026), and another one judge whether they mean the same (table B):

\b
  rote perturb blimp.jsonl piqa.jsonl --model small=numpy:FOLDER --judge M --corpus IDX -n 4
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rote.core.errors import OptionError
from rote.core.metric import check_options, handle, is_given, option, unsigned
from rote.core.record import LINES, Call, Findings, Study
from rote.corpus.items import ItemOptions
from rote.curate.perturb import PerturbOptions
from rote.models.options import ModelOptions
from rote.search.backends import BackendOptions
from rote.studies._perturb.checks import JudgeOptions
from rote.studies._perturb.layout import CHARTS, LAYOUT
from rote.studies._perturb.study import CheckOptions

if TYPE_CHECKING:
    from rote.search.backends import Backend


@dataclass(frozen=True, slots=True)
class Options:
    """What is read and written beside the result, and who answers."""

    SECTION: ClassVar[str] = "Items, before and after"
    write: Path | None = option(
        None,
        "Write the perturbed items there, in the form of the input (JSON Lines)",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )
    log: Path | None = option(
        None,
        "Write every replacement there (JSON Lines)",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )
    perturbed: tuple[Path, ...] = handle(
        (),
        "Items that were perturbed before: compare, and replace nothing",
        "FILE,...",
        takes="items",
    )
    write_answers: Path | None = option(
        None,
        "Write every answer of --model there, before and after (JSON Lines)",
        metavar="FILE",
        writes=LINES,
        sign=unsigned,
    )
    corpus: str | None = handle(
        None,
        "Where popularity and frequency are counted: an index of rote, a folder of infini-gram, "
        "infini-gram:NAME",
        "IDX",
        takes="index",
    )
    model: tuple[str, ...] = handle(
        (),
        "Models that answer the items before and after, as in `rote evaluate`; NAME=MODEL gives "
        "one a name of its own",
        "M1,M2,...",
    )
    each_pos: bool = option(
        True,
        "Also perturb nouns only and verbs only, with --model (the authors' tables C and D)",
        sign=unsigned,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if is_given(self.perturbed) and (self.write or self.log):
            raise OptionError("--perturbed compares items that are there: it has nothing to write")
        if self.write_answers and not self.model:
            raise OptionError("--write-answers writes what models answer: --model names one")


def run(call: Call) -> Findings:
    """Replace words, or take what others replaced; then compare before and after."""
    from rote.curate.reading import write_lines
    from rote.measure._speaking import open_model, open_models
    from rote.search.backends import open_backend
    from rote.studies._perturb.checks import ask, judged
    from rote.studies._perturb.study import Spoken, compared

    options, judging, reporter = call.options, call.of(JudgeOptions), call.reporter
    _check(options, call.of(PerturbOptions), call.of(CheckOptions))
    # What cannot be opened is noticed before the work.
    backend: Backend | None = None
    if options.corpus is not None:
        backend = open_backend(options.corpus, call.of(BackendOptions), reporter)
    how = call.of(ModelOptions)
    models = open_models(options.model, how, reporter)
    judge = open_model(judging.judge, how, reporter) if judging.judge else None
    act = _given if is_given(options.perturbed) else _made
    pairs, done, parts, records = act(call, answering=bool(models))
    answers = ask(models, call.inputs, parts, reporter) if models else None
    if answers and options.write_answers:
        write_lines(options.write_answers, answers.rows)
    spoken = Spoken(answers)
    if judge is not None:
        same = judged(pairs, judge, judging, reporter, seed=call.of(PerturbOptions).seed)
        signed = f"{judge.signature}/{judging.judge_by}/{judging.judge_items}"
        spoken = Spoken(answers, same, signed)
    found = compared(pairs, done, call.of(CheckOptions), backend, spoken, reporter)
    return replace(found, records=records)


def _check(options: Options, replacing: PerturbOptions, checks: CheckOptions) -> None:
    if is_given(options.perturbed) and replacing != PerturbOptions():
        raise OptionError(
            "--perturbed compares items that are there: how words are replaced (--pos, --variant, "
            "--lexicon, --sense, --sure, --seed) was settled when they were made"
        )
    if is_given(options.perturbed) and checks.correct and options.model:
        raise OptionError(
            f"who says what was right, --model or the field '{checks.correct}'? Leave one out"
        )
    if checks.bertscore:
        from rote.measure._score import bertscore

        bertscore.check(checks.bertscore, checks.bertscore_layer)


def _given(call: Call, *, answering: bool) -> tuple[Any, ...]:
    """Items that others perturbed, put beside the originals."""
    from rote.corpus.items import take_items
    from rote.curate._perturb.records import in_order_of, matched
    from rote.studies._perturb.checks import Pairs

    before = [record.item for record in call.inputs]
    chosen = call.of(ItemOptions)
    others = take_items(call.options.perturbed, chosen, call.reporter, called="perturbed")
    pairs = Pairs(before, matched(before, [record.item for record in others]))
    return pairs, None, {"given": in_order_of(pairs.after, others)}, ()


def _made(call: Call, *, answering: bool) -> tuple[Any, ...]:
    """Items that are perturbed here, and written if that was asked for."""
    from rote.curate._perturb.records import check_ids, written
    from rote.curate.perturb import perturb
    from rote.curate.reading import write_lines
    from rote.studies._evaluate.answers import ANSWERED
    from rote.studies._items import CORRECTNESS
    from rote.studies._perturb.checks import Pairs, in_place

    options, records = call.of(PerturbOptions), call.inputs
    models = call.of(ModelOptions)
    items = [record.item for record in records]
    check_ids(items)
    forms = list(dict.fromkeys(record.form for record in records))
    if call.options.write and len(forms) > 1:
        raise OptionError(
            f"{call.options.write} cannot hold items of several forms ({', '.join(forms)}): "
            "perturb each benchmark on its own"
        )
    made = perturb(items, options, call.reporter, models=models)
    # Earlier answers do not go with the perturbed items.
    correct = call.of(CheckOptions).correct
    stale = (*CORRECTNESS, *ANSWERED, *((correct,) if correct else ()))
    changed = [written(record, item, stale) for record, item in zip(records, made.items)]
    if call.options.log:
        write_lines(call.options.log, map(asdict, made.replacements))
    parts = {",".join(options.pos): in_place(records, made.items)}
    if answering and call.options.each_pos and len(options.pos) > 1:
        for pos in options.pos:
            part = perturb(items, replace(options, pos=(pos,)), call.reporter, models=models)
            parts[pos] = in_place(records, part.items)
    return Pairs(items, made.items), made, parts, changed


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
