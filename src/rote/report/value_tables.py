"""Values as tables: a row for each source, a column for each value, intervals everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.core import registry
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT
from rote.core.progress import several
from rote.core.registry import main_values, title_of
from rote.core.result import Result
from rote.core.table import (
    VALUES,
    Column,
    Pivot,
    Row,
    Table,
    add_titles,
    defined,
    make_columns,
)
from rote.measure.driver.multiple_testing import FAMILY
from rote.report.cells import (
    EXPORT_COMMAND,
    Cell,
    Sheet,
    format_p,
    infer_columns,
    make_sheets,
    number_cell,
    shorten_name,
    text_cell,
)
from rote.report.grid import (
    BORDERLINE,
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    CellValue,
    GridCell,
    GridRow,
    Verdict,
    make_grid,
    make_pair_grid,
    order_sources,
    result_key,
    round_like,
    round_number,
    split_facets,
    split_panel,
)
from rote.report.wording import describe_correction

INTERNAL_TABLES = (VALUES, "matched", "curve", "highlight", FAMILY)
"""Tables that are part of others, or are no tables for the eye."""
TEXTS, SWEEP = "texts", "sweep"
_MAX_SWEEP = 100
_MAX_ACROSS = 6
"""Values side by side; more stand below each other."""


def further_tables(result: Result) -> list[Table]:
    declared = _declared_tables(result.measure)
    if not declared:
        names = [name for name in result.tables if name not in (*INTERNAL_TABLES, TEXTS, SWEEP)]
        declared = [undeclared_table(name) for name in names]
    further = [table for table in declared if table.name != VALUES]
    shared = [common for common in _SHARED if common.name not in {table.name for table in further}]
    return [*further, *shared]


def values_table_layout(result: Result) -> Table | None:
    """How a study shows its values, where that is not as values by sources."""
    return next((table for table in _declared_tables(result.measure) if table.name == VALUES), None)


def undeclared_table(name: str) -> Table:
    return Table(name, name.replace("_", " ").capitalize(), (), by="source")


def page_sheets(result: Result) -> list[Sheet]:
    tables = [table for table in further_tables(result) if table.page]
    return [sheet for table in tables for sheet in make_sheets(table, result) if sheet.data]


def _declared_tables(measure: str) -> Sequence[Table]:
    try:
        return registry.find(measure).layout
    except UnknownName:
        return ()


_SHARED = (
    Table(
        TEXTS,
        "Values of each text",
        lambda rows, result: [
            *make_columns("source id"),
            *(c for c in infer_columns(rows) if c.field not in ("source", "id")),
        ],
        note=lambda rows, result: (
            f"The first of a source; {EXPORT_COMMAND} writes all {len(rows):,}."
        ),
        by="source",
        page=False,
    ),
    Table(
        SWEEP,
        lambda rows, result: f"Over {rows[0]['over']}",
        (Column("source"),),
        note="mean ± standard deviation (largest - smallest)",
        rows=add_titles,
        limit=_MAX_SWEEP,
        pivot=Pivot(
            "value",
            Column("mean", kind="number", spread="sd", also=Column("range", kind="number")),
            lambda row: str(row["title"]),
        ),
        page=False,
    ),
)


_MAX_SHOWN = 300
"""Rows of a table of values on a page: sources are what a report is about."""


def values_sheet(result: Result, title: str = "") -> Sheet:
    heading = f"{title or result.measure}: values"
    return sources_sheet([result], f"values-{result_key(result)}", heading)


def sources_sheet(
    results: Sequence[Result],
    id: str,
    heading: str,
    chosen: Callable[[GridRow], bool] = lambda row: True,
    titles: Mapping[str, str] | None = None,
) -> Sheet:
    """The chosen values of several results side by side; `titles` of their measures by `key`."""
    facets = split_panel(results)
    grid_rows: dict[tuple[str, str], GridRow] = {}
    sizes: dict[tuple[str, str], list[str]] = {}
    data = []
    for facet, parts in facets:
        every = [(result_key(part), row) for part in parts for row in make_grid(part)]
        rows = {(key, row.value): row for key, row in every if chosen(row)}
        grid_rows |= rows
        for name, row in rows.items():
            sizes.setdefault(name, []).append(row.matched_at)
        for source in order_sources(parts):
            size = next(part.by_source[source] for part in parts if source in part.by_source)
            about = {"facet": facet, "source": source, "reference": source == parts[0].reference}
            cells = {name: row.cells.get(source) for name, row in rows.items()}
            data.append({**about, "texts": size.texts, "words": size.words, "values": cells})
    faceted = len(facets) > 1 or bool(facets and facets[0][0])
    within = bool(results) and "within" in dict(results[0].signature.settings)
    columns = [
        *([Column("task")] if faceted else []),
        *make_columns(f"source {'sets' if within else 'texts'}:count words:count"),
        *(
            _value_column(name, row, titles[name[0]] if titles else "", sizes[name])
            for name, row in grid_rows.items()
        ),
    ]

    def make(row: Mapping[str, Any]) -> list[Cell]:
        values = (row["values"].get(name) for name in grid_rows)
        return [
            *([text_cell(row["facet"])] if faceted else []),
            text_cell(row["source"]),
            number_cell(row["texts"]),
            number_cell(row["words"]),
            *map(_value_cell, values),
        ]

    names = {parts[0].reference for _, parts in facets if parts}
    note = _describe_signs(results, list(grid_rows.values()), data)
    if len(grid_rows) > _MAX_ACROSS:
        return _transposed_sheet(id, heading, grid_rows, data, note, titles or {})
    sheet = Sheet(id, heading, columns, data, make, note=note, limit=_MAX_SHOWN, wide=True)
    return replace(sheet, by="source", reference=next((name for name in names if name), None))


def _transposed_sheet(
    id: str,
    heading: str,
    grid_rows: Mapping[tuple[str, str], GridRow],
    data: Sequence[Mapping[str, Any]],
    note: str,
    titles: Mapping[str, str],
) -> Sheet:
    """A row for each value, the largest effect first, and a column for each source."""

    def effect(name: tuple[str, str]) -> float:
        cells = (source_row["values"].get(name) for source_row in data)
        known = [abs(c.effect) for c in cells if c is not None and not math.isnan(c.effect)]
        return -max(known, default=0.0)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        name: tuple[str, str] = row["name"]
        value = grid_rows[name]
        column = _value_column(name, value, titles.get(name[0], ""), [value.matched_at])
        return [
            Cell(column.heading, below=tuple(column.note.splitlines()), full=column.field),
            *(_value_cell(source_row["values"].get(name)) for source_row in data),
        ]

    columns = [Column("value")]
    for source_row in data:
        who = ": ".join(filter(None, (source_row["facet"], source_row["source"])))
        ends = (f"{who} low", f"{who} high")
        also = Column(f"{who} p", also=Column(f"{who} at equal size"))
        size = f"{several(source_row['texts'], 'text')}, {several(source_row['words'], 'word')}"
        below = f"reference\n{size}" if source_row["reference"] else size
        columns.append(Column(who, shorten_name(who), "number", ends=ends, also=also, note=below))
    rows = [{"name": name} for name in sorted(grid_rows, key=effect)]
    return Sheet(id, heading, columns, rows, make, note=note, limit=_MAX_SHOWN, wide=True)


def across_sheet(result: Result, across: str) -> Sheet | None:
    """A two-way table: the values of one field of the groups across, other fields down."""
    if not result.by_source:
        return None
    if across not in result.by:
        raise UnknownName(f"field of the groups of {result.measure}", across, result.by)
    rows = _two_way_rows(result, across, make_grid(result))
    return _two_way_sheet(result, across, rows, title_of(result), result_key(result))


def headline_sheet(results: Sequence[Result], across: str) -> Sheet | None:
    grouped = [result for result in results if result.by_source and across in result.by]
    rows: list[Row] = []
    for result in grouped:
        grid = make_grid(result)
        chosen = _headline_values(result, [row.value for row in grid])
        rows += _two_way_rows(result, across, [row for row in grid if row.value in chosen])
    if not rows:
        return None
    return _two_way_sheet(grouped[0], across, rows, "Headline values", "headline")


def _headline_values(result: Result, names: Sequence[str]) -> Sequence[str]:
    """Those that verdicts rest on; of a measure without, those that stand for it."""
    record = registry.of_result(result.measure)
    headlines = [headline for headline in record.headlines if not headline.detail] if record else []
    chosen = [h.equal if h.equal in names else h.value for h in headlines]
    return [name for name in chosen if name in names] or main_values(result.measure, names)


def _two_way_rows(result: Result, across: str, grid: Sequence[GridRow]) -> list[Row]:
    place = result.by.index(across)
    rest = [_field_key(name) for name in result.by if name != across]
    rows: list[Row] = []
    for value in grid:
        parts = [(value.title, False)]
        if any(not math.isnan(cell.matched.estimate) for cell in value.cells.values()):
            parts.append((f"{value.title} at equal length", True))
        for title, matched in parts:
            for group, cell in value.cells.items():
                levels = group.split(JOINT)
                if len(levels) == len(result.by):
                    down = [level for at, level in enumerate(levels) if at != place]
                    about = {"value": title, "across": levels[place], **dict(zip(rest, down))}
                    rows.append(about | _two_way_cell(cell.at(matched)))
    return rows


def _two_way_sheet(
    result: Result, across: str, rows: Sequence[Row], title: str, name: str
) -> Sheet:
    rest = [field for field in result.by if field != across]
    delta = Column("delta", kind="share", signed=True, optional=True)
    cell = Column("estimate", kind="number", ends=("low", "high"), mark="mark", also=delta)
    compared = any(defined(row["delta"]) for row in rows)
    table = Table(
        "across",
        f"{title}: {' and '.join(rest) or 'values'} by {across}",
        (Column("value"), *(Column(_field_key(field), field) for field in rest)),
        by="value",
        note="in brackets the difference from the reference" if compared else "",
        limit=_MAX_SHOWN,
        pivot=Pivot("across", cell),
    )
    with_rows = replace(result, tables={**result.tables, "across": rows}, reference=None)
    (sheet,) = make_sheets(table, with_rows, id=f"across-{name}")
    return replace(sheet, limit=_MAX_SHOWN, wide=True, chosen=lambda lines, count: lines)


def across_sheets(results: Sequence[Result], across: str) -> list[Sheet]:
    sheets = [sheet for result in results if (sheet := across_sheet(result, across))]
    if not sheets:
        raise OptionError("there are no groups to set side by side")
    return sheets


def _field_key(name: str) -> str:
    """A field of the groups among the keys of the rows, some of which have names of their own."""
    reserved = ("value", "across", "estimate", "low", "high", "mark", "delta")
    return f"{name} of texts" if name in reserved else name


def _two_way_cell(cell: CellValue) -> dict[str, Any]:
    """One value of a group; its difference as a share of what the reference has."""
    reference = cell.estimate - cell.difference
    delta = cell.difference / abs(reference) if reference else math.nan
    fields = {name: getattr(cell, name) for name in ("estimate", "low", "high", "mark")}
    return {**fields, "delta": delta}


def comparisons_sheet(
    results: Sequence[Result], id: str = "tests", titles: Mapping[str, str] | None = None
) -> Sheet | None:
    """Every test against the reference, with what sizes alone would do and at equal size."""
    data = list(_test_rows(results, titles or {}))
    if not data:
        return None
    faceted = any(row["facet"] for row in data)
    matched = any(not math.isnan(row["value"].matched.difference) for row in data)
    margins = any(not math.isnan(row["value"].margin) for row in data)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        value: GridCell = row["value"]
        equal = [
            _signed_cell(value.matched.difference, value.matched.mark),
            _p_cell(value.matched.p_corrected, value.matched.verdict),
            number_cell(value.matched.detectable),
        ]
        alike = [number_cell(value.margin), _p_cell(value.equivalence_p_corrected, "not found")]
        return [
            *([text_cell(row["facet"])] if faceted else []),
            text_cell(row["source"]),
            Cell(row["measure"]),
            text_cell(row["title"]),
            _difference_cell(value),
            _p_cell(value.p_corrected, value.verdict) if value.compared else Cell("–", (None,)),
            number_cell(value.detectable),
            *(equal if matched else []),
            *(alike if margins else []),
        ]

    ends = ("difference_low", "difference_high")
    columns = [
        *([Column("task")] if faceted else []),
        *make_columns("source measure value"),
        Column("difference", kind="number", ends=ends, note="source - reference"),
        Column("p", kind="p", note="corrected"),
        Column("detectable", kind="number", note="smallest, 80% power"),
    ]
    if matched:
        columns += [
            Column("at equal size", kind="number", note="difference"),
            Column("p at equal size", kind="p", note="corrected"),
            Column("detectable at equal size", kind="number", note="smallest, 80% power"),
        ]
    if margins:
        columns.append(Column("margin", kind="number"))
        columns.append(Column("p of equivalence", kind="p", note="corrected"))
    note = f"Permutation tests; ▲ ▼ p < {SIGNIFICANT}, corrected: {describe_correction(results)}."
    note += f" {EQUIVALENT} the difference is within the margin." * margins
    note += _UNTESTED_NOTE * any(row["value"].has_sign(UNTESTED) for row in data)
    name = "Differences and p-values"
    return Sheet(id, name, columns, data, make, note=note, limit=_MAX_SHOWN)


def _test_rows(results: Sequence[Result], titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for result in results:
        for facet, part in split_facets(result):
            for row in make_pair_grid(part) or make_grid(part):
                for source, value in row.cells.items():
                    if not math.isnan(value.difference):
                        yield {
                            "facet": facet.title,
                            "source": source,
                            "measure": titles.get(result_key(result), result.measure),
                            "title": row.title,
                            "value": value,
                        }


def _value_column(name: tuple[str, str], row: GridRow, above: str, at: Collection[str]) -> Column:
    lines = [row.title] if above else []
    lines += [] if row.higher == "neither" else [f"higher: more {row.higher}"]
    if sizes := [size for size in at if size]:
        lines.append(f"= at {sizes[0]}" if len(set(sizes)) == 1 else "= at equal size")
    name_of_column = f"{name[0]}_{row.value}" if above else row.value
    further = Column(f"{name_of_column}_p_corrected", also=Column(f"{name_of_column}_equal"))
    heading = (above or row.title) + (" ~" if row.length_sensitive else "")
    ends, note = (f"{name_of_column}_low", f"{name_of_column}_high"), "\n".join(lines)
    return Column(name_of_column, heading, "number", ends=ends, also=further, note=note)


def _value_cell(value: GridCell | None) -> Cell:
    if value is None:
        return Cell("")
    equal = value.matched
    numbers = (value.estimate, value.low, value.high, value.p_corrected, equal.estimate)
    plain = tuple(None if math.isnan(number) else number for number in numbers)
    if math.isnan(value.estimate):
        return Cell("–", plain)
    below = []
    if not math.isnan(value.low):
        low, high = (round_like(end, value.estimate) for end in (value.low, value.high))
        below.append(f"[{low}, {high}]")
    if not math.isnan(equal.estimate):
        below.append(f"= {equal.text}{equal.mark}")
    return Cell(round_number(value.estimate), plain, value.mark, tuple(below))


def _difference_cell(value: GridCell) -> Cell:
    cell = _signed_cell(value.difference, value.mark)
    ends = value.difference_low, value.difference_high
    if math.isnan(ends[0]):
        return replace(cell, values=(*cell.values, None, None))
    low, high = (round_like(end, value.difference) for end in ends)
    return replace(cell, values=(*cell.values, *ends), below=(f"[{low}, {high}]",))


def _signed_cell(number: float, mark: str) -> Cell:
    if math.isnan(number):
        return Cell("–", (None,))
    return Cell(("+" if number > 0 else "") + round_number(number), (number,), mark)


def _p_cell(number: float, verdict: Verdict) -> Cell:
    p_text = verdict if verdict == "not tested" else format_p(number)
    return Cell(p_text, (None if math.isnan(number) else number,))


_UNTESTED_NOTE = f" {UNTESTED} not tested (see the notes)."


def _describe_signs(
    results: Sequence[Result], rows: Sequence[GridRow], data: Sequence[Mapping[str, Any]]
) -> str:
    grid_cells = [value for row in data for value in row["values"].values() if value is not None]
    notes = []
    level = next((result.interval.level for result in results if result.interval), None)
    if level and any(not math.isnan(value.low) for value in grid_cells):
        notes.append(f"[ ] {level:.0%} interval.")
    if any(value.has_sign(UNTESTED) for value in grid_cells):
        notes.append(_UNTESTED_NOTE.strip())
    if any(value.has_sign(arrow) for value in grid_cells for arrow in "▲▼"):
        notes.append(
            f"▲ ▼ above or below {shorten_name(results[0].reference or '')}, p < {SIGNIFICANT}, "
            f"corrected: {describe_correction(results)}."
        )
    if any(value.has_sign(BORDERLINE) for value in grid_cells):
        notes.append(f"{BORDERLINE} borderline.")
    if any(value.equivalent for value in grid_cells):
        notes.append(f"{EQUIVALENT} the difference is within the margin.")
    if any(row.length_sensitive for row in rows):
        notes.append("~ depends on the number of texts or their length.")
    if any(not math.isnan(value.matched.estimate) for value in grid_cells):
        notes.append("= the value at equal size (windows × length), ± half its interval.")
    return " ".join(notes)
