"""From a declared table, its rows and the result to cells: what every renderer draws.

A cell holds its text as shown and the unrounded numbers behind it. Cells are made when they are
asked for: a page shows the first of 100,000 rows, a CSV file all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from rote.core.numbers import format_number
from rote.core.result import Result
from rote.core.table import NUMBERS, Column, Row, Rows, Table, source_rows
from rote.core.table import VALUES as VALUES
from rote.report.grid import is_asymmetric, make_slug, round_like, round_number
from rote.report.terminal import strip_controls

EXPORT_COMMAND = "rote table RESULT.json --csv"
"""Writes every table of a saved result or report, with all rows."""
MAX_ROWS = 100
"""Rows of a table on a page; files have all of them."""
_LEAST_OF_EACH = 3
_MAX_TEXT, _MAX_SCANNED, _MAX_NAME = 240, 1000, 120
_ROWS_SAMPLED = 200
_TINY, _HUGE = 1e-3, 1e7
Number: TypeAlias = float | str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """What is shown, and the unrounded numbers behind it; the first one is sorted by."""

    text: str
    values: tuple[Number, ...] = ()
    mark: str = ""
    below: tuple[str, ...] = ()
    """Small print on a page: the interval, a second number."""
    beside: str = ""
    """The same where there is one line alone."""
    full: str = ""
    """The text before it was cut, for files."""

    @property
    def line(self) -> str:
        return " ".join(filter(None, (self.text, self.beside or " ".join(self.below)))) + self.mark


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of data under headings; `make` turns one into cells.

    Where rows belong to groups (`by`), each group is cut by itself, so that none is missing.
    """

    id: str
    title: str
    columns: Sequence[Column]
    data: Rows
    make: Callable[[Row], Sequence[Cell]]
    note: str = ""
    by: str = ""
    reference: str | None = None
    limit: int = MAX_ROWS
    """Rows that are shown on a page."""
    wide: bool = False
    """Many columns of numbers: the first one stays in sight."""
    terminal: int = 0
    """Rows of each group on a terminal."""
    chosen: Callable[[Rows, int], Rows] | None = None
    """Which rows of a group those are, if not the first."""

    def rows(self, limit: int | None = None) -> Iterator[tuple[bool, Sequence[Cell]]]:
        for row in self.data if limit is None else self.first(limit):
            has_reference = bool(self.by) and self.reference is not None
            yield has_reference and row.get(self.by) == self.reference, self.make(row)

    def first(self, limit: int) -> Rows:
        """The first rows, or the first of each group."""
        if len(self.data) <= limit:
            return self.data
        groups = dict.fromkeys(row.get(self.by) for row in self.data) if self.by else {}
        if len(groups) < 2:
            return self.data[:limit]
        each = self._each(limit, len(groups))
        counts = dict.fromkeys(groups, 0)
        first = []
        for row in self.data:
            name = row.get(self.by)
            if counts[name] < each:
                counts[name] += 1
                first.append(row)
        # More groups than rows fit: the first of them, and the line below the table says so.
        return first[: max(limit, each)]

    def cut(self) -> str:
        """What a page leaves out, in words; nothing where it shows all."""
        total, limit = len(self.data), self.limit
        if total <= limit:
            return ""
        row_count = len(self.first(limit))
        groups = len({row.get(self.by) for row in self.data}) if self.by else 0
        if groups > 1:
            each = self._each(limit, groups)
            name = next((c.heading for c in self.columns if c.field == self.by), self.by)
            return f"The first {each} of each {name}: {row_count:,} of {total:,} rows"
        return f"The first {row_count:,} of {total:,} rows"

    def _each(self, limit: int, groups: int) -> int:
        return max(_LEAST_OF_EACH, limit // groups)


def make_sheets(table: Table, result: Result, *, id: str = "") -> list[Sheet]:
    rows: Rows = source_rows(result) if table.name == VALUES else result.tables.get(table.name, ())
    if rows and table.rows:
        rows = table.rows(rows, result)
    if table.by and result.reference is not None:
        rows = sorted(rows, key=lambda row: row.get(table.by) != result.reference)
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row.get(name) for name in table.split), []).append(row)
    id = id or make_slug(f"{result.measure}-{table.name}")
    return [
        _make_sheet(table, p, result, f"{id}-{make_slug('-'.join(map(str, key)))}" if key else id)
        for key, p in parts.items()
    ]


