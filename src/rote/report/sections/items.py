"""Test items and what a model may have seen of them; and measures without a part of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rote.core.result import Result
from rote.report._tables import (
    Cell,
    Column,
    Table,
    interval_cell,
    number_cell,
    text_cell,
)
from rote.report.blocks import Block, Group, Said, Section
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.sections.rows import row_table, row_tables
from rote.report.sections.values import comparisons_table, values_table
from rote.report.tables._blocks import p_value
from rote.report.tables.overlap import bin_name, score_title

REPETITION = ("contamination", "overlap", "entity-scores", "memorization")
_CONTAMINATION = ("source", "id", "verdict", "longest", "words", "document", "author", "match")


def repetition(study: Report) -> Section | None:
    """What texts or test items share with what a model was trained on."""
    own = [result for result in study.results if result.measure in REPETITION]
    return Section("repetition", "Repetition of training text", _each(own)) if own else None


def popularity(study: Report) -> Section | None:
    own = [result for result in study.results if result.measure == "popularity"]
    if not own:
        return None
    # One result needs no second heading.
    return Section("popularity", "Popularity", _blocks(own[0]) if len(own) == 1 else _each(own))


def further(study: Report, shown: Sequence[str]) -> Section | None:
    """Measures that have no part of their own."""
    own = [result for result in study.results if result.measure not in shown]
    return Section("further", "Further measures", _each(own)) if own else None


def _each(results: Sequence[Result]) -> list[Block]:
    return [Group(title(result), _blocks(result)) for result in results]


def _blocks(result: Result) -> list[Block]:
    blocks: list[Block] = [Said(says(result))] if says(result) else []
    blocks += [values_table(result), *notes(result), *figures(result).values()]
    blocks += [table for table in _tables(result) if table.data]
    if tests := comparisons_table([result], f"tests-{result.measure}"):
        blocks.append(Group("Tests against the reference", [tests], closed=True))
    return blocks


def _tables(result: Result) -> list[Table]:
    if result.measure == "contamination" and result.tables.get("items"):
        return [_contaminated(result)]
    if result.measure == "overlap":
        trends = [_trends(result)] if result.tables.get("trends") else []
        bins = [_bins(result)] if result.tables.get("bins") else []
        return [*trends, *bins]
    if result.measure == "popularity":
        return [row_table(result, name) for name in ("groups",) if result.tables.get(name)]
    if result.measure == "precision-recall" and result.tables.get("baseline"):
        return [_baseline(result), *row_tables(result, shown=("baseline",))]
    return row_tables(result)


def _baseline(result: Result) -> Table:
    """What halves of the texts score beside halves of the reference's: how high is high."""
    rows = result.tables["baseline"]
    titles = {row["value"]: row["title"] for row in result.tables.get("values", ())}
    values = list(dict.fromkeys(row["value"] for row in rows))
    cells: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(row["source"], {})[row["value"]] = row

    def make(row: Mapping[str, Any]) -> list[Cell]:
        found = (row["values"].get(value, {}) for value in values)
        return [text_cell(row["source"]), *map(_spread, found)]

    return Table(
        "precision-recall-baseline",
        "Halves of the texts beside halves of the reference's",
        [
            Column("source"),
            *(Column(titles.get(v, v), "right", (), (v, f"{v}_sd")) for v in values),
        ],
        [{"source": source, "values": found} for source, found in cells.items()],
        make,
        said="Mean ± standard deviation of draws: what a perfect imitation could reach is what the "
        "reference reaches here.",
        by="source",
        reference=result.reference,
    )


def _spread(row: Mapping[str, Any]) -> Cell:
    shown, sd = number_cell(row.get("mean")), number_cell(row.get("sd"))
    below = (f"±{sd.text}",) if shown.values[0] is not None else ()
    return Cell(shown.text, (*shown.values, *sd.values), below=below)


def _contaminated(result: Result) -> Table:
    """Items that the corpus holds, those that it holds most of first."""
    order = {"contaminated": 0, "near": 1, "touched": 2}
    found = [row for row in result.tables["items"] if row.get("document") is not None]
    found.sort(key=lambda row: (order.get(row["verdict"], 3), -row["longest"]))
    return row_table(
        replace(result, tables={**result.tables, "items": found}),
        "items",
        "Items that the corpus holds",
        _CONTAMINATION,
        said="longest: words of the longest run that the corpus holds.",
    )


def _bins(result: Result) -> Table:
    """Each score in each bin, with its interval."""

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [
            text_cell(row["source"]),
            text_cell(score_title(row["score"])),
            text_cell(bin_name(row)),
            number_cell(row["texts"]),
            interval_cell(row["mean"], row["mean_low"], row["mean_high"], ".3f"),
        ]

    return Table(
        "overlap-bins",
        "Scores by closeness to the training set",
        [
            Column("source"),
            Column("score"),
            Column("bin", "left", ("% of n-grams in the training set",)),
            Column("texts", "right"),
            Column("mean", "right", fields=("mean", "low", "high")),
        ],
        result.tables["bins"],
        make,
        by="source",
    )


def _trends(result: Result) -> Table:
    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [
            text_cell(row["source"]),
            text_cell(score_title(row["score"])),
            _ranged(row, "ratio"),
            _ranged(row, "trend"),
            Cell(p_value(row["p"]), (row["p"],)),
        ]

    return Table(
        "overlap-trends",
        "From the most novel to the most similar items",
        [
            Column("source"),
            Column("score"),
            Column("ratio", "right", ("similar / novel",), ("ratio", "low", "high")),
            Column(
                "correlation", "right", ("with closeness",), ("trend", "trend_low", "trend_high")
            ),
            Column("p", "right"),
        ],
        result.tables["trends"],
        make,
        by="source",
    )


def _ranged(row: Mapping[str, Any], name: str) -> Cell:
    return interval_cell(row[name], row[f"{name}_low"], row[f"{name}_high"], ".2f")
