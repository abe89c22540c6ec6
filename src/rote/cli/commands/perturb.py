"""Replace nouns and verbs of test items by synonyms, and check what that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._derived import deliver
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._places import LINES
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.curate.perturb import PerturbOptions
from rote.models.options import ModelOptions
from rote.search.backends import BackendOptions
from rote.studies._perturb.judge import JudgeOptions
from rote.studies._perturb.study import CheckOptions

if TYPE_CHECKING:
    from rote.core.model import Model
    from rote.core.result import Result
    from rote.corpus.items import Record
    from rote.curate.perturb import Perturbed
    from rote.search.backends import Backend
    from rote.studies._perturb.checks import Pairs
    from rote.studies._perturb.study import Spoken

_HELP = """Replace nouns and verbs of test items by synonyms, and check what that changed.

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


@dataclass(frozen=True, slots=True)
class _Files:
    """What is read and written beside the result."""

    write: Path | None = option(
        None,
        "Write the perturbed items there, in the form of the input (JSON Lines)",
        metavar="FILE",
        writes=LINES,
    )
    log: Path | None = option(
        None, "Write every replacement there (JSON Lines)", metavar="FILE", writes=LINES
    )
    perturbed: tuple[Path, ...] = option(
        (), "Items that were perturbed before: compare, and replace nothing", metavar="FILE,..."
    )
    items: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, winogrande  [default: "
        "known by its fields]",
        metavar="NAME",
    )
    answers: Path | None = option(
        None,
        "Write every answer of --model there, before and after (JSON Lines)",
        metavar="FILE",
        writes=LINES,
    )
    corpus: str | None = option(
        None,
        "Where popularity and frequency are counted: an index of rote, a folder of infini-gram, "
        "infini-gram:NAME",
        metavar="IDX",
    )


@dataclass(frozen=True, slots=True)
class _Models:
    """Who answers."""

    model: tuple[str, ...] = option(
        (),
        "Models that answer the items before and after, as in `rote evaluate`; NAME=MODEL gives "
        "one a name of its own",
        metavar="M1,M2,...",
    )
    each_pos: bool = option(
        True, "With --model: also perturb nouns only and verbs only (the authors' tables C and D)"
    )


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.corpus.items import read_records
    from rote.report.figures import perturb as perturb_figures
    from rote.report.tables import perturb as perturb_tables
    from rote.search.backends import open_backend

    wanted, output = build(_Files, given), build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    _check(wanted, build(PerturbOptions, given), build(_Models, given))
    _check_checks(build(CheckOptions, given), wanted, build(_Models, given))
    reporter = TerminalReporter(output.quiet)
    backend = None
    if wanted.corpus is not None:
        backend = open_backend(wanted.corpus, build(BackendOptions, given), reporter)
    records = list(read_records([Path(name) for name in files], wanted.items))
    if not records:
        raise InputError("there are no items", remedy="Give files that hold some")
    act = _compared if wanted.perturbed else _made
    result = act(records, _Call(wanted, given, _opened(given, reporter), backend, reporter))
    deliver(result, output, tables=perturb_tables, figures=perturb_figures)


def _check(wanted: _Files, options: PerturbOptions, models: _Models) -> None:
    if wanted.perturbed and options != PerturbOptions():
        raise OptionError(
            "--perturbed compares items that are there: how words are replaced (--pos, --variant, "
            "--lexicon, --sense, --sure, --seed) was settled when they were made"
        )

    if wanted.perturbed and (wanted.write or wanted.log):
        raise OptionError("--perturbed compares items that are there: it has nothing to write")
    if wanted.answers and not models.model:
        raise OptionError("--answers writes what models answer: --model names one")


def _check_checks(checks: CheckOptions, wanted: _Files, models: _Models) -> None:
    if wanted.perturbed and checks.correct and models.model:
        raise OptionError(
            f"who says what was right, --model or the field '{checks.correct}'? Leave one out"
        )
    if checks.bertscore:
        from rote.measure import _bertscore

        _bertscore.check(checks.bertscore, checks.bertscore_layer)


@dataclass(frozen=True, slots=True)
class _Opened:
    """The models that are asked here."""

    answering: dict[str, Model]
    judge: Model | None


@dataclass(frozen=True, slots=True)
class _Call:
    """What one call of the command has to do with."""

    wanted: _Files
    given: dict[str, Any]
    models: _Opened
    backend: Backend | None
    reporter: TerminalReporter


def _opened(given: dict[str, Any], reporter: TerminalReporter) -> _Opened:
    """A model that cannot be opened is noticed before the work."""
    from rote.measure._speaking import open_model, open_models

    options, judge = build(ModelOptions, given), build(JudgeOptions, given).judge
    return _Opened(
        open_models(build(_Models, given).model, options, reporter),
        open_model(judge, options, reporter) if judge else None,
    )


