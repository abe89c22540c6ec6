"""Texts held against a corpus: what is new in them, what is copied, whose it is."""

from __future__ import annotations

from rote.core.result import Result
from rote.core.table import defined
from rote.report.blocks import Block, Facts, Group, Said, Section, Texts
from rote.report.report import Report
from rote.report.sections._figures import figures
from rote.report.sections._titles import says, title
from rote.report.sections.panel import notes
from rote.report.tables.layout import on_page
from rote.report.tables.sheet import Sheet
from rote.report.tables.values import comparisons_table, key, values_table

_NUMBERS = {2: "two", 3: "three", 4: "four"}
_MERGED = 5


def originality(study: Report) -> Section | None:
    """Which sentences are original, which need a citation, and whose words those are."""
    result = study.result("originality")
    if result is None:
        return None
    blocks: list[Block] = [Said(says(result)), _values(result), *notes(result)]
    tables = on_page(result)
    blocks += [table for table in tables if table.id == "originality-lengths"]
    blocks += _texts(
        study,
        "originality",
        "Sentences and whose words they hold",
        "A solid line: words that need a citation, with their sources below the text; a dotted "
        "line: words that nobody in the corpus has.",
    )
    blocks += [table for table in tables if table.id != "originality-lengths"]
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
        _values(result),
        *notes(result),
        *figures(result).values(),
    ]
    blocks += _texts(
        study,
        "novelty",
        "The longest copied runs, in their texts",
        "Underlined: words that stand in the corpus in the same order; where, below the text.",
    )
    return Section("novelty", "Novelty", [*blocks, *on_page(result), *_tests(result)])


def _texts(study: Report, section: str, title: str, said: str) -> list[Block]:
    found = [one for one in study.evidence if one.section == section]
    return [Texts(f"texts-{section}", title, found, said)] if found else []


def _values(result: Result) -> Sheet:
    return values_table(result, title=title(result))


def _tests(result: Result) -> list[Block]:
    tests = comparisons_table([result], f"tests-{result.measure}", {key(result): title(result)})
    return [Group("Tests against the reference", [tests], closed=True)] if tests else []


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
