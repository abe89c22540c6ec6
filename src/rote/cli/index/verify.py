"""Read every byte of an index and compare it with what was written.

Says "whole", or lists what is damaged or missing and ends with exit code 1.

\b
  rote index verify IDX
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._index import index_argument
from rote.cli._output import Listing, SummaryOptions, as_json
from rote.cli._progress import TerminalReporter
from rote.core.progress import Reporter, several
from rote.core.result import Result


def index_verify(index: str | Path, reporter: Reporter) -> Result:
    path = Path(index)
    rows = [{"problem": line} for line in _problems(path, reporter)]
    about = {"index": str(path), "whole": not rows}
    return Listing("problems", rows, ("problem",), about).result("index-verify")


@command_of(__doc__, index_argument())
def command(idx: Path, options: SummaryOptions, reporter: TerminalReporter) -> None:
    from rote.report.terminal import strip_controls

    problems = _problems(idx, reporter)
    if options.json:
        click.echo(
            as_json({"index": str(idx), "whole": not problems, "problems": problems}), nl=False
        )
    else:
        for line in problems:
            click.echo(strip_controls(line))
        click.echo(f"{idx}: {_verdict(len(problems))}")
    if problems:
        sys.exit(1)


def _problems(path: Path, reporter: Reporter) -> list[str]:
    from rote.index.folders.folder import verify_index
    from rote.index.folders.manifest import is_index, read_manifest

    if not is_index(path):
        read_manifest(path)  # says what it is instead
    return verify_index(path, reporter)


def _verdict(problems: int) -> str:
    if not problems:
        return "whole"
    return f"damaged, {several(problems, 'problem')}"
