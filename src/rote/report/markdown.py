"""The report in Markdown: the same parts, to be read as text or put into a paper's repository."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rote.core.progress import several
from rote.report.fragments import chosen, marked_texts
from rote.report.report import (
    Alerts,
    Block,
    Code,
    Facts,
    Figure,
    Found,
    Group,
    Listed,
    Report,
    Said,
    Section,
    Texts,
)
from rote.report.sections import sections
from rote.report.sections.about import lead, made
from rote.report.tables.sheet import Sheet
from rote.report.tables.verdicts import verdict_sheet
from rote.report.tables.written import code, plain, sheet_as_markdown
from rote.report.verdicts import Verdicts

_TEXTS = 12
"""Texts with marks of one group; the page has more."""


def markdown(study: Report, figures: Mapping[str, str] | None = None) -> str:
    """The study as Markdown; `figures` says where the picture of a figure lies."""
    return of_sections(study, sections(study), figures or {})


def of_sections(study: Report, shown: Sequence[Section], figures: Mapping[str, str]) -> str:
    """The same of sections that were made already."""
    lines = [f"# {plain(study.title)}", ""]
    lines += [f"{plain(line)}  " for line in lead(study)]
    lines += [plain(f"rote {study.version}, {made(study)}"), ""]
    for part in shown:
        lines += [f"## {plain(part.title)}", ""]
        lines += _blocks(part.blocks, 3, figures)
    return "\n".join(lines).rstrip() + "\n"


def methods_text(part: Section) -> str:
    """The methods alone, for a paper."""
    return "\n".join([f"# {part.title}", "", *_blocks(part.blocks, 2, {})]).rstrip() + "\n"


def _blocks(blocks: Sequence[Block], level: int, figures: Mapping[str, str]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Said():
                yield from (plain(block.text), "")
            case Listed():
                ends = block.addresses or [""] * len(block.items)
                lines = (f"- {plain(item)} {end}".rstrip() for item, end in zip(block.items, ends))
                yield from (*lines, "")
            case Alerts():
                lines = (f"- **{plain(one.kind)}**: {plain(one.text)}" for one in block.alerts)
                yield from (*lines, "")
            case Code():
                yield from ("```", *block.text.splitlines(), "```", "")
            case Found():
                yield from (*(f"- {plain(one.text)}" for one in block.statements), "")
            case Facts():
                shown = code if block.code else plain
                yield from (*(f"- {plain(n)}: {shown(value)}" for n, value in block.facts), "")
            case Figure():
                yield from _figure(block, level, figures)
            case Texts():
                yield from _texts(block, level)
            case Verdicts():
                if path := figures.get("figure-verdicts") if block.id == "verdicts" else None:
                    yield from (f"![{plain(block.title)}]({path})", "")
                yield from sheet_as_markdown(verdict_sheet(block), level)
            case Sheet():
                yield from sheet_as_markdown(block, level)
            case Group():
                yield from (f"{'#' * min(level, 6)} {plain(block.title)}", "")
                yield from _blocks(block.blocks, level + 1, figures)


def _figure(figure: Figure, level: int, figures: Mapping[str, str]) -> Iterator[str]:
    yield from (f"{'#' * min(level, 6)} {plain(figure.title)}", "")
    if path := figures.get(figure.id):
        yield from (f"![{plain(figure.title)}]({path})", "")
        yield from (plain(figure.says), "")
    else:
        yield from (
            plain(f"{figure.says} (The figure is in the report's page and folder.)"),
            "",
        )


def _texts(texts: Texts, level: int) -> Iterator[str]:
    """Marked words in bold, the numbers before them in brackets; below, what they stand for."""
    if texts.title:
        yield from (f"{'#' * min(level, 6)} {plain(texts.title)}", "")
    yield plain("Marked words are bold; the number before them leads to the list below the text.")
    yield ""
    taken = chosen(texts.evidence)[:_TEXTS]
    for one in marked_texts(taken):
        yield from (f"**{plain(one.source)}**, {plain(one.id)}:", "")
        for paragraph in one.paragraphs:
            yield from ("> " + "".join(_run(run) for run in paragraph["runs"]).strip(), ">")
        yield ""
        for entry in one.entries:
            shown = code if entry.kind == "template" else plain
            where = "; ".join(_where(source) for source in entry.sources)
            yield f"- \\[{entry.number}\\] {shown(entry.label)}" + (f": {where}" if where else "")
        yield ""
    if left := len(texts.evidence) - len(taken):
        yield from (f"Not shown: {several(left, 'further text')}.", "")


def _run(run: Mapping[str, object]) -> str:
    text, places = str(run["text"]), run["places"]
    assert isinstance(places, list)
    start, end = (" " if part.isspace() else "" for part in (text[:1], text[-1:]))
    shown = plain(text)
    if not places or not shown:
        return f"{start}{shown}{end}" if shown else start
    numbers = "".join(f"\\[{p['number']}\\] " for p in places if p["first"] and p["number"])
    return f"{start}{numbers}**{shown}**{end}"


def _where(source: Mapping[str, str]) -> str:
    named = ", ".join(plain(source[name]) for name in ("document", "author") if source[name])
    match = source["match"] or source["excerpt"]
    return f"{named}: “{plain(match)}”" if match else named
