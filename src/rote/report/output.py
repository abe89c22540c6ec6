"""A report as one page, as Markdown and as a folder.

The page asks for no network: the policy in its head allows our own style and script, by their
hashes, and pictures that are in the page; nothing from the data acts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.locked_folder import refuse_links
from rote.core.progress import several
from rote.report import fragments, svg
from rote.report.cells import Sheet
from rote.report.charts import draw_panel
from rote.report.export import (
    escape_markdown,
    markdown_code,
    sheet_csv,
    sheet_latex,
    sheet_markdown,
    values_csv,
    values_latex,
)
from rote.report.fragments import mark_texts, select_texts
from rote.report.report import (
    Alerts,
    Block,
    BlockGroup,
    Code,
    Facts,
    Figure,
    FindingList,
    ItemList,
    MarkedTexts,
    Paragraph,
    Report,
    Section,
)
from rote.report.result_tables import verdict_sheet
from rote.report.sections import format_date, is_in_panel, lead_lines, make_sections, shorten_names
from rote.report.texts import content_hash
from rote.report.verdicts import Verdicts


def html_page(study: Report) -> str:
    return render_page(study, make_sections(study))


def render_page(study: Report, sections: Sequence[Section]) -> str:
    """The same of sections that were made already."""
    style, script = map(fragments.page_file, ("report.css", "report.js"))
    page = fragments.environment().get_template("report.html")
    html = page.render(
        study=study,
        lead=lead_lines(study),
        made=format_date(study),
        sections=fragments.render_sections(sections),
        # Markup: our own files, which the hashes below stand for.
        style=Markup(style),
        script=Markup(script),
        policy=content_policy(style, script),
    )
    return str(html)


def content_policy(style: str, script: str) -> str:
    hashes = f"style-src 'sha256-{content_hash(style)}'; script-src 'sha256-{content_hash(script)}'"
    return f"default-src 'none'; {hashes}; img-src data:; base-uri 'none'; form-action 'none'"


PAGE = "report.html"
_TABLES, _FIGURES = "tables", "figures"


def write_folder(study: Report, path: Path) -> list[Path]:
    if path.exists() and not path.is_dir():
        raise OptionError(f"{path} is a file: name a folder (it need not exist)")
    refuse_links((path / _TABLES, path / _FIGURES))
    for folder in (path, path / _TABLES, path / _FIGURES):
        folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in folder_files(study):
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        write_atomically(path / name, data)
        paths.append(path / name)
    return paths


def folder_files(study: Report) -> Iterator[tuple[str, str | bytes]]:
    sections = make_sections(study)
    every = [
        verdict_sheet(block) if isinstance(block, Verdicts) else block
        for part in sections
        for block in _flatten(part.blocks)
    ]
    drawn = [*_verdict_figure(study, sections), *(b for b in every if isinstance(b, Figure))]
    pictures = {figure.id: f"{_FIGURES}/{_figure_name(figure)}.png" for figure in drawn}
    # Half a character cannot be written, but JSON can name it.
    yield "study.json", study.to_json().encode("utf-8", "backslashreplace")
    yield PAGE, render_page(study, sections)
    yield "report.md", render_markdown(study, sections, pictures)
    for part in sections:
        if part.id == "methods":  # alone, for a paper
            lines = [f"# {part.title}", "", *_block_lines(part.blocks, 2, {})]
            yield "methods.md", "\n".join(lines).rstrip() + "\n"
    for table in (block for block in every if isinstance(block, Sheet)):
        yield f"{_TABLES}/{table.id}.csv", sheet_csv(table)
        yield f"{_TABLES}/{table.id}.tex", sheet_latex(table)
    measured = [result for result in study.results if result.tables.get("values")]
    if measured:
        yield f"{_TABLES}/all-values.csv", values_csv(measured)
    panel = [result for result in measured if is_in_panel(result)]
    if panel:
        yield f"{_TABLES}/panel.tex", values_latex(panel)
    for figure in drawn:
        yield f"{_FIGURES}/{_figure_name(figure)}.svg", svg.render_svg(figure.spec)
        yield f"{_FIGURES}/{_figure_name(figure)}.png", svg.render_png(figure.spec)


def _verdict_figure(study: Report, sections: Sequence[Section]) -> list[Figure]:
    first = [block for part in sections if part.id == "summary" for block in _flatten(part.blocks)]
    if not any(isinstance(block, Verdicts) for block in first):
        return []
    chart = draw_panel([shorten_names(result) for result in study.results])
    return [Figure("figure-verdicts", "Verdicts", "", svg.chart_spec(chart))]


def _flatten(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from _flatten(block.blocks) if isinstance(block, BlockGroup) else (block,)


def _figure_name(figure: Figure) -> str:
    return figure.id.removeprefix("figure-")


_MAX_TEXTS = 12
"""Texts with marks of one group; the page has more."""


def render_report_markdown(study: Report) -> str:
    return render_markdown(study, make_sections(study), {})


def render_markdown(study: Report, sections: Sequence[Section], figures: Mapping[str, str]) -> str:
    """Of sections that were made already; `figures` says where the picture of a figure lies."""
    lines = [f"# {escape_markdown(study.title)}", ""]
    lines += [f"{escape_markdown(line)}  " for line in lead_lines(study)]
    lines += [escape_markdown(f"rote {study.version}, {format_date(study)}"), ""]
    for part in sections:
        lines += [f"## {escape_markdown(part.title)}", ""]
        lines += _block_lines(part.blocks, 3, figures)
    return "\n".join(lines).rstrip() + "\n"


def _block_lines(blocks: Sequence[Block], level: int, figures: Mapping[str, str]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Paragraph():
                yield from (escape_markdown(block.text), "")
            case ItemList():
                ends = block.addresses or [""] * len(block.items)
                for item, end in zip(block.items, ends):
                    yield f"- {escape_markdown(item)} {end}".rstrip()
                yield ""
            case Alerts():
                for alert in block.alerts:
                    yield f"- **{escape_markdown(alert.kind)}**: {escape_markdown(alert.text)}"
                yield ""
            case Code():
                yield from ("```", *block.text.splitlines(), "```", "")
            case FindingList():
                yield from (*(f"- {escape_markdown(entry.text)}" for entry in block.statements), "")
            case Facts():
                escape = markdown_code if block.code else escape_markdown
                lines = (f"- {escape_markdown(n)}: {escape(value)}" for n, value in block.facts)
                yield from (*lines, "")
            case Figure():
                title, path = escape_markdown(block.title), figures.get(block.id)
                yield from (f"{'#' * min(level, 6)} {title}", "")
                yield from (f"![{title}]({path})", "") if path else ()
                elsewhere = "" if path else " (The figure is in the report's page and folder.)"
                yield from (escape_markdown(block.says + elsewhere), "")
            case MarkedTexts():
                yield from _text_lines(block, level)
            case Verdicts():
                if path := figures.get("figure-verdicts") if block.id == "verdicts" else None:
                    yield from (f"![{escape_markdown(block.title)}]({path})", "")
                yield from sheet_markdown(verdict_sheet(block), level)
            case Sheet():
                yield from sheet_markdown(block, level)
            case BlockGroup():
                yield from (f"{'#' * min(level, 6)} {escape_markdown(block.title)}", "")
                yield from _block_lines(block.blocks, level + 1, figures)


def _text_lines(texts: MarkedTexts, level: int) -> Iterator[str]:
    """Marked words in bold, the numbers before them in brackets; below, what they stand for."""
    if texts.title:
        yield from (f"{'#' * min(level, 6)} {escape_markdown(texts.title)}", "")
    yield escape_markdown(
        "Marked words are bold; the number before them leads to the list below the text."
    )
    yield ""
    selected = select_texts(texts.evidence)[:_MAX_TEXTS]
    for text in mark_texts(selected):
        yield from (f"**{escape_markdown(text.source)}**, {escape_markdown(text.id)}:", "")
        for paragraph in text.paragraphs:
            yield from ("> " + "".join(_format_run(run) for run in paragraph["runs"]).strip(), ">")
        yield ""
        for entry in text.entries:
            escape = markdown_code if entry.kind == "template" else escape_markdown
            where = "; ".join(_format_source(source) for source in entry.sources)
            yield f"- \\[{entry.number}\\] {escape(entry.label)}" + (f": {where}" if where else "")
        yield ""
    if omitted := len(texts.evidence) - len(selected):
        yield from (f"Not shown: {several(omitted, 'further text')}.", "")


def _format_run(run: Mapping[str, object]) -> str:
    text, places = str(run["text"]), run["places"]
    assert isinstance(places, list)
    start, end = (" " if part.isspace() else "" for part in (text[:1], text[-1:]))
    escaped = escape_markdown(text)
    if not places or not escaped:
        return f"{start}{escaped}{end}" if escaped else start
    numbers = "".join(f"\\[{p['number']}\\] " for p in places if p["first"] and p["number"])
    return f"{start}{numbers}**{escaped}**{end}"


def _format_source(source: Mapping[str, str]) -> str:
    labels = ", ".join(escape_markdown(source[n]) for n in ("document", "author") if source[n])
    match = source["match"] or source["excerpt"]
    return f"{labels}: “{escape_markdown(match)}”" if match else labels
