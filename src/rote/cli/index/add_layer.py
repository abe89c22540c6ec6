"""Add a layer to an index, or sort one that is kept for display only.

LAYER is what the index's own annotator gives (lemma, upos, dep, ...), `word`,
subwords:PATH/tokenizer.json for the subwords of a tokenizer, or `meaning` for a vector of each
sentence (meaning:EMBEDDER by another embedder than minilm).

\b
  rote index add-layer IDX lemma
  rote index add-layer IDX meaning
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rote.cli._flags import command_of
from rote.cli._index import Change, UseOptions, carry_out, changed, index_argument
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter

if TYPE_CHECKING:
    from rote.index.index import Index


def index_add_layer(
    index: str | Path, layer: str, options: UseOptions, reporter: Reporter
) -> Index:
    return changed(Path(index), _work(Path(index), layer, options, reporter))


@command_of(
    __doc__,
    index_argument(),
    click.Argument(["layer"], metavar="LAYER"),
    skip=("UseOptions.memory",),
)
def command(
    idx: Path, layer: str, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    carry_out(_work(idx, layer, options, reporter), idx, summary, reporter)


def _work(path: Path, layer: str, options: UseOptions, reporter: Reporter) -> Change:
    from rote.index.folders.maintenance import add_layer

    return partial(
        add_layer, path, layer, jobs=options.jobs, engine=options.engine, reporter=reporter
    )
