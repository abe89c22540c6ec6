"""Make few large segments of an index's many small ones: it answers faster.

Answers do not change. Readers of the index go on with the old segments until they close it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from rote.cli._flags import command_of
from rote.cli._index import index_argument
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import summarize
from rote.core.metric import option
from rote.index.folders.options import BuildOptions


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """What merging may use."""

    SECTION: ClassVar[str] = "Index"
    memory: int = option(BuildOptions().memory, "Memory that merging may use")
    jobs: int = option(1, "How many cores to use; results do not depend on it")


@command_of(__doc__, index_argument(), sizes=["memory"])
def command(idx: Path, options: MergeOptions, summary: SummaryOptions) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.index.folders.merge import merge_index

    reporter = TerminalReporter(summary.quiet)
    say_if_compiling(reporter, "rote.index.sorting.radix")
    start = time.monotonic()
    merge_index(idx, memory=options.memory, threads=options.jobs, reporter=reporter)
    summarize(idx, None, time.monotonic() - start, summary, reporter)
