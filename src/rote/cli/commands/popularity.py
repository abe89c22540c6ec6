"""How popular test items are in a corpus, and whether popular ones are answered better."""

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
from rote.search.backends import BackendOptions
from rote.studies._popularity.study import PopularityOptions

_HELP = """How popular test items are in a corpus, and whether popular ones are answered better.

ITEMS are benchmarks (BLiMP, LAMBADA, COPA, PIQA, WinoGrande), sample logs of
lm-evaluation-harness, or records with context, options and answer. The popularity of an
instance (1 to 10) is the mean decile of the counts of its n-grams in the corpus:

\b
  rote popularity samples_piqa_*.jsonl --corpus IDX -n 4
  rote popularity results/ --corpus IDX -n 3 --by kind,task --figure popularity.png
  rote popularity piqa.jsonl --corpus infini-gram:v4_piletrain_llama --correct olmo
  rote popularity blimp.jsonl --corpus FOLDER --tokenizer tokenizer.json --save-deciles d.json

IDX is an index of rote, FOLDER one of infini-gram. In words, seven are too many for short
sentences: the command says so, and which n would do.
"""


@dataclass(frozen=True, slots=True)
class _Items:
    """Which items, and against what."""

    corpus: str | None = option(
        None,
        "Where n-grams are counted: an index of rote, a folder of infini-gram, infini-gram:NAME",
        metavar="IDX",
    )
    items: str | None = option(
        None,
        "Benchmark by name: blimp, choices, copa, lambada, lm-eval, piqa, winogrande  [default: "
        "known by its fields]",
        metavar="NAME",
    )
    on_error: Literal["stop", "skip"] = option(
        "stop", "Stop at a bad record, or skip it and list what was skipped"
    )


def run(files: tuple[str, ...], **given: Any) -> None:
    from rote.corpus.items import read_items
    from rote.report.figures import popularity as popularity_figures
    from rote.report.tables import popularity as popularity_tables
    from rote.search.backends import open_backend
    from rote.studies._popularity.study import popularity

    wanted, options = build(_Items, given), build(PopularityOptions, given)
    output = build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    reporter = TerminalReporter(output.quiet)
    if wanted.corpus is None:
        raise OptionError("popular where? --corpus names the index that counts")
    backend = open_backend(wanted.corpus, build(BackendOptions, given), reporter)
    skipped: list[InputError] = []
    items = list(
        read_items(
            [Path(name) for name in files],
            wanted.items,
            on_error=wanted.on_error,
            skipped=skipped,
        )
    )
    for problem in skipped:
        reporter.say(f"skipped: {problem}")
    result = popularity(items, backend, options, reporter=reporter)
    deliver(result, output, tables=popularity_tables, figures=popularity_figures)


command = SectionedCommand(
    "popularity",
    callback=run,
    help=_HELP,
    params=[
        click.Argument(["files"], metavar="ITEMS...", nargs=-1, required=True),
        *flags(_Items, "Items and corpus"),
        *flags(PopularityOptions, "What is measured"),
        *flags(BackendOptions, "How the corpus counts"),
        *flags(OutputOptions, "Output"),
    ],
)
