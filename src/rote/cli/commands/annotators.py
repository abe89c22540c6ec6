"""List who can annotate here: layers, licence, accuracy, what is missing."""

from __future__ import annotations

import click

_HELP = """List who can annotate here: layers, licence, accuracy, what is missing.

Accuracies are those of the model cards; taggers with different tag sets are not comparable.
"""


@click.command("annotators", help=_HELP)
def command() -> None:
    from rich import box
    from rich.table import Table

    from rote.annotate import annotators
    from rote.cli._output import printing_console

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_lines=True)
    for title in ("annotator", "gives", "licence", "accuracy", "needs"):
        table.add_column(title, overflow="fold")
    for entry in annotators.entries():
        needs = entry.needs or "nothing"
        table.add_row(entry.name, ", ".join(entry.gives), entry.licence, entry.accuracy, needs)
    printing_console().print(table)
