"""Add a layer to an index, or sort one that is kept for display only.

LAYER is what the index's own annotator gives (lemma, upos, dep, ...), `word`, or
subwords:PATH/tokenizer.json for the subwords of a tokenizer.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from rote.cli._flags import command_of
from rote.cli._index import index_argument
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import summarize
from rote.core.metric import option


@dataclass(frozen=True, slots=True)
class LayerOptions:
    """What adding a layer may use."""

    SECTION: ClassVar[str] = "Index"
    jobs: int = option(1, "How many cores to use; results do not depend on it")


@command_of(__doc__, index_argument(), click.Argument(["layer"], metavar="LAYER"))
def command(idx: Path, layer: str, options: LayerOptions, summary: SummaryOptions) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.index.folders.add_layer import add_layer

    reporter = TerminalReporter(summary.quiet)
    say_if_compiling(reporter, "rote.index.sorting.radix")
    start = time.monotonic()
    add_layer(idx, layer, jobs=options.jobs, reporter=reporter)
    summarize(idx, None, time.monotonic() - start, summary, reporter)
