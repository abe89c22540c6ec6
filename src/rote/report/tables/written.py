"""Tables of results for files. CSV and data frames are unrounded, for other programs; LaTeX
(booktabs) and Markdown are for papers, and what would be a command or a sign in them is shown as it
is.

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
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rote.core.errors import OptionError, UnknownName
from rote.core.facets import EACH
from rote.core.registry import of_result
from rote.core.result import Result, SourceResult
from rote.core.table import Column, Rows
from rote.report._grid import (
    BORDERLINE,
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    cells_of,
    grid,
    ordered_sources,
    rounded,
    rounded_like,
    split,
    split_panel,
)
from rote.report._grid import Cell as Value
from rote.report.family import corrected
from rote.report.tables.sheet import EXPORT_COMMAND, LIMIT, Cell, Sheet, columns_of, of_rows, sheets
from rote.report.tables.values import (
    MACHINERY,
    comparisons_table,
    layout,
    on_page,
    undeclared,
    values_layout,
    values_table,
)
from rote.report.terminal import harmless

VALUES = "values"
VALUE_COLUMNS = (
    *("measure", "source", "texts", "words", "value", "estimate", "low", "high"),
    *("difference", "p", "p_corrected", "matched", "matched_low", "matched_high", "matched_at"),
    *("matched_difference", "matched_p_corrected", "facet", "name", "reference"),
    *("verdict", "matched_verdict"),
)
TESTED_COLUMNS = (
    *("difference_low", "difference_high", "relative_low", "relative_high"),
    *("detectable", "matched_detectable", "margin", "equivalence_p_corrected"),
)
"""Of values that were tested."""
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
    rows = [row for result in results for row in value_rows(result)]
    columns = list(dict.fromkeys((*VALUE_COLUMNS, *(name for row in rows for name in row))))
    cells = ([unrounded(row.get(name)) for name in columns] for row in rows)
    return rows_as_csv([columns, *cells])


def values_as_parquet(results: Sequence[Result]) -> bytes:
    """The values alone, as `values_as_csv` has them, each with its aspect."""
    import io

    import polars as pl

    rows = [
        {"aspect": _aspect(result.measure, row["value"]), **row}
        for result in results
        for row in value_rows(result)
    ]
    buffer = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None, strict=False).write_parquet(buffer)
    return buffer.getvalue()


def _aspect(measure: str, value: str) -> str:
    """What a value is about, in the words of the verdicts; those of its measure for a detail."""
    record = of_result(measure)
    headlines = record.headlines if record else ()
    named = (one for one in headlines if value in (one.value, one.equal))
    whole = (one for one in headlines if not one.detail)
    chosen = next(named, None) or next(whole, None)
    return record.aspect(chosen) if record and chosen else measure


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
    """The values in long form, tests of pairs, then every other table under its name."""
    yield VALUES, list(value_rows(result))
    if result.reference == EACH and result.comparisons:
        yield "pairs", result.comparisons
    for name, rows in result.tables.items():
        if name not in IN_VALUES and rows:
            yield name, rows


def value_rows(result: Result) -> Iterator[dict[str, Any]]:
    """One row per source and value, with its interval, its test and its value at equal size."""
    columns = (*VALUE_COLUMNS, *(TESTED_COLUMNS if result.comparisons else ()))
    for facet, part in split(result):
        groups = {name: group for group, name in facet.names.items()}
        for row in grid(part):
            for name, cell in row.cells.items():
                held = {
                    "measure": row.measure,
                    "source": groups[name],
                    "texts": part.by_source[name].texts,
                    "words": part.by_source[name].words,
                    "value": row.value,
                    "matched_at": row.matched_at,
                    "facet": facet.title,
                    "name": name,
                    "reference": facet.reference,
                    "verdict": cell.verdict if cell.asked else "",
                }
                if math.isnan(cell.matched_difference):
                    held["matched_verdict"] = ""
                yield {n: held[n] if n in held else getattr(cell, n) for n in columns}


def table_rows(results: Sequence[Result], table: str) -> Rows:
    """All rows of a table by its name; of several results, each with its measure."""
    known = [(result.measure, dict(tables_of(result))) for result in results]
    if not any(table in own for _, own in known):
        raise UnknownName("table of this result", table, {name for _, own in known for name in own})
    found = [(measure, row) for measure, own in known for row in own.get(table, ())]
    return [{"measure": measure, **row} if len(results) > 1 else row for measure, row in found]


def as_polars(result: Result, table: str = VALUES) -> Any:
    """A table of a result as a polars frame; `values` has a row per source and value."""
    return rows_frame(table_rows([result], table))


def rows_frame(rows: Rows) -> Any:
    """Rows as a polars frame."""
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)


def frame_of(result: Result, name: str) -> Any:
    """A value of all sources, or a table of the result, by its name, as a polars frame."""
    rows = [row for row in value_rows(result) if row["value"] == name]
    tables = dict(tables_of(result))
    if not rows and name not in tables:
        known = {*tables, *(value for one in result.by_source.values() for value in one.values)}
        raise UnknownName(f"value or table of {result.measure}", name, known)
    empty = {column for column in (rows[0] if rows else ()) if _is_empty(rows, column)}
    said = {"measure", "value", *(empty - {"estimate"})}
    return rows_frame(
        [{key: cell for key, cell in row.items() if key not in said} for row in rows]
        or tables[name]
    )


def _is_empty(rows: Rows, column: str) -> bool:
    return all(unrounded(row[column]) == "" for row in rows)


def sources_frame(sources: Mapping[str, SourceResult]) -> Any:
    """A row for each source, with its values, as a polars frame."""
    return rows_frame(
        [
            {"source": name, "texts": one.texts, "words": one.words, **one.values}
            for name, one in sources.items()
        ]
    )


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
    """As it is in a cell: nothing where it is undefined, lists and objects as JSON."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value) if isinstance(value, float) else value


