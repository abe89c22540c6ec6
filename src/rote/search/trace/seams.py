"""Verbatim spans across words that were cut differently, which the index alone would break in two.

Whether a full stop belongs to the word before it (`Mr.`, `Q.`) is decided by capitals and line
breaks too. So where a passage was re-cased or re-wrapped, the text may have `q` and `.` where the
corpus has `q.`, or the other way around. Such a seam is no difference: the characters are the
same. Where a longest match ends at one, it is followed in the documents themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.counting.lookup import Lookup
from rote.index.index import Index
from rote.search.trace.runs import Numbers

STOP = "."
_ANCHOR = 4
"""Words that a match has at least for its ends to be looked at."""
_PLACES = 50
"""Places of a match that are looked at."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Words `first` to `last` of the texts are places `start` to `end` of a segment."""

    first: int
    last: int
    segment: int
    start: int
    end: int


def joined(index: Index, layer: Layer, first: Numbers, last: Numbers) -> list[Joined]:
    """The spans that reach across a seam, each with one place; those inside another left out."""
    words = _Words(layer)
    keep = (last - first >= _ANCHOR) & words.at_seam(first, last)
    found: set[Joined] = set()
    for begin, end in zip(first[keep].tolist(), last[keep].tolist()):
        text = int(np.searchsorted(layer.text_ends, begin, side="right"))
        own = layer.slice(text)
        items = [words.items[i] for i in layer.ids[begin:end].tolist()]
        for segment, lookup in enumerate(index.lookups(layer.name)):
            if not words.cut_otherwise(lookup, begin, end):
                continue
            for place in _places(lookup, items):
                new = _followed(words, lookup, own, (begin, end), place, segment)
                if new.first < begin or new.last > end:
                    found.add(new)
    return _longest(found)


class _Words:
    """The strings of a layer, and where a full stop follows or ends a word."""

    def __init__(self, layer: Layer) -> None:
        self.items: Sequence[str] = layer.vocabulary
        self.ids = layer.ids
        size = len(layer.vocabulary)
        # One more at either end of the text, so that looking beyond it finds no full stop.
        stop = np.array([item == STOP for item in layer.vocabulary], bool)
        ends = np.array([len(i) > 1 and i.endswith(STOP) for i in layer.vocabulary], bool)
        padded = np.concatenate((layer.ids, np.full(2, size, np.int32)))
        self._stop = np.append(stop, False)[padded]
        self._ends = np.append(ends, False)[padded]

    def __getitem__(self, i: int) -> str:
        return str(self.items[self.ids[i]])

    def at_seam(self, first: Numbers, last: Numbers) -> NDArray[np.bool_]:
        """Whether a word with a full stop, or a word and a full stop, stand right beside a span."""
        before = self._ends[first - 1] | self._stop[first - 1]
        behind = self._ends[last] | self._stop[np.minimum(last + 1, len(self._stop) - 1)]
        found: NDArray[np.bool_] = (before & (first > 0)) | behind
        return found

    def cut_otherwise(self, lookup: Lookup, first: int, last: int) -> bool:
        """Whether the corpus has the words beside a span in their other form at all."""
        known = lookup.column.vocabulary.find
        size = len(self.ids)
        if last < size:
            other = self[last][:-1] if self._ends[last] else self[last] + STOP
            if known(other) > 0 and (self._ends[last] or self._stop[last + 1]):
                return True
        if first > 0 and self._ends[first - 1]:
            return known(self[first - 1][:-1]) > 0
        return first > 1 and bool(self._stop[first - 1]) and known(self[first - 2] + STOP) > 0


def _places(lookup: Lookup, items: Sequence[str]) -> list[int]:
    low, high = lookup.range([lookup.column.vocabulary.find(item) for item in items])
    suffixes = lookup.column.suffixes
    assert suffixes is not None
    found: list[int] = suffixes.order.slice(low, min(high, low + _PLACES)).tolist()
    return found


def _followed(
    words: _Words, lookup: Lookup, own: slice, span: tuple[int, int], place: int, segment: int
) -> Joined:
    """A match as far as it goes in both directions, seams included."""
    column = lookup.column

    def held(p: int) -> str:
        # A document's end is the empty string, and so is what lies outside.
        return column.vocabulary[column.ids[p]] if 0 <= p < len(column.ids) else ""

    def word(i: int) -> str:
        return words[i] if own.start <= i < own.stop else ""

    first, last = span
    start, end = place, place + last - first
    while word(last) and held(end):
        if word(last) == held(end):
            last, end = last + 1, end + 1
        elif word(last) + word(last + 1) == held(end) and word(last + 1) == STOP:
            last, end = last + 2, end + 1
        elif held(end) + held(end + 1) == word(last) and held(end + 1) == STOP:
            last, end = last + 1, end + 2
        else:
            break
    while word(first - 1) and held(start - 1):
        if word(first - 1) == held(start - 1):
            first, start = first - 1, start - 1
        elif word(first - 2) + word(first - 1) == held(start - 1) and word(first - 1) == STOP:
            first, start = first - 2, start - 1
        elif held(start - 2) + held(start - 1) == word(first - 1) and held(start - 1) == STOP:
            first, start = first - 1, start - 2
        else:
            break
    return Joined(first, last, segment, start, end)


def _longest(found: set[Joined]) -> list[Joined]:
    """Those that lie in no other, in order."""
    kept: list[Joined] = []
    for span in sorted(found, key=lambda s: (s.first, -s.last, s.segment, s.start)):
        reach = kept[-1] if kept else None
        if reach is None or span.last > reach.last or _same(span, reach):
            kept.append(span)
    return kept


def _same(a: Joined, b: Joined) -> bool:
    return (a.first, a.last) == (b.first, b.last)
