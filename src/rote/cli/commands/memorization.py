"""Whether a model recalls texts or test items, and what that explains."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from rote.cli._derived import deliver
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._progress import TerminalReporter
from rote.core.errors import InputError, OptionError
from rote.core.metric import option
from rote.models.options import ModelOptions
from rote.search.backends import BackendOptions
from rote.studies._memorization.study import MemorizationOptions

_HELP = """Whether a model recalls texts or test items, and what that explains.

ITEMS are texts, benchmarks, or results of `rote evaluate`. Each is scored by the attacks of the
field: completing its second half (TDE), loss, loss against neighbours, zlib, Min-K%, Min-K%++.

\b
  rote memorization passages.jsonl --model FOLDER --member member --by repeats --corpus IDX
  rote memorization results.jsonl --model transformers:NAME --neighbours wordnet --by task

Where it is known what the model was trained on (--member), the scores of members are held against
those of others; where right answers are known (acc), against the answers; with --corpus, against
how often an item stands in the training data.
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Which models, which items, and what they are held against."""

    model: tuple[str, ...] = option(
        (),
        "Models: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER; NAME=MODEL gives one "
        "a name of its own",
        metavar="M,...",
    )
    corpus: str | None = option(
        None, "Where the training data are counted: an index, or infini-gram:NAME", metavar="IDX"
    )
    neighbours: str = option(
        "none",
        "Who makes neighbours: wordnet, index (words that --corpus has in the same place), "
        "masked:NAME (a masked model, extra lm), none",
        metavar="KIND",
    )
    neighbour_count: int = option(10, "Neighbours of each text")
    items: str | None = option(
        None, "Kind of items  [default: known by their fields]", metavar="NAME"
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a bad record, or skip it and list what was skipped"
    )


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.corpus.items import read_items
    from rote.curate.neighbours import neighbour_maker
    from rote.measure._speaking import open_models
    from rote.report.figures import memorization as memorization_figures
    from rote.report.tables import memorization as memorization_tables
    from rote.search.backends import open_backend
    from rote.studies._memorization.study import memorization

    wanted, options = build(_Asked, given), build(MemorizationOptions, given)
    output = build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    if not wanted.model:
        raise OptionError("who is asked? --model names one or more models")
    reporter = TerminalReporter(output.quiet)
    backend = (
        open_backend(wanted.corpus, build(BackendOptions, given), reporter)
        if wanted.corpus
        else None
    )
    near = neighbour_maker(
        wanted.neighbours, wanted.neighbour_count, corpus=wanted.corpus, seed=options.seed
    )
    models = open_models(wanted.model, build(ModelOptions, given), reporter)
    skipped: list[InputError] = []
    read = read_items(
        [Path(name) for name in files], wanted.items, on_error=wanted.on_error, skipped=skipped
    )
    items = list(read)
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    result = memorization(
        items,
        models,
        options,
        neighbours=near,
        near=f"{wanted.neighbours}-{wanted.neighbour_count}" if near else "none",
        backend=backend,
        reporter=reporter,
    )
    deliver(result, output, tables=memorization_tables, figures=memorization_figures)


command = SectionedCommand(
    "memorization",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["files"], metavar="ITEMS...", nargs=-1, required=True),
        *flags(_Asked, "Who is asked what"),
        *flags(MemorizationOptions, "What is measured"),
        *flags(BackendOptions, "How the corpus counts"),
        *flags(ModelOptions, "How the model runs"),
        *flags(OutputOptions, "Output"),
    ],
)
