"""Build an index from texts, or from a store of `rote annotate`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._index import inputs_argument, source_of
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import carry_out
from rote.core.metric import option
from rote.corpus import ReadOptions
from rote.index.folders.options import BuildOptions

_HELP = """Build an index from texts, or from a store of `rote annotate`.

Says first what it expects to need, then builds. Run again after an interruption it goes on;
run again after it has ended it finds that nothing is left to do.
"""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Where the index goes."""

    output: Path = option(
        Path("rote-index"), "The index's folder", short="-o", metavar="IDX", writes="folder"
    )


def run(inputs: tuple[str, ...], **given: Any) -> None:
    from rote.index.folders.build import Written, build_index
    from rote.index.folders.estimate import estimate

    summary, options = build(SummaryOptions, given), build(BuildOptions, given)
    reporter = TerminalReporter(summary.quiet)
    path = build(TargetOptions, given).output
    source = source_of(inputs, path, build(ReadOptions, given), reporter)

    def work() -> Written:
        return build_index(source, path, options, reporter)

    carry_out(work, estimate(source, options), path, summary, reporter)


command = SectionedCommand(
    "build",
    callback=run,
    help=_HELP,
    params=[
        inputs_argument(),
        *flags(TargetOptions, "Index"),
        *flags(BuildOptions, "Index", sizes=["memory"]),
        *flags(ReadOptions, "Reading"),
        *flags(SummaryOptions, "Output"),
    ],
)