def _compared(records: Sequence[Record], call: _Call) -> Result:
    from rote.corpus.items import read_records
    from rote.curate._perturb.records import in_order_of, matched
    from rote.studies._perturb.checks import Pairs
    from rote.studies._perturb.study import study

    before = [record.item for record in records]
    others = list(read_records(call.wanted.perturbed))
    pairs = Pairs(before, matched(before, [record.item for record in others]))
    perturbed = in_order_of(pairs.after, others)
    spoken = _spoken(records, pairs, {"given": perturbed}, call)
    return study(
        pairs,
        None,
        build(CheckOptions, call.given),
        backend=call.backend,
        reporter=call.reporter,
        spoken=spoken,
    )


def _made(records: Sequence[Record], call: _Call) -> Result:
    from rote.curate._perturb.records import check_ids
    from rote.curate.perturb import perturb
    from rote.studies._perturb.answering import in_place
    from rote.studies._perturb.checks import Pairs
    from rote.studies._perturb.study import Done, study

    options, checks = build(PerturbOptions, call.given), build(CheckOptions, call.given)
    models = build(ModelOptions, call.given)
    items = [record.item for record in records]
    check_ids(items)
    _one_form(records, call.wanted)
    made = perturb(items, options, call.reporter, models=models)
    _write(records, made, call.wanted, checks.correct)
    parts = {",".join(options.pos): in_place(records, made.items)}
    if call.models.answering and build(_Models, call.given).each_pos and len(options.pos) > 1:
        for pos in options.pos:
            part = perturb(items, replace(options, pos=(pos,)), call.reporter, models=models)
            parts[pos] = in_place(records, part.items)
    settings = {
        "variant": options.variant,
        "pos": options.pos,
        "sure": options.sure,
        **made.signature,
        "seed": options.seed,
    }
    done = Done(made.replacements, made.kept, settings)
    pairs = Pairs(items, made.items)
    return study(
        pairs,
        done,
        checks,
        backend=call.backend,
        reporter=call.reporter,
        spoken=_spoken(records, pairs, parts, call),
    )


def _spoken(
    records: Sequence[Record], pairs: Pairs, parts: Mapping[str, Sequence[Record]], call: _Call
) -> Spoken:
    """What the models say that were named."""
    from rote.core.files import new_file
    from rote.curate.writing import json_line
    from rote.studies._perturb.answering import ask
    from rote.studies._perturb.judge import judged
    from rote.studies._perturb.study import Spoken

    answers = same = None
    if call.models.answering:
        answers = ask(call.models.answering, records, parts, call.reporter)
        if call.wanted.answers:
            with new_file(call.wanted.answers) as file:
                for row in answers.rows:
                    file.write(json_line(row))
    judge, options = call.models.judge, build(JudgeOptions, call.given)
    if judge is not None:
        seed = build(PerturbOptions, call.given).seed
        same = judged(pairs, judge, options, call.reporter, seed=seed)
    signed = f"{judge.signature}/{options.judge_by}/{options.judge_items}" if judge else ""
    return Spoken(answers, same, signed)


def _one_form(records: Sequence[Record], wanted: _Files) -> None:
    forms = list(dict.fromkeys(record.form for record in records))
    if wanted.write and len(forms) > 1:
        raise OptionError(
            f"{wanted.write} cannot hold items of several forms ({', '.join(forms)}): perturb "
            "each benchmark on its own"
        )


def _write(records: Sequence[Record], made: Perturbed, wanted: _Files, correct: str | None) -> None:
    from rote.core.files import new_file
    from rote.curate._perturb.records import written
    from rote.curate.writing import json_line
    from rote.studies._evaluate.answers import ANSWERED
    from rote.studies._popularity.study import CORRECTNESS

    if wanted.write:
        stale = (*CORRECTNESS, *ANSWERED, *((correct,) if correct else ()))
        with new_file(wanted.write) as file:
            for record, item in zip(records, made.items):
                file.write(json_line(written(record, item, stale)))
    if wanted.log:
        with new_file(wanted.log) as file:
            for replacement in made.replacements:
                file.write(json_line(asdict(replacement)))


command = SectionedCommand(
    "perturb",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["files"], metavar="ITEMS...", nargs=-1, required=True),
        *flags(_Files, "Items, before and after"),
        *flags(PerturbOptions, "What is replaced"),
        *flags(CheckOptions, "Checks"),
        *flags(_Models, "Models that answer"),
        *flags(JudgeOptions, "A model that judges"),
        *flags(ModelOptions, "How models are run"),
        *flags(BackendOptions, "How the corpus counts"),
        *flags(OutputOptions, "Output"),
    ],
)
