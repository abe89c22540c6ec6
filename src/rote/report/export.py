"""Tables of results for files: CSV and data frames unrounded, LaTeX (booktabs) and Markdown.

A CSV has one heading for all: the column `table` says which table a row belongs to (`values` has
one row per measure, source and value; the others are those of the JSON), and a column that a table
does not have is empty there.

A cell that begins with `=` is run when a spreadsheet opens the file, so an apostrophe is put before
it; `report.js` does the same for what it copies. Every CSV of rote is written here.
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
from rote.report import value_tables
from rote.report.cells import (
    EXPORT_COMMAND,
    MAX_ROWS,
    Cell,
    Sheet,
    infer_columns,
    make_sheets,
    rows_sheet,
)
from rote.report.grid import (
    BORDERLINE,
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    GridCell,
    list_cells,
    make_grid,
    order_sources,
    round_number,
    split_facets,
    split_panel,
)
from rote.report.terminal import strip_controls
from rote.report.wording import describe_correction

VALUES = "values"
VALUE_COLUMNS = tuple(
    "measure source texts words value estimate low high difference p p_corrected matched "
    "matched_low matched_high matched_at matched_difference matched_p_corrected facet name "
    "reference verdict matched_verdict".split()
)
TESTED_COLUMNS = tuple(
    "difference_low difference_high relative_low relative_high detectable matched_detectable "
    "margin equivalence_p_corrected".split()
)
"""Of values that were tested."""
IN_VALUES = (VALUES, "matched")
"""Tables of a result that the rows of its values hold already."""


def results_csv(results: Sequence[Result]) -> str:
    rows = [
        {"measure": result.measure, **row, "table": name}
        for result in results
        for name, table_rows_of in list_tables(result)
        for row in table_rows_of
    ]
    return _named_csv(("table", *VALUE_COLUMNS), rows)


def values_csv(results: Sequence[Result]) -> str:
    """The values alone: one line per measure, source and value, unrounded."""
    return _named_csv(VALUE_COLUMNS, [row for result in results for row in value_rows(result)])


def _named_csv(first: Sequence[str], rows: Rows) -> str:
    columns = list(dict.fromkeys((*first, *(name for row in rows for name in row))))
    return rows_csv([columns, *([to_csv_cell(row.get(name)) for name in columns] for row in rows)])


def values_parquet(results: Sequence[Result]) -> bytes:
    """The values alone, as `values_csv` has them, each with its aspect."""
    rows = [
        {"aspect": _aspect_name(result.measure, row["value"]), **row}
        for result in results
        for row in value_rows(result)
    ]
    buffer = io.BytesIO()
    rows_frame(rows).write_parquet(buffer)
    return buffer.getvalue()


def _aspect_name(measure: str, value: str) -> str:
    """What a value is about, in the words of the verdicts; those of its measure for a detail."""
    record = of_result(measure)
    headlines = record.headlines if record else ()
    matching = (headline for headline in headlines if value in (headline.value, headline.equal))
    main = (headline for headline in headlines if not headline.detail)
    chosen = next(matching, None) or next(main, None)
    return record.aspect(chosen) if record and chosen else measure


def sheet_csv(sheet: Sheet) -> str:
    """All rows of one table, unrounded, under the names of their fields."""
    lines: list[list[Any]] = [[field for column in sheet.columns for field in column.fields]]
    for _, cells in sheet.rows():
        lines.append([])
        for column, cell in zip(sheet.columns, cells, strict=True):
            values = [to_csv_cell(value) for value in cell.values] or [cell.full or cell.text]
            lines[-1] += values + [""] * (len(column.fields) - len(values))
    return rows_csv(lines)


def list_tables(result: Result) -> Iterator[tuple[str, Rows]]:
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
    for facet, part in split_facets(result):
        groups = {name: group for group, name in facet.names.items()}
        for row in make_grid(part):
            for name, cell in row.cells.items():
                fields = {
                    "measure": row.measure,
                    "source": groups[name],
                    "texts": part.by_source[name].texts,
                    "words": part.by_source[name].words,
                    "value": row.value,
                    "matched_at": row.matched_at,
                    "facet": facet.title,
                    "name": name,
                    "reference": facet.reference,
                    "verdict": cell.verdict if cell.compared else "",
                }
                if math.isnan(cell.matched.difference):
                    fields["matched_verdict"] = ""
                yield {n: fields[n] if n in fields else _cell_field(cell, n) for n in columns}


def _cell_field(cell: GridCell, column: str) -> Any:
    """`low` of a cell; `matched_low` is that at equal size, `matched` the value itself."""
    name = column.removeprefix("matched").removeprefix("_") or "estimate"
    return getattr(cell.at(column.startswith("matched")), name)


def table_rows(results: Sequence[Result], table: str) -> Rows:
    """All rows of a table by its name; of several results, each with its measure."""
    known = [(result.measure, dict(list_tables(result))) for result in results]
    if not any(table in tables for _, tables in known):
        raise UnknownName(
            "table of this result", table, {name for _, tables in known for name in tables}
        )
    rows = [(measure, row) for measure, tables in known for row in tables.get(table, ())]
    return [{"measure": measure, **row} if len(results) > 1 else row for measure, row in rows]


def as_polars(result: Result, table: str = VALUES) -> Any:
    """A table of a result as a polars frame; `values` has a row per source and value."""
    return rows_frame(table_rows([result], table))


def rows_frame(rows: Rows) -> Any:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None, strict=False)


def named_frame(result: Result, name: str) -> Any:
    rows = [row for row in value_rows(result) if row["value"] == name]
    tables = dict(list_tables(result))
    if not rows and name not in tables:
        values = (value for s in result.by_source.values() for value in s.values)
        raise UnknownName(f"value or table of {result.measure}", name, {*tables, *values})
    empty = {c for c in (rows[0] if rows else ()) if all(to_csv_cell(row[c]) == "" for row in rows)}
    constant = {"measure", "value", *(empty - {"estimate"})}
    varying = [{key: cell for key, cell in row.items() if key not in constant} for row in rows]
    return rows_frame(varying or tables[name])


def sources_frame(sources: Mapping[str, SourceResult]) -> Any:
    rows = []
    for name, source in sources.items():
        size = {"texts": source.texts, "words": source.words}
        rows.append({"source": name, **size, **source.values})
    return rows_frame(rows)


def as_pandas(result: Result, table: str = VALUES) -> Any:
    try:
        import pandas as pd  # type: ignore[import-untyped]
    except ImportError:
        raise OptionError(
            "pandas is not installed: install it (pip install pandas), or take .to_polars()"
        ) from None
    return pd.DataFrame(as_polars(result, table).to_dicts())


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(cell: Any) -> Any:
    """The cell, so that it cannot be run."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return "'" + cell
    return cell


