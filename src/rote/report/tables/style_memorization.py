"""Style memorization for the eye and for other programs: shares, frequencies, substitutions."""

from __future__ import annotations

from typing import Any

from rote.core.result import Result
from rote.report.tables import results as tables
from rote.report.tables._blocks import plain_text, print_rows
from rote.report.tables.latex import values_as_latex

_SHOWN = 12


def print_result(result: Result, console: Any) -> None:
    """Print the shares of each group, then what changes with frequency, then what was put in."""
    tables.print_results([result], console)
    resamples = [
        {**row, "shares": f"{100 * row['mean']:.1f} % ± {100 * row['sd']:.1f}"}
        for row in result.tables["resamples"]
        if row["value"] in ("exact", "style")
    ]
    draws = resamples[0]["draws"] if resamples else 0
    title = f"spread over {draws:,} draws of half of the texts (mean ± standard deviation)"
    print_rows(title, resamples, ("group", "value", "shares"), console)
    rows = [{**row, "seen": seen(row)} for row in result.tables["frequency"]]
    columns = ("group", "seen", "texts", "exact", "style", "style_only")
    print_rows("by how often a text was seen", rows, columns, console)
    put = result.tables["substitutions"][:_SHOWN]
    print_rows(
        "words put in the place of others",
        put,
        ("group", "tag", "word", "written", "count"),
        console,
    )


def as_text(result: Result, width: int = 140) -> str:
    return plain_text(print_result, result, width)


def as_latex(result: Result) -> str:
    return values_as_latex([result])


def seen(row: Any) -> str:
    """How often the texts of a bin were seen."""
    least, most = row["least"], row["most"]
    return f"{least:,g}" if least == most else f"{least:,g} - {most:,g}"
