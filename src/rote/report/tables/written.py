"""Results for other programs: all their tables in one CSV, or each as a data frame, unrounded.

A CSV has one heading for all: the column `table` says which table a row belongs to (`values` has
one row per measure, source and value; the others are those of the JSON), and a column that a table
does not have is empty there.

A cell that begins with `=` is run when a spreadsheet opens the file, and ids and names of sources
come from whoever wrote the texts. Such a cell gets an apostrophe before it, which spreadsheets read
as "this is text"; `report.js` does the same for what it copies. Every CSV of rote is written here.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rote.core.errors import OptionError, UnknownName
from rote.core.result import Result
from rote.core.table import Rows
from rote.report._grid import grid, split
from rote.report.tables.sheet import Sheet

VALUES = "values"
VALUE_COLUMNS = (
    *("measure", "source", "texts", "words", "value", "estimate", "low", "high"),
    *("difference", "p", "p_corrected", "matched", "matched_sd", "matched_at"),
    *("matched_difference", "matched_p_corrected", "facet", "name", "reference"),
    *("verdict", "matched_verdict"),
)
IN_VALUES = (VALUES, "matched")
"""Tables of a result that the rows of its values hold already."""


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


def sheet_as_csv(sheet: Sheet) -> str:
    """All rows of one table, unrounded, under the names of their fields."""
    return rows_as_csv([[f for c in sheet.columns for f in c.fields], *map(list, _lines(sheet))])


def _lines(sheet: Sheet) -> Iterator[list[Any]]:
    for _, cells in sheet.rows():
        line: list[Any] = []
        for column, cell in zip(sheet.columns, cells, strict=True):
            held = [unrounded(value) for value in cell.values] or [cell.whole or cell.text]
            line += held + [""] * (len(column.fields) - len(held))
        yield line


def tables_of(result: Result) -> Iterator[tuple[str, Rows]]:
    """The values in long form, then every other table under its name."""
    yield VALUES, list(value_rows(result))
    for name, rows in result.tables.items():
        if name not in IN_VALUES and rows:
            yield name, rows


def value_rows(result: Result) -> Iterator[dict[str, Any]]:
    """One row per source and value, with its interval, its test and its value at equal size."""
    for facet, part in split(result):
        groups = {name: group for group, name in facet.names.items()}
        for row in grid(part):
            for name, cell in row.cells.items():
                held = {
                    "measure": row.measure,
                    "source": groups[name],
                    "texts": part.sources[name].texts,
                    "words": part.sources[name].words,
                    "value": row.value,
                    "matched_at": row.matched_at,
                    "facet": facet.title,
                    "name": name,
                    "reference": facet.reference,
                    "verdict": cell.verdict if cell.asked else "",
                }
                if math.isnan(cell.matched_difference):
                    held["matched_verdict"] = ""
                yield {n: held[n] if n in held else getattr(cell, n) for n in VALUE_COLUMNS}


def as_polars(result: Result, table: str = VALUES) -> Any:
    """A table of a result as a polars frame; `values` has a row per source and value."""
    import polars as pl

    known = dict(tables_of(result))
    if table not in known:
        raise UnknownName("table of this result", table, known)
    return pl.DataFrame(known[table], infer_schema_length=None, strict=False)


def as_pandas(result: Result, table: str = VALUES) -> Any:
    """The same as a pandas frame."""
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise OptionError(
            "pandas is not installed: install it (pip install pandas), or take .to_polars()"
        ) from None
    return pd.DataFrame(as_polars(result, table).to_dicts())


# Cells and rows of a CSV

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def inert(cell: Any) -> Any:
    """The cell, so that it cannot be run."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell


def rows_as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows of cells, the first one being their headings."""
    out = io.StringIO()
    plain = csv.writer(out, lineterminator="\n")
    # A carriage return ends a row for most readers, and Python's writer lets it pass.
    quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        cells = [inert(cell) for cell in row]
        turned = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if turned else plain).writerow(cells)
    return out.getvalue()


def unrounded(value: Any) -> Any:
    """As it stands in a cell: nothing where it is undefined, lists and objects as JSON."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value) if isinstance(value, float) else value
