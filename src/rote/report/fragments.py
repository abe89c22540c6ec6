"""Sections of a report as HTML, for the report's page and for the pages of the web app.

Everything is escaped, and every string that is printed is made harmless first (`environment`), so
nothing has to be remembered for a text. There is no inline style, handler or script in what comes
out: `style` and `script` are what the fragments need, to be served or put into the page.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from rote.core.evidence import Evidence, Mark
from rote.core.result import Result
from rote.report import svg
from rote.report.cells import EXPORT_COMMAND, text_cell
from rote.report.charts import draw_facet
from rote.report.export import result_sheets
from rote.report.report import Block, Facts, Figure, ItemList, MarkedTexts, Section
from rote.report.terminal import mask_controls
from rote.report.texts import page_environment
from rote.report.texts.highlight import MarkedPiece, mark_paragraphs
from rote.report.verdicts import MEANING, Verdicts
from rote.report.wording import gather_notes

if TYPE_CHECKING:
    from jinja2 import Environment

KINDS = {
    "template": "a template",
    "cited": "needs a citation",
    "copied": "occurs in the corpus",
    "common": "common property",
    "original": "original: nowhere in the corpus",
}
_LANES, _COLOURS = 8, 8
_LONGEST = 6000
"""Characters of one text on a page."""
_TEXTS, _CHARACTERS, _MARKS = 60, 120_000, 400
"""Of one group of texts on a page, at most."""
_SOURCES, _EXCERPT, _BEGINS = 5, 300, 90
_MOST_FOLDED, _LONGEST_FOLDED = 20_000, 500_000
"""Rows, and characters of HTML, of a table that is on the page as a whole, most of it folded."""


@dataclass(frozen=True, slots=True)
class MarkEntry:
    number: int
    label: str
    kind: str
    look: str
    count: int
    sources: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class MarkedText:
    """One text: its paragraphs, and the entries that it is the first to use."""

    source: str
    id: str
    paragraphs: Sequence[Mapping[str, Any]]
    entries: Sequence[MarkEntry]
    marks: int
    cut: bool
    begins: str


def select_texts(evidence: Sequence[Evidence]) -> list[Evidence]:
    """As many texts as a page can hold, in turn from each source."""
    groups: dict[str, list[Evidence]] = {}
    for text in evidence:
        groups.setdefault(text.source, []).append(text)
    texts: list[Evidence] = []
    remaining = _CHARACTERS
    for text in (text for t in zip_longest(*groups.values()) for text in t if text is not None):
        remaining -= min(len(text.text), _LONGEST)
        if texts and (remaining < 0 or len(texts) == _TEXTS):
            break
        texts.append(text)
    order = {source: place for place, source in enumerate(groups)}
    return sorted(texts, key=lambda text: order[text.source])


def mark_texts(
    evidence: Sequence[Evidence], *, longest: int = _LONGEST, most: int = _MARKS
) -> list[MarkedText]:
    """The texts with their runs; templates have one number in all texts, other marks their own."""
    every = [(text, _clip_marks(text, longest, most)) for text in evidence]
    counts = Counter(_mark_key(mark) for _, marks in every for mark in marks)
    numbers: dict[Any, int] = {}
    excerpts = []
    for place, (text, marks) in enumerate(every):
        keys, entries = {}, []
        for number, mark in enumerate(marks):
            # A number leads somewhere: to a template, or to where the words occur elsewhere.
            if mark.kind != "template" and not mark.sources:
                continue
            key = _mark_key(mark) if mark.kind == "template" else (place, number)
            if key not in numbers:
                numbers[key] = len(numbers) + 1
                entries.append(_make_entry(text, mark, numbers[key], counts[_mark_key(mark)]))
            keys[number] = numbers[key]
        excerpts.append(
            MarkedText(
                source=_shorten(text.source),
                id=_shorten(text.id),
                paragraphs=_mark_paragraphs(text.text[:longest], marks, keys),
                entries=entries,
                marks=len(marks),
                cut=text.cut or len(text.text) > longest,
                begins=text_cell(text.text, longest=_BEGINS).text,
            )
        )
    return excerpts


def _mark_key(mark: Mark) -> tuple[str, str]:
    return mark.label, mark.kind


def _clip_marks(evidence: Evidence, longest: int, most: int) -> list[Mark]:
    end = min(len(evidence.text), longest)
    clipped = [replace(m, start=max(0, m.start), end=min(m.end, end)) for m in evidence.marks]
    inside = [mark for mark in clipped if mark.start < mark.end]
    return sorted(inside, key=lambda mark: (mark.start, mark.end))[:most]


def _make_entry(evidence: Evidence, mark: Mark, number: int, count: int) -> MarkEntry:
    label = mark.label if mark.kind == "template" else evidence.text[mark.start : mark.end]
    sources = [_source_fields(source) for source in list(mark.sources)[:_SOURCES]]
    return MarkEntry(
        number, _shorten(label), mark.kind, _mark_classes(mark.kind, number), count, sources
    )


def _source_fields(source: Mapping[str, Any]) -> dict[str, str]:
    """A place in a corpus; `excerpt` is one piece where before, match and after are not known."""
    fields = {n: _shorten(source.get(n)) for n in ("document", "author", "match", "excerpt")}
    before, after = (str(source.get(name) or "") for name in ("before", "after"))
    # Ends that face the match keep their space.
    fields["before"] = mask_controls(before[-_EXCERPT:]).replace("\n", " ")
    fields["after"] = mask_controls(after[:_EXCERPT]).replace("\n", " ")
    known = {"document", "author", "match", "excerpt", "before", "after", "start", "end"}
    more = {k: v for k, v in source.items() if k not in known and isinstance(v, (str, int, float))}
    fields["more"] = _shorten(", ".join(f"{name} {value}" for name, value in more.items()))
    return fields


def _shorten(text: object) -> str:
    return text_cell(text, longest=_EXCERPT).text


def _mark_classes(kind: str, number: int) -> str:
    """Classes: the kind decides the line, the number the colour of templates."""
    if kind == "template":
        return f"rote-c{(number - 1) % _COLOURS}"
    return f"rote-{kind}" if kind in KINDS else "rote-common"


def _mark_paragraphs(
    text: str, marks: Sequence[Mark], numbers: Mapping[int, int]
) -> list[dict[str, Any]]:
    numbered = [replace(mark, label=str(number)) for number, mark in enumerate(marks)]

    def shown(piece: MarkedPiece, first: bool) -> dict[str, Any]:
        places = []
        for place in piece.places:
            number, kind = numbers.get(int(place.mark.label)), place.mark.kind
            look = {"look": _mark_classes(kind, number or 0), "lane": min(place.lane, _LANES - 1)}
            first_part = place.first and first
            places.append({"number": number, **look, "kind": kind, "first": first_part})
        return {"places": places}

    return mark_paragraphs(text, numbered, shown, lanes=_LANES)


_LARGEST = 400_000
"""Characters of a figure; a larger one goes into the page as a picture."""
LONGEST = 8_000
"""Characters of anything that is printed at once."""
_WIDE = 1250
"""A figure that is a little wider than the page is made to fit; a wider one is moved."""


@dataclass(frozen=True, slots=True)
class HtmlFragment:
    """A section without its own heading; headings inside begin with `<h3>`."""

    id: str
    title: str
    html: Markup


def render_sections(sections: Sequence[Section]) -> list[HtmlFragment]:
    return [HtmlFragment(s.id, s.title, render_blocks(s.blocks)) for s in sections]


def render_blocks(blocks: Sequence[Block]) -> Markup:
    return _render("blocks", blocks, 3)


def render_result(result: Result, across: str = "") -> Markup:
    blocks: list[Block] = [*result_sheets(result, across=across)]
    blocks += [ItemList([f"Note: {note}" for note, _ in gather_notes(result)], quiet=True)]
    blocks += [Facts([("signature", str(result.signature))], code=True)]
    return _add_style(render_blocks(blocks))


def result_page(result: Result, across: str = "") -> str:
    return results_page([result], across)


def results_page(results: Sequence[Result], across: str = "") -> str:
    body = Markup("\n").join(render_result(result, across) for result in results)
    return _make_page(", ".join(result.measure for result in results), body)


def text_page(evidence: Evidence) -> str:
    marked = mark_texts([evidence], longest=len(evidence.text), most=len(evidence.marks))[0]
    title = clean_value(f"{evidence.source}: {evidence.id}")
    heading = Markup("<h2><bdi>{}</bdi></h2>\n").format(title)
    return _make_page(title, _add_style(heading + _render("text", marked, "template", True)))


def _add_style(html: Markup) -> Markup:
    styled = Markup('<style>{}</style>\n<div class="rote-section">\n{}</div>\n')
    return styled.format(Markup(page_file("report.css")), html)


def _make_page(title: str, body: Markup) -> str:
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{}</title></head>\n'
    return Markup(f"{head}<body>{{}}</body></html>\n").format(title, body)


def render_text(evidence: Evidence, *, anchor: str = "text") -> Markup:
    return _render("text", mark_texts([evidence])[0], anchor, True)


@cache
def page_file(name: str) -> str:
    """The style or the script of a report, by the name of its file."""
    return files("rote.report").joinpath("pages", name).read_text("utf-8")


_NUMBER_GAP = re.compile(r"(?<=\d) (?=%)|(?<=\bp) (?=[=<])|(?<=p [=<]) (?=\d)")
"""Where a line must not break: `17 %`, `p = 0.005`."""


@cache
def environment() -> Environment:
    """Templates of `pages/`; whatever they print is harmless, and escaped."""
    from jinja2 import StrictUndefined

    environment = page_environment("rote.report", undefined=StrictUndefined, finalize=clean_value)
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    environment.filters |= {
        "json": _to_json,
        "short": lambda text, n: text if len(text) <= n else text[: n - 1] + "…",
        "unbroken": lambda text: Markup(_NUMBER_GAP.sub("&nbsp;", escape(clean_value(text)))),
    }
    environment.globals.update(drawn=_draw_figure, saved=_draw_for_file, marked=_group_texts)
    environment.globals.update(kinds=KINDS, meaning=MEANING, export_command=EXPORT_COMMAND)
    environment.globals.update(most_folded=_MOST_FOLDED, longest_folded=_LONGEST_FOLDED)
    return environment


def clean_value(value: Any) -> Any:
    """What a template prints: HTML made here, or a text that cannot act, cut where it is huge."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return mask_controls(value if len(value) <= LONGEST else value[:LONGEST] + "…")


