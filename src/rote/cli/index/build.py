"""Build an index from texts, or from a store of `rote annotate`.

Says first what it expects to need, then builds. Run again after an interruption it goes on;
run again after it has ended it finds that nothing is left to do.

\b
  rote index build novels.jsonl -o IDX
  rote index build novels.jsonl -o IDX --layers lower,pos,lemma --compact
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from rote.cli._flags import command_of, files_argument
from rote.cli._index import carry_out, source_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
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


@command_of(__doc__, files_argument(metavar="INPUT..."), sizes=["memory"])
def command(
    inputs: tuple[str, ...],
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.build import build_index
    from rote.index.folders.estimate import estimate

    path = target.output
    source = source_of(inputs, path, read, reporter)

    work = partial(build_index, source, path, options, reporter)
    carry_out(work, path, summary, reporter, estimate(source, options))
