"""Templates and favoured patterns: how much they fill, which they are, where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.core.result import Result
from rote.report._grid import SIGNIFICANT
from rote.report._tables import Cell, Column, Table, number_cell, text_cell
from rote.report.blocks import Block, Group, Said, Section, Texts
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.sections.values import comparisons_table, values_table
from rote.report.tables._blocks import arrow, defined, p_value, shown_name

_EXAMPLES = 3
_EXAMPLE = 90


def templates(study: Report) -> Section | None:
    """What was found of templates, favoured patterns, precision and recall."""
    blocks: list[Block] = []
    if (found := study.result("templates")) is not None:
        blocks += _templates(study, found)
    if (found := study.result("favoured")) is not None:
        shown: list[Block] = [Said(says(found)), *figures(found).values()]
        shown += [_favoured(found)] if found.tables.get("patterns") else []
        blocks.append(Group(title(found), [*shown, *notes(found)]))
    return Section("templates", "Templates", blocks) if blocks else None


def _templates(study: Report, result: Result) -> list[Block]:
    drawn = figures(result)
    blocks: list[Block] = [
        Said(
            "A template is a sequence of parts of speech that stands again and again in the texts "
            "of a source; the words in it differ."
        ),
        values_table(result),
        *notes(result),
    ]
    blocks += [drawn.pop(name) for name in ("", "lengths") if name in drawn]
    if result.tables.get("templates"):
        blocks.append(_listed(result))
    evidence = [one for one in study.evidence if one.section == "templates"]
    if evidence:
        blocks.append(
            Texts(
                "texts-templates",
                "Templates in their texts",
                evidence,
                "Each line under the words is a template; its number leads to the list below.",
            )
        )
    if result.tables.get("distinctive"):
        blocks += [drawn.pop(name) for name in ("distinctive",) if name in drawn]
        blocks.append(_distinctive(result))
    blocks += drawn.values()
    if tests := comparisons_table([result], "tests-templates"):
        blocks.append(Group("Tests against the reference", [tests], closed=True))
    return blocks


def _listed(result: Result) -> Table:
    """The most frequent templates with the words that stand in them most often."""
    commonest: dict[tuple[str, str], list[str]] = {}
    for row in result.tables.get("matches", ()):
        commonest.setdefault((row["source"], row["template"]), []).append(row["text"])

    def make(row: Mapping[str, Any]) -> list[Cell]:
        texts = commonest.get((row["source"], row["template"]), [])[:_EXAMPLES]
        return [
            text_cell(row["source"]),
            text_cell(row["template"]),
            number_cell(row["count"]),
            number_cell(row["texts"]),
            _examples(texts),
        ]

    return Table(
        "templates-frequent",
        "The most frequent templates",
        [
            Column("source"),
            Column("template", code=True),
            Column("count", "right"),
            Column("texts", "right", ("that hold it",)),
            Column("commonest texts"),
        ],
        result.tables["templates"],
        make,
        by="source",
    )


def _distinctive(result: Result) -> Table:
    data = [row for row in result.tables["distinctive"] if defined(row["z"])]

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [
            text_cell(row["source"]),
            text_cell(row["template"]),
            number_cell(row["count"]),
            number_cell(row["reference_count"]),
            number_cell(row["z"], ".1f", mark=arrow(row).strip()),
            Cell(p_value(row["p_corrected"]), (row["p_corrected"],)),
            _examples(row["examples"]),
        ]

    reference = shown_name(result.reference or "the reference")
    return Table(
        "templates-distinctive",
        "Templates that set a source apart",
        [
            Column("source"),
            Column("template", code=True),
            Column("count", "right"),
            Column("in the reference", "right", (reference,)),
            Column("z", "right", ("of the log-odds",)),
            Column("p", "right", ("corrected",)),
            Column("for example"),
        ],
        sorted(data, key=lambda row: -abs(row["z"])),
        make,
        said=f"▲ more, ▼ fewer than in {reference}, corrected p < {SIGNIFICANT}; "
        "log-odds with an informative prior, p by permuting texts.",
        by="source",
    )


def _favoured(result: Result) -> Table:
    """Both ways: what a source favours, and what only the reference has."""

    def make(row: Mapping[str, Any]) -> list[Cell]:
        theirs = row["favoured_by"] == row["source"]
        return [
            text_cell(row["source"]),
            text_cell(row["favoured_by"]),
            text_cell(row["pattern"]),
            number_cell(row["source_count" if theirs else "outside_count"]),
            number_cell(row["reference_count" if theirs else "source_count"]),
            number_cell(row["z"], ".1f"),
            Cell(p_value(row["p_corrected"]), (row["p_corrected"],)),
            _examples(row["examples"]),
        ]

    return Table(
        "favoured-patterns",
        "The patterns, with examples",
        [
            Column("source"),
            Column("favoured by"),
            Column("pattern", code=True),
            Column("count", "right"),
            Column("of the other", "right"),
            Column("z", "right"),
            Column("p", "right", ("corrected",)),
            Column("for example"),
        ],
        result.tables["patterns"],
        make,
        by="source",
    )


def _examples(texts: Any) -> Cell:
    cells = [text_cell(text, longest=_EXAMPLE) for text in list(texts)[:_EXAMPLES]]
    return Cell(" · ".join(cell.text for cell in cells), whole=" · ".join(c.whole for c in cells))
