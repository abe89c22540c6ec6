"""Make few large segments of an index's many small ones: it answers faster.

Answers do not change. Readers of the index go on with the old segments until they close it.

\b
  rote index merge IDX
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rote.cli._flags import command_of
from rote.cli._index import Change, UseOptions, carry_out, changed, index_argument
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter

if TYPE_CHECKING:
    from rote.index.index import Index


def index_merge(index: str | Path, options: UseOptions, reporter: Reporter) -> Index:
    return changed(Path(index), _work(Path(index), options, reporter))


@command_of(__doc__, index_argument())
def command(
    idx: Path, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    carry_out(_work(idx, options, reporter), idx, summary, reporter)


def _work(path: Path, options: UseOptions, reporter: Reporter) -> Change:
    from rote.index.folders.maintenance import merge_index

    return partial(
        merge_index, path, memory=options.memory, threads=options.jobs, reporter=reporter
    )
