"""Build an index from texts, or from a store of `rote annotate`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._index import inputs_argument, source_of
from rote.cli._listing import SummaryOptions
from rote.cli._progress import TerminalReporter
from rote.cli.index._summary import announce, summarize
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

    output: Path = option(Path("rote-index"), "The index's folder", short="-o", metavar="IDX")


def run(inputs: tuple[str, ...], **given: Any) -> None:
    from rote.core.compiling import say_if_compiling
    from rote.index.folders.build import build_index
    from rote.index.folders.estimate import estimate

    summary, options = build(SummaryOptions, given), build(BuildOptions, given)
    reporter = TerminalReporter(summary.quiet)
    path = build(TargetOptions, given).output
    source = source_of(inputs, path, build(ReadOptions, given), reporter)
    announce(estimate(source, options), reporter)
    say_if_compiling(reporter, "radix")
    start = time.monotonic()
    written = build_index(source, path, options, reporter)
    spent = time.monotonic() - start
    for line in written.problems.listed():
        reporter.say(line)
    summarize(path, written.added, spent, summary, reporter)


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