def rows_sheet(id: str, title: str, columns: Sequence[Column], rows: Rows, **more: Any) -> Sheet:
    """Rows that belong to no result, under these columns."""
    filled = [column for column in columns if not column.optional or _is_filled(column, rows)]
    return Sheet(
        id, title, filled, rows, lambda row: [make_cell(row, column) for column in filled], **more
    )


def infer_columns(rows: Rows) -> list[Column]:
    """A column for each field that holds anything, for rows that nobody laid out."""
    first = rows[:_ROWS_SAMPLED]
    by_name = {
        name: [row[name] for row in first if row.get(name) is not None]
        for name in dict.fromkeys(name for row in first for name in row)
    }
    return [
        Column(name, kind="number" if all(map(_is_number, values)) else "text")
        for name, values in by_name.items()
        if values
    ]


def _make_sheet(table: Table, rows: Rows, result: Result, id: str) -> Sheet:
    declared = table.columns(rows, result) if callable(table.columns) else table.columns
    data, columns = rows, list(declared or infer_columns(rows))
    if table.pivot:
        data, more = _pivot_rows(table, columns, rows)
        columns += more
    title, note = (t(rows, result) if callable(t) else t for t in (table.title, table.note))
    # Where the reference has many lines, a mark at each would say nothing.
    single = sum(row.get(table.by) == result.reference for row in data) < 2
    sheet = rows_sheet(id, title, columns, data, note=note, by=table.by, terminal=table.limit)
    return replace(sheet, reference=result.reference if single else None, chosen=table.first)


def _pivot_rows(table: Table, columns: Sequence[Column], rows: Rows) -> tuple[Rows, list[Column]]:
    """Rows side by side: lines, in which a field is named by its value across, and the columns."""
    assert table.pivot is not None
    pivot, cell = table.pivot, table.pivot.cell
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row.get(column.field) for column in columns if column.kind not in NUMBERS)
        line = lines.setdefault(key, {column.field: row.get(column.field) for column in columns})
        line.setdefault(table.by, row.get(table.by))
        for name in (*cell.fields, *filter(None, (cell.mark,))):
            line[_pivot_field(row[pivot.across], name)] = row.get(name)
    first_rows: dict[Any, Row] = {}
    for row in rows:
        first_rows.setdefault(row[pivot.across], row)
    if callable(pivot.titles):
        titles = {value: pivot.titles(row) for value, row in first_rows.items()}
    else:
        titles = {value: name for value, name in pivot.titles.items() if value in first_rows}
        titles |= {value: str(value) for value in first_rows if value not in titles}
    return list(lines.values()), [_pivot_column(cell, v, title) for v, title in titles.items()]


def _pivot_column(column: Column, value: Any, title: str = "") -> Column:
    low, high = column.ends or ("", "")
    return replace(
        column,
        field=_pivot_field(value, column.field),
        title=title,
        ends=(_pivot_field(value, low), _pivot_field(value, high)) if column.ends else None,
        spread=column.spread and _pivot_field(value, column.spread),
        mark=column.mark and _pivot_field(value, column.mark),
        also=column.also and _pivot_column(column.also, value),
    )


def _pivot_field(value: Any, name: str) -> str:
    return f"{value}_{name}"


def make_cell(row: Row, column: Column) -> Cell:
    value = _to_python(row.get(column.field))
    if column.kind not in NUMBERS or isinstance(value, str):
        return text_cell(_as_text(value))
    first = _number_cell(row, column, value)
    if column.also is None:
        return first
    second = make_cell(row, column.also)
    is_missing = first.values[0] is None or column.also.optional
    if not (is_missing and second.text == "–"):
        inline, below = second.line, " ".join((second.text, *second.below))
        beside = f"{first.beside} ({inline})".strip()
        first = replace(first, beside=beside, below=(*first.below, f"({below})"))
    return replace(first, values=(*first.values, *second.values))


