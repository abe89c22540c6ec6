"""Where results made from saved results go: a table, or JSON, CSV, LaTeX, and their own figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from rote.cli._output import OutputOptions, draw, emit
from rote.core.metric import option
from rote.core.progress import Reporter
from rote.core.result import Result
from rote.core.saved import read_results

if TYPE_CHECKING:
    from rote.studies._source_table import SourceTable


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
    from rote.studies._source_table import chosen, joined

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
    from rote.report.tables.latex import further_as_latex
    from rote.report.tables.written import as_csv

    if output.figure or output.figures:
        draw(figures.figures(result), output)
    emit(
        output,
        lambda console: tables.print_result(result, console),
        {
            "json": result.to_json,
            "csv": lambda: as_csv([result]),
            "latex": lambda: tables.as_latex(result) + further_as_latex([result]),
        },
    )
