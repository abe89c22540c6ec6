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
from typing import TYPE_CHECKING, ClassVar

from rote.cli._flags import command_of, files_argument
from rote.cli._index import carry_out, changed, places_of, source_of
from rote.cli._output import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.core.errors import OptionError
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.corpus import Corpus, Input, ReadOptions
from rote.index.folders.options import BuildOptions

if TYPE_CHECKING:
    from rote.index.index import Index


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Where the index goes."""

    SECTION: ClassVar[str] = "Index"
    output: Path | None = option(
        None,
        "The index's folder  [default: rote-index; from Python, the index is made in memory]",
        short="-o",
        metavar="IDX",
        writes="folder",
    )


def index(
    texts: Input,
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    reporter: Reporter,
) -> Index:
    from rote.index.factory import index_corpus
    from rote.index.folders.build import build_index

    source = source_of(texts, target.output, read, reporter)
    if target.output is not None:
        work = partial(build_index, source, target.output, options, reporter)
        return changed(target.output, work)
    if not isinstance(source, Corpus):
        raise OptionError(f"{source.path} is a store: --output names the index that is built of it")
    return index_corpus(source, options, reporter)


@command_of(__doc__, files_argument(metavar="INPUT..."))
def command(
    inputs: tuple[str, ...],
    target: TargetOptions,
    options: BuildOptions,
    read: ReadOptions,
    summary: SummaryOptions,
    reporter: TerminalReporter,
) -> None:
    from rote.index.folders.build import build_index
    from rote.index.folders.source import estimate_build

    path = target.output or Path("rote-index")
    source = source_of(places_of(inputs), path, read, reporter)

    work = partial(build_index, source, path, options, reporter)
    carry_out(work, path, summary, reporter, estimate_build(source, options))
