"""Sections of a report as HTML, for the report's page and for the pages of the web app.

Everything is escaped, and every string that is printed is made harmless first (`environment`), so
nothing has to be remembered for a text. There is no inline style, handler or script in what comes
out: `style` and `script` are what the fragments need, to be served or put into the page.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rote.core.result import Result
from rote.report import _svg
from rote.report.notes import gathered
from rote.report.report import Block, Evidence, Facts, Figure, Listed, Section, Texts
from rote.report.tables.sheet import EXPORT_COMMAND, Sheet, text_cell
from rote.report.tables.written import shown_tables
from rote.report.terminal import harmless, readable
from rote.report.texts.highlight import Mark, Piece, paragraphs
from rote.report.verdicts import MEANING, Verdicts

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
class Entry:
    """What a number in a text stands for."""

    number: int
    label: str
    kind: str
    look: str
    count: int
    sources: Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Shown:
    """One text: its paragraphs, and the entries that it is the first to use."""

    source: str
    id: str
    paragraphs: Sequence[Mapping[str, Any]]
    entries: Sequence[Entry]
    marks: int
    cut: bool
    begins: str


def chosen(evidence: Sequence[Evidence]) -> list[Evidence]:
    """As many texts as a page can hold, in turn from each source."""
    groups: dict[str, list[Evidence]] = {}
    for one in evidence:
        groups.setdefault(one.source, []).append(one)
    found: list[Evidence] = []
    left = _CHARACTERS
    for one in (one for turn in zip_longest(*groups.values()) for one in turn if one is not None):
        left -= min(len(one.text), _LONGEST)
        if found and (left < 0 or len(found) == _TEXTS):
            break
        found.append(one)
    order = {source: place for place, source in enumerate(groups)}
    return sorted(found, key=lambda one: order[one.source])


def marked_texts(
    evidence: Sequence[Evidence], *, longest: int = _LONGEST, most: int = _MARKS
) -> list[Shown]:
    """The texts with their runs; templates have one number in all texts, other marks their own."""
    every = [(one, _kept(one, longest, most)) for one in evidence]
    counts: dict[tuple[str, str], int] = {}
    for _, marks in every:
        for mark in marks:
            counts[_shared(mark)] = counts.get(_shared(mark), 0) + 1
    numbers: dict[Any, int] = {}
    found = []
    for place, (one, marks) in enumerate(every):
        keys = {}
        entries = []
        for number, mark in enumerate(marks):
            # A number leads somewhere: to a template, or to where the words occur elsewhere.
            if mark.kind != "template" and not mark.sources:
                continue
            key = _shared(mark) if mark.kind == "template" else (place, number)
            if key not in numbers:
                numbers[key] = len(numbers) + 1
                entries.append(_entry(one, mark, numbers[key], counts[_shared(mark)]))
            keys[number] = numbers[key]
        paragraphs = _paragraphs(one.text[:longest], marks, keys)
        found.append(
            Shown(
                source=_short(one.source),
                id=_short(one.id),
                paragraphs=paragraphs,
                entries=entries,
                marks=len(marks),
                cut=one.cut or len(one.text) > longest,
                begins=text_cell(one.text, longest=_BEGINS).text,
            )
        )
    return found


def _shared(mark: Mark) -> tuple[str, str]:
    return mark.label, mark.kind


def _kept(one: Evidence, longest: int, most: int) -> list[Mark]:
    """The marks that lie in what is shown, from left to right."""
    end = min(len(one.text), longest)
    clipped = [
        replace(mark, start=max(0, mark.start), end=min(mark.end, end)) for mark in one.marks
    ]
    inside = [mark for mark in clipped if mark.start < mark.end]
    return sorted(inside, key=lambda mark: (mark.start, mark.end))[:most]


def _entry(one: Evidence, mark: Mark, number: int, count: int) -> Entry:
    said = mark.label if mark.kind == "template" else one.text[mark.start : mark.end]
    sources = [_source(source) for source in list(mark.sources)[:_SOURCES]]
    return Entry(number, _short(said), mark.kind, _look(mark.kind, number), count, sources)


def _source(source: Mapping[str, Any]) -> dict[str, str]:
    """A place in a corpus; `excerpt` is one piece where before, match and after are not known."""
    found = {name: _short(source.get(name)) for name in ("document", "author", "match", "excerpt")}
    before, after = (str(source.get(name) or "") for name in ("before", "after"))
    # Ends that face the match keep their space.
    found["before"] = readable(before[-_EXCERPT:]).replace("\n", " ")
    found["after"] = readable(after[:_EXCERPT]).replace("\n", " ")
    known = {"document", "author", "match", "excerpt", "before", "after", "start", "end"}
    more = {k: v for k, v in source.items() if k not in known and isinstance(v, (str, int, float))}
    found["more"] = _short(", ".join(f"{name} {value}" for name, value in more.items()))
    return found


def _short(text: object) -> str:
    whole = "" if text is None else str(text)
    shown = harmless(whole[: 2 * _EXCERPT])
    return shown if len(shown) <= _EXCERPT else shown[: _EXCERPT - 1].rstrip() + "…"


def _look(kind: str, number: int) -> str:
    """Classes: the kind decides the line, the number the colour of templates."""
    if kind == "template":
        return f"rote-c{(number - 1) % _COLOURS}"
    return f"rote-{kind}" if kind in KINDS else "rote-common"


def _paragraphs(
    text: str, marks: Sequence[Mark], numbers: Mapping[int, int]
) -> list[dict[str, Any]]:
    """The runs of each paragraph, and how many lanes it needs."""
    named = [replace(mark, label=str(number)) for number, mark in enumerate(marks)]

    def shown(piece: Piece, first: bool) -> dict[str, Any]:
        return {
            "places": [
                {
                    "number": numbers.get(int(place.mark.label)),
                    "look": _look(place.mark.kind, numbers.get(int(place.mark.label), 0)),
                    "lane": min(place.lane, _LANES - 1),
                    "kind": place.mark.kind,
                    "first": place.first and first,
                }
                for place in piece.places
            ]
        }

    return paragraphs(text, named, shown, lanes=_LANES)


_LARGEST = 400_000
"""Characters of a figure; a larger one goes into the page as a picture."""
LONGEST = 8_000
"""Characters of anything that is printed at once."""
_WIDE = 1250
"""A figure that is a little wider than the page is made to fit; a wider one is moved."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """A section without its own heading; headings inside begin with `<h3>`."""

    id: str
    title: str
    html: Markup


def of_sections(shown: Sequence[Section]) -> list[Fragment]:
    """Every section, in order."""
    return [Fragment(one.id, one.title, blocks(one.blocks)) for one in shown]


def blocks(shown: Sequence[Block]) -> Markup:
    return _rendered("blocks", shown, 3)


def table(shown: Sheet, *, level: int = 3) -> Markup:
    return _rendered("table", shown, level)


def of_result(result: Result) -> Markup:
    """A result by itself, with its style: values, further tables, tests, what must be known."""
    shown: list[Block] = [*shown_tables(result)]
    shown += [Listed([f"Note: {note}" for note, _ in gathered(result)], quiet=True)]
    shown += [Facts([("signature", str(result.signature))], code=True)]
    return _styled(blocks(shown))


def result_page(result: Result) -> str:
    """The same as a page of its own."""
    return _page(result.measure, of_result(result))


def text_page(evidence: Evidence) -> str:
    """A whole text with its marks, as a page of its own."""
    whole = marked_texts([evidence], longest=len(evidence.text), most=len(evidence.marks))[0]
    title = printed(f"{evidence.source}: {evidence.id}")
    heading = Markup("<h2><bdi>{}</bdi></h2>\n").format(title)
    return _page(title, _styled(heading + _rendered("text", whole, "template", True)))


def _styled(shown: Markup) -> Markup:
    styled = Markup('<style>{}</style>\n<div class="rote-section">\n{}</div>\n')
    return styled.format(Markup(style()), shown)


def _page(title: str, body: Markup) -> str:
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{}</title></head>\n'
    return Markup(f"{head}<body>{{}}</body></html>\n").format(title, body)


def marked_text(evidence: Evidence, *, anchor: str = "text") -> Markup:
    """One text with its marks, and below it what the numbers mean."""
    return _rendered("text", marked_texts([evidence])[0], anchor, True)


@cache
def style() -> str:
    return _file("report.css")


@cache
def script() -> str:
    return _file("report.js")


@cache
def environment() -> Environment:
    """Templates of `pages/`; whatever they print is harmless, and escaped."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=printed,
    )
    made.tests["kind"] = lambda block, name: type(block).__name__ == name
    made.filters |= {
        "json": _json,
        "short": lambda text, n: text if len(text) <= n else text[: n - 1] + "…",
    }
    made.globals |= {"drawn": _drawn, "saved": _saved, "marked": _marked, "kinds": KINDS}
    made.globals |= {"meaning": MEANING, "most_folded": _MOST_FOLDED}
    made.globals |= {"longest_folded": _LONGEST_FOLDED, "export_command": EXPORT_COMMAND}
    return made


