"""A table as data: what a page, Markdown, CSV and LaTeX make of it is the same table.

Cells are made when they are asked for: a page shows the first of 100,000 rows, a CSV file all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rote.report._grid import rounded
from rote.report.tables._latex import escaped
from rote.report.tables.cells import rows_as_csv
from rote.report.terminal import harmless

Row = Mapping[str, Any]
LIMIT = 100
"""Rows of a table on a page; files have all of them."""
_LEAST_OF_EACH = 3
_LONGEST, _SCANNED = 240, 1000


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; `side` is right for numbers.

    `fields` names what a cell holds, where that is more than one number, for programs.
    """

    title: str
    side: str = "left"
    said: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    code: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.fields or (self.title,)


@dataclass(frozen=True, slots=True)
class Cell:
    """What is shown, and the unrounded numbers behind it; the first one is sorted by."""

    text: str
    values: tuple[float | str | None, ...] = ()
    mark: str = ""
    below: tuple[str, ...] = ()
    whole: str = ""
    """The text before it was cut, for files."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of data under headings; `make` turns one into cells.

    Where rows belong to groups (`by`), each group is cut by itself, so that none is missing.
    """

    id: str
    title: str
    columns: Sequence[Column]
    data: Sequence[Row]
    make: Callable[[Row], Sequence[Cell]]
    said: str = ""
    by: str = ""
    reference: str | None = None
    limit: int = LIMIT
    """Rows that are shown on a page."""
    wide: bool = False
    """Many columns of numbers: the first one stays in sight."""

    def rows(self, limit: int | None = None) -> Iterator[tuple[bool, Sequence[Cell]]]:
        """The cells of the rows, and whether a row is the reference's."""
        for row in self.data if limit is None else self.first(limit):
            own = bool(self.by) and self.reference is not None
            yield own and row.get(self.by) == self.reference, self.make(row)

    def first(self, limit: int) -> Sequence[Row]:
        """The first rows, or the first of each group."""
        if len(self.data) <= limit:
            return self.data
        groups = dict.fromkeys(row.get(self.by) for row in self.data) if self.by else {}
        if len(groups) < 2:
            return self.data[:limit]
        each = self._each(limit, len(groups))
        taken = dict.fromkeys(groups, 0)
        found = []
        for row in self.data:
            name = row.get(self.by)
            if taken[name] < each:
                taken[name] += 1
                found.append(row)
        # More groups than rows fit: the first of them, and the line below the table says so.
        return found[: max(limit, each)]

    def cut(self) -> str:
        """What a page leaves out, in words; nothing where it shows all."""
        total, limit = len(self.data), self.limit
        if total <= limit:
            return ""
        shown = len(self.first(limit))
        groups = len({row.get(self.by) for row in self.data}) if self.by else 0
        if groups > 1:
            each = self._each(limit, groups)
            return f"The first {each} of each {self.by}: {shown:,} of {total:,} rows"
        return f"The first {shown:,} of {total:,} rows"

    def _each(self, limit: int, groups: int) -> int:
        return max(_LEAST_OF_EACH, limit // groups)


def text_cell(text: object, *, longest: int = _LONGEST) -> Cell:
    """A text in one line, cut where it is absurdly long."""
    whole = "" if text is None else str(text)
    shown = harmless(whole[:_SCANNED])
    if len(shown) > longest or len(whole) > _SCANNED:
        return Cell(shown[: longest - 1].rstrip() + "…", whole=whole)
    return Cell(shown, whole=whole)


def number_cell(number: float | None, form: str = "", *, mark: str = "") -> Cell:
    """A number, rounded for the eye alone."""
    if number is None or _defined(number) is None:
        return Cell("–", (None,))
    if form:
        return Cell(format(number, form), (number,), mark)
    whole = isinstance(number, int) and not isinstance(number, bool)
    return Cell(f"{number:,}" if whole else rounded(number), (number,), mark)


def interval_cell(number: float | None, low: float | None, high: float | None, form: str) -> Cell:
    """A number with its interval below it."""
    shown = number_cell(number, form)
    ends = tuple(_defined(end) for end in (low, high))
    below = () if None in (*shown.values, *ends) else (f"[{low:{form}}, {high:{form}}]",)
    return Cell(shown.text, (*shown.values, *ends), below=below)


def as_csv(table: Table) -> str:
    """All rows, unrounded."""
    return rows_as_csv(
        [[name for column in table.columns for name in column.names], *_lines(table)]
    )


def _lines(table: Table) -> Iterator[list[str]]:
    for _, cells in table.rows():
        fields: list[str] = []
        for column, cell in zip(table.columns, cells, strict=True):
            held = [_written(value) for value in cell.values] or [cell.whole or cell.text]
            fields += held + [""] * (len(column.names) - len(held))
        yield fields


def as_latex(table: Table) -> str:
    """A booktabs table of the first rows."""
    sides = "".join("r" if column.side == "right" else "l" for column in table.columns)
    lines = [
        f"% {harmless(table.title)}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        " & ".join(escaped(harmless(column.title)) for column in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(map(_tex, cells)) + r" \\" for _, cells in table.rows(table.limit)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if cut := table.cut():
        lines.append(f"% {cut}; the CSV file has all")
    return "\n".join(lines) + "\n"


def said_in_line(cell: Cell) -> str:
    """A cell in one line of plain text: the value, its sign, and what stands below it."""
    return " ".join(part for part in (cell.text + cell.mark, *cell.below) if part)


def _tex(cell: Cell) -> str:
    shown = escaped(harmless(said_in_line(cell)))
    return shown.replace("▲", r"$\uparrow$").replace("▼", r"$\downarrow$").replace("–", "--")


def _defined(number: float | None) -> float | None:
    """Undefined is nan in a result that was just made, and nothing in one that was read."""
    return number if number is not None and math.isfinite(number) else None


def _written(value: float | str | None) -> str:
    if isinstance(value, str):
        return value
    return "" if _defined(value) is None else repr(value)
