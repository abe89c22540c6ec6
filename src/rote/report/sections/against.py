"""Texts held against a corpus: what is new in them, what is copied, whose it is."""

from __future__ import annotations

from collections.abc import Mapping
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
from rote.report.blocks import Block, Facts, Group, Said, Section, Texts
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says
from rote.report.sections.panel import notes
from rote.report.sections.values import comparisons_table, values_table
from rote.report.tables._blocks import defined

_NUMBERS = {2: "two", 3: "three", 4: "four"}
_MERGED, _MATCH = 5, 180


def originality(study: Report) -> Section | None:
    """Which sentences are original, which need a citation, and whose words those are."""
    result = study.result("originality")
    if result is None:
        return None
    blocks: list[Block] = [Said(says(result)), values_table(result), *notes(result)]
    if result.tables.get("lengths"):
        blocks.append(_lengths(result))
    blocks += _texts(
        study,
        "originality",
        "Sentences and whose words they hold",
        "A solid line: words that need a citation, with their sources below the text; a dotted "
        "line: words that nobody in the corpus has.",
    )
    if result.tables.get("citations"):
        blocks.append(_citations(result))
    if held := _ground_truth(result):
        blocks.append(Group("The ground truth", [held]))
    return Section("originality", "Originality", [*blocks, *_tests(result)])


def novelty(study: Report) -> Section | None:
    """How much of the texts a corpus does not hold, and the longest runs that it does."""
    result = study.result("novelty")
    if result is None:
        return None
    blocks: list[Block] = [
        Said(says(result)),
        values_table(result),
        *notes(result),
        *figures(result).values(),
    ]
    blocks += _texts(
        study,
        "novelty",
        "The longest copied runs, in their texts",
        "Underlined: words that stand in the corpus in the same order; where, below the text.",
    )
    if result.tables.get("copied"):
        blocks.append(_copied(result))
    return Section("novelty", "Novelty", [*blocks, *_tests(result)])


def _texts(study: Report, section: str, title: str, said: str) -> list[Block]:
    found = [one for one in study.evidence if one.section == section]
    return [Texts(f"texts-{section}", title, found, said)] if found else []


def _tests(result: Result) -> list[Block]:
    tests = comparisons_table([result], f"tests-{result.measure}")
    return [Group("Tests against the reference", [tests], closed=True)] if tests else []


def _lengths(result: Result) -> Table:
    """A row for each source, a column for each length."""
    rows = result.tables["lengths"]
    words = sorted({row["words"] for row in rows})
    cells: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        cells.setdefault(row["source"], {})[row["words"]] = row
    sources = sorted(cells, key=lambda name: name != result.reference)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        found = (row["shares"].get(n, {}) for n in words)
        return [
            text_cell(row["source"]),
            *(
                interval_cell(one.get("failing"), one.get("low"), one.get("high"), ".1%")
                for one in found
            ),
        ]

    return Table(
        "originality-lengths",
        "Failing sentences",
        [
            Column("source"),
            *(
                Column(f"{n}+", "right", ("words",), (f"{n}", f"{n}_low", f"{n}_high"))
                for n in words
            ),
        ],
        [{"source": source, "shares": cells[source]} for source in sources],
        make,
        said="The share of sentences that would fail if only fragments of at least so many words "
        "counted.",
        by="source",
        reference=result.reference,
    )


def _citations(result: Result) -> Table:
    rows = sorted(result.tables["citations"], key=lambda row: -(row.get("words") or 0))
    authors = any(row["author"] for row in rows)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [
            text_cell(row["source"]),
            text_cell(row["id"]),
            number_cell(row.get("words")),
            text_cell(row.get("fragment")),
            text_cell(row["document"]),
            *([text_cell(row["author"])] if authors else []),
        ]

    return Table(
        "originality-citations",
        "Fragments that need a citation",
        [
            Column("source"),
            Column("text"),
            Column("words", "right"),
            Column("fragment"),
            Column("document"),
            *([Column("author")] if authors else []),
        ],
        rows,
        make,
        by="source",
    )


def _copied(result: Result) -> Table:
    rows = sorted(result.tables["copied"], key=lambda row: -row["words"])
    authors = any(row["author"] for row in rows)

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [
            text_cell(row["source"]),
            text_cell(row["id"]),
            number_cell(row["words"]),
            number_cell(row["count"]),
            text_cell(row["document"]),
            *([text_cell(row["author"])] if authors else []),
            text_cell(row["match"], longest=_MATCH),
        ]

    columns = [
        *(Column("source"), Column("text")),
        Column("words", "right"),
        Column("times", "right", ("in the corpus",)),
        *(Column("document"), *([Column("author")] if authors else []), Column("match")),
    ]
    return Table("novelty-copied", "The longest copied runs", columns, rows, make, by="source")


def _ground_truth(result: Result) -> Facts | None:
    """What the verdicts rest on; the rows of every facet are the same."""
    if not result.tables.get("ground_truth"):
        return None
    held = result.tables["ground_truth"][0]
    facts = [
        ("size", f"{held['documents']:,} documents, {held['words']:,} words"),
        (
            "sources",
            f"{held['sources']:,}: {held['authors']:,} authors, "
            f"{held['documents_without_author']:,} documents without one",
        ),
    ]
    unseen = {row["length"]: row["unseen"] for row in result.tables.get("incompleteness", ())}
    missing = [
        f"{unseen[n]:.0%} of those of {name} words"
        for n, name in _NUMBERS.items()
        if defined(unseen.get(n))
    ]
    if missing:
        facts.append(
            (
                "missing",
                f"of the fragments of further texts like it {', '.join(missing)} (estimate)",
            )
        )
    merged = [
        " = ".join(row["spellings"])
        for row in result.tables.get("merged_authors", ())
        if row["author"]
    ]
    if merged:
        more = f"; and {len(merged) - _MERGED:,} more" if len(merged) > _MERGED else ""
        facts.append(("one author", "; ".join(dict.fromkeys(merged[:_MERGED])) + more))
    return Facts(facts)
