"""Values as tables: a row for each source, a column for each value, intervals everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.core import registry
from rote.core.errors import UnknownName
from rote.core.progress import several
from rote.core.result import Result
from rote.core.table import VALUES, Column, Pivot, Row, Rows, Table
from rote.measure._correct import FAMILY
from rote.report._grid import (
    EQUIVALENT,
    SIGNIFICANT,
    UNTESTED,
    GridRow,
    Verdict,
    grid,
    key,
    ordered_sources,
    pair_grid,
    rounded,
    rounded_like,
    split,
    split_panel,
)
from rote.report._grid import Cell as Value
from rote.report.family import corrected
from rote.report.tables.sheet import (
    EXPORT_COMMAND,
    Cell,
    Sheet,
    columns_of,
    number_cell,
    p_value,
    sheets,
    shown_name,
    text_cell,
)

MACHINERY = (VALUES, "matched", "curve", "highlight", FAMILY)
"""Tables that are part of others, or are no tables for the eye."""
TEXTS, SWEEP = "texts", "sweep"
_EVERY = 100
_ACROSS = 6
"""Values side by side; more stand below each other."""


def layout(result: Result) -> list[Table]:
    """The tables of a result, without its values."""
    declared = _declared(result.measure)
    if not declared:
        names = [name for name in result.tables if name not in (*MACHINERY, TEXTS, SWEEP)]
        declared = [undeclared(name) for name in names]
    own = [table for table in declared if table.name != VALUES]
    shared = [one for one in _SHARED if one.name not in {table.name for table in own}]
    return [*own, *shared]


def values_layout(result: Result) -> Table | None:
    """How a study shows its values, where that is not as values by sources."""
    return next((one for one in _declared(result.measure) if one.name == VALUES), None)


def undeclared(name: str) -> Table:
    """A table with a column for each field of its rows."""
    return Table(
        name,
        name.replace("_", " ").capitalize(),
        lambda rows, result: columns_of(rows),
        by="source",
    )


def on_page(result: Result) -> list[Sheet]:
    """The tables of a result in a report; the first rows of each are on the page."""
    return [
        sheet
        for table in layout(result)
        if table.page
        for sheet in sheets(table, result)
        if sheet.data
    ]


def _declared(measure: str) -> Sequence[Table]:
    try:
        return registry.find(measure).layout
    except UnknownName:
        return ()


def _text_columns(rows: Rows, result: Result) -> list[Column]:
    first = (Column("source"), Column("id"))
    return [*first, *(c for c in columns_of(rows) if c.field not in ("source", "id"))]


def _titled(rows: Rows, result: Result) -> list[Row]:
    titles = {row["value"]: row["title"] for row in result.tables.get(VALUES, ())}
    return [{**row, "title": titles.get(row["value"], row["value"])} for row in rows]


_SHARED = (
    Table(
        TEXTS,
        "Values of each text",
        _text_columns,
        said=lambda rows, result: (
            f"The first of a source; {EXPORT_COMMAND} writes all {len(rows):,}."
        ),
        by="source",
        page=False,
    ),
    Table(
        SWEEP,
        lambda rows, result: f"Over {rows[0]['over']}",
        (Column("source"),),
        said="mean ± standard deviation (largest - smallest)",
        rows=_titled,
        limit=_EVERY,
        pivot=Pivot(
            "value",
            Column("mean", kind="number", spread="sd", also=Column("range", kind="number")),
            lambda row: str(row["title"]),
        ),
        page=False,
    ),
)


_MANY = 300
"""Rows of a table of values on a page: sources are what a report is about."""


def values_table(result: Result, id: str = "", title: str = "") -> Sheet:
    """All values of a result."""
    heading = f"{title or result.measure}: values"
    return sources_table([result], id or f"values-{key(result)}", heading)


def sources_table(
    results: Sequence[Result],
    id: str,
    heading: str,
    chosen: Callable[[GridRow], bool] = lambda row: True,
    titles: Mapping[str, str] | None = None,
) -> Sheet:
    """The chosen values of several results side by side, under the titles of their measures, by
    `key`, where those are given."""
    facets = split_panel(results)
    found: dict[tuple[str, str], GridRow] = {}
    sizes: dict[tuple[str, str], list[str]] = {}
    data = []
    for facet, parts in facets:
        rows = {(key(part), row.value): row for part in parts for row in grid(part) if chosen(row)}
        found |= rows
        for name, row in rows.items():
            sizes.setdefault(name, []).append(row.matched_at)
        for source in ordered_sources(parts):
            own = next(part.by_source[source] for part in parts if source in part.by_source)
            data.append(
                {
                    "facet": facet,
                    "source": source,
                    "reference": source == parts[0].reference,
                    "texts": own.texts,
                    "words": own.words,
                    "values": {name: row.cells.get(source) for name, row in rows.items()},
                }
            )
    faceted = len(facets) > 1 or bool(facets and facets[0][0])
    within = bool(results) and "within" in dict(results[0].signature.settings)
    columns = [
        *([Column("task")] if faceted else []),
        Column("source"),
        Column("sets" if within else "texts", kind="count"),
        Column("words", kind="count"),
        *(
            _value_column(name, row, titles[name[0]] if titles else "", sizes[name])
            for name, row in found.items()
        ),
    ]

    def make(row: Mapping[str, Any]) -> list[Cell]:
        values = (row["values"].get(name) for name in found)
        return [
            *([text_cell(row["facet"])] if faceted else []),
            text_cell(row["source"]),
            number_cell(row["texts"]),
            number_cell(row["words"]),
            *map(_cell, values),
        ]

    names = {parts[0].reference for _, parts in facets if parts}
    said = _legend(results, list(found.values()), data)
    if len(found) > _ACROSS:
        return _transposed(id, heading, found, data, said, titles or {})
    return Sheet(
        id,
        heading,
        columns,
        data,
        make,
        said=said,
        by="source",
        reference=next((name for name in names if name), None),
        limit=_MANY,
        wide=True,
    )


def _transposed(
    id: str,
    heading: str,
    found: Mapping[tuple[str, str], GridRow],
    data: Sequence[Mapping[str, Any]],
    said: str,
    titles: Mapping[str, str],
) -> Sheet:
    """A row for each value, the largest effect first, and a column for each source."""

    def effect(name: tuple[str, str]) -> float:
        cells = (own["values"].get(name) for own in data)
        known = [abs(c.effect) for c in cells if c is not None and not math.isnan(c.effect)]
        return -max(known, default=0.0)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        name: tuple[str, str] = row["name"]
        column = _value_column(name, found[name], titles.get(name[0], ""), [found[name].matched_at])
        return [
            Cell(column.heading, below=tuple(column.said.splitlines()), whole=column.field),
            *(_cell(own["values"].get(name)) for own in data),
        ]

    columns = [Column("value")]
    for own in data:
        who = f"{own['facet']}: {own['source']}" if own["facet"] else own["source"]
        ends = (f"{who} low", f"{who} high")
        also = Column(f"{who} p", also=Column(f"{who} at equal size"))
        size = f"{several(own['texts'], 'text')}, {several(own['words'], 'word')}"
        lines = [*(["reference"] if own["reference"] else []), size]
        columns.append(
            Column(who, shown_name(who), "number", ends=ends, also=also, said="\n".join(lines))
        )
    rows = [{"name": name} for name in sorted(found, key=effect)]
    return Sheet(id, heading, columns, rows, make, said=said, limit=_MANY, wide=True)


def comparisons_table(
    results: Sequence[Result], id: str = "tests", titles: Mapping[str, str] | None = None
) -> Sheet | None:
    """Every test against the reference, with what sizes alone would do and at equal size."""
    data = list(_tests(results, titles or {}))
    if not data:
        return None
    faceted = any(row["facet"] for row in data)
    matched = any(not math.isnan(row["value"].matched_difference) for row in data)
    margins = any(not math.isnan(row["value"].margin) for row in data)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        value: Value = row["value"]
        equal = [
            _signed(value.matched_difference, value.matched_mark),
            _p(value.matched_p_corrected, value.matched_verdict),
            number_cell(value.matched_detectable),
        ]
        alike = [
            number_cell(value.margin),
            _p(value.equivalence_p_corrected, "not found"),
        ]
        return [
            *([text_cell(row["facet"])] if faceted else []),
            text_cell(row["source"]),
            Cell(row["measure"]),
            text_cell(row["title"]),
            _difference(value),
            _p(value.p_corrected, value.verdict) if value.asked else Cell("–", (None,)),
            number_cell(value.detectable),
            *(equal if matched else []),
            *(alike if margins else []),
        ]

    columns = [
        *([Column("task")] if faceted else []),
        *(Column("source"), Column("measure"), Column("value")),
        Column(
            "difference",
            kind="number",
            ends=("difference_low", "difference_high"),
            said="source - reference",
        ),
        Column("p", kind="p", said="corrected"),
        Column("detectable", kind="number", said="smallest, 80% power"),
    ]
    if matched:
        columns += [
            Column("at equal size", kind="number", said="difference"),
            Column("p at equal size", kind="p", said="corrected"),
            Column("detectable at equal size", kind="number", said="smallest, 80% power"),
        ]
    if margins:
        columns += [
            Column("margin", kind="number"),
            Column("p of equivalence", kind="p", said="corrected"),
        ]
    return Sheet(
        id,
        "Differences and p-values",
        columns,
        data,
        make,
        said=f"Permutation tests; ▲ ▼ p < {SIGNIFICANT}, corrected: {corrected(results)}."
        + f" {EQUIVALENT} the difference is within the margin." * margins
        + _untested([row["value"] for row in data]),
        limit=_MANY,
    )


def _tests(results: Sequence[Result], titles: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for result in results:
        for facet, part in split(result):
            for row in pair_grid(part) or grid(part):
                for source, value in row.cells.items():
                    if not math.isnan(value.difference):
                        yield {
                            "facet": facet.title,
                            "source": source,
                            "measure": titles.get(key(result), result.measure),
                            "title": row.title,
                            "value": value,
                        }


def _value_column(name: tuple[str, str], row: GridRow, above: str, at: Collection[str]) -> Column:
    lines = [row.title] if above else []
    lines += [] if row.higher == "neither" else [f"higher: more {row.higher}"]
    if found := [size for size in at if size]:
        lines.append(f"= at {found[0]}" if len(set(found)) == 1 else "= at equal size")
    own = f"{name[0]}_{row.value}" if above else row.value
    further = Column(f"{own}_p_corrected", also=Column(f"{own}_equal"))
    sign = " ~" if row.length_sensitive else ""
    return Column(
        own,
        (above or row.title) + sign,
        "number",
        ends=(f"{own}_low", f"{own}_high"),
        also=further,
        said="\n".join(lines),
    )


def _cell(value: Value | None) -> Cell:
    if value is None:
        return Cell("")
    numbers = (value.estimate, value.low, value.high, value.p_corrected, value.matched)
    plain = tuple(None if math.isnan(number) else number for number in numbers)
    if math.isnan(value.estimate):
        return Cell("–", plain)
    below = []
    if not math.isnan(value.low):
        low, high = (rounded_like(end, value.estimate) for end in (value.low, value.high))
        below.append(f"[{low}, {high}]")
    if not math.isnan(value.matched):
        spread = rounded_like(value.matched_reach, value.matched)
        equal = rounded(value.matched) + (f" ±{spread}" if spread else "")
        below.append(f"= {equal}{value.matched_mark}")
    return Cell(rounded(value.estimate), plain, value.mark, tuple(below))


def _difference(value: Value) -> Cell:
    """With its interval, where there is one."""
    cell = _signed(value.difference, value.mark)
    ends = value.difference_low, value.difference_high
    if math.isnan(ends[0]):
        return replace(cell, values=(*cell.values, None, None))
    low, high = (rounded_like(end, value.difference) for end in ends)
    return replace(cell, values=(*cell.values, *ends), below=(f"[{low}, {high}]",))


def _signed(number: float, mark: str) -> Cell:
    if math.isnan(number):
        return Cell("–", (None,))
    return Cell(("+" if number > 0 else "") + rounded(number), (number,), mark)


def _p(number: float, verdict: Verdict) -> Cell:
    shown = verdict if verdict == "not tested" else p_value(number)
    return Cell(shown, (None if math.isnan(number) else number,))


def _untested(values: Sequence[Value]) -> str:
    if not any(UNTESTED in (value.mark, value.matched_mark) for value in values):
        return ""
    return f" {UNTESTED} not tested: see the notes."


def _legend(
    results: Sequence[Result], rows: Sequence[GridRow], data: Sequence[Mapping[str, Any]]
) -> str:
    """What the signs mean; only of those that are there."""
    shown = [value for row in data for value in row["values"].values() if value is not None]
    said = []
    level = next((result.interval.level for result in results if result.interval), None)
    if level and any(not math.isnan(value.low) for value in shown):
        said.append(f"[ ] {level:.0%} interval.")
    said += filter(None, [_untested(shown).strip()])
    if any({"▲", "▼"} & {*value.mark, value.matched_mark} for value in shown):
        said.append(
            f"▲ ▼ above or below {shown_name(results[0].reference or '')}, p < {SIGNIFICANT}, "
            f"corrected: {corrected(results)}."
        )
    if any(value.equivalent for value in shown):
        said.append(f"{EQUIVALENT} the difference is within the margin.")
    if any(row.length_sensitive for row in rows):
        said.append("~ moves with the number of texts or their length.")
    if any(not math.isnan(value.matched) for value in shown):
        said.append("= the value at equal size (windows × length), ± half its interval.")
    return " ".join(said)
