"""Show what a factor does to the values of saved results: temperature, size, tuning.

RESULTS are what measures wrote as JSON, made --by the factor and the field that names sources.
Levels may be numbers (0.7, 7B, 16bit), or names in an order or a pair that you give:

\b
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

from rote.compare.levels import ordered_levels
from rote.compare.permutation import holm
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import check_options, option, unsigned
from rote.core.record import Call, Findings, Study
from rote.studies._factor_layout import CHARTS, LAYOUT
from rote.studies._factors import WIDE, Scale, Trends, factor_parts, reference_field
from rote.studies._joined import table_of
from rote.studies._source_table import TableOptions, length_remarks, without

METHOD = "from the intervals of both values, taken as independent; over sources Student's t"


@dataclass(frozen=True, slots=True)
class Options(TableOptions):
    """The factor, its order, and which sources count."""

    over: str | None = option(None, "The field of --by that is the factor", metavar="FIELD")
    order: tuple[str, ...] = option(
        (), "The levels in order, where they are not numbers", sign=unsigned
    )
    pair: tuple[str, ...] = option(
        (), "Two levels to compare, such as base,instruct", sign=unsigned
    )
    scale: Scale = option(
        "auto",
        "Take numbers as they are or by their logarithm, with slopes per doubling; auto: by their "
        f"logarithm where the largest is at least {WIDE} times the smallest",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if not self.over:
            raise OptionError("--over names the factor: a field that the results were made --by")

    @property
    def factor(self) -> str:
        """The factor, which is always named."""
        return str(self.over)


def run(call: Call) -> Findings:
    """Trends, changes and agreement of every column over the levels of the factor."""
    options: Options = call.options
    table = table_of(call)
    if options.factor not in table.by:
        raise UnknownName("field of --by", options.factor, table.by)
    if len(table.by) < 2:
        raise OptionError(
            f"the results were made --by {options.factor} alone, so no source can be followed over "
            f"it: make them --by source,{options.factor}"
        )
    place = reference_field(table)
    kept = without(
        table,
        options.without,
        reference=options.with_reference or place == options.factor,
        inputs=options.with_inputs,
    )
    found = [
        fields[options.factor]
        for fields in map(kept.fields, kept.sizes)
        # The reference is drawn as a line of its own, and may have no level at all.
        if place == options.factor or table.reference not in fields.values()
    ]
    levels = ordered_levels(found, options.factor, order=options.order, pair=options.pair)
    if len(levels.names) < 2:
        raise OptionError(
            f"'{options.factor}' has only the level {', '.join(levels.names) or 'none'}: a factor "
            "needs two"
        )
    rows = Trends(kept, levels, options)
    parts = factor_parts(table, kept, place, over=options.factor, facet=options.facet)
    cells, trends, changes, agreements, neighbours = [], [], [], [], []
    for part in parts:
        of_part: list[dict[str, Any]] = []
        for column, whole in zip(kept.columns, table.columns):
            cells += list(rows.cells(part, column, whole))
            trends += list(rows.trends(part, column))
            of_part += list(rows.change(part, column))
            agreements += list(rows.agreement(part, column))
            neighbours += list(rows.neighbours(part, column))
        for row, p in zip(of_part, holm([row["p_wilcoxon"] for row in of_part])):
            changes.append({**row, "p_corrected": p})
    tables = {
        "levels": [
            {
                "level": n,
                "number": x,
                "kind": levels.kind,
                "unit": levels.unit,
                "scale": rows.scale,
            }
            for n, x in zip(levels.names, levels.numbers)
        ],
        "cells": cells,
        "trends": trends,
        "changes": changes,
        "agreement": agreements,
        "neighbours": neighbours,
    }
    groups = [[g for held in part.groups.values() for g in held.values()] for part in parts]
    notes = length_remarks(kept, groups, matched=options.matched)
    notes += rows.remarks(parts, found)
    described = replace(table, notes=kept.notes)
    signed = {"levels": levels.names, "kind": levels.kind, "scale": rows.scale}
    return described.findings(tables, method=METHOD, notes=notes, signed=signed)


STUDY = Study(
    name="factors",
    title="Factors",
    says="What a factor (temperature, size, tuning) does to the values of sources.",
    takes="results",
    metavar="RESULTS...",
    options=Options,
    run=run,
    section="others",
    layout=LAYOUT,
    charts=CHARTS,
)
