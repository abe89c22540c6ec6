"""Show what a factor does to the values of saved results: temperature, size, tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rote.cli._derived import ValueOptions, deliver, results_argument, table_of
from rote.cli._flags import SectionedCommand, build, flags
from rote.cli._output import OutputOptions
from rote.cli._progress import TerminalReporter
from rote.studies._factors import Options

_HELP = """Show what a factor does to the values of saved results: temperature, size, tuning.

RESULTS are what measures wrote as JSON, made --by the factor and the field that names sources.
Levels may be numbers (0.7, 7B, 16bit), or names in an order or a pair that you give:

\b
  rote lexical runs.jsonl --by source,temperature -o lexical.json
  rote factors lexical.json --over temperature --figure temperature.png
  rote factors tuned.json --over stage --pair base,instruct
  rote factors sizes.json --over size --order small,medium,large
"""


def run(results: tuple[Path, ...], **given: Any) -> None:
    from rote.report.figures import factors as factor_figures
    from rote.report.tables import factors as factor_tables
    from rote.studies._factors import factors

    options, output = build(Options, given), build(OutputOptions, given)
    output.form()  # a contradiction is noticed before the work, not after
    reporter = TerminalReporter(output.quiet)
    values = build(ValueOptions, given).values
    table = table_of(results, values, matched=options.matched, reporter=reporter)
    deliver(factors(table, options), output, tables=factor_tables, figures=factor_figures)


command = SectionedCommand(
    "factors",
    callback=run,
    help=_HELP,
    params=[
        results_argument(),
        *flags(ValueOptions, "What is looked at"),
        *flags(Options, "The factor"),
        *flags(OutputOptions, "Output"),
    ],
)
