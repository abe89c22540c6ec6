"""Make few large segments of an index's many small ones: it answers faster.

Answers do not change. Readers of the index go on with the old segments until they close it.

\b
  rote index merge IDX
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rote.cli._flags import command_of
from rote.cli._index import UseOptions, carry_out, index_argument
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter


@command_of(__doc__, index_argument(), sizes=["memory"])
def command(
    idx: Path, options: UseOptions, summary: SummaryOptions, reporter: TerminalReporter
) -> None:
    from rote.index.folders.merge import merge_index

    work = partial(merge_index, idx, memory=options.memory, threads=options.jobs, reporter=reporter)
    carry_out(work, idx, summary, reporter)
