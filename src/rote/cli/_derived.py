"""Where results made from saved results go: a table, or JSON, CSV, LaTeX, and their own figures."""

from __future__ import annotations

from types import ModuleType

from rote.cli._output import OutputOptions, draw, emit
from rote.core.result import Result


def deliver(result: Result, output: OutputOptions, *, figures: ModuleType) -> None:
    """Print or write a result in the form that was asked for; `figures` draws the first of its
    charts for --figure and all of them for --figures."""
    from rote.report.tables.latex import as_latex
    from rote.report.tables.results import print_results
    from rote.report.tables.written import as_csv

    if output.figure or output.figures:
        draw(figures.figures(result), output)
    emit(
        output,
        lambda console: print_results([result], console),
        {
            "json": result.to_json,
            "csv": lambda: as_csv([result]),
            "latex": lambda: as_latex([result]),
        },
    )
