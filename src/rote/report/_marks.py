"""Texts with marks, made ready for a page: runs of characters and the lines below them.

As in `texts/highlight`, marks that overlap lie in lanes. A mark has a number that leads to an
entry below: a template with how often it stands in the texts shown, or a stretch with its sources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from rote.report.report import Evidence
from rote.report.tables.sheet import text_cell
from rote.report.terminal import harmless, readable
from rote.report.texts.marks import Mark, Piece, paragraphs

KINDS = {
    "template": "a template",
    "cited": "needs a citation",
    "copied": "stands in the corpus",
    "common": "common property",
    "original": "original: nowhere in the corpus",
}
_LANES, _COLOURS = 8, 8
_LONGEST = 6000
"""Characters of one text on a page."""
_TEXTS, _CHARACTERS, _MARKS = 60, 120_000, 400
"""Of one group of texts on a page, at most."""
_SOURCES, _EXCERPT, _BEGINS = 5, 300, 90


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


def shown(
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
            # A number leads somewhere: to a template, or to where the words stand elsewhere.
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