_LONGEST = 100
_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SIGNS = {"▲": r"$\uparrow$", "▼": r"$\downarrow$", "–": "--", "±": r"$\pm$", "…": r"\ldots{}"}
_SIGNS |= {"∞": r"$\infty$", "<": r"$<$", ">": r"$>$"}
_MARKS = {"▲": r"\uparrow", "▼": r"\downarrow", UNTESTED: "?", EQUIVALENT: r"\approx"}
_MARKS |= {BORDERLINE: r"\sim"}


def as_latex(results: Sequence[Result]) -> str:
    """The values, then every other table under a comment with its name: the first rows of it."""
    laid = [(result, table) for result in results if (table := values_layout(result))]
    plain = [result for result in results if result.by_source and not values_layout(result)]
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
    """Every table beside the values that is for the eye, declared or not."""
    declared = layout(result)
    named = {table.name for table in declared}
    others = [name for name in result.tables if name not in (*MACHINERY, *named)]
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
    tested = any(result.comparisons for result in results)
    said += [f"arrows: p < {SIGNIFICANT}, corrected: {corrected(results)}"] if tested else []
    return _tabular("l" + "r" * len(sources), ["", *heads], lines, said) + _end(results)


def sheet_as_latex(shown: Sheet, title: str = "") -> str:
    """A booktabs table of the first rows: names to the left, numbers to the right."""
    cut = f"{left}; {EXPORT_COMMAND} writes all" if (left := shown.cut()) else ""
    return _tabular(
        "".join("r" if column.side == "right" else "l" for column in shown.columns),
        [escaped(column.heading) for column in shown.columns],
        [_line([_cell(one) for one in cells]) for _, cells in shown.rows(shown.limit)],
        list(filter(None, [title, shown.said, cut])),
    )


def rows_as_latex(columns: Sequence[str], rows: Rows) -> str:
    """Rows as they are, rounded for the eye."""
    return sheet_as_latex(_sheet("", columns, rows))


def rows_as_markdown(title: str, columns: Sequence[str], rows: Rows) -> str:
    return "\n".join(sheet_as_markdown(_sheet(title, columns, rows), 3))


