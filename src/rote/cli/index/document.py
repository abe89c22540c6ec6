"""Print a document of an index: its fields and its text.

With --json it is one line as `rote index replace` reads it.

\b
  rote index document IDX novel-17
  rote index document IDX novel-17 --json > mended.jsonl
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from rote.cli._flags import command_of
from rote.cli._index import index_argument
from rote.cli._output import SummaryOptions, printing_console
from rote.cli._progress import TerminalReporter


@command_of(__doc__, index_argument(), click.Argument(["identity"], metavar="ID"))
def command(idx: Path, identity: str, options: SummaryOptions, reporter: TerminalReporter) -> None:
    from rote.index.opening import open_index
    from rote.report.terminal import facts_table, readable

    found = open_index(idx, reporter).document(identity)
    if options.json:
        record = {"id": found.id, **found.meta, "text": found.text}
        click.echo(json.dumps(record))  # in ASCII: whatever a text holds is safe to look at
        return
    fields = {name: _shown(value) for name, value in found.meta.items() if value is not None}
    printing_console().print(facts_table({"id": found.id, **fields}))
    click.echo(readable(found.text))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
