"""The parts of a kept result as HTML; kept too, since drawing the figures takes seconds.

The process that measured draws them, so that the app itself never has to, except for results
that were made elsewhere or by another version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from markupsafe import Markup

from rote.report.fragments import Fragment, blocks, of_sections
from rote.report.report import Alerts, Block, Found, Report, Section
from rote.report.sections import sections
from rote.report.tables.sheet import Sheet
from rote.report.verdicts import Verdicts
from rote.web.files import hashed, in_words
from rote.web.store.history import History

_GLANCE = "glance"
_STATEMENTS = 4


def sections_of(history: History, id: str) -> list[Fragment]:
    """All parts, drawn before or now."""
    return [part for part in _drawn(history, id) or _draw(history, id) if part.id != _GLANCE]


def glance_of(history: History, id: str) -> Fragment | None:
    """What there is to be seen at first sight: the verdicts and the main findings.

    None where there is no panel, or where nobody has drawn it yet.
    """
    return next((part for part in _drawn(history, id) or () if part.id == _GLANCE), None)


def _drawn(history: History, id: str) -> list[Fragment] | None:
    kept = history.drawn(id, _maker())
    if kept is None:
        return None
    # They were escaped when they were made, and the store is the app's own.
    return [Fragment(place, title, Markup(html)) for place, title, html in kept]


def _draw(history: History, id: str) -> list[Fragment]:
    shown = sections(_in_words(history.study(id)))
    made = [*_glance(shown), *of_sections(shown)]
    history.keep_drawn(id, _maker(), [(one.id, one.title, str(one.html)) for one in made])
    return made


def _in_words(study: Report) -> Report:
    """With remarks that name fields of the app's forms, in place of the shell's flags."""

    def said(notes: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(in_words, notes))

    results = [
        replace(
            result,
            notes=said(result.notes),
            by_source={
                n: replace(one, notes=said(one.notes)) for n, one in result.by_source.items()
            },
        )
        for result in study.results
    ]
    omitted = [replace(one, reason=in_words(one.reason)) for one in study.omitted]
    return replace(study, results=results, notes=said(study.notes), omitted=omitted)


def _glance(parts: Sequence[Section]) -> list[Fragment]:
    """The report's verdicts, or ranks, and first sentences; alerts where nothing was compared."""
    own = {part.id: part.blocks for part in parts}
    first = own.get("summary", ())
    shown: list[Block] = [one for one in first if isinstance(one, (Verdicts, Sheet))]
    shown = shown or [one for one in first if isinstance(one, Alerts)]
    found = [one for one in first if isinstance(one, Found)]
    said = [replace(one, statements=one.statements[:_STATEMENTS]) for one in found]
    return [Fragment(_GLANCE, "", blocks([*shown, *said]))] if shown else []


@cache
def _maker() -> str:
    """This version of the report: what another has drawn is drawn again."""
    from rote.report import fragments
    from rote.web import files

    held = [*Path(fragments.__file__).parent.rglob("*.*"), Path(files.__file__), Path(__file__)]
    kinds = (".py", ".html", ".css", ".js")
    return hashed(*(one.read_text("utf-8") for one in sorted(held) if one.suffix in kinds))
