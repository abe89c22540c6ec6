"""One self-contained page: the whole picture, to be sent to a colleague.

It needs no network and asks for none: the policy in its head allows our own style and script, by
their hashes, and pictures that are in the page; nothing else, so that nothing from the data acts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from rote.core.errors import OptionError
from rote.core.files import write_atomically
from rote.core.folder import refuse_links
from rote.report import _svg, fragments, markdown
from rote.report.figures.draw import panel_figure
from rote.report.report import Block, Figure, Group, Report, Section
from rote.report.sections import sections
from rote.report.sections._figures import drawable
from rote.report.sections.about import lead, made
from rote.report.sections.results import in_panel
from rote.report.tables.sheet import Sheet
from rote.report.tables.verdicts import verdict_sheet
from rote.report.tables.written import sheet_as_csv, sheet_as_latex, values_as_csv, values_as_latex
from rote.report.verdicts import Verdicts


def html_page(study: Report) -> str:
    """The study as one page."""
    return of_sections(study, sections(study))


def of_sections(study: Report, shown: Sequence[Section]) -> str:
    """The same of sections that were made already."""
    style, script = fragments.style(), fragments.script()
    page = fragments.environment().get_template("report.html")
    written = page.render(
        study=study,
        lead=lead(study),
        made=made(study),
        sections=fragments.of_sections(shown),
        # Markup: our own files, which the hashes below stand for.
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )
    return str(written)


def policy(style: str, script: str) -> str:
    """What the page may do."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_hash(style)}'",
            f"script-src 'sha256-{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


PAGE = "report.html"
_TABLES, _FIGURES = "tables", "figures"


def write_folder(study: Report, path: Path) -> list[Path]:
    """Write everything; what was written, in order."""
    if path.exists() and not path.is_dir():
        raise OptionError(f"{path} is a file: name a folder, which need not exist")
    refuse_links((path / _TABLES, path / _FIGURES))
    for folder in (path, path / _TABLES, path / _FIGURES):
        folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in contents(study):
        data = content.encode("utf-8", "replace") if isinstance(content, str) else content
        write_atomically(path / name, data)
        written.append(path / name)
    return written


def contents(study: Report) -> Iterator[tuple[str, str | bytes]]:
    """Every file by name, made one after the other."""
    shown = sections(study)
    every = [block for part in shown for block in _flat(part.blocks)]
    drawn = [*_first_screen(study, shown), *(one for one in every if isinstance(one, Figure))]
    pictures = {figure.id: f"{_FIGURES}/{_name(figure)}.png" for figure in drawn}
    # Half a character cannot be written, but JSON can name it.
    yield "study.json", study.to_json().encode("utf-8", "backslashreplace")
    yield PAGE, of_sections(study, shown)
    yield "report.md", markdown.of_sections(study, shown, pictures)
    yield from _methods(shown)
    for table in (block for block in every if isinstance(block, Sheet)):
        yield f"{_TABLES}/{table.id}.csv", sheet_as_csv(table)
        yield f"{_TABLES}/{table.id}.tex", sheet_as_latex(table)
    measured = [result for result in study.results if result.tables.get("values")]
    if measured:
        yield f"{_TABLES}/all-values.csv", values_as_csv(measured)
    panel = [result for result in measured if in_panel(result)]
    if panel:
        yield f"{_TABLES}/panel.tex", values_as_latex(panel)
    for figure in drawn:
        yield f"{_FIGURES}/{_name(figure)}.svg", _svg.svg_file(figure.spec)
        yield f"{_FIGURES}/{_name(figure)}.png", _svg.png(figure.spec)


def _first_screen(study: Report, shown: Sequence[Section]) -> list[Figure]:
    """The figure of the verdicts, for files; the page draws it by itself."""
    first = [block for part in shown if part.id == "summary" for block in _blocks(part.blocks)]
    if not any(isinstance(block, Verdicts) for block in first):
        return []
    chart = panel_figure([drawable(result) for result in study.results])
    return [Figure("figure-verdicts", "Verdicts", "", _svg.spec(chart))]


def _blocks(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield from _blocks(block.blocks) if isinstance(block, Group) else (block,)


def _methods(shown: Sequence[Section]) -> Iterator[tuple[str, str]]:
    found = next((part for part in shown if part.id == "methods"), None)
    if found:
        yield "methods.md", markdown.methods_text(found)


def _flat(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in _blocks(blocks):
        yield verdict_sheet(block) if isinstance(block, Verdicts) else block


def _name(figure: Figure) -> str:
    return figure.id.removeprefix("figure-")
