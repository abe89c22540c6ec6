"""The matches of a query as arrays: put in order, told apart by form, sorted by document.

Tens of thousands of matches are put in order to show fifty of them, so nothing here looks at a
match by itself: texts, ids and strings are read for those alone that are shown or told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.index import query as queries
from rote.index.answers import Place
from rote.index.columns.parts import END
from rote.index.index import Index
from rote.index.places import places_in

Numbers = NDArray[np.int64]
_ITEMS, _WORDS = 16, 10
"""Items beside a match that are read to sort it, and how many words of them are compared."""
_WORD_FRAME = "word"
_FOLDED = ("lower", "word")


@dataclass(frozen=True)
class Matches:
    """Matches [start, end) of the stream of each segment, in the order of the documents."""

    index: Index
    layer: str
    """One that the query reads: its frame is that of the matches."""
    segment: Numbers
    start: Numbers
    end: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def of_segment(self, number: int) -> slice:
        low, high = np.searchsorted(self.segment, [number, number + 1])
        return slice(int(low), int(high))

    def places(self, chosen: NDArray[Any]) -> list[Place]:
        """The chosen matches, in the order given."""
        found: dict[int, Place] = {}
        for number in np.unique(self.segment[chosen]).tolist():
            own = chosen[self.segment[chosen] == number]
            held = places_in(
                self.index.segments[number], number, self.layer, self.start[own], self.end[own]
            )
            found |= dict(zip(own.tolist(), held))
        return [found[match] for match in chosen.tolist()]

    @cached_property
    def documents(self) -> Numbers:
        """The number of each match's document in its segment."""
        found = np.zeros(len(self), np.int64)
        for number, segment in enumerate(self.index.segments):
            own = self.of_segment(number)
            found[own] = segment.frame_of(self.layer).document_of(self.start[own])
        return found

    def holding(self) -> tuple[Numbers, Numbers, Numbers]:
        """The documents with a match, by segment and number, and how many each has."""
        held, counts = np.unique(self.segment << 32 | self.documents, return_counts=True)
        return held >> 32, held & 0xFFFFFFFF, counts

    # -- orders ------------------------------------------------------------------------------

    def by_document(self) -> Numbers:
        """By the names of the documents."""
        segment, number, _ = self.holding()
        names = [
            self.index.segments[s].documents.id(d)
            for s, d in zip(segment.tolist(), number.tolist())
        ]
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        held = segment << 32 | number
        of = np.searchsorted(held, self.segment << 32 | self.documents)
        return np.argsort(rank[of], kind="stable")

    def by_neighbours(self, side: str) -> Numbers:
        """By the words before each match, the nearest first, or by those after it."""
        if not len(self):
            return np.empty(0, np.int64)
        steps = np.arange(_ITEMS)
        places = self.end[:, None] + steps if side == "right" else self.start[:, None] - 1 - steps
        return np.lexsort(self._words(places).T[::-1])

    def forms(self) -> tuple[list[str], Numbers]:
        """What was matched, capitals folded, and which of these each match is."""
        names: dict[str, int] = {}
        of = np.zeros(len(self), np.int64)
        lengths = self.end - self.start
        for number, segment in enumerate(self.index.segments):
            own = np.arange(len(self))[self.of_segment(number)]
            column = segment.columns[self._read_layer()]
            for length in np.unique(lengths[own]).tolist():
                alike = own[lengths[own] == length]
                grid = self.start[alike][:, None] + np.arange(length)
                ids = column.ids.take(grid.ravel()).reshape(grid.shape)
                first, which = _alike(ids, column.ids.bits)
                read = [self._form(place) for place in self.places(alike[first])]
                numbers = [names.setdefault(form, len(names)) for form in read]
                of[alike] = np.array(numbers, np.int64)[which]
        return list(names), of

    def _form(self, place: Place) -> str:
        return " ".join(self.index.context(place, 0).match.lower().split())

    def _read_layer(self) -> str:
        """A layer with the items of the matches that folds capitals, if there is one."""
        if self.layer in self.index.segments[0].frames and self.layer != _WORD_FRAME:
            return self.layer
        return next(name for name in (*_FOLDED, self.layer) if name in self.index.layers)

    def _words(self, places: Numbers) -> Numbers:
        """The words at some places of each match as ranks of their strings; 0 where there is none.

        Marks are passed over, and what lies beyond the document's end.
        """
        layer = self._read_layer()
        read: list[tuple[slice, Numbers, list[str]]] = []
        for number, segment in enumerate(self.index.segments):
            own, column = self.of_segment(number), segment.columns[layer]
            here = places[own]
            inside = (here >= 0) & (here < len(column.ids))
            ids = column.ids.take(np.where(inside, here, 0).ravel()).reshape(here.shape)
            ids[~inside] = END
            ids *= np.cumprod(ids != END, axis=1)
            known, which = np.unique(ids, return_inverse=True)
            strings = [column.vocabulary[i] if i != END else "" for i in known.tolist()]
            read.append((own, which.reshape(here.shape), strings))
        ranks = _ranks([strings for _, _, strings in read])
        found = np.zeros(places.shape, np.int64)
        for (own, which, _), rank in zip(read, ranks):
            found[own] = rank[which]
        # Words in front, in their order.
        order = np.argsort(found == 0, axis=1, kind="stable")
        return np.take_along_axis(found, order, axis=1)[:, :_WORDS]


def find(index: Index, parsed: queries.Query, memos: Sequence[queries.Memo], limit: int) -> Matches:
    """The first matches of a query, in the order of the documents."""
    layer = parsed.layers[0]
    starts, ends, segments = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [0]
    for number, segment in enumerate(index.segments):
        start, end = queries.find(
            parsed,
            segment.columns,
            sentence_last=segment.frame_of(layer).sentence_last,
            limit=limit,
            memo=memos[number],
        )
        starts.append(start)
        ends.append(end)
        segments.append(len(start))
        limit -= len(start)
    which = np.repeat(np.arange(len(index.segments)), segments[1:])
    return Matches(index, layer, which, np.concatenate(starts), np.concatenate(ends))


def _alike(rows: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """The first of each different row, and which of them each row is."""
    if rows.shape[1] * bits < 64:
        # As one number each they are told apart far faster.
        rows = (rows << bits * np.arange(rows.shape[1])).sum(axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, which.ravel()


def _ranks(strings: Sequence[Sequence[str]]) -> list[Numbers]:
    """The place of each string among all of them, from 1; 0 for what is no word."""
    words = sorted({s for each in strings for s in each if any(map(str.isalnum, s))})
    rank = {word: number for number, word in enumerate(words, 1)}
    return [np.array([rank.get(s, 0) for s in each], np.int64) for each in strings]
