"""Add a layer to an index, or sort one that is kept for display only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._index import index_argument
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import summarize
from rote.core.metric import option

_HELP = """Add a layer to an index, or sort one that is kept for display only.

LAYER is what the index's own annotator gives (lemma, upos, dep, ...), `word`, or
subwords:PATH/tokenizer.json for the subwords of a tokenizer.
"""


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """What adding a layer may use."""

    jobs: int = option(1, "How many cores to use; results do not depend on it")


def run(idx: Path, layer: str, **given: Any) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.index.folders.add_layer import add_layer

    summary, options = build(SummaryOptions, given), build(LayerOptions, given)
    reporter = TerminalReporter(summary.quiet)
    say_if_compiling(reporter, "rote.index.sorting.radix")
    start = time.monotonic()
    add_layer(idx, layer, jobs=options.jobs, reporter=reporter)
    summarize(idx, None, time.monotonic() - start, summary, reporter)


command = SectionedCommand(
    "add-layer",
    callback=run,
    help=_HELP,
    params=[
        index_argument(),
        click.Argument(["layer"], metavar="LAYER"),
        *flags(LayerOptions, "Index"),
        *flags(SummaryOptions, "Output"),
    ],
)