def text_cell(text: object, *, longest: int = _MAX_TEXT) -> Cell:
    """A text in one line, cut where it is absurdly long."""
    full = "" if text is None else str(text)
    cleaned = strip_controls(full[:_MAX_SCANNED])
    if len(cleaned) > longest or len(full) > _MAX_SCANNED:
        return Cell(cleaned[: longest - 1].rstrip() + "…", full=full)
    return Cell(cleaned, full=full)


def number_cell(number: float | None) -> Cell:
    """A number by itself, rounded for the eye alone."""
    return make_cell({"": number}, Column("", kind="number"))


def format_p(number: float | None) -> str:
    if number is None or math.isnan(number):
        return "–"
    return "< 0.001" if number < 0.001 else format_number(number, ".3f")


def shorten_name(text: str) -> str:
    """A name whole, since names often differ in the middle; only an absurd one is cut."""
    cleaned = strip_controls(text[: 2 * _MAX_NAME])
    return cleaned if len(text) <= _MAX_NAME else cleaned[: _MAX_NAME - 1] + "…"


def format_cell_number(number: float, column: Column, model: float | None = None) -> str:
    """A number as its column shows it, with as many digits as `model` would have."""
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    text = _format_unsigned(number, column, model)
    return f"+{text}" if column.signed and number > 0 and text.strip("0.,%") else text


def _format_unsigned(number: float, column: Column, model: float | None) -> str:
    match column.kind:
        case "count":
            return format_number(number, ",.0f")
        case "share":
            return format_number(number, f".{1 if column.decimals is None else column.decimals}%")
        case "p":
            return format_p(number)
    if column.decimals is not None:
        return format_number(number, f",.{column.decimals}f")
    if isinstance(number, int):
        return f"{number:,}"
    if model is not None:
        return round_like(number, model)
    if 0 < abs(number) < _TINY:
        return format_number(number, ".2g")
    if abs(number) >= _HUGE:
        return format_number(number, ".1e").replace("e+0", "e").replace("e+", "e")
    return round_number(number)


def _number_cell(row: Row, column: Column, value: Any) -> Cell:
    ends = [_finite_or_none(_to_python(row.get(name))) for name in column.ends or ()]
    spread = [_finite_or_none(_to_python(row.get(column.spread)))] if column.spread else []
    behind = (_finite_or_none(value), *ends, *spread)
    if value is None or math.isnan(value):
        return Cell("–", behind)
    mark = str(row.get(column.mark) or "") if column.mark else ""
    if spread and spread[0] is not None:
        model = _digits_model(value, spread[0])
        text = format_cell_number(value, column, model)
        reach = _format_reach(spread[0], column, model)
        return Cell(text, behind, mark, (reach,), reach)
    if not ends or None in ends:
        return Cell(format_cell_number(value, column), behind, mark)
    low, high = (float(end) for end in ends if end is not None)
    model = _digits_model(value, (high - low) / 2)
    text, first, last = (format_cell_number(number, column, model) for number in (value, low, high))
    # In a line: half the width of the interval, or its ends where one side is longer.
    if math.isinf(low) or math.isinf(high) or is_asymmetric(value, low, high):
        beside = f"[{first.rstrip('%')} to {last.rstrip('%')}]"
    else:
        beside = _format_reach((high - low) / 2, column, model)
    return Cell(text, behind, mark, (f"[{first}, {last}]",), beside)


def _format_reach(reach: float, column: Column, model: float) -> str:
    return "±" + format_cell_number(reach, replace(column, signed=False), model).rstrip("%")


def _digits_model(value: float, reach: float) -> float:
    """A small number with a wide interval needs no more digits than the interval."""
    return max(abs(value), abs(reach))


def _as_text(value: Any) -> str:
    """A list of short things as they are, anything deeper as JSON."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return " · ".join(value)
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, float):
        return "–" if math.isnan(value) else format_cell_number(value, Column("", kind="number"))
    return "" if value is None else str(value)


def _is_filled(column: Column, rows: Rows) -> bool:
    return any(v is not None and v == v for v in (r.get(column.field) for r in rows))


def _to_python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _is_number(value: Any) -> bool:
    value = _to_python(value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finite_or_none(number: Any) -> float | None:
    return number if number is not None and math.isfinite(number) else None
