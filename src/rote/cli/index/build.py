"""Build an index from texts, or from a store of `rote annotate`.

Says first what it expects to need, then builds. Run again after an interruption it goes on;
run again after it has ended it finds that nothing is left to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.cli._flags import command_of
from rote.cli._index import inputs_argument, source_of
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import carry_out
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.index.folders.options import BuildOptions


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Where the index goes."""

    SECTION: ClassVar[str] = "Index"
    output: Path = option(
        Path("rote-index"), "The index's folder", short="-o", metavar="IDX", writes="folder"
    )


@command_of(__doc__, inputs_argument(), sizes=["memory"])
def command(
    inputs: tuple[str, ...],
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    summary: SummaryOptions,
) -> None:
    from rote.index.folders.build import Written, build_index
    from rote.index.folders.estimate import estimate

    reporter = TerminalReporter(summary.quiet)
    path = target.output
    source = source_of(inputs, path, read, reporter)

    def work() -> Written:
        return build_index(source, path, options, reporter)

    carry_out(work, estimate(source, options), path, summary, reporter)
