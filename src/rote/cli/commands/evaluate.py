"""Put test items to language models, and say how well they do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import click

from rote.cli._derived import deliver
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._places import LINES
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.models.options import ModelOptions
from rote.studies._evaluate.study import EvaluateOptions

_HELP = """Put test items to language models, and say how well they do.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. Options are compared by
log-likelihood, without examples before the question:

\b
  rote evaluate piqa.jsonl --model numpy:FOLDER -o answers.jsonl
  rote evaluate blimp.jsonl copa.jsonl --model small=transformers:gpt2,large=transformers:gpt2-xl
  rote popularity answers.jsonl --corpus IDX -n 4

Answers are kept: a run that was interrupted goes on where it stopped.
"""


@dataclass(frozen=True, slots=True)
class _Files:
    """Which items, whom, and where the answers go."""

    model: tuple[str, ...] = option(
        (),
        "Models that answer: numpy:FOLDER, transformers:NAME, openai:URL#NAME, index:FOLDER; "
        "NAME=MODEL gives one a name of its own",
        metavar="M1,M2,...",
    )
    items: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, winogrande  [default: "
        "known by its fields]",
        metavar="NAME",
    )
    limit: int = option(0, "Take the first so many items of each task; 0: all")
    write: Path | None = option(
        None,
        "Write the answers there, a record for each model and item (JSON Lines); -o with the "
        "ending .jsonl does the same",
        metavar="FILE",
        writes=LINES,
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a bad record, or skip it and list what was skipped"
    )

    def __post_init__(self) -> None:
        if not self.model:
            raise OptionError("who is asked? --model names at least one model")
        if self.limit < 0:
            raise OptionError(f"limit must not be negative, not {self.limit}")


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.core.files import new_file
    from rote.curate.writing import json_line
    from rote.measure._speaking import open_models
    from rote.report.figures import evaluate as evaluate_figures
    from rote.studies._evaluate.study import check_fields, evaluate

    wanted, output = build(_Files, given), build(OutputOptions, given)
    options = build(EvaluateOptions, given)
    if output.output is not None and output.output.suffix in LINES:
        if wanted.write is not None:
            raise OptionError(f"answers go to one file, {wanted.write} or {output.output}")
        wanted = replace(wanted, write=output.output)
        output = replace(output, output=None)
    output.form()  # a contradiction is noticed before the work, not after
    reporter = TerminalReporter(output.quiet)
    records = _records(files, wanted, reporter)
    check_fields(records, options.by)
    models = open_models(wanted.model, build(ModelOptions, given), reporter)
    found = evaluate(records, models, options, reporter=reporter)
    if wanted.write:
        with new_file(wanted.write) as file:
            for row in found.rows:
                file.write(json_line(row))
    deliver(found.result, output, figures=evaluate_figures)


def _records(files: tuple[str, ...], wanted: _Files, reporter: TerminalReporter) -> list[Any]:
    from collections import Counter

    from rote.corpus.items import read_records

    skipped: list[InputError] = []
    taken: Counter[str] = Counter()
    records = []
    for record in read_records(
        [Path(name) for name in files], wanted.items, on_error=wanted.on_error, skipped=skipped
    ):
        taken[record.item.task] += 1
        if not wanted.limit or taken[record.item.task] <= wanted.limit:
            records.append(record)
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    return records


command = SectionedCommand(
    "evaluate",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["files"], metavar="ITEMS...", nargs=-1, required=True),
        *flags(_Files, "Items and models"),
        *flags(EvaluateOptions, "Groups"),
        *flags(ModelOptions, "How the models are run"),
        *flags(OutputOptions, "Output"),
    ],
)
