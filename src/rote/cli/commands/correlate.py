"""Correlate measures with each other, and with quality, over the sources of saved results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rote.cli._derived import ValueOptions, deliver, results_argument, table_of
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._progress import TerminalReporter
from rote.core.metric import option
from rote.studies._correlate import Options

_HELP = """Correlate measures with each other, and with quality, over the sources of saved results.

RESULTS are what measures wrote as JSON; sources with the same name are joined. Quality comes as a
table with a column `source`:

\b
  rote diversity stories.jsonl --by source --reference human -o diversity.json
  rote correlate diversity.json --quality ratings.csv --figure correlations.png

Over five or ten sources only strong correlations can be told from chance: look at the intervals.
"""


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """What the measures are correlated with beside each other."""

    quality: tuple[Path, ...] = option(
        (),
        "Tables (.csv, .tsv, .jsonl) with a column `source` and columns of numbers",
        metavar="FILE,...",
    )
    quality_columns: tuple[str, ...] = option(
        (), "Columns of these tables to take; default: all that hold numbers alone"
    )


def run(results: tuple[Path, ...], **given: Any) -> None:
    from rote.report.figures import correlation as correlation_figures
    from rote.report.tables import correlation as correlation_tables
    from rote.studies._correlate import correlate
    from rote.studies._quality import with_quality

    quality, options = build(QualityOptions, given), build(Options, given)
    output = build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    reporter = TerminalReporter(output.quiet)
    values = build(ValueOptions, given).values
    table = table_of(results, values, matched=options.matched, reporter=reporter)
    table = with_quality(table, quality.quality, quality.quality_columns)
    found = correlate(table, options)
    deliver(found, output, tables=correlation_tables, figures=correlation_figures)


command = SectionedCommand(
    "correlate",
    callback=run,
    help=_HELP,
    params=[
        results_argument(),
        *flags(ValueOptions, "What is correlated"),
        *flags(QualityOptions, "What is correlated"),
        *flags(Options, "Over which sources"),
        *flags(OutputOptions, "Output"),
    ],
)
