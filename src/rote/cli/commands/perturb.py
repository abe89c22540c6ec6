"""Replace nouns and verbs of test items by synonyms, and check what that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rote.cli._derived import deliver
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.curate._perturb.study import CheckOptions
from rote.curate.perturb import PerturbOptions
from rote.index.backends import BackendOptions

if TYPE_CHECKING:
    from rote.core.result import Result
    from rote.corpus.items import Record
    from rote.curate.perturb import Perturbed
    from rote.index.backends import Backend

_HELP = """Replace nouns and verbs of test items by synonyms, and check what that changed.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Synonyms come from WordNet:

\b
  rote perturb piqa.jsonl --write piqa.perturbed.jsonl --log piqa.log.jsonl
  rote perturb piqa.jsonl --pos noun --write piqa.nouns.jsonl --corpus IDX -n 4

When a model has answered both, compare them; each file says in a field what was right:

\b
  rote perturb piqa.jsonl --perturbed piqa.perturbed.jsonl --correct olmo --corpus IDX -n 4
"""


@dataclass(frozen=True, slots=True)
class _Files:
    """What is read and written beside the result."""

    write: Path | None = option(
        None, "Write the perturbed items there, in the form of the input (JSON Lines)",
        metavar="FILE",
    )  # fmt: skip
    log: Path | None = option(None, "Write every replacement there (JSON Lines)", metavar="FILE")
    perturbed: tuple[Path, ...] = option(
        (), "Items that were perturbed before: compare, and replace nothing", metavar="FILE,..."
    )
    items: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, winogrande  [default: "
        "known by its fields]",
        metavar="NAME",
    )
    corpus: str | None = option(
        None,
        "Where popularity and frequency are counted: an index of rote, a folder of infini-gram, "
        "infini-gram:NAME",
        metavar="IDX",
    )


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.corpus.items import read_records
    from rote.index.backends import open_backend
    from rote.report.figures import perturb as perturb_figures
    from rote.report.tables import perturb as perturb_tables

    wanted, output = build(_Files, given), build(OutputOptions, given)
    output.format()  # a contradiction is noticed before the work, not after
    _check(wanted, files, build(PerturbOptions, given))
    reporter = TerminalReporter(output.quiet)
    backend = None
    if wanted.corpus is not None:
        backend = open_backend(wanted.corpus, build(BackendOptions, given), reporter)
    records = list(read_records([Path(name) for name in files], wanted.items))
    if not records:
        raise InputError("there are no items", remedy="Give files that hold some")
    act = _compared if wanted.perturbed else _made
    result = act(records, wanted, given, backend, reporter)
    deliver(result, output, tables=perturb_tables, figures=perturb_figures)


def _check(wanted: _Files, files: Sequence[str], options: PerturbOptions) -> None:
    from rote.curate.writing import check_targets

    if wanted.perturbed and options != PerturbOptions():
        raise OptionError(
            "--perturbed compares items that are there: how words are replaced (--pos, --variant, "
            "--lexicon, --sense, --sure, --seed) was settled when they were made"
        )

    if wanted.perturbed and (wanted.write or wanted.log):
        raise OptionError("--perturbed compares items that are there: it has nothing to write")
    check_targets([target for target in (wanted.write, wanted.log) if target], files)


def _compared(
    records: Sequence[Record],
    wanted: _Files,
    given: dict[str, Any],
    backend: Backend | None,
    reporter: TerminalReporter,
) -> Result:
    from rote.corpus.items import read_records
    from rote.curate._perturb.checks import Pairs
    from rote.curate._perturb.records import matched
    from rote.curate._perturb.study import study

    before = [record.item for record in records]
    others = [record.item for record in read_records(wanted.perturbed)]
    pairs = Pairs(before, matched(before, others))
    return study(pairs, None, build(CheckOptions, given), backend=backend, reporter=reporter)


def _made(
    records: Sequence[Record],
    wanted: _Files,
    given: dict[str, Any],
    backend: Backend | None,
    reporter: TerminalReporter,
) -> Result:
    from rote.curate._perturb.checks import Pairs
    from rote.curate._perturb.records import check_ids
    from rote.curate._perturb.study import Done, study
    from rote.curate.perturb import perturb

    options, checks = build(PerturbOptions, given), build(CheckOptions, given)
    items = [record.item for record in records]
    check_ids(items)
    _one_form(records, wanted)
    made = perturb(items, options, reporter)
    _write(records, made, wanted, checks.correct)
    settings = {
        "variant": options.variant,
        "pos": options.pos,
        "sure": options.sure,
        **made.signature,
        "seed": options.seed,
    }
    done = Done(made.replacements, made.kept, settings)
    return study(Pairs(items, made.items), done, checks, backend=backend, reporter=reporter)


def _one_form(records: Sequence[Record], wanted: _Files) -> None:
    forms = list(dict.fromkeys(record.form for record in records))
    if wanted.write and len(forms) > 1:
        raise OptionError(
            f"{wanted.write} cannot hold items of several forms ({', '.join(forms)}): perturb "
            "each benchmark on its own"
        )


def _write(records: Sequence[Record], made: Perturbed, wanted: _Files, correct: str | None) -> None:
    from rote.curate._perturb.records import written
    from rote.curate.writing import json_line, new_file
    from rote.measure._popularity.study import CORRECTNESS

    if wanted.write:
        stale = (*CORRECTNESS, *((correct,) if correct else ()))
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
        *flags(BackendOptions, "How the corpus counts"),
        *flags(OutputOptions, "Output"),
    ],
)