def printed(value: Any) -> Any:
    """What a template prints: HTML made here as it is, any text without what acts on a page.

    A name may be a megabyte long and occur in a hundred places: it is cut, and says so.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return readable(value if len(value) <= LONGEST else value[:LONGEST] + "…")


def _rendered(macro: str, *given: Any) -> Markup:
    module = environment().get_template("fragments.html").module
    return Markup(getattr(module, macro)(*given))


def _json(values: Sequence[float | str | None]) -> str:
    """What a script sorts by and copies; undefined is null."""
    plain = [None if isinstance(v, float) and not math.isfinite(v) else v for v in values]
    return json.dumps(plain, ensure_ascii=False)


def _drawn(shown: Figure) -> dict[str, Any]:
    """A figure as SVG, or as a picture where that would be too long for a page."""
    made = _svg.svg(shown.spec, shown.id, shown.title, shown.says)
    if len(made) <= _LARGEST:
        return {"svg": Markup(made), "picture": "", "fits": _svg.width(shown.spec) <= _WIDE}
    data = base64.b64encode(_svg.png(shown.spec)).decode()
    return {"svg": "", "picture": Markup(f"data:image/png;base64,{data}"), "fits": False}


_MOST_DRAWN, _LONGEST_DRAWN = 200, 120
"""Comparisons in a figure for files, and characters of a name in it: what is larger takes long to
draw, and nobody can read it."""


def _saved(shown: Verdicts) -> Markup:
    """The figure of verdicts as a file has it; nothing where it would be too long for a page."""
    from rote.report.figures.verdicts import facet_chart

    longest = max(map(len, (*shown.sources, shown.title)), default=0)
    if not shown.drawn or len(shown.comparisons) > _MOST_DRAWN or longest > _LONGEST_DRAWN:
        return Markup()
    made = _svg.svg(_svg.spec(facet_chart(shown)), f"{shown.id}-file", shown.title, shown.said)
    return Markup(made if len(made) <= _LARGEST else "")


def _marked(shown: Texts) -> dict[str, Any]:
    """The texts that there is room for, by source."""
    taken = chosen(shown.evidence)
    ready = marked_texts(taken)
    groups: dict[str, list[Shown]] = {}
    for one in ready:
        groups.setdefault(one.source, []).append(one)
    templates = [e for one in ready for e in one.entries if e.kind == "template"]
    found = {mark.kind for one in taken for mark in one.marks}
    return {
        "groups": groups,
        "templates": templates,
        "kinds": [(kind, said) for kind, said in KINDS.items() if kind in found],
        "left_out": len(shown.evidence) - len(taken),
    }


def _file(name: str) -> str:
    return files("rote.report").joinpath("pages", name).read_text("utf-8")
