"""Show a saved result again: its tables on the terminal, or as CSV, LaTeX, Markdown, figures.

Reads what any measure, study or panel wrote with --json or -o FILE.json; nothing is measured again.

\b
  rote diversity stories.jsonl --by source -o result.json
  rote table result.json --latex
  rote table result.json -o result.md --figure result.png
  rote table result.json curve

TABLE prints one table alone, also one that is not shown with the others: curve has the values over
sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._output import Listing, OutputOptions, deliver, deliver_rows
from rote.core.result import PanelResults, Result, read_results


def table(result: str | Path) -> PanelResults:
    return PanelResults(read_results(Path(result), tables=True))


@command_of(
    __doc__,
    click.Argument(["result"], type=Path, metavar="RESULT"),
    click.Argument(["name"], required=False, metavar="[TABLE]"),
)
def command(result: Path, name: str | None, output: OutputOptions) -> None:
    table_of_result = table(result)
    if name:
        _print_table(table_of_result, name, output)
        return
    deliver(table_of_result, output, panel=len(table_of_result) > 1)


def _print_table(results: Sequence[Result], name: str, output: OutputOptions) -> None:
    from rote.report.cells import infer_columns
    from rote.report.export import table_rows
    from rote.report.screen import rows_table

    rows = table_rows(results, name)
    columns = infer_columns(rows)
    header = {"signatures": [str(result.signature) for result in results]}
    listing = Listing(name, rows, list(dict.fromkeys(key for row in rows for key in row)), header)
    deliver_rows(listing, lambda console: console.print(rows_table(columns, rows)), output)
