"""What a report says of itself: the summary, what was left out, methods, what it all rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from rote.core.facets import EACH, is_input
from rote.core.progress import several
from rote.core.registry import title_of
from rote.core.result import Result
from rote.core.table import Column
from rote.report._grid import key
from rote.report.methods import methods as written
from rote.report.report import (
    Alerts,
    Block,
    Code,
    Facts,
    Found,
    Group,
    Listed,
    Material,
    Report,
    Said,
    Section,
)
from rote.report.summary import summarize
from rote.report.summary.alerts import alerts
from rote.report.tables.sheet import Sheet, columns_of, of_rows, shown_name
from rote.report.tables.verdicts import rank_sheet, verdict_sheet
from rote.report.verdicts import Verdicts, verdicts

_TOOL = [Column("name"), Column("version"), Column("licence"), Column("use", "used for")]
_ROLES = {"texts": "texts", "corpus": "corpus", "train": "training text"}


def lead(study: Report) -> list[str]:
    """What was measured on what, in two lines."""
    names = {name for result in study.results for name in result.by_source}
    size = _measured(study)
    sources = several(len(names), "source")
    compared = "without a reference"
    if study.reference:
        other = "each other" if study.reference == EACH else shown_name(study.reference)
        compared = f"compared with {other}"
    measures = len({title_of(result) for result in study.results})
    held = [
        f"held against {_ROLES.get(given.role, given.role)} {shown_name(given.name)}"
        for given in study.given
        if given.role != "texts"
    ]
    second = "; ".join([several(measures, "measure"), *held])
    return [f"{size}{sources}, {compared}.", f"{second}."]


def _measured(study: Report) -> str:
    """`240 texts (199,321 words) of `: what was measured, by whatever measured most."""
    facets = verdicts(study.results)
    texts, words = (
        sum(
            getattr(facet, what)[name]
            for facet in facets
            for name in getattr(facet, what)
            if not is_input(name)
        )
        for what in ("texts", "words")
    )
    if not texts or any("within" in dict(one.signature.settings) for one in study.results):
        return ""
    given = [one.facts for one in study.given if one.role == "texts"]
    whole = [sum(facts.get(what, 0) for facts in given) for what in ("texts", "words")]
    if all(whole) and texts >= whole[0]:
        texts, words = whole
    count = several(texts, "text")
    if texts < whole[0]:
        count = f"{texts:,} of {several(whole[0], 'text')}"
    return f"{count} ({several(words, 'word')}) of "


def made(study: Report) -> str:
    """When the study was made, for the eye."""
    try:
        time = datetime.fromisoformat(study.made)
    except ValueError:
        return study.made
    zone = f" {time.tzname()}" if time.tzinfo else ""
    return f"{time.day} {time:%B %Y, %H:%M}{zone}"


def summary(study: Report) -> Section | None:
    """The verdicts and a few sentences; on demand all the rest."""
    found = summarize(study)
    first, *others = [_shown(one) for one in found.verdicts if one.drawn] or [[]]
    blocks: list[Block] = [*first]
    if found.statements:
        blocks.append(Found(found.opening()))
    if known := alerts(study, found.verdicts):
        blocks.append(Alerts(known))
    more: list[Block] = [block for own in others for block in own]
    if rest := found.rest():
        more.append(Found(rest))
    if more:
        blocks.append(Group("More on what was found", more, closed=True))
    return Section("summary", "Summary", blocks) if blocks else None


def _shown(found: Verdicts) -> list[Block]:
    """The figure of a facet with a reference; else ranks, and the pairs folded."""
    if found.reference is not None:
        return [found]
    unequal = [Said(found.said_unequal, quiet=True)] if found.said_unequal else []
    pairs = Group("Pairs of sources", [verdict_sheet(found)], closed=True)
    return [rank_sheet(found), *unequal, pairs]


def omitted(study: Report) -> Section | None:
    """What was not measured, and what to give so that it would be."""
    if not study.omitted:
        return None

    rows = [{"part": one.section, "why": one.reason} for one in study.omitted]
    columns = [Column("part"), Column("why")]
    return Section(
        "omitted", "Left out", [of_rows("omitted-parts", "What, and why", columns, rows)]
    )


def methods(study: Report) -> Section | None:
    found = written(study)
    blocks: list[Block] = [Said(paragraph) for paragraph in found.paragraphs]
    if found.references:
        works: list[Block] = [
            Listed(found.references, addresses=found.addresses),
            Code(found.bibtex),
        ]
        blocks.append(Group("References", works, closed=True))
    return Section("methods", "Methods", blocks) if blocks else None


def provenance(study: Report) -> Section | None:
    """Which data, which tools under which licences, which settings."""
    blocks: list[Block] = [_given(study)] if study.given else []
    if sources := _sources(study):
        blocks.append(sources)
    if study.tools:
        rows = [
            {column.field: getattr(tool, column.field) for column in _TOOL} for tool in study.tools
        ]
        blocks.append(of_rows("tools", "Tools and models", _TOOL, rows))
    if study.results:
        said = "Two results with the same signature on the same texts are the same numbers."
        signatures = Facts([(_named(study, r), str(r.signature)) for r in study.results], code=True)
        blocks.append(Group("Signatures", [Said(said, quiet=True), signatures], closed=True))
    return Section("provenance", "Data, tools and settings", blocks) if blocks else None


def _named(study: Report, result: Result) -> str:
    """A measure by name; where there are two of a kind, with what is different about it."""
    same = [one for one in study.results if one.measure == result.measure]
    return key(result) if len(same) > 1 else result.measure


def _given(study: Report) -> Sheet:
    rows = [
        {
            "role": _ROLES.get(given.role, given.role),
            "name": given.name,
            "holds": "; ".join(_facts(given)),
            "fingerprint": given.fingerprint,
        }
        for given in study.given
    ]
    columns = [Column("role"), Column("name"), Column("holds", "what it holds")]
    return of_rows("data", "Data", [*columns, Column("fingerprint", kind="code")], rows)


def _facts(given: Material) -> Iterator[str]:
    for name, value in given.facts.items():
        if isinstance(value, (int, float)):
            yield f"{value:,} {name}"
        elif isinstance(value, (list, tuple)):
            yield f"{name}: {', '.join(map(str, value))}"
        elif not isinstance(value, Mapping):
            yield f"{name}: {value}"


def _sources(study: Report) -> Sheet | None:
    """How much each source of the texts holds, where the study knows."""
    known = [given.facts.get("sources") for given in study.given]
    found = [
        {"source": name, **held}
        for sources in known
        for name, held in (sources.items() if isinstance(sources, Mapping) else ())
        if isinstance(held, Mapping)
    ]
    if not found:
        return None
    return of_rows(
        "sources", "Sources", columns_of(found), found, by="source", reference=study.reference
    )
