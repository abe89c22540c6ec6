"""Show what a factor does to the values of saved results: temperature, size, tuning.

RESULTS are what measures wrote as JSON, of sources by the factor and another field.
Levels may be numbers (0.7, 7B, 16bit), or names in an order or a pair that you give:


  rote lexical runs.jsonl --by source,temperature -o lexical.json
  rote factors lexical.json --over temperature --figure temperature.png
  rote factors tuned.json --over stage --pair base,instruct
  rote factors sizes.json --over size --order small,medium,large

For every source the trend of its values over the factor's levels; over sources, whether they change
alike; and whether the order of the sources is the same at every level (Kendall's W).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rote.compare.permutation import holm
from rote.core.chart import make_chart
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import check_options, option, unsigned_option
from rote.core.numbers import format_number
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.core.table import VALUES, Column, FullTable, Row, Rows, Table, defined, ends, make_columns
from rote.studies import _factors, _source_table
from rote.studies._factors import FactorTrends, MixedEffects
from rote.studies._source_table import TableOptions

_EVERY = 1000


def _value_lines(rows: Rows, result: Result) -> list[dict[str, Any]]:
    """Of every facet and value each source with its estimates by level and its trend; the
    reference comes last."""
    trends = {(t["facet"], t["column"], t["source"]): t for t in result.tables["trends"]}
    levels = [row["level"] for row in result.tables["levels"]]
    by_line: dict[tuple[str, str, bool, str], dict[str, Row]] = {}
    for cell in rows:
        key = (cell["facet"], cell["column"], cell["reference"], cell["source"])
        by_line.setdefault(key, {})[cell["level"]] = cell
    values = [row["value"] for row in result.tables["values"]]
    facets = list(dict.fromkeys(cell["facet"] for cell in rows))
    lines = []
    for key in sorted(by_line, key=lambda k: (facets.index(k[0]), values.index(k[1]), k[2])):
        (facet, column, reference, source), cells = key, by_line[key]
        if reference and not set(cells) & set(levels):
            # One value for all levels: shown under the first.
            cells = {levels[0]: next(iter(cells.values()))}
        trend = {} if reference else trends.get((facet, column, source), {})
        line = {"facet": facet, "column": column, **trend, "sign": _sign(trend)}
        line["source"] = f"{source} (reference)" if reference else source
        for level, cell in cells.items():
            line |= {f"at {level}": cell["estimate"]}
            line |= {f"at {level}_{end}": cell[end] for end in ("low", "high")}
        lines.append(line)
    return lines


def _sign(trend: Row) -> str:
    """Whether the interval of the change leaves 0 out."""
    if defined(trend.get("change_low")) and trend["change_low"] > 0:
        return "▲"
    return "▼" if defined(trend.get("change_high")) and trend["change_high"] < 0 else ""


def _level_columns(rows: Rows, result: Result) -> list[Column]:
    per = next((row["per"] for row in rows if row.get("per")), "unit")
    # Two levels have a change and no trend.
    rising = any(defined(row.get("spearman")) for row in rows)
    slope = Column("slope", f"per {per}", "number", ends=ends("slope"), optional=True)
    rho = Column("spearman", "rho", "number", 2, also=Column("p", kind="p"), optional=True)
    return [
        *make_columns("source"),
        *(
            Column(f"at {row['level']}", row["level"], "number", ends=ends(f"at {row['level']}"))
            for row in result.tables["levels"]
        ),
        Column("change", kind="number", ends=ends("change"), mark="sign", optional=True),
        *([slope, rho] if rising else []),
    ]


def _title(rows: Rows, result: Result) -> str:
    titles = {row["value"]: row["title"] for row in result.tables["values"]}
    column = rows[0]["column"]
    label = " ".join(filter(None, (rows[0]["facet"], _source_table.short_name(column))))
    title = str(titles.get(column, column))
    return label + (f": {title}" if title not in label else "")


def _explain_values(rows: Rows, result: Result) -> str:
    signs = any(row["sign"] for row in rows)
    notes = ["▲ ▼ the interval of the change excludes 0"] if signs else []
    if any(defined(row.get("spearman")) for row in rows):
        notes.append(
            "per unit (doubling): slope of a straight line; rho: Spearman of value and level "
            "within a source (its p)"
        )
    return "; ".join(notes)


def _agreement_rows(rows: Rows, result: Result) -> list[Row]:
    neighbours: dict[tuple[str, str], list[float]] = {}
    for row in result.tables["neighbours"]:
        if defined(row["spearman"]):
            neighbours.setdefault((row["facet"], row["column"]), []).append(row["spearman"])
    return [
        {
            "facet": row["facet"] or None,
            "column": _source_table.short_name(row["column"]),
            "w": row["w"],
            "p": row["p"],
            "sources": len(row["sources"]),
            "levels": len(row["levels"]),
            "next": _format_range(neighbours.get((row["facet"], row["column"]), [])),
        }
        for row in rows
    ]


def _format_range(values: list[float]) -> str:
    if not values:
        return "–"
    low, high = min(values), max(values)
    ends = [low] if len(values) == 1 else [low, high]
    return " to ".join(format_number(end, ".2f") for end in ends)


LAYOUT = (
    Table(VALUES, "Values", limit=0, page=False),
    FullTable(
        "cells",
        _title,
        _level_columns,
        note=_explain_values,
        rows=_value_lines,
        split=("facet", "column"),
    ),
    FullTable(
        "agreement",
        "Order of the sources",
        make_columns(
            "facet? column=value w=W:number.2 p:p sources:count levels:count next=next_levels"
        ),
        note="W: Kendall's, 1 where every level puts the sources into the same order; next levels: "
        "Spearman between neighbours, smallest to largest",
        rows=_agreement_rows,
    ),
    FullTable(
        "changes",
        lambda rows, result: f"{rows[0]['first']} to {rows[0]['last']}",
        make_columns(
            "facet? column=value mean=mean_change:number~low sources:count up:count "
            "down:count p_sign=sign_test:p p_wilcoxon=Wilcoxon:p p_corrected=corrected:p"
        ),
        note="corrected: Wilcoxon's p-value by Holm over the values",
        rows=_factors.shorten_columns,
    ),
    *_factors.MIXED_TABLES,
)


def _chart_cells(rows: Rows, result: Result) -> Rows:
    """Numbers to scale, other levels side by side; a reference of one value is a line across."""
    first = result.tables["levels"][0]
    over = dict(result.signature.settings).get("over", "")
    numeric = first["kind"] == "numeric"
    order = {row["level"]: place for place, row in enumerate(result.tables["levels"])}
    about = {row["value"]: row for row in result.tables["values"]}
    agreement = {(row["facet"], row["column"]): row for row in result.tables["agreement"]}
    groups: dict[tuple[str, str], list[Row]] = {}
    for facet in dict.fromkeys(row["facet"] for row in rows):
        for column in about:
            group_rows = [row for row in rows if (row["facet"], row["column"]) == (facet, column)]
            groups[facet, column] = sorted(group_rows, key=lambda row: order.get(row["level"], -1))
    drawn = []
    for (facet, column), group_rows in groups.items():
        reference_rows = [row for row in group_rows if row["reference"]]
        undefined = [row for row in reference_rows if not defined(row["number"])]
        level = len(reference_rows) == 1 or bool(undefined)
        caption = _panel_caption(about[column], agreement.get((facet, column)), reference_rows)
        others = [row for row in group_rows if not row["reference"]]
        for row in [*reference_rows[: 1 if level else None], *others]:
            across = row["number"] if numeric else row["level"]
            drawn.append(
                {
                    "source": row["source"] or "",
                    "level": None if row["reference"] and level else across,
                    **{name: row[name] for name in ("estimate", "low", "high")},
                    "title": " ".join(filter(None, (facet, _source_table.short_name(column)))),
                    "said": caption,
                    "over": f"{over} ({first['unit']})" if first["unit"] else over,
                    "scale": first["scale"] or "",
                }
            )
    return drawn


def _panel_caption(about: Row, judged: Row | None, reference_rows: Rows) -> str:
    lines = [] if about["higher"] == "neither" else [f"higher: more {about['higher']}"]
    more = [f"W = {format_number(judged['w'], '.2f')}"] if judged and defined(judged["w"]) else []
    more += [f"dashed: {reference_rows[0]['source']}"] if reference_rows else []
    return "\n".join([*lines, ", ".join(more)])


CHARTS = (
    make_chart(
        "factors",
        "Values over the levels of a factor",
        "cells lines x=level y=estimate colour=source panel=title,said ends=low,high",
        titles={"level": "over"},
        scales={"level": "scale"},
        rows=_chart_cells,
        says="Each value over the levels, one line for each source, with intervals; the reference "
        "is dashed.",
    ),
)


METHOD = "from the intervals of both values, taken as independent; over sources Student's t"


@dataclass(frozen=True, slots=True)
class Options(TableOptions):
    """The factor, its order, and which sources count."""

    over: str | None = option(None, "Field with the factor", metavar="FIELD", common=True)
    order: tuple[str, ...] = unsigned_option(
        (), "The levels in order, if they are not numbers", common=True
    )
    pair: tuple[str, ...] = unsigned_option(
        (), "Two levels to compare, such as base,instruct", common=True
    )
    scale: _factors.Scale = option(
        "auto",
        "Scale of numeric levels: linear or logarithmic, with slopes per doubling; auto: "
        f"logarithmic if the largest is at least {_factors.WIDE} times the smallest",
    )
    random: tuple[str, ...] = option(
        (),
        "Also fit a mixed model with random effects of these: doc_id, a field of the sources, or "
        "several together (doc_id:source); to the values of single texts, in results of `rote "
        "lexical --per-text` and the like",
        metavar="FIELD,...",
        sign=_source_table.sign_if_given,
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.over:
            raise OptionError("--over takes the factor: a field that the results were grouped --by")

    @property
    def factor(self) -> str:
        return str(self.over)


def run(call: Call) -> Findings:
    """Trends, changes and agreement of every column over the levels of the factor."""
    options: Options = call.options
    table = _source_table.read_source_table(call)
    if options.factor not in table.by:
        raise UnknownName("field of the sources", options.factor, table.by)
    if len(table.by) < 2:
        raise OptionError(
            f"the results are grouped --by {options.factor} alone, so no source can be compared "
            f"across it: group them --by source,{options.factor}"
        )
    place = _factors.reference_field(table)
    chosen = _source_table.drop_sources(
        table,
        options.without,
        reference=options.with_reference or place == options.factor,
        inputs=options.with_inputs,
    )
    seen_levels = [
        fields[options.factor]
        for fields in map(chosen.fields, chosen.sizes)
        # The reference is drawn as a line of its own, and may have no level at all.
        if place == options.factor or table.reference not in fields.values()
    ]
    levels = _factors.ordered_levels(
        seen_levels, options.factor, order=options.order, pair=options.pair
    )
    if len(levels.names) < 2:
        raise OptionError(
            f"'{options.factor}' has only the level {', '.join(levels.names) or 'none'}: a factor "
            "needs two"
        )
    rows = FactorTrends(chosen, levels, options)
    parts = _factors.split_by_facet(table, chosen, place, over=options.factor, facet=options.facet)
    cells, trends, changes, agreements, neighbours = [], [], [], [], []
    for part in parts:
        of_part: list[dict[str, Any]] = []
        for column, full_column in zip(chosen.columns, table.columns):
            cells += list(rows.cells(part, column, full_column))
            trends += list(rows.trends(part, column))
            of_part += list(rows.change(part, column))
            agreements += list(rows.agreement(part, column))
            neighbours += list(rows.neighbours(part, column))
        for row, p in zip(of_part, holm([row["p_wilcoxon"] for row in of_part])):
            changes.append({**row, "p_corrected": p})
    tables: dict[str, list[dict[str, Any]]] = {
        "levels": [
            {"level": n, "number": x, "kind": levels.kind, "unit": levels.unit, "scale": rows.scale}
            for n, x in zip(levels.names, levels.numbers)
        ],
        "cells": cells,
        "trends": trends,
        "changes": changes,
        "agreement": agreements,
        "neighbours": neighbours,
    }
    remarks: list[str] = []
    if options.random:
        effects = MixedEffects(call.inputs, rows, options.factor)
        tables |= effects.tables(parts)
        remarks = effects.notes()
    groups = [[g for by_level in part.groups.values() for g in by_level.values()] for part in parts]
    notes = _source_table.note_lengths(chosen, groups, matched=options.matched)
    notes += [*rows.remarks(parts, seen_levels), *remarks]
    described = replace(table, notes=chosen.notes)
    signed = {"levels": levels.names, "kind": levels.kind, "scale": rows.scale}
    return described.findings(tables, method=METHOD, notes=notes, signed=signed)


STUDY = Study(
    name="factors",
    title="Factors",
    says="How a factor (temperature, size, tuning) affects the values of sources.",
    takes="results",
    metavar="RESULTS...",
    options=Options,
    run=run,
    section="others",
    layout=LAYOUT,
    charts=CHARTS,
)