def _render(macro: str, *arguments: Any) -> Markup:
    module = environment().get_template("fragments.html").module
    return Markup(getattr(module, macro)(*arguments))


def _to_json(values: Sequence[float | str | None]) -> str:
    """What a script sorts by and copies; undefined is null."""
    plain = [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    return json.dumps(plain, ensure_ascii=False)


def _draw_figure(figure: Figure) -> dict[str, Any]:
    """A figure as SVG, or as a picture where that would be too long for a page."""
    drawing = svg.svg_element(figure.spec, figure.id, figure.title, figure.says)
    if len(drawing) <= _LARGEST:
        fits = svg.figure_width(figure.spec) <= _WIDE
        return {"svg": Markup(drawing), "picture": "", "fits": fits}
    data = base64.b64encode(svg.render_png(figure.spec)).decode()
    return {"svg": "", "picture": Markup(f"data:image/png;base64,{data}"), "fits": False}


_MOST_DRAWN, _LONGEST_DRAWN = 200, 120
"""Comparisons in a figure for files, and characters of a name in it: what is larger takes long to
draw, and nobody can read it."""


def _draw_for_file(verdicts: Verdicts) -> Markup:
    """The figure of verdicts as a file has it; nothing where it would be too long for a page."""
    longest = max(map(len, (*verdicts.sources, verdicts.title)), default=0)
    if not verdicts.drawn or len(verdicts.comparisons) > _MOST_DRAWN or longest > _LONGEST_DRAWN:
        return Markup()
    spec, id = svg.chart_spec(draw_facet(verdicts)), f"{verdicts.id}-file"
    drawing = svg.svg_element(spec, id, verdicts.title, verdicts.reading_note)
    return Markup(drawing if len(drawing) <= _LARGEST else "")


def _group_texts(texts: MarkedTexts) -> dict[str, Any]:
    selected = select_texts(texts.evidence)
    ready = mark_texts(selected)
    groups: dict[str, list[MarkedText]] = {}
    for text in ready:
        groups.setdefault(text.source, []).append(text)
    templates = [e for text in ready for e in text.entries if e.kind == "template"]
    used = {mark.kind for text in selected for mark in text.marks}
    return {
        "groups": groups,
        "templates": templates,
        "kinds": [(kind, meaning) for kind, meaning in KINDS.items() if kind in used],
        "left_out": len(texts.evidence) - len(selected),
    }
