"""Results in LaTeX: booktabs tables, in which what would be a command is shown as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rote.core.result import Result
from rote.core.table import Column, Rows
from rote.report._grid import (
    UNTESTED,
    Cell,
    cells_of,
    grid,
    ordered_sources,
    rounded,
    rounded_like,
    split_panel,
)
from rote.report.tables import sheet
from rote.report.tables.sheet import LIMIT, Sheet, of_rows, sheets
from rote.report.tables.values import layout, undeclared, values_layout
from rote.report.tables.written import IN_VALUES
from rote.report.terminal import harmless

_LONGEST = 100
_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SIGNS = {"▲": r"$\uparrow$", "▼": r"$\downarrow$", "–": "--", "±": r"$\pm$", "…": r"\ldots{}"}
_SIGNS |= {"∞": r"$\infty$", "<": r"$<$", ">": r"$>$"}
_MARKS = {"▲": r"^{\uparrow}", "▼": r"^{\downarrow}", UNTESTED: "^{?}", "": ""}


def as_latex(results: Sequence[Result]) -> str:
    """The values, then every other table under a comment with its name: the first rows of it."""
    laid = [(result, table) for result in results if (table := values_layout(result))]
    plain = [result for result in results if result.sources and not values_layout(result)]
    written = [values_as_latex(plain)] if plain else []
    for result, table in laid:
        written += [sheet_as_latex(one) for one in (sheets(table, result) if table.limit else ())]
        written.append(_end([result]))
    written += [
        f"\n% {harmless(f'{result.measure}: {name}')}\n" + sheet_as_latex(one, one.title)
        for result in results
        for name, one in further(result)
    ]
    return "".join(written)


def further(result: Result) -> Iterator[tuple[str, Sheet]]:
    """Every table beside the values, those that are declared and those that are not."""
    declared = layout(result)
    named = {table.name for table in declared}
    others = [name for name in result.tables if name not in (*IN_VALUES, *named)]
    for table in (*declared, *map(undeclared, others)):
        yield from ((table.name, one) for one in sheets(table, result) if one.data)


def values_as_latex(results: Sequence[Result]) -> str:
    """A booktabs table: values down, sources across, one part for each facet."""
    facets = split_panel(results)
    sources = list(dict.fromkeys(s for _, parts in facets for s in ordered_sources(parts)))
    references = {parts[0].reference for _, parts in facets}
    heads = [rf"\textbf{{{escaped(s)}}}" if s in references else escaped(s) for s in sources]
    lines: list[str] = []
    for title, parts in facets:
        lines += [r"\midrule"] if lines else []
        if title:
            wide = rf"\multicolumn{{{len(sources) + 1}}}{{l}}{{\textit{{{escaped(title)}}}}}"
            lines.append(rf"{wide} \\")
        for row in (row for part in parts for row in grid(part)):
            cells = [_value(row.cells[s]) if s in row.cells else "--" for s in sources]
            lines.append(_line([escaped(row.title), *cells]))
    untested = any(UNTESTED in (cell.mark, cell.matched_mark) for cell in cells_of(results))
    said = [f"?: not tested against {results[0].reference}"] if untested else []
    return _tabular("l" + "r" * len(sources), ["", *heads], lines, said) + _end(results)


def sheet_as_latex(shown: Sheet, title: str = "") -> str:
    """A booktabs table of the first rows: names to the left, numbers to the right."""
    cut = shown.cut()
    return _tabular(
        "".join("r" if column.side == "right" else "l" for column in shown.columns),
        [escaped(column.heading) for column in shown.columns],
        [_line([_cell(one) for one in cells]) for _, cells in shown.rows(shown.limit)],
        [*filter(None, [title, shown.said]), *([f"{cut}; CSV and JSON have all"] if cut else [])],
    )


def rows_as_latex(columns: Sequence[str], rows: Rows) -> str:
    """Rows as they are, rounded for the eye."""
    known = {column.field: column for column in sheet.columns_of(rows)}
    heads = [known.get(name, Column(name)) for name in columns]
    return sheet_as_latex(of_rows("", "", heads, rows, limit=LIMIT))


def escaped(text: str) -> str:
    """In one line: an empty one would end the table."""
    return "".join(_ESCAPES.get(c, c) for c in harmless(text))


def _tabular(
    sides: str, heads: Sequence[str], lines: Sequence[str], said: Sequence[str] = ()
) -> str:
    """Cells are LaTeX already; `said` are comments below."""
    whole = [
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _line(heads),
        r"\midrule",
        *lines,
        *(r"\bottomrule", r"\end{tabular}"),
        *(f"% {harmless(line)}" for line in said),
    ]
    return "\n".join(whole) + "\n"


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _end(results: Sequence[Result]) -> str:
    """What must be known of all of it, as comments."""
    notes = dict.fromkeys(note for result in results for note in result.notes)
    said = [*notes, *(str(result.signature) for result in results)]
    return "".join(f"% {harmless(line)}\n" for line in said)


def _cell(cell: sheet.Cell) -> str:
    shown = cell.line
    cut = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"
    return "".join(_SIGNS.get(c, c) for c in escaped(cut))


def _value(cell: Cell) -> str:
    reach = rounded_like(cell.reach, cell.estimate)
    if math.isnan(cell.estimate):
        return "--"
    shown = rounded(cell.estimate).replace(",", "{,}") + _MARKS[cell.mark]
    if cell.ends:
        return f"${shown}$ [{' to '.join(cell.ends)}]"
    return f"${shown}" + (rf" \pm {reach}$" if reach else "$")
