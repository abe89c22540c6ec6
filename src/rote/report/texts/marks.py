"""Marks in a text, for terminal, report, pages and app: one type, and one way to cut a text.

Marks that overlap lie in different lanes, so that each can be seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rote.report.terminal import readable

LINES = re.compile(r"\n")
BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of a text (character offsets) and what it shows."""

    start: int
    end: int
    label: str = ""
    kind: str = ""
    """Whose pattern it is; or template, cited, common, original, or copied (a run of words that the
    corpus holds)."""
    sources: Sequence[Mapping[str, Any]] = ()
    """Where it stands elsewhere: document, author, excerpt, ..."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mark:
        return cls(**{**data, "sources": tuple(data["sources"])})


@dataclass(frozen=True, slots=True)
class Place:
    """A mark where it passes under a piece of a text, in its lane."""

    mark: Mark
    lane: int
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of a text that lie in the same marks; the pieces together are the text."""

    start: int
    end: int
    text: str
    places: tuple[Place, ...]


def in_lanes(text: str, marks: Sequence[Mark]) -> list[tuple[Mark, int]]:
    """The marks from left to right, each in the first lane that is free."""
    for mark in marks:
        if not 0 <= mark.start < mark.end <= len(text):
            raise ValueError(f"{mark} is not a part of a text of {len(text)} characters")
    placed, ends = [], list[int]()
    for mark in sorted(marks, key=lambda m: (m.start, -m.end, m.label, m.kind)):
        lane = next((lane for lane, end in enumerate(ends) if end <= mark.start), len(ends))
        ends[lane : lane + 1] = [mark.end]
        placed.append((mark, lane))
    return placed


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """The text cut wherever a mark begins or ends, each part with the marks it lies in."""
    placed = in_lanes(text, marks)
    cuts = sorted({0, len(text), *(c for mark, _ in placed for c in (mark.start, mark.end))})
    found, active, following = [], list[tuple[Mark, int]](), 0
    for start, end in pairwise(cuts):
        active = [(mark, lane) for mark, lane in active if mark.end > start]
        while following < len(placed) and placed[following][0].start == start:
            active.append(placed[following])
            following += 1
        places = (Place(m, lane, m.start == start, m.end == end) for m, lane in active)
        ordered = tuple(sorted(places, key=lambda place: place.lane))
        found.append(Piece(start, end, text[start:end], ordered))
    return found


def paragraphs(
    text: str,
    marks: Sequence[Mark],
    shown: Callable[[Piece, bool], Mapping[str, Any]],
    *,
    between: re.Pattern[str] = LINES,
    lanes: int = 1_000,
) -> list[dict[str, Any]]:
    """The pieces of each paragraph as a page shows them, and how many lanes it needs.

    `shown` gives what a page has to know of a piece, and hears whether it is the piece's first
    part: a piece that goes over paragraphs has one in each. At most so many `lanes` are counted.
    """
    found: list[dict[str, Any]] = [{"runs": [], "lanes": 0}]
    for piece in pieces(text, marks):
        first = True
        deepest = max((min(place.lane + 1, lanes) for place in piece.places), default=0)
        for number, part in enumerate(between.split(readable(piece.text))):
            if number:
                found.append({"runs": [], "lanes": 0})
            if part:
                found[-1]["lanes"] = max(found[-1]["lanes"], deepest)
                found[-1]["runs"].append({"text": part, **shown(piece, first)})
                first = False
    return [paragraph for paragraph in found if paragraph["runs"]]
