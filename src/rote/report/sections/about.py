"""What a report says of itself: the summary, what was left out, methods, what it all rests on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rote.core.result import Result
from rote.report._tables import Cell, Column, Table, number_cell, text_cell
from rote.report.blocks import Block, Facts, Found, Group, Listed, Said, Section
from rote.report.methods import methods as written
from rote.report.report import Material, Report
from rote.report.sections._titles import key, title
from rote.report.summary import summary as statements
from rote.report.tables._blocks import shown_name

_ROLES = {"texts": "texts", "corpus": "corpus", "train": "training text"}


def lead(study: Report) -> list[str]:
    """What was measured on what, in two lines."""
    texts = [given.facts for given in study.given if given.role == "texts"]
    names = {name for result in study.results for name in result.sources}
    counted = [sum(facts.get(what, 0) for facts in texts) for what in ("texts", "words")]
    size = f"{counted[0]:,} texts ({counted[1]:,} words) of " if all(counted) else ""
    if size and (measured := study.measured()) is not None:
        size = f"{measured:,} of {size}"
    sources = f"{len(names):,} source{'s' * (len(names) != 1)}"
    compared = (
        f"compared with {shown_name(study.reference)}" if study.reference else "without a reference"
    )
    measures = len({title(result) for result in study.results})
    held = [
        f"held against {_ROLES.get(given.role, given.role)} {shown_name(given.name)}"
        for given in study.given
        if given.role != "texts"
    ]
    second = "; ".join([f"{measures} measure{'s' * (measures != 1)}", *held])
    return [f"{size}{sources}, {compared}.", f"{second}."]


def made(study: Report) -> str:
    """When the study was made, for the eye."""
    try:
        time = datetime.fromisoformat(study.made)
    except ValueError:
        return study.made
    zone = f" {time.tzname()}" if time.tzinfo else ""
    return f"{time.day} {time:%B %Y, %H:%M}{zone}"


def summary(study: Report) -> Section | None:
    found = statements(study)
    blocks: list[Block] = [Found(found)] if found else []
    if study.notes:
        blocks.append(Listed(list(study.notes), quiet=True))
    return Section("summary", "Summary", blocks) if blocks else None


def omitted(study: Report) -> Section | None:
    """What was not measured, and what to give so that it would be."""
    if not study.omitted:
        return None

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [text_cell(row["section"]), text_cell(row["reason"], longest=600)]

    rows = [{"section": one.section, "reason": one.reason} for one in study.omitted]
    columns = [Column("part"), Column("why")]
    return Section(
        "omitted", "Left out", [Table("omitted-parts", "What, and why", columns, rows, make)]
    )


def methods(study: Report) -> Section | None:
    found = written(study)
    blocks: list[Block] = [Said(paragraph) for paragraph in found.paragraphs]
    if found.references:
        blocks.append(Group("References", [Listed(found.references)]))
    return Section("methods", "Methods", blocks) if blocks else None


def provenance(study: Report) -> Section | None:
    """Which data, which tools under which licences, which settings."""
    blocks: list[Block] = []
    if study.given:
        blocks.append(_given(study))
    if sources := _sources(study):
        blocks.append(sources)
    if study.tools:
        blocks.append(_tools(study))
    signatures = [(_named(study, result), str(result.signature)) for result in study.results]
    if signatures:
        blocks.append(
            Group(
                "Signatures",
                [
                    Said(
                        "Two results with the same signature on the same texts are the same "
                        "numbers.",
                        quiet=True,
                    ),
                    Facts(signatures, code=True),
                ],
                closed=True,
            )
        )
    return Section("provenance", "Data, tools and settings", blocks) if blocks else None


def _named(study: Report, result: Result) -> str:
    """A measure by name; where there are two of a kind, with what is different about it."""
    same = [one for one in study.results if one.measure == result.measure]
    return key(result) if len(same) > 1 else result.measure


def _given(study: Report) -> Table:
    def make(row: Mapping[str, Any]) -> list[Cell]:
        given: Material = row["given"]
        facts = "; ".join(
            f"{value:,} {name}" if isinstance(value, (int, float)) else f"{name}: {_short(value)}"
            for name, value in given.facts.items()
            if not isinstance(value, Mapping)
        )
        return [
            text_cell(_ROLES.get(given.role, given.role)),
            text_cell(given.name),
            text_cell(facts),
            text_cell(given.fingerprint),
        ]

    return Table(
        "data",
        "Data",
        [Column("role"), Column("name"), Column("what it holds"), Column("fingerprint", code=True)],
        [{"given": given} for given in study.given],
        make,
    )


def _sources(study: Report) -> Table | None:
    """How much each source of the texts holds, where the study knows."""
    found = [
        {"source": name, **held}
        for given in study.given
        for name, held in _mapping(given.facts.get("sources")).items()
        if isinstance(held, Mapping)
    ]
    if not found:
        return None
    names = [n for n in dict.fromkeys(n for row in found for n in row) if n != "source"]

    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [text_cell(row["source"]), *(_any(row.get(name)) for name in names)]

    return Table(
        "sources",
        "Sources",
        [Column("source"), *(Column(name, "right") for name in names)],
        found,
        make,
        by="source",
        reference=study.reference,
    )


def _tools(study: Report) -> Table:
    def make(row: Mapping[str, Any]) -> list[Cell]:
        return [text_cell(row[name]) for name in ("name", "version", "licence", "use")]

    return Table(
        "tools",
        "Tools and models",
        [Column("name"), Column("version"), Column("licence"), Column("used for")],
        [
            {"name": t.name, "version": t.version, "licence": t.licence, "use": t.use}
            for t in study.tools
        ],
        make,
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _any(value: Any) -> Cell:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number_cell(value) if plain or value is None else text_cell(value)


def _short(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
