"""Add texts to an index; those it has already are skipped.

The new texts are annotated as the old ones were and become segments of their own;
`rote index merge` makes one segment of several.

\b
  rote index add IDX more.jsonl
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
from rote.corpus import Corpus, Input, ReadOptions
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.annotate.store import Store
    from rote.index.index import Index


def index_add(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    from rote.index.folders.manifest import read_manifest

    path = Path(index)
    read_manifest(path)
    return changed(path, _work(path, source_of(texts, path, read, reporter), options, reporter))


@command_of(__doc__, index_argument(), files_argument(metavar="INPUT..."))
def command(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.estimate import estimate
    from rote.index.folders.manifest import read_manifest

    manifest = read_manifest(idx)
    source = source_of(places_of(inputs), idx, read, reporter)
    own = {each.layer: f"{each.layer}:{idx / each.file}" for each in manifest.subwords}
    as_built = BuildOptions(
        layers=tuple(own.get(name, name) for name in manifest.sorted_layers),
        annotator=manifest.annotator,
        author_field=manifest.author_field,
        memory=options.memory,
        compact=manifest.is_compact,
        jobs=options.jobs,
        engine=options.engine,
    )

    work = _work(idx, source, options, reporter)
    carry_out(work, idx, summary, reporter, estimate(source, as_built))


def _work(path: Path, source: Corpus | Store, options: UseOptions, reporter: Reporter) -> Change:
    from rote.index.folders.build import add_to_index

    return partial(
        add_to_index,
        path,
        source,
        memory=options.memory,
        jobs=options.jobs,
        engine=options.engine,
        reporter=reporter,
    )
