"""Correlate measures with each other, and with quality, over the sources of saved results.

RESULTS are what measures wrote as JSON; sources with the same name are joined. Quality comes as a
table with a column `source`:

\b
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

from rote.compare.correlation import (
    DRAWS,
    EXACT,
    LEAST,
    Coefficient,
    Pair,
    largest_block,
    pairs,
    smallest_p,
)
from rote.compare.families import CORRECTIONS, adjusted
from rote.core.array_types import Floats
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import JOINT, facets
from rote.core.metric import handle, option, unsigned
from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.table import estimate
from rote.studies._correlate_layout import CHARTS, LAYOUT
from rote.studies._joined import table_of, with_quality
from rote.studies._source_table import (
    Column,
    SourceTable,
    TableOptions,
    length_remarks,
    without,
)

Correction = Literal["holm", "bh"]
METHOD = "Fisher's z for Pearson, with the error of Bonett and Wright (2000) for Spearman"
_NOISY = 0.5
_SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Part:
    """A facet: its sources by the names that they have within it."""

    title: str
    sources: Mapping[str, str]

    def only(self, kept: Container[str]) -> Part:
        return Part(self.title, {s: own for s, own in self.sources.items() if s in kept})


@dataclass(frozen=True, slots=True)
class Options(TableOptions):
    """What is correlated, over which sources, and how p-values are corrected."""

    quality: tuple[Path, ...] = handle(
        (),
        "Tables of the quality of the sources: .csv, .tsv or .jsonl with a column `source` and "
        "columns of numbers, or a saved result (.json) whose values are taken",
        "FILE,...",
        takes="table",
        common=True,
    )
    quality_columns: tuple[str, ...] = option(
        (), "Columns of these tables to take; default: all that hold numbers alone", sign=unsigned
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
    whole = with_quality(table_of(call), options.quality, options.quality_columns)
    parts = facet_parts(whole, options.facet)
    table = without(
        whole, options.without, reference=options.with_reference, inputs=options.with_inputs
    )
    parts = [part for part in (part.only(table.sizes) for part in parts) if part.sources]
    _check(table, parts)
    names = [column.name for column in table.columns]
    rows: list[dict[str, Any]] = []
    described: list[dict[str, Any]] = []
    notes = length_remarks(table, [part.sources for part in parts], matched=options.matched)
    for part in parts:
        block = _block(table.columns, [list(part.sources)])
        found = pairs(block, level=table.level, seed=options.seed)
        own_rows = _rows(found, names, list(part.sources.values()), options.correction)
        rows += [{"facet": part.title, **row} for row in own_rows]
        own = [_described(column, part) for column in table.columns]
        described += own
        notes += _remarks(found, own, part, options.correction)
    members = [
        {"facet": part.title, "source": source, "name": own}
        for part in parts
        for source, own in part.sources.items()
    ]
    tables = {"members": members, "columns": described, "correlations": rows}
    if len(parts) > 1:
        pooled, said = _pooled(table, parts, options)
        tables["pooled"], notes = pooled, [*notes, *said]
    signed = {"p": f"all orders up to {EXACT} sources, else {DRAWS}"}
    return table.findings(tables, method=METHOD, notes=notes, signed=signed)


def facet_parts(table: SourceTable, facet: Sequence[str]) -> list[Part]:
    """The facets: by the fields named, or else those that the reference makes."""
    if not facet:
        return [Part(own.title, own.names) for own in facets(table.sizes, table.reference)]
    for name in facet:
        if name not in table.by:
            raise UnknownName("field of the sources", name, table.by)
    if set(facet) == set(table.by):
        raise OptionError(
            "--facet names all fields of the sources: no field is left to name sources"
        )
    found: dict[str, dict[str, str]] = {}
    for source in table.sizes:
        held = table.fields(source)
        title = JOINT.join(held[name] for name in facet)
        own = JOINT.join(value for name, value in held.items() if name not in facet)
        found.setdefault(title, {})[source] = own
    return [Part(title, sources) for title, sources in found.items()]


def _check(table: SourceTable, parts: Sequence[Part]) -> None:
    if len(table.columns) < 2:
        raise OptionError(
            f"a correlation needs two columns: there is only "
            f"{', '.join(c.name for c in table.columns) or 'none'}. Name others with --values, or "
            "give results of other measures"
        )
    most = 0
    for part in parts:
        present = ~np.isnan(_block(table.columns, [list(part.sources)])[0])
        together = present.T.astype(int) @ present.astype(int)
        most = max(most, int((together - np.diag(np.diag(together))).max()))
    if most == 0:
        held = "; ".join(f"{c.name}: {', '.join(list(c.values)[:4])}" for c in table.columns[:4])
        raise OptionError(
            f"no source has two of the columns ({', '.join(table.files)}): are the sources named "
            f"alike? {held}"
        )
    if most < LEAST:
        raise OptionError(
            f"at most {several(most, 'source')} have two of the columns: a correlation "
            f"needs {LEAST}, and says little below 6"
        )


def _block(columns: Sequence[Column], facets: Sequence[Sequence[str]]) -> Floats:
    """Facets x sources x columns."""
    return np.array(
        [[[c.values.get(s, math.nan) for c in columns] for s in sources] for sources in facets],
        np.float64,
    ).reshape(len(facets), len(facets[0]), len(columns))


def _rows(
    found: Sequence[Pair], names: Sequence[str], sources: Sequence[str], correction: Correction
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "a": names[pair.a],
            "b": names[pair.b],
            "n": pair.sources,
            **_coefficient("pearson", pair.pearson),
            **_coefficient("spearman", pair.spearman),
            "exact": pair.exact,
            "weakest": pair.weakest,
            "weakest_without": None
            if pair.weakest_without is None
            else sources[pair.weakest_without],
            "note": pair.reason,
        }
        for pair in found
    ]
    for name in ("pearson", "spearman"):
        p = [row[f"{name}_p"] for row in rows]
        corrected = adjusted(p, correction)
        for row, value in zip(rows, corrected):
            row[f"{name}_p_corrected"] = value
    return rows


def _coefficient(name: str, found: Coefficient) -> dict[str, float]:
    ends = estimate(name, found.estimate, (found.low, found.high))
    return {**ends, f"{name}_p": found.p, f"{name}_p_corrected": math.nan}


def _described(column: Column, part: Part) -> dict[str, Any]:
    """A column over the sources of a facet; `noise`: the share of its variance that is error."""
    held = [s for s in part.sources if not math.isnan(column.values.get(s, math.nan))]
    numbers = np.array([column.values[s] for s in held])
    errors = np.array([column.errors.get(s, math.nan) for s in held])
    variance = float(numbers.var(ddof=1)) if len(held) > 1 else math.nan
    known = len(held) > 1 and not np.isnan(errors).any() and variance > 0
    return {
        "facet": part.title,
        "column": column.name,
        "title": column.title,
        "higher": column.higher,
        "quality": column.quality,
        "sources": len(held),
        "mean": float(numbers.mean()) if len(held) else math.nan,
        "sd": math.sqrt(variance) if variance >= 0 else math.nan,
        "noise": min(1.0, float((errors**2).mean()) / variance) if known else math.nan,
    }


def _remarks(
    found: Sequence[Pair],
    described: Sequence[Mapping[str, Any]],
    part: Part,
    correction: Correction,
) -> list[str]:
    where = f"{part.title}: " if part.title else ""
    tested = [pair for pair in found if not math.isnan(pair.pearson.p)]
    if not tested:
        return [f"{where}no correlation: {found[0].reason}"]
    notes = [
        f"{where}{row['column']} is there for {row['sources']} of {len(part.sources)} sources: "
        "pairs with it leave out the others"
        for row in described
        if row["sources"] < len(part.sources)
    ]
    noisy = [row["column"] for row in described if row["noise"] > _NOISY]
    if noisy:
        notes.append(
            f"{where}more than half of what sets the sources apart in {', '.join(noisy)} may be "
            "chance (their intervals): correlations with it come out too small"
        )
    # Benjamini-Hochberg multiplies the smallest p-value less the more pairs share it.
    least = min(smallest_p(pair.sources) for pair in tested)
    if correction == "holm" and least * len(tested) >= _SIGNIFICANT:
        notes.append(
            f"{where}with {max(pair.sources for pair in tested)} sources and {len(tested)} pairs "
            f"no corrected p-value can fall below "
            f"{format_number(min(1.0, least * len(tested)), '.2g')}: look at intervals, or name "
            "fewer --values"
        )
    return notes


def _pooled(
    table: SourceTable, parts: Sequence[Part], options: Options
) -> tuple[list[dict[str, Any]], list[str]]:
    """The sources that the facets share, centred within each facet.

    Where facets have different sources, those facets and sources are taken that fill the most
    cells together.
    """
    by_own = [{own: source for source, own in part.sources.items()} for part in parts]
    every = list(dict.fromkeys(own for part in by_own for own in part))
    present = np.array([[own in part for own in every] for part in by_own])
    used, places = largest_block(present, least=LEAST)
    if not used:
        return [], [f"not pooled: no two facets share {LEAST} sources"]
    shared = [every[place] for place in places]
    block = _block(table.columns, [[by_own[facet][own] for own in shared] for facet in used])
    found = pairs(block, level=table.level, seed=options.seed)
    names = [column.name for column in table.columns]
    rows = _rows(found, names, shared, options.correction)
    titles = ", ".join(parts[facet].title for facet in used)
    note = (
        f"pooled over {titles}: the {len(shared)} sources that they share ({', '.join(shared)}), "
        "centred within each; a source counts once, however many facets it occurs in"
    )
    return [{"facets": len(used), **row} for row in rows], [note]


STUDY = Study(
    name="correlate",
    title="Correlations",
    says="Which values go together over the sources, and which go with quality.",
    takes="results",
    metavar="RESULTS...",
    options=Options,
    run=run,
    section="others",
    layout=LAYOUT,
    charts=CHARTS,
)
