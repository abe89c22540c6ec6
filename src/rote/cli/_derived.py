"""Where results made from saved results go: a table, or JSON, CSV, LaTeX, and their own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from rote.cli._output import OutputOptions, printing_console
from rote.core.files import write_atomically
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.core.saved import read_results

if TYPE_CHECKING:
    from rote.compare.source_table import SourceTable


def results_argument() -> click.Argument:
    return click.Argument(
        ["results"], metavar="RESULTS...", nargs=-1, required=True, type=click.Path(path_type=Path)
    )


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """Which values of the results are looked at."""

    values: tuple[str, ...] = option(
        (),
        "Values to take: lexical.mtld, a measure's or a value's name, or all; default: the one or "
        "two that stand for each measure",
    )


def table_of(
    paths: Sequence[Path], values: Sequence[str], *, matched: bool, reporter: Reporter
) -> SourceTable:
    """The values of all results in these files side by side, and a remark on what is left out."""
    from rote.compare.source_table import chosen, joined

    read = [(str(path), result) for path in paths for result in read_results(path)]
    whole = joined(read, matched=matched)
    table = chosen(whole, values)
    if not values and len(table.columns) < len(whole.columns):
        reporter.say(
            f"{len(table.columns)} of {len(whole.columns)} values stand for their measures; "
            "--values all takes every one"
        )
    return table


def deliver(
    result: Result, output: OutputOptions, *, tables: ModuleType, figures: ModuleType
) -> None:
    """Print or write a result in the form that was asked for; `figures` draws the first of its
    charts for --figure and all of them for --figures."""
    if output.figure or output.figures:
        _draw(figures.figures(result), output)
    form = output.format()
    if form == "table" and output.output is None:
        tables.print_result(result, printing_console())
        return
    written = {"csv": tables.as_csv, "latex": tables.as_latex, "table": tables.as_text}
    text = result.to_json() if form == "json" else written[form](result)
    if output.output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_atomically(output.output, text)


def _draw(charts: dict[str, object], output: OutputOptions) -> None:
    from rote.report.figures.results import save

    if output.figure:
        save(next(iter(charts.values())), output.figure)
    if output.figures:
        output.figures.mkdir(parents=True, exist_ok=True)
        for name, chart in charts.items():
            for ending in (".png", ".svg"):
                save(chart, output.figures / (name + ending))
