"""Correlate measures with each other, and with quality, over the sources of saved results.

RESULTS are what measures wrote as JSON; sources with the same name are joined. Quality comes as a
table with a column `source`:


  rote diversity stories.jsonl --by source --reference human -o diversity.json
  rote correlate diversity.json --quality ratings.csv --figure correlations.png

Over five or ten sources only strong correlations can be told from chance: look at the intervals.

Each facet (a task, a genre) has its own matrix. Over several facets there is one more: of the same
sources, numbers centred within each facet, so that a task that demands more variety of everybody
does not look like a correlation.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rote.compare import correlation
from rote.compare.multiple_testing import CORRECTIONS, adjust_p_values
from rote.compare.permutation import LEVEL
from rote.core.arrays import Floats
from rote.core.chart import make_chart
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT, facets
from rote.core.metric import handle, option, unsigned_option
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import (
    VALUES,
    Column,
    FullTable,
    Pivot,
    Row,
    Rows,
    Table,
    defined,
    distinct,
    estimate,
    make_columns,
)
from rote.studies import _source_table
from rote.studies._source_table import SourceColumn, SourceTable, TableOptions

Correction = Literal["holm", "bh"]
METHOD = "Fisher's z for Pearson, with the error of Bonett and Wright (2000) for Spearman"
_NOISY = 0.5
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class CorrelationFacet:
    """A facet: its sources by the names that they have within it."""

    title: str
    sources: Mapping[str, str]

    def only(self, chosen: Container[str]) -> CorrelationFacet:
        return CorrelationFacet(
            self.title, {s: name for s, name in self.sources.items() if s in chosen}
        )


@dataclass(frozen=True, slots=True)
class Options(TableOptions):
    """What is correlated, over which sources, and how p-values are corrected."""

    quality: tuple[Path, ...] = handle(
        (),
        "Quality of the sources: tables (.csv, .tsv or .jsonl with a column `source` and columns "
        "of numbers), or a saved result (.json)",
        "FILE,...",
        takes="table",
        common=True,
    )
    quality_columns: tuple[str, ...] = unsigned_option(
        (), "Columns of these tables to use; default: all numeric columns"
    )
    correction: Correction = option(
        "holm",
        "Correction of p-values for many pairs: by Holm, or by Benjamini and Hochberg",
        sign=CORRECTIONS.__getitem__,
        common=True,
    )


def run(call: Call) -> Findings:
    """Pearson and Spearman of every two columns over the sources of each facet."""
    options: Options = call.options
    full_table = _source_table.add_quality(
        _source_table.read_source_table(call), options.quality, options.quality_columns
    )
    parts = split_by_facet(full_table, options.facet)
    table = _source_table.drop_sources(
        full_table, options.without, reference=options.with_reference, inputs=options.with_inputs
    )
    parts = [part for part in (part.only(table.sizes) for part in parts) if part.sources]
    _check_columns(table, parts)
    names = [column.name for column in table.columns]
    rows: list[dict[str, Any]] = []
    described: list[dict[str, Any]] = []
    notes = _source_table.note_lengths(
        table, [part.sources for part in parts], matched=options.matched
    )
    for part in parts:
        block = _value_block(table.columns, [list(part.sources)])
        correlations = correlation.correlate_columns(block, level=table.level, seed=options.seed)
        part_rows = _pair_rows(correlations, names, list(part.sources.values()), options.correction)
        rows += [{"facet": part.title, **row} for row in part_rows]
        part_columns = [_describe_column(column, part) for column in table.columns]
        described += part_columns
        notes += _remarks(correlations, part_columns, part, options.correction)
    members = [
        {"facet": part.title, "source": source, "name": name}
        for part in parts
        for source, name in part.sources.items()
    ]
    tables = {"members": members, "columns": described, "correlations": rows}
    if len(parts) > 1:
        pooled, remarks = _pool_facets(table, parts, options)
        tables["pooled"], notes = pooled, [*notes, *remarks]
    signed = {"p": f"all orders up to {correlation.MAX_EXACT} sources, else {correlation.DRAWS}"}
    return table.findings(tables, method=METHOD, notes=notes, signed=signed)


def split_by_facet(table: SourceTable, facet: Sequence[str]) -> list[CorrelationFacet]:
    """The facets: by the fields named, or else those that the reference makes."""
    if not facet:
        groups = facets(table.sizes, table.reference)
        return [CorrelationFacet(group.title, group.names) for group in groups]
    for name in facet:
        if name not in table.by:
            raise UnknownName("field of the sources", name, table.by)
    if set(facet) == set(table.by):
        raise OptionError(
            "--facet names all fields of the sources: no field is left to name sources"
        )
    by_title: dict[str, dict[str, str]] = {}
    for source in table.sizes:
        fields = table.fields(source)
        title = JOINT.join(fields[name] for name in facet)
        source_name = JOINT.join(value for name, value in fields.items() if name not in facet)
        by_title.setdefault(title, {})[source] = source_name
    return [CorrelationFacet(title, sources) for title, sources in by_title.items()]


def _check_columns(table: SourceTable, parts: Sequence[CorrelationFacet]) -> None:
    if len(table.columns) < 2:
        raise OptionError(
            f"a correlation needs two columns: there is only "
            f"{', '.join(c.name for c in table.columns) or 'none'}. Name others with --values, or "
            "give results of other measures"
        )
    most = 0
    for part in parts:
        present = ~np.isnan(_value_block(table.columns, [list(part.sources)])[0])
        together = present.T.astype(int) @ present.astype(int)
        most = max(most, int((together - np.diag(np.diag(together))).max()))
    if most == 0:
        examples = "; ".join(
            f"{c.name}: {', '.join(list(c.values)[:4])}" for c in table.columns[:4]
        )
        raise OptionError(
            f"no source has two of the columns ({', '.join(table.files)}): do the names of sources "
            f"match? {examples}"
        )
    if most < correlation.MIN_SOURCES:
        raise OptionError(
            f"at most {several(most, 'source')} have two of the columns: a correlation needs "
            f"{correlation.MIN_SOURCES}, and is weak evidence below 6"
        )


def _value_block(columns: Sequence[SourceColumn], facets: Sequence[Sequence[str]]) -> Floats:
    """Facets x sources x columns."""
    return np.array(
        [[[c.values.get(s, math.nan) for c in columns] for s in sources] for sources in facets],
        np.float64,
    ).reshape(len(facets), len(facets[0]), len(columns))


def _pair_rows(
    correlations: Sequence[correlation.ColumnPair],
    names: Sequence[str],
    sources: Sequence[str],
    correction: Correction,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "a": names[pair.a],
            "b": names[pair.b],
            "n": pair.sources,
            **_coefficient_cells("pearson", pair.pearson),
            **_coefficient_cells("spearman", pair.spearman),
            "exact": pair.exact,
            "weakest": pair.weakest,
            "weakest_without": None if (n := pair.weakest_without) is None else sources[n],
            "note": pair.reason,
        }
        for pair in correlations
    ]
    for name in ("pearson", "spearman"):
        p = [row[f"{name}_p"] for row in rows]
        corrected = adjust_p_values(p, correction)
        for row, value in zip(rows, corrected):
            row[f"{name}_p_corrected"] = value
    return rows


def _coefficient_cells(name: str, coefficient: correlation.Coefficient) -> dict[str, float]:
    ends = estimate(name, coefficient.estimate, (coefficient.low, coefficient.high))
    return {**ends, f"{name}_p": coefficient.p, f"{name}_p_corrected": math.nan}


def _describe_column(column: SourceColumn, part: CorrelationFacet) -> dict[str, Any]:
    """A column over the sources of a facet; `noise`: the share of its variance that is error."""
    present = [s for s in part.sources if not math.isnan(column.values.get(s, math.nan))]
    numbers = np.array([column.values[s] for s in present])
    errors = np.array([column.errors.get(s, math.nan) for s in present])
    variance = float(numbers.var(ddof=1)) if len(present) > 1 else math.nan
    known = len(present) > 1 and not np.isnan(errors).any() and variance > 0
    return {
        "facet": part.title,
        "column": column.name,
        "title": column.title,
        "higher": column.higher,
        "quality": column.quality,
        "sources": len(present),
        "mean": float(numbers.mean()) if len(present) else math.nan,
        "sd": math.sqrt(variance) if variance >= 0 else math.nan,
        "noise": min(1.0, float((errors**2).mean()) / variance) if known else math.nan,
    }


def _remarks(
    correlations: Sequence[correlation.ColumnPair],
    described: Sequence[Mapping[str, Any]],
    part: CorrelationFacet,
    correction: Correction,
) -> list[str]:
    where = f"{part.title}: " if part.title else ""
    tested = [pair for pair in correlations if not math.isnan(pair.pearson.p)]
    if not tested:
        return [f"{where}no correlation: {correlations[0].reason}"]
    notes = [
        f"{where}{row['column']} exists for {row['sources']} of {len(part.sources)} sources: its "
        "pairs leave out the others"
        for row in described
        if row["sources"] < len(part.sources)
    ]
    noisy = [row["column"] for row in described if row["noise"] > _NOISY]
    if noisy:
        notes.append(
            f"{where}more than half of the variation between sources in {', '.join(noisy)} may be "
            "chance (by their intervals): correlations with it are biased towards 0"
        )
    # Benjamini-Hochberg multiplies the smallest p-value less the more pairs share it.
    least = min(correlation.smallest_p(pair.sources) for pair in tested)
    if correction == "holm" and least * len(tested) >= _SIGNIFICANT:
        notes.append(
            f"{where}with {max(pair.sources for pair in tested)} sources and {len(tested)} pairs "
            "no corrected p-value can fall below "
            f"{format_number(min(1.0, least * len(tested)), '.2g')}: rely on intervals, or choose "
            "fewer --values"
        )
    return notes


def _pool_facets(
    table: SourceTable, parts: Sequence[CorrelationFacet], options: Options
) -> tuple[list[dict[str, Any]], list[str]]:
    """The sources that the facets share, centred within each facet.

    Where facets have different sources, those facets and sources are taken that fill the most
    cells together.
    """
    by_name = [{name: source for source, name in part.sources.items()} for part in parts]
    every = list(dict.fromkeys(name for part in by_name for name in part))
    present = np.array([[name in part for name in every] for part in by_name])
    used, places = correlation.largest_block(present, least=correlation.MIN_SOURCES)
    if not used:
        return [], [f"not pooled: no two facets share {correlation.MIN_SOURCES} sources"]
    shared = [every[place] for place in places]
    block = _value_block(
        table.columns, [[by_name[facet][name] for name in shared] for facet in used]
    )
    correlations = correlation.correlate_columns(block, level=table.level, seed=options.seed)
    names = [column.name for column in table.columns]
    rows = _pair_rows(correlations, names, shared, options.correction)
    titles = ", ".join(parts[facet].title for facet in used)
    note = (
        f"pooled over {titles}: the {len(shared)} sources that they share ({', '.join(shared)}), "
        "centred within each; a source counts once, whatever its number of facets"
    )
    return [{"facets": len(used), **row} for row in rows], [note]


POOLED = "pooled"
_STRONGEST, _EVERY = 10, 1000


def matrix_rows(result: Result) -> dict[str, Rows]:
    """The rows of each facet that has a correlation, and the pooled ones under their own name."""
    by_facet: dict[str, list[Mapping[str, Any]]] = {}
    for row in result.tables["correlations"]:
        by_facet.setdefault(row["facet"], []).append(row)
    if result.tables.get("pooled"):
        by_facet[POOLED] = list(result.tables["pooled"])
    return {
        title: rows
        for title, rows in by_facet.items()
        if any(defined(row["pearson"]) for row in rows)
    }


def rank_pairs(result: Result) -> tuple[list[tuple[str, Row]], list[tuple[str, Row]]]:
    """Pairs of a measure and a quality column, and the others, the strongest of each first.

    With the facet that each belongs to. Two quality columns are a pair like any other.
    """
    quality = {row["column"] for row in result.tables["columns"] if row["quality"]}
    every = ((title, row) for title, rows in matrix_rows(result).items() for row in rows)
    pairs = [pair for pair in every if defined(pair[1]["pearson"])]
    pairs.sort(key=lambda pair: -abs(pair[1]["pearson"]))
    sides: tuple[list[tuple[str, Row]], list[tuple[str, Row]]] = ([], [])
    for title, row in pairs:
        sides[(row["a"] in quality) == (row["b"] in quality)].append((title, row))
    return sides


def column_names(rows: Rows) -> list[str]:
    return list(dict.fromkeys([*distinct(rows, "a"), *distinct(rows, "b")]))


def is_significant(row: Row, name: str) -> bool:
    p = row[f"{name}_p_corrected"]
    return defined(p) and p < LEVEL


def _triangles(row: Row) -> dict[str, tuple[str, str]]:
    """Where a matrix has the two coefficients of a pair: Pearson below the diagonal."""
    return {"pearson": (row["b"], row["a"]), "spearman": (row["a"], row["b"])}


def _matrix_cells(rows: Rows, result: Result) -> list[Row]:
    """Pearson below the diagonal, Spearman above it; columns are numbered, as names would not
    fit."""
    cells: list[Row] = []
    for title, matrix in matrix_rows(result).items():
        names = column_names(matrix)
        coefficients = {}
        for row in matrix:
            for name, pair in _triangles(row).items():
                coefficients[pair] = row[name], "*" * is_significant(row, name)
        few, many = min(row["n"] for row in matrix), max(row["n"] for row in matrix)
        for place, a in enumerate(names, 1):
            for number, b in enumerate(names, 1):
                value, sign = ("·", "") if a == b else coefficients.get((a, b), (None, ""))
                cells.append(
                    {
                        "facet": title,
                        "number": str(place),
                        "name": _source_table.short_name(a),
                        "other": str(number),
                        "value": value,
                        "sign": sign,
                        "sources": f"{many}" if few == many else f"{few} to {many}",
                    }
                )
    return cells


def _explain_matrix(rows: Rows, result: Result) -> str:
    corrected = dict(result.signature.settings).get("correction", "")
    return (
        "below the diagonal Pearson, above it Spearman, over sources; "
        f"* corrected p < {LEVEL} ({corrected}, over all pairs of a matrix)"
    )


def _list_pairs(result: Result, *, quality: bool) -> list[Row]:
    several = len(matrix_rows(result)) > 1
    return [
        {
            **row,
            "facet": title if several else None,
            "a": _source_table.short_name(row["a"]),
            "b": _source_table.short_name(row["b"]),
            "without": row["weakest_without"],
        }
        for title, row in rank_pairs(result)[0 if quality else 1]
    ]


_PAIR = (
    *make_columns(
        "facet? a=one b=other n:count pearson=Pearson:number.2~ pearson_p=p:p "
        "pearson_p_corrected=corrected:p"
    ),
    Column("weakest", "without one", "number", 2, also=Column("without")),
    *make_columns("spearman=Spearman:number.2~ spearman_p=p:p spearman_p_corrected=corrected:p"),
)
_PAIR_NOTE = (
    "p: share of the orders of the sources with as strong a correlation; without one: Pearson "
    "without the most influential source"
)

LAYOUT = (
    Table(VALUES, "Values", limit=0, page=False),
    FullTable(
        "correlations",
        lambda rows, result: f"{rows[0]['facet'] or 'Correlations'} ({rows[0]['sources']} sources)",
        make_columns("number=_ name=_"),
        note=_explain_matrix,
        rows=_matrix_cells,
        split=("facet",),
        pivot=Pivot("other", Column("value", kind="number", decimals=2, mark="sign")),
    ),
    FullTable(
        "correlations",
        "Pairs with quality",
        _PAIR,
        note=_PAIR_NOTE,
        rows=lambda _, result: _list_pairs(result, quality=True),
    ),
    Table(
        "correlations",
        "The strongest pairs",
        _PAIR,
        note=_PAIR_NOTE,
        rows=lambda _, result: _list_pairs(result, quality=False),
        limit=_STRONGEST,
    ),
)


_DRAWN, _WITH_QUALITY = 6, 12


def _chart_squares(rows: Rows, result: Result) -> Rows:
    """Both triangles of each matrix; an undefined correlation is a dash on grey."""
    cells: list[Row] = []
    for title, matrix in matrix_rows(result).items():
        most = max(row["n"] for row in matrix)
        caption = (
            f"{several(most, 'source')}; below: Pearson, above: Spearman; * corrected p < {LEVEL}"
        )
        about = {"title": title or "correlations over sources", "said": caption}
        order = {name: place for place, name in enumerate(column_names(matrix))}
        by_place: dict[tuple[int, int], Row] = {}
        for row in matrix:
            for name, (a, b) in _triangles(row).items():
                r = row[name] if defined(row[name]) else None
                sign = "*" * is_significant(row, name)
                cell = {"a": _source_table.short_name(a), "b": _source_table.short_name(b), "r": r}
                cell["shown"] = "–" if r is None else format_number(r, ".2f") + sign
                by_place[order[a], order[b]] = {**cell, **about}
        cells += [by_place[place] for place in sorted(by_place)]
    return cells


def _chart_points(rows: Rows, result: Result) -> Rows:
    """The sources of some pairs: those with a quality column first, then the strongest."""
    with_quality, others = (
        [pair for pair in pairs if pair[0] != POOLED] for pairs in rank_pairs(result)
    )
    chosen = with_quality[:_WITH_QUALITY]
    chosen += others[: max(0, _DRAWN - len(chosen))]
    drawn = []
    for facet, row in chosen:
        pearson, spearman = (format_number(row[name], ".2f") for name in ("pearson", "spearman"))
        about = {"title": f"Pearson {pearson}, Spearman {spearman}", "facet": facet}
        about |= {name: _source_table.short_name(row[name]) for name in ("a", "b")}
        for member in result.tables["members"]:
            values = result.by_source[member["source"]].values
            x, y = values.get(row["a"], math.nan), values.get(row["b"], math.nan)
            if member["facet"] == facet and defined(x) and defined(y):
                drawn.append({"source": member["name"], "x": x, "y": y, **about})
    return drawn


CHARTS = (
    make_chart(
        "correlations",
        "Correlations over sources",
        "correlations matrix x=b y=a colour=r panel=title,said text=shown",
        titles={"r": "correlation"},
        rows=_chart_squares,
        says="One matrix for each facet and a pooled one: Pearson below the diagonal, Spearman "
        "above it.",
    ),
    make_chart(
        "pairs",
        "Pairs of values",
        "correlations points x=x y=y colour=source panel=title,facet,a,b",
        titles={"x": "a", "y": "b"},
        rows=_chart_points,
        says="The sources of some pairs as points, behind each coefficient.",
    ),
)


STUDY = Study(
    name="correlate",
    title="Correlations",
    says="Which values correlate over the sources, and which correlate with quality.",
    takes="results",
    metavar="RESULTS...",
    options=Options,
    run=run,
    section="others",
    layout=LAYOUT,
    charts=CHARTS,
)
