"""Remove documents from an index, by their ids.

The segments that hold them are written again without them: every answer is then that of an index
that was built without them, at the speed that it had. Nothing is annotated again. Readers of the
index go on with the old segments until they close it.

\b
  rote index remove IDX novel-17 novel-18
  rote index remove IDX --ids withdrawn.txt --missing skip
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal

import click

from rote.cli._flags import command_of
from rote.cli._index import UseOptions, carry_out, index_argument, lines_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.metric import option


@dataclass(frozen=True, slots=True)
class RemoveOptions:
    """Which documents go."""

    SECTION: ClassVar[str] = "Documents"
    ids: Path | None = option(
        None, "Also the ids in this file, one per line; - is standard input", metavar="FILE"
    )
    missing: Literal["stop", "skip"] = option(
        "stop", "An id that the index does not hold: remove nothing, or remove the others"
    )


@command_of(
    __doc__,
    index_argument(),
    click.Argument(["given"], metavar="ID...", nargs=-1),
    skip=("UseOptions.memory", "UseOptions.engine"),
)
def command(
    idx: Path,
    given: tuple[str, ...],
    chosen: RemoveOptions,
    options: UseOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.remove import remove_documents

    listed = [line.strip() for _, line in lines_of(chosen.ids, "ids")] if chosen.ids else []
    work = partial(
        remove_documents,
        idx,
        [*given, *listed],
        missing=chosen.missing,
        threads=options.jobs,
        reporter=reporter,
    )
    carry_out(work, idx, summary, reporter)
