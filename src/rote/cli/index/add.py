"""Add texts to an index; those it has already are skipped.

The new texts are annotated as the old ones were and become segments of their own;
`rote index merge` makes one segment of several.

\b
  rote index add IDX more.jsonl
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rote.cli._flags import command_of, files_argument
from rote.cli._index import UseOptions, carry_out, index_argument, source_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.corpus import ReadOptions
from rote.index.folders.options import BuildOptions


@command_of(__doc__, index_argument(), files_argument(metavar="INPUT..."), sizes=["memory"])
def command(
    idx: Path,
    inputs: tuple[str, ...],
    options: UseOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.build import add_to_index
    from rote.index.folders.estimate import estimate
    from rote.index.folders.manifest import read_manifest

    manifest = read_manifest(idx)
    source = source_of(inputs, idx, read, reporter)
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

    work = partial(
        add_to_index,
        idx,
        source,
        memory=options.memory,
        jobs=options.jobs,
        engine=options.engine,
        reporter=reporter,
    )
    carry_out(work, idx, summary, reporter, estimate(source, as_built))
