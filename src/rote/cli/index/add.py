"""Add texts to an index; what it holds already is passed over.

The new texts are annotated as the old ones were and become segments of their own;
`rote index merge` makes one segment of several.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.cli._flags import command_of
from rote.cli._index import index_argument, inputs_argument, source_of
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import carry_out
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.index.folders.options import BuildOptions


@dataclass(frozen=True, slots=True)
class AddOptions:
    """What adding may use; everything else is as it was when the index was built."""

    SECTION: ClassVar[str] = "Index"
    memory: int = option(BuildOptions().memory, "Memory that adding may use")
    jobs: int = option(1, "How many cores to use; results do not depend on it")


@command_of(__doc__, index_argument(), inputs_argument(), sizes=["memory"])
def command(
    idx: Path,
    inputs: tuple[str, ...],
    options: AddOptions,
    read: ReadOptions,
    summary: SummaryOptions,
) -> None:
    from rote.index.folders.build import Written, add_to_index
    from rote.index.folders.estimate import estimate
    from rote.index.folders.manifest import read_manifest

    reporter = TerminalReporter(summary.quiet)
    manifest = read_manifest(idx)
    source = source_of(inputs, idx, read, reporter)
    own = {each.layer: f"{each.layer}:{idx / each.file}" for each in manifest.subwords}
    as_built = BuildOptions(
        layers=tuple(own.get(name, name) for name in manifest.sorted_layers),
        annotator=manifest.annotator,
        author_field=manifest.author_field,
        memory=options.memory,
        jobs=options.jobs,
    )

    def work() -> Written:
        memory, jobs = options.memory, options.jobs
        return add_to_index(idx, source, memory=memory, jobs=jobs, reporter=reporter)

    carry_out(work, estimate(source, as_built), idx, summary, reporter)
