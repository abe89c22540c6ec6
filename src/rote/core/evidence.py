"""Texts that show what a measure found: a few of each source, with what matters marked in them.

A record's function `evidence` yields them. The texts that show most, and one drawn at random, so
that the others do not stand for all. Long texts are cut around their marks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.core.facets import is_input
from rote.core.result import Row

LONGEST = 1_200
"""Characters of a text that are shown."""
_CONTEXT = 160
_PLACE_FIELDS = ("document", "author", "before", "match", "after")


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
    """Where it occurs elsewhere: document, author, excerpt, ..."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Mark:
        return cls(**{**data, "sources": tuple(data["sources"])})


@dataclass(frozen=True, slots=True)
class Evidence:
    """One text, or the part of it that matters, with what was found marked in it."""

    section: str
    """The part of the report that it belongs to: templates, originality, repetition, ..."""
    source: str
    id: str
    text: str
    marks: Sequence[Mark]
    cut: bool = False
    """Whether the text was longer than what is shown."""


class EvidenceTexts:
    """The texts as they were read, by source, id and file; at most `count` of each source are to be
    shown, those drawn at random by the seed. `collected` is what the driver has read."""

    def __init__(self, collected: Any, count: int, seed: int) -> None:
        self.count, self.seed = count, seed
        self.sample, self.ids = collected.sample, collected.ids
        self.groups = {s: take.tolist() for s, take in collected.groups.items() if not is_input(s)}
        files = collected.files or [""] * len(self.ids)
        self.numbers = {
            (source, self.ids[text], files[text]): text
            for source, numbers in self.groups.items()
            for text in numbers
        }

    def read(self, number: int) -> str:
        # Half a surrogate pair cannot be written down; a question mark keeps all places.
        return encodable(self.sample.text().string(number))

    def of(self, row: Row) -> str | None:
        number = self.numbers.get((row["source"], row["id"], row.get("file", "")))
        return None if number is None else self.read(number)


def corpus_place(row: Row) -> dict[str, Any]:
    """Where something occurs in the corpus; a long match is shown by its beginning."""
    place = {name: row[name] for name in _PLACE_FIELDS}
    if len(place["match"]) > 2 * _CONTEXT:
        place["match"] = place["match"][: 2 * _CONTEXT] + " …"
        place["after"] = ""
    return {k: encodable(v) if isinstance(v, str) else v for k, v in place.items()}


def encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def group_by_source(rows: Sequence[Row]) -> dict[str, list[Row]]:
    rows_by_source: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_source.setdefault(row["source"], []).append(row)
    return rows_by_source


def cut_evidence(evidence: Evidence, longest: int = LONGEST) -> Evidence:
    """The part of a text that its marks fill most, at word ends where there are any."""
    text, marks = evidence.text, sorted(evidence.marks, key=lambda mark: (mark.start, mark.end))
    if len(text) <= longest:
        return replace(evidence, marks=tuple(marks))
    marked_before = _count_marked(marks)
    first, last = max(
        (_text_window(text, mark.start, longest) for mark in marks),
        key=lambda window: marked_before(window[1]) - marked_before(window[0]),
        default=_text_window(text, 0, longest),
    )
    clipped = [
        replace(mark, start=max(mark.start, first) - first, end=min(mark.end, last) - first)
        for mark in marks
        if mark.start < last and mark.end > first
    ]
    return replace(evidence, text=text[first:last], marks=tuple(clipped), cut=True)


def _text_window(text: str, at: int, longest: int) -> tuple[int, int]:
    """So many characters, beginning a little before a place, which they hold."""
    start = max(0, min(at - _CONTEXT, len(text) - longest))
    if start:
        space = text.find(" ", start, start + _CONTEXT)
        start = space + 1 if space >= 0 and space < at else start
    end = min(len(text), start + longest)
    if end < len(text):
        space = text.rfind(" ", end - _CONTEXT, end)
        end = space if space > at else end
    return start, end


def _count_marked(marks: Sequence[Mark]) -> Callable[[int], int]:
    """A function that counts the characters before a place that lie in one of the marks, which
    begin one after another."""
    starts, ends, before = [0], [0], [0]
    for mark in marks:
        if mark.end > ends[-1]:
            before.append(before[-1] + ends[-1] - starts[-1])
            starts.append(max(mark.start, ends[-1]))
            ends.append(mark.end)

    def marked_before(place: int) -> int:
        last = bisect_right(starts, place) - 1
        return before[last] + min(place, ends[last]) - starts[last]

    return marked_before
