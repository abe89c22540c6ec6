"""Show a saved result again: its tables on the terminal, or as CSV, LaTeX, Markdown, figures.

Reads what any measure, study or panel wrote with --json or -o FILE.json; nothing is measured again.

\b
  rote diversity stories.jsonl --by source -o result.json
  rote table result.json --latex
  rote table result.json -o result.md --figure result.png
"""

from __future__ import annotations

from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._output import OutputOptions, deliver


@command_of(__doc__, click.Argument(["result"], type=Path, metavar="RESULT"))
def command(result: Path, output: OutputOptions) -> None:
    from rote.core.saved import read_results

    found = read_results(result, tables=True)
    deliver(found, output, panel=len(found) > 1)
