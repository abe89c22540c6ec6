"""Sections of a report as HTML, for the report's page and for the pages of the web app.

Everything is escaped, and every string that is printed is made harmless first (`environment`), so
nothing has to be remembered for a text. There is no inline style, handler or script in what comes
out: `style` and `script` are what the fragments need, to be served or put into the page.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rote.core.result import Result
from rote.report import _marks, _svg
from rote.report.blocks import Block, Facts, Figure, Listed, Section, Texts
from rote.report.report import Evidence, Report
from rote.report.sections import sections
from rote.report.tables.markdown import shown_tables
from rote.report.tables.sheet import Sheet
from rote.report.terminal import readable

if TYPE_CHECKING:
    from jinja2 import Environment

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


def of_report(study: Report) -> list[Fragment]:
    """Every section that the study has something for, in order."""
    return of_sections(sections(study))


def of_sections(shown: Sequence[Section]) -> list[Fragment]:
    """The same of sections that were made already."""
    return [Fragment(one.id, one.title, blocks(one.blocks)) for one in shown]


def blocks(shown: Sequence[Block]) -> Markup:
    return _rendered("blocks", shown, 3)


def table(shown: Sheet, *, level: int = 3) -> Markup:
    return _rendered("table", shown, level)


def of_result(result: Result) -> Markup:
    """A result by itself, with its style: values, further tables, tests, what must be known."""
    shown: list[Block] = [*shown_tables(result)]
    notes = [*result.notes, *(n for found in result.sources.values() for n in found.notes)]
    shown += [Listed([f"Note: {note}" for note in dict.fromkeys(notes)], quiet=True)]
    shown += [Facts([("signature", str(result.signature))], code=True)]
    return _styled(blocks(shown))


def result_page(result: Result) -> str:
    """The same as a page of its own."""
    return _page(result.measure, of_result(result))


def text_page(evidence: Evidence) -> str:
    """A whole text with its marks, as a page of its own."""
    whole = _marks.shown([evidence], longest=len(evidence.text), most=len(evidence.marks))[0]
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
    return _rendered("text", _marks.shown([evidence])[0], anchor, True)


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
    made.globals |= {"drawn": _drawn, "marked": _marked, "kinds": _marks.KINDS}
    return made


def printed(value: Any) -> Any:
    """What a template prints: HTML made here as it is, any text without what acts on a page.

    A name may be a megabyte long and stand in a hundred places: it is cut, and says so.
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


def _marked(shown: Texts) -> dict[str, Any]:
    """The texts that there is room for, by source."""
    taken = _marks.chosen(shown.evidence)
    ready = _marks.shown(taken)
    groups: dict[str, list[_marks.Shown]] = {}
    for one in ready:
        groups.setdefault(one.source, []).append(one)
    templates = [e for one in ready for e in one.entries if e.kind == "template"]
    found = {mark.kind for one in taken for mark in one.marks}
    return {
        "groups": groups,
        "templates": templates,
        "kinds": [(kind, said) for kind, said in _marks.KINDS.items() if kind in found],
        "left_out": len(shown.evidence) - len(taken),
    }


def _file(name: str) -> str:
    return files("rote.report").joinpath("pages", name).read_text("utf-8")
