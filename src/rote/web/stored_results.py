"""The sections of a stored result as HTML, and its texts with their templates marked.

Sections are stored too, since drawing the figures takes seconds: the process that measured draws
them. The app draws those of results that were made elsewhere or by another version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from markupsafe import Markup

from rote.annotate import annotators
from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.evidence import Evidence, Mark
from rote.core.result import Result
from rote.measure.templates import METRIC
from rote.report import fragments
from rote.report.cells import Sheet
from rote.report.fragments import HtmlFragment, render_blocks, render_sections
from rote.report.report import Alerts, Block, FindingList, Report, Section
from rote.report.sections import across_section, make_sections
from rote.report.verdicts import Verdicts
from rote.web import files
from rote.web.files import Reader, file_name, hash_parts, name_form_fields, read_batches
from rote.web.history import History
from rote.web.workspace import Workspace

_GLANCE = "glance"
_STATEMENTS = 4


def result_sections(history: History, id: str, across: str = "") -> list[HtmlFragment]:
    """All parts, drawn before or now; `across` for the groups side by side by another field."""
    every = _stored_sections(history, id) or _draw_sections(history, id)
    parts = [part for part in every if part.id != _GLANCE]
    if across:
        section = across_section(replace(history.study(id), across=across))
        parts = [part for part in parts if part.id != "across"]
        ids = [part.id for part in parts]
        place = ids.index("panel") + 1 if "panel" in ids else 0
        parts[place:place] = render_sections([section] if section else [])
    return parts


def result_glance(history: History, id: str) -> HtmlFragment | None:
    """The verdicts and main findings; None without a panel, or where they are not drawn yet."""
    return next((part for part in _stored_sections(history, id) or () if part.id == _GLANCE), None)


def _stored_sections(history: History, id: str) -> list[HtmlFragment] | None:
    stored = history.drawn(id, _report_version())
    if stored is None:
        return None
    # They were escaped when they were made, and the store is the app's own.
    return [HtmlFragment(place, title, Markup(html)) for place, title, html in stored]


def _draw_sections(history: History, id: str) -> list[HtmlFragment]:
    sections = make_sections(_name_fields(history.study(id)))
    fragments = [*_make_glance(sections), *render_sections(sections)]
    parts = [(fragment.id, fragment.title, str(fragment.html)) for fragment in fragments]
    history.keep_drawn(id, _report_version(), parts)
    return fragments


def _name_fields(study: Report) -> Report:
    """With remarks that name fields of the app's forms, in place of the shell's flags."""

    def said(notes: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(name_form_fields, notes))

    results = []
    for result in study.results:
        sources = {n: replace(s, notes=said(s.notes)) for n, s in result.by_source.items()}
        results.append(replace(result, notes=said(result.notes), by_source=sources))
    omitted = [replace(s, reason=name_form_fields(s.reason)) for s in study.omitted]
    return replace(study, results=results, notes=said(study.notes), omitted=omitted)


def _make_glance(parts: Sequence[Section]) -> list[HtmlFragment]:
    blocks_by_id = {part.id: part.blocks for part in parts}
    first = blocks_by_id.get("summary", ())
    blocks: list[Block] = [block for block in first if isinstance(block, (Verdicts, Sheet))]
    blocks = blocks or [block for block in first if isinstance(block, Alerts)]
    findings = [block for block in first if isinstance(block, FindingList)]
    shortened = [replace(block, statements=block.statements[:_STATEMENTS]) for block in findings]
    return [HtmlFragment(_GLANCE, "", render_blocks([*blocks, *shortened]))] if blocks else []


@cache
def _report_version() -> str:
    """This version of the report: what another has drawn is drawn again."""
    sources = [*Path(fragments.__file__).parent.rglob("*.*"), Path(files.__file__), Path(__file__)]
    kinds = (".py", ".html", ".css", ".js")
    return hash_parts(*(f.read_text("utf-8") for f in sorted(sources) if f.suffix in kinds))


_MAX_TEXT = 200_000
"""Characters of a text that are shown."""


def find_text(
    files: Mapping[str, Path], id: str, file: str = "", read: Reader = read_batches
) -> Document:
    """The text with this id in this file; without a file, one text alone may have the id."""
    documents: list[Document] = []
    for path in files.values():
        for batch in read(path):
            if not file or file_name(batch.file, files) == file:
                documents += [document for document in batch.documents if document.id == id]
            if documents and (file or (len(files) == 1 and not path.is_dir())):
                return documents[0]
    if len(documents) > 1:
        several = f"several of these files contain a text with the id '{id}'"
        problem = f"{several}, so it is unknown which one it was"
        raise InputError(problem, remedy="Measure them again")
    if not documents:
        raise InputError(
            f"there is no text with the id '{id}' in {file or 'these files'} any more",
            remedy="Were they changed since? Then measure them again",
        )
    return documents[0]


def open_files(opened: Workspace, files: Mapping[str, str]) -> dict[str, Path]:
    """The files of a result, if they are open now: another of the same name will not do."""
    if not files:
        raise InputError("the texts of this result are not here: it was read from a file")
    for key, path in files.items():
        if key not in opened.all_files() or str(opened.file(key)) != path:
            problem = f"'{key}' is not open now, so the text cannot be shown"
            raise InputError(problem, remedy="Start `rote serve` with this file")
    return {key: opened.file(key) for key in files}


def mark_templates(document: Document, source: str, results: Sequence[Result]) -> Evidence:
    text = document.text[:_MAX_TEXT]
    templates = next((result for result in results if result.measure == METRIC.name), None)
    marks = [] if templates is None else _template_marks(text, source, templates)
    cut = len(document.text) > _MAX_TEXT
    return Evidence(METRIC.name, source, document.id, text, marks, cut=cut)


def _template_marks(text: str, source: str, result: Result) -> list[Mark]:
    """The listed templates are looked up; the whole measure need not run again."""
    rows = result.tables.get("templates", ())
    chosen = {row["template"] for row in rows if row["source"] == source}
    layer_name = dict(result.signature.settings).get("layer", "")
    annotator = annotators.get()
    if not chosen or layer_name not in annotator.gives:
        return []
    layer = annotator([Document("0", text)], (layer_name,)).layers[layer_name]
    items, spans = layer.items(0), layer.spans(0)
    lengths = {len(name.split(" ")) for name in chosen}
    marks = []
    for size in sorted(lengths):
        for first in range(len(items) - size + 1):
            name = " ".join(items[first : first + size])
            if name in chosen:
                start, end = spans[first][0], spans[first + size - 1][1]
                marks.append(Mark(start, end, name, "template"))
    return marks
