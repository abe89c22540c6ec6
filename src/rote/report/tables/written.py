"""Results as files for other programs: all their tables in one CSV, and what LaTeX adds below.

A CSV has one heading for all: the column `table` says which table a row belongs to (`values` has
one row per measure, source and value; the others are those of the JSON), and a column that a table
does not have is empty there. LaTeX has one tabular after the other, each under a comment with its
name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rote.core.result import Result
from rote.report._facets import split
from rote.report._grid import grid
from rote.report.tables._blocks import plain_cell
from rote.report.tables._latex import escaped, tabular
from rote.report.tables.cells import rows_as_csv, unrounded
from rote.report.terminal import harmless

VALUES = "values"
VALUE_COLUMNS = (
    *("measure", "source", "texts", "words", "value", "estimate", "low", "high"),
    *("difference", "p", "p_corrected", "matched", "matched_sd", "matched_at"),
    *("matched_difference", "matched_p_corrected", "facet", "name", "reference"),
    *("verdict", "matched_verdict"),
)
_IN_VALUES = (VALUES, "matched")
"""Tables of a result that the rows of its values hold already."""
_LINES, _LONGEST = 100, 100
"""Of a LaTeX table, and of a text in it."""

Rows = Sequence[Mapping[str, Any]]


def as_csv(results: Sequence[Result]) -> str:
    """Every table of the results, unrounded."""
    rows = [
        {"measure": result.measure, **row, "table": name}
        for result in results
        for name, own in tables_of(result)
        for row in own
    ]
    columns = list(dict.fromkeys(("table", *VALUE_COLUMNS, *(name for r in rows for name in r))))
    cells = ([unrounded(row.get(name)) for name in columns] for row in rows)
    return rows_as_csv([columns, *cells])


def values_as_csv(results: Sequence[Result]) -> str:
    """The values alone: one line per measure, source and value, unrounded."""
    rows = (row for result in results for row in value_rows(result))
    cells = ([unrounded(row[name]) for name in VALUE_COLUMNS] for row in rows)
    return rows_as_csv([VALUE_COLUMNS, *cells])


def tables_of(result: Result) -> Iterator[tuple[str, Rows]]:
    """The values in long form, then every other table under its name."""
    yield VALUES, list(value_rows(result))
    for name, rows in result.tables.items():
        if name not in _IN_VALUES and rows:
            yield name, rows


def value_rows(result: Result) -> Iterator[dict[str, Any]]:
    """One row per source and value, with its interval, its test and its value at equal size."""
    for facet, part in split(result):
        groups = {name: group for group, name in facet.names.items()}
        for row in grid(part):
            for name, cell in row.cells.items():
                yield {
                    "measure": row.measure,
                    "source": groups[name],
                    "texts": part.sources[name].texts,
                    "words": part.sources[name].words,
                    "value": row.value,
                    "estimate": cell.estimate,
                    "low": cell.low,
                    "high": cell.high,
                    "difference": cell.difference,
                    "p": cell.p,
                    "p_corrected": cell.p_corrected,
                    "matched": cell.matched,
                    "matched_sd": cell.matched_sd,
                    "matched_at": row.matched_at,
                    "matched_difference": cell.matched_difference,
                    "matched_p_corrected": cell.matched_p_corrected,
                    "facet": facet.title,
                    "name": name,
                    "reference": facet.reference,
                    "verdict": cell.verdict if cell.asked else "",
                    "matched_verdict": ""
                    if math.isnan(cell.matched_difference)
                    else cell.matched_verdict,
                }


def further_latex(results: Sequence[Result]) -> str:
    """A booktabs table for each table beside the values, the first rows of long ones."""
    return "".join(
        f"\n% {harmless(f'{result.measure}: {name}')}\n" + rows_as_latex(_columns(rows), rows)
        for result in results
        for name, rows in tables_of(result)
        if name != VALUES
    )


def rows_as_latex(columns: Sequence[str], rows: Rows) -> str:
    """Rows as they are, rounded for the eye."""
    lines = [[_tex(row.get(name)) for name in columns] for row in rows[:_LINES]]
    heads = [escaped(name.replace("_", " ")) for name in columns]
    cut = [f"the first {_LINES:,} of {len(rows):,} rows; CSV and JSON have all"]
    return "\n".join(tabular(heads, lines, said=cut if len(rows) > _LINES else ())) + "\n"


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _tex(value: Any) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value):
        value = "; ".join(value)
    elif isinstance(value, (list, tuple, Mapping)):
        value = unrounded(value)
    shown = harmless(plain_cell(value))
    cut = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"
    return escaped(cut).replace("–", "--").replace("…", r"\ldots{}")