def _sheet(title: str, columns: Sequence[str], rows: Rows) -> Sheet:
    known = {column.field: column for column in columns_of(rows)}
    heads = [known.get(name, Column(name)) for name in columns]
    return of_rows("", title, heads, rows, limit=LIMIT)


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


def _cell(cell: Cell) -> str:
    shown = cell.line
    cut = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"
    return "".join(_SIGNS.get(c, c) for c in escaped(cut))


def _value(cell: Value) -> str:
    reach = rounded_like(cell.reach, cell.estimate)
    if math.isnan(cell.estimate):
        return "--"
    shown = rounded(cell.estimate).replace(",", "{,}") + (
        f"^{{{' '.join(_MARKS[sign] for sign in cell.mark)}}}" if cell.mark else ""
    )
    if cell.ends:
        return f"${shown}$ [{' to '.join(cell.ends)}]"
    return f"${shown}" + (rf" \pm {reach}$" if reach else "$")


# Without its opening sign a link, a picture or a tag is text.
_SPECIAL = re.compile(r"([\\`*_\[<|~$])")
_BEGINS = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=#>])")
_LONGEST_TEXT = 8_000


def as_markdown(results: Sequence[Result]) -> str:
    """The tables of results, each under a heading, with what must be known of them."""
    lines: list[str] = []
    for result in results:
        for sheet in shown_tables(result, [one for _, one in further(result)]):
            lines += sheet_as_markdown(sheet, 3)
        lines += (f"- {plain(note)}" for note in result.notes)
        lines += ["", code(str(result.signature)), ""]
    return "\n".join(lines)


def shown_tables(result: Result, others: Sequence[Sheet] | None = None) -> list[Sheet]:
    """The tables of a result by itself: values, further tables (those of a page), tests."""
    tests = comparisons_table([result], f"tests-{result.measure}")
    values = [values_table(result)] if result.by_source else []
    others = on_page(result) if others is None else others
    return [*values, *others, *([tests] if tests else [])]


def sheet_as_markdown(sheet: Sheet, level: int) -> Iterator[str]:
    """The lines of a table, under a heading of this level."""
    yield from (f"{'#' * min(level, 6)} {plain(sheet.title)}", "")
    heads = [
        " ".join((c.heading, *(f"({line})" for line in c.said.splitlines()))) for c in sheet.columns
    ]
    yield "| " + " | ".join(map(plain, heads)) + " |"
    yield "|" + "|".join(" ---: " if c.side == "right" else " --- " for c in sheet.columns) + "|"
    for reference, cells in sheet.rows(sheet.limit):
        shown = [
            code(cell.text) if column.kind == "code" else plain(_with_below(cell))
            for column, cell in zip(sheet.columns, cells, strict=True)
        ]
        if reference:
            shown[0] = f"**{shown[0]}**"
        yield "| " + " | ".join(shown) + " |"
    yield ""
    cut = f"{plain(left)}; {code(EXPORT_COMMAND)} writes all." if (left := sheet.cut()) else ""
    if said := " ".join(filter(None, (plain(sheet.said), cut))):
        yield from (said, "")


def plain(text: object) -> str:
    """A text in one line without anything that Markdown would act on."""
    shown = _one_line(text).replace("&", "&amp;")
    escaped = _SPECIAL.sub(r"\\\1", shown)
    return _BEGINS.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", escaped)


def code(text: object) -> str:
    """A text as code, between as many backticks as it takes."""
    shown = _one_line(text)
    if not shown:
        return ""
    runs = [len(run) for run in re.findall(r"`+", shown)]
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    # In a table a bar ends the cell even inside code.
    return f"{fence}{space}{shown}{space}{fence}".replace("|", r"\|")


def _one_line(text: object) -> str:
    """In one line, and not longer than a reader could want."""
    whole = str(text)
    return harmless(whole[:_LONGEST_TEXT]) + ("…" if len(whole) > _LONGEST_TEXT else "")


def _with_below(cell: Cell) -> str:
    """The value, its sign, and what stands below it."""
    return " ".join(part for part in (cell.text + cell.mark, *cell.below) if part)
