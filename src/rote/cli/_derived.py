"""Where results made from saved results go: a table, or JSON, CSV, LaTeX, and their own figures."""

from __future__ import annotations

from types import ModuleType

from rote.cli._output import OutputOptions, draw, emit
from rote.core.result import Result


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
