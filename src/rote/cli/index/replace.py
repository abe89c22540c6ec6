"""Put documents in place of those with the same ids.

INPUT is read and annotated as for `rote index add`. The old documents go and the new ones come in
one step; documents whose ids the index does not hold are added, and how many of each there were
is said. Where all are in the index as they are, nothing changes.

\b
  rote index replace IDX mended.jsonl
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rote.cli._flags import command_of, files_argument
from rote.cli._index import UseOptions, carry_out, index_argument, source_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.corpus import ReadOptions


@command_of(__doc__, index_argument(), files_argument(metavar="INPUT..."), sizes=["memory"])
def command(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.manifest import read_manifest
    from rote.index.folders.remove import replace_documents

    read_manifest(idx)
    work = partial(
        replace_documents,
        idx,
        source_of(inputs, idx, read, reporter),
        memory=options.memory,
        jobs=options.jobs,
        engine=options.engine,
        reporter=reporter,
    )
    carry_out(work, idx, summary, reporter)