def rows_csv(rows: Iterable[Iterable[Any]]) -> str:
    out = io.StringIO()
    plain = csv.writer(out, lineterminator="\n")
    # A carriage return ends a row for most readers, and Python's writer lets it pass.
    quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:
        cells = [escape_formula(cell) for cell in row]
        turned = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (quoted if turned else plain).writerow(cells)
    return out.getvalue()


def to_csv_cell(value: Any) -> Any:
    """As it is in a cell: nothing where it is undefined, lists and objects as JSON."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, (list, tuple, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return repr(value) if isinstance(value, float) else value


_MAX_LATEX = 100
_ESCAPES = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SIGNS = {"▲": r"$\uparrow$", "▼": r"$\downarrow$", "–": "--", "±": r"$\pm$", "…": r"\ldots{}"}
_SIGNS |= {"∞": r"$\infty$", "<": r"$<$", ">": r"$>$", BORDERLINE: r"$\odot$"}
_MARKS = {"▲": r"\uparrow", "▼": r"\downarrow", UNTESTED: "?", EQUIVALENT: r"\approx"}
_MARKS |= {BORDERLINE: r"\odot"}


def across_csv(results: Sequence[Result], across: str) -> str:
    return "\n".join(map(sheet_csv, value_tables.across_sheets(results, across)))


def results_latex(results: Sequence[Result], across: str = "") -> str:
    """The values, then the first rows of every other table; with `across` two-way tables alone."""
    if across:
        sheets = value_tables.across_sheets(results, across)
        tables = "\n".join(sheet_latex(sheet, sheet.title) for sheet in sheets)
        return tables + _latex_comments(results)
    laid = [
        (result, table) for result in results if (table := value_tables.values_table_layout(result))
    ]
    plain = [
        result
        for result in results
        if result.by_source and not value_tables.values_table_layout(result)
    ]
    parts = [values_latex(plain)] if plain else []
    for result, table in laid:
        parts += [sheet_latex(s) for s in (make_sheets(table, result) if table.limit else ())]
        parts.append(_latex_comments([result]))
    parts += [
        f"\n% {strip_controls(f'{result.measure}: {name}')}\n" + sheet_latex(sheet, sheet.title)
        for result in results
        for name, sheet in further_sheets(result)
    ]
    return "".join(parts)


def further_sheets(result: Result) -> Iterator[tuple[str, Sheet]]:
    declared = value_tables.further_tables(result)
    table_names = {table.name for table in declared}
    others = [
        name for name in result.tables if name not in (*value_tables.INTERNAL_TABLES, *table_names)
    ]
    for table in (*declared, *map(value_tables.undeclared_table, others)):
        yield from ((table.name, sheet) for sheet in make_sheets(table, result) if sheet.data)


def values_latex(results: Sequence[Result]) -> str:
    facets = split_panel(results)
    sources = list(dict.fromkeys(s for _, parts in facets for s in order_sources(parts)))
    references = {parts[0].reference for _, parts in facets}
    heads = [
        rf"\textbf{{{escape_latex(s)}}}" if s in references else escape_latex(s) for s in sources
    ]
    lines: list[str] = []
    for title, parts in facets:
        lines += [r"\midrule"] if lines else []
        if title:
            wide = rf"\multicolumn{{{len(sources) + 1}}}{{l}}{{\textit{{{escape_latex(title)}}}}}"
            lines.append(rf"{wide} \\")
        for row in (row for part in parts for row in make_grid(part)):
            cells = [_latex_value(row.cells[s]) if s in row.cells else "--" for s in sources]
            lines.append(_latex_line([escape_latex(row.title), *cells]))
    untested = any(cell.has_sign(UNTESTED) for cell in list_cells(results))
    comments = [f"?: not tested against {results[0].reference}"] if untested else []
    tested = any(result.comparisons for result in results)
    if tested:
        comments.append(f"arrows: p < {SIGNIFICANT}, corrected: {describe_correction(results)}")
    table = _format_tabular("l" + "r" * len(sources), ["", *heads], lines, comments)
    return table + _latex_comments(results)


def sheet_latex(sheet: Sheet, title: str = "") -> str:
    cut = f"{omitted}; {EXPORT_COMMAND} writes all" if (omitted := sheet.cut()) else ""
    return _format_tabular(
        "".join("r" if column.side == "right" else "l" for column in sheet.columns),
        [escape_latex(column.heading) for column in sheet.columns],
        [_latex_line([*map(_latex_cell, cells)]) for _, cells in sheet.rows(sheet.limit)],
        list(filter(None, [title, sheet.note, cut])),
    )


def rows_latex(columns: Sequence[str], rows: Rows) -> str:
    return sheet_latex(_plain_sheet("", columns, rows))


def rows_markdown(title: str, columns: Sequence[str], rows: Rows) -> str:
    return "\n".join(sheet_markdown(_plain_sheet(title, columns, rows), 3))


def _plain_sheet(title: str, columns: Sequence[str], rows: Rows) -> Sheet:
    known = {column.field: column for column in infer_columns(rows)}
    heads = [known.get(name, Column(name)) for name in columns]
    return rows_sheet("", title, heads, rows, limit=MAX_ROWS)


def escape_latex(text: str) -> str:
    """In one line: an empty one would end the table."""
    return "".join(_ESCAPES.get(c, c) for c in strip_controls(text))


def _format_tabular(
    sides: str, heads: Sequence[str], lines: Sequence[str], comments: Sequence[str] = ()
) -> str:
    every = [
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _latex_line(heads),
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {strip_controls(line)}" for line in comments),
    ]
    return "\n".join(every) + "\n"


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _latex_comments(results: Sequence[Result]) -> str:
    """What must be known of all of it, as comments."""
    notes = dict.fromkeys(note for result in results for note in result.notes)
    comments = [*notes, *(str(result.signature) for result in results)]
    return "".join(f"% {strip_controls(line)}\n" for line in comments)


def _latex_cell(cell: Cell) -> str:
    cell_text = cell.line
    cut = cell_text if len(cell_text) <= _MAX_LATEX else cell_text[: _MAX_LATEX - 1].rstrip() + "…"
    return "".join(_SIGNS.get(c, c) for c in escape_latex(cut))


def _latex_value(cell: GridCell) -> str:
    if math.isnan(cell.estimate):
        return "--"
    formatted = round_number(cell.estimate).replace(",", "{,}") + (
        f"^{{{' '.join(_MARKS[sign] for sign in cell.mark)}}}" if cell.mark else ""
    )
    if cell.ends:
        return f"${formatted}$ [{' to '.join(cell.ends)}]"
    return f"${formatted}" + (rf" \pm {cell.reach}$" if cell.reach else "$")


# Without its opening sign a link, a picture or a tag is text.
_SPECIAL = re.compile(r"([\\`*_\[<|~$])")
_BEGINS = re.compile(r"^(\d+)([.)])(?=\s|$)|^([-+=#>])")
_MAX_MARKDOWN = 8_000


def results_markdown(results: Sequence[Result], across: str = "") -> str:
    lines: list[str] = []
    for result in results:
        others = [] if across else [sheet for _, sheet in further_sheets(result)]
        for sheet in result_sheets(result, others, across):
            lines += sheet_markdown(sheet, 3)
        lines += (f"- {escape_markdown(note)}" for note in result.notes)
        lines += ["", markdown_code(str(result.signature)), ""]
    return "\n".join(lines)


def result_sheets(
    result: Result, others: Sequence[Sheet] | None = None, across: str = ""
) -> list[Sheet]:
    """The tables of a result by itself: values, others, tests; or its two-way table alone."""
    if across:
        return value_tables.across_sheets([result], across)
    tests = value_tables.comparisons_sheet([result], f"tests-{result.measure}")
    values = [value_tables.values_sheet(result)] if result.by_source else []
    others = value_tables.page_sheets(result) if others is None else others
    return [*values, *others, *([tests] if tests else [])]


def sheet_markdown(sheet: Sheet, level: int) -> Iterator[str]:
    yield from (f"{'#' * min(level, 6)} {escape_markdown(sheet.title)}", "")
    heads = [
        " ".join((c.heading, *(f"({line})" for line in c.note.splitlines()))) for c in sheet.columns
    ]
    yield "| " + " | ".join(map(escape_markdown, heads)) + " |"
    yield "|" + "|".join(" ---: " if c.side == "right" else " --- " for c in sheet.columns) + "|"
    for reference, cells in sheet.rows(sheet.limit):
        rows_shown = []
        for column, cell in zip(sheet.columns, cells, strict=True):
            text = " ".join(filter(None, (cell.text + cell.mark, *cell.below)))
            is_code = column.kind == "code"
            rows_shown.append(markdown_code(cell.text) if is_code else escape_markdown(text))
        if reference:
            rows_shown[0] = f"**{rows_shown[0]}**"
        yield "| " + " | ".join(rows_shown) + " |"
    yield ""
    cut = sheet.cut()
    if cut:
        cut = f"{escape_markdown(cut)}; {markdown_code(EXPORT_COMMAND)} writes all."
    if note := " ".join(filter(None, (escape_markdown(sheet.note), cut))):
        yield from (note, "")


def escape_markdown(text: object) -> str:
    """A text in one line without anything that Markdown would act on."""
    line = _one_line(text).replace("&", "&amp;")
    escaped = _SPECIAL.sub(r"\\\1", line)
    return _BEGINS.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", escaped)


def markdown_code(text: object) -> str:
    """A text as code, between as many backticks as it takes."""
    line = _one_line(text)
    if not line:
        return ""
    runs = [len(run) for run in re.findall(r"`+", line)]
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    # In a table a bar ends the cell even inside code.
    return f"{fence}{space}{line}{space}{fence}".replace("|", r"\|")


def _one_line(text: object) -> str:
    """In one line, and not longer than a reader could want."""
    full = str(text)
    return strip_controls(full[:_MAX_MARKDOWN]) + ("…" if len(full) > _MAX_MARKDOWN else "")
