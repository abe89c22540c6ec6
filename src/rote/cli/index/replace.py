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
from typing import TYPE_CHECKING

from rote.cli._flags import command_of, files_argument
from rote.cli._index import (
    Change,
    UseOptions,
    carry_out,
    changed,
    index_argument,
    places_of,
    source_of,
)
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter
from rote.corpus import Input, ReadOptions

if TYPE_CHECKING:
    from rote.index.index import Index


def index_replace(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    return changed(Path(index), _work(Path(index), texts, options, read, reporter))


@command_of(__doc__, index_argument(), files_argument(metavar="INPUT..."))
def command(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    carry_out(_work(idx, places_of(inputs), options, read, reporter), idx, summary, reporter)


def _work(
    path: Path, inputs: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Change:
    from rote.index.folders.manifest import read_manifest
    from rote.index.folders.remove import replace_documents

    read_manifest(path)
    return partial(
        replace_documents,
        path,
        source_of(inputs, path, read, reporter),
        memory=options.memory,
        jobs=options.jobs,
        engine=options.engine,
        reporter=reporter,
    )
