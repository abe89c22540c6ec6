"""Where results go: a table on the terminal, or JSON, CSV, LaTeX, figures in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.metric import option
from rote.core.result import Result, panel_to_json

Format = Literal["table", "json", "csv", "latex"]
_ENDINGS: dict[str, Format] = {".json": "json", ".csv": "csv", ".tex": "latex", ".txt": "table"}


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The same on every command that gives results."""

    json: bool = option(False, "Print JSON, unrounded")
    csv: bool = option(False, "Print CSV, unrounded, one line per source and value")
    latex: bool = option(False, "Print a LaTeX table")
    output: Path | None = option(
        None, "Write there instead of to standard output", short="-o", metavar="FILE"
    )
    figure: Path | None = option(
        None, "Also draw the values, or the panel (.png, .svg, .html, .json)", metavar="FILE"
    )
    figures: Path | None = option(
        None, "Write all figures into this folder, as PNG and SVG", metavar="DIR"
    )
    quiet: bool = option(False, "No progress bars and remarks", short="-q")

    def format(self) -> Format:
        """The form asked for; called before the work, so that nothing is measured in vain."""
        from rote.core.files import check_parent

        for path in (self.output, self.figure):
            if path is not None:
                check_parent(path)
        chosen: list[Format] = [name for name in get_args(Format) if getattr(self, name, False)]
        if len(chosen) > 1:
            raise OptionError(f"choose one of {', '.join('--' + name for name in chosen)}")
        if chosen:
            return chosen[0]
        return _ENDINGS.get(self.output.suffix, "table") if self.output else "table"


def deliver(results: Sequence[Result], options: OutputOptions, *, panel: bool) -> None:
    """Print or write the results in the form that was asked for."""
    import click

    if options.figure:
        from rote.report.figures import results as figures
        from rote.report.figures.panel import panel_chart

        chart = panel_chart(results) if panel else figures.values_chart(results)
        figures.save(chart, options.figure)
    if options.figures:
        _draw_all(results, options.figures, panel=panel)
    form = options.format()
    if form == "table" and "highlight" in results[0].tables:
        _show_text(results[0], options.output)
        return
    if form == "table" and options.output is None:
        from rote.report.tables import results as tables

        tables.print_results(results, printing_console())
        return
    text = _written(results, form, panel=panel)
    if options.output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_atomically(options.output, text)


def _show_text(result: Result, output: Path | None) -> None:
    """One text with what was found in it: on the terminal, or as a page."""
    from rote.report.texts import highlight

    row = result.tables["highlight"][0]
    heading = f"{row['source']}: {row['id']}"
    spans = [highlight.Span(s["start"], s["end"], s["template"]) for s in row["spans"]]
    if output is None:
        console = printing_console()
        console.print(f"{heading}\n", style="bold", highlight=False, markup=False)
        highlight.terminal(row["text"], spans, console)
    else:
        page = highlight.html_page(heading, [(heading, row["text"], spans)])
        write_atomically(output, page)


def _draw_all(results: Sequence[Result], folder: Path, *, panel: bool) -> None:
    """Every figure that the results have, under the name of the table that it shows."""
    from rote.report.figures import novelty as novelty_figures
    from rote.report.figures import overlap as overlap_figures
    from rote.report.figures import results as figures
    from rote.report.figures import templates as template_figures
    from rote.report.figures.panel import panel_chart

    charts = {"panel": panel_chart(results)} if panel else {}
    charts["values"] = figures.values_chart(results)
    if any(result.tables.get("curve") for result in results):
        charts["curve"] = figures.curve_chart(results)
    for result in results:
        first = f"{result.measure}-" if len(results) > 1 else ""
        own: dict[str, Any] = {}
        for room in (template_figures, novelty_figures, overlap_figures):
            own |= room.figures(result)
        charts |= {f"{first}{name}": chart for name, chart in own.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        for ending in (".png", ".svg"):
            figures.save(chart, folder / (name + ending))


def _written(results: Sequence[Result], form: Format, *, panel: bool) -> str:
    if form == "json":
        return panel_to_json(results) if panel else results[0].to_json()
    from rote.report.tables import results as tables

    if form == "csv":
        return tables.as_csv(results)
    return tables.as_latex(results) if form == "latex" else tables.as_text(results)


def printing_console() -> Any:
    """The console that results are printed to."""
    import sys

    from rich.console import Console

    # A pipe has no width of its own: wide enough for a handful of sources side by side.
    return Console() if sys.stdout.isatty() else Console(width=160)
