"""Remove documents from an index, by their ids.

The segments that hold them are written again without them: every answer is then that of an index
that was built without them, at the speed that it had. Nothing is annotated again. Readers of the
index go on with the old segments until they close it.

\b
  rote index remove IDX novel-17 novel-18
  rote index remove IDX --ids withdrawn.txt --missing skip
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from rote.cli._flags import command_of
from rote.cli._index import Change, UseOptions, carry_out, changed, index_argument, lines_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.metric import option
from rote.core.progress import Reporter

if TYPE_CHECKING:
    from rote.index.index import Index


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


def index_remove(
    index: str | Path,
    documents: str | Sequence[str] = (),
    *,
    chosen: RemoveOptions,
    options: UseOptions,
    reporter: Reporter,
) -> Index:
    return changed(Path(index), _work(Path(index), documents, chosen, options, reporter))


@command_of(
    __doc__,
    index_argument(),
    click.Argument(["document_ids"], metavar="ID...", nargs=-1),
    skip=("UseOptions.memory", "UseOptions.engine"),
)
def command(
    idx: Path,
    document_ids: tuple[str, ...],
    chosen: RemoveOptions,
    options: UseOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    carry_out(_work(idx, document_ids, chosen, options, reporter), idx, summary, reporter)


def _work(
    path: Path, ids: Sequence[str], chosen: RemoveOptions, options: UseOptions, reporter: Reporter
) -> Change:
    from rote.index.folders.maintenance import remove_documents

    wanted = [ids] if isinstance(ids, str) else list(ids)
    listed = [line.strip() for _, line in lines_of(chosen.ids, "ids")] if chosen.ids else []
    return partial(
        remove_documents,
        path,
        [*wanted, *listed],
        missing=chosen.missing,
        threads=options.jobs,
        reporter=reporter,
    )
