"""Add a layer to an index, or sort one that is kept for display only.

LAYER is what the index's own annotator gives (lemma, upos, dep, ...), `word`, or
subwords:PATH/tokenizer.json for the subwords of a tokenizer.

\b
  rote index add-layer IDX lemma
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._index import UseOptions, carry_out, index_argument
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter


@command_of(
    __doc__,
    index_argument(),
    click.Argument(["layer"], metavar="LAYER"),
    skip=("UseOptions.memory",),
)
def command(
    idx: Path, layer: str, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    from rote.index.folders.add_layer import add_layer

    work = partial(
        add_layer, idx, layer, jobs=options.jobs, engine=options.engine, reporter=reporter
    )
    carry_out(work, idx, summary, reporter)
