"""The matches of a query as arrays: put in order, told apart by form, sorted by document.

Tens of thousands of matches are put in order to show fifty of them, so nothing here looks at a
match by itself: texts, ids and strings are read for those alone that are shown or told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.progress import Advance, Reporter, Silent
from rote.index import query as queries
from rote.index.answers import MatchContext, Occurrence, occurrences_in
from rote.index.columns.layer_column import LayerColumn
from rote.index.grams import END
from rote.index.index import Index

Numbers = NDArray[np.int64]
ITEMS, _WORDS = 16, 10
"""Items beside a match that are read to sort it, and how many words of them are compared."""
_AT_ONCE = 1 << 16
"""Matches whose neighbours are read together."""
_AROUND = 60
"""Characters beside a match of other items than words that are read to sort it."""
_FOLDED = ("lower", "word")


@dataclass(frozen=True)
class MatchArrays:
    """Matches [start, end) of the stream of each segment, in the order of the documents."""

    index: Index
    layer: str
    """One that the query reads: the matches are in its positions."""
    segment: Numbers
    start: Numbers
    end: Numbers

    def __len__(self) -> int:
        return len(self.start)

    def of_segment(self, number: int) -> slice:
        low, high = np.searchsorted(self.segment, [number, number + 1])
        return slice(int(low), int(high))

    def places(self, chosen: NDArray[Any]) -> list[Occurrence]:
        """The chosen matches, in the order given."""
        occurrences: dict[int, Occurrence] = {}
        for number in np.unique(self.segment[chosen]).tolist():
            in_segment = chosen[self.segment[chosen] == number]
            segment_occurrences = occurrences_in(
                self.index.segments[number],
                number,
                self.layer,
                self.start[in_segment],
                self.end[in_segment],
            )
            occurrences |= dict(zip(in_segment.tolist(), segment_occurrences))
        return [occurrences[match] for match in chosen.tolist()]

    @cached_property
    def documents(self) -> Numbers:
        """The number of each match's document in its segment."""
        documents = np.zeros(len(self), np.int64)
        for number, segment in enumerate(self.index.segments):
            in_segment = self.of_segment(number)
            documents[in_segment] = segment.positions_of(self.layer).document_of(
                self.start[in_segment]
            )
        return documents

    def first(self, count: int) -> MatchArrays:
        """The first so many."""
        columns = (self.segment[:count], self.start[:count], self.end[:count])
        return MatchArrays(self.index, self.layer, *columns)

    def only(self, selected: Sequence[NDArray[np.bool_]]) -> MatchArrays:
        """Those in some documents: of each segment which of its documents are kept."""
        chosen = np.zeros(len(self), np.bool_)
        for number, documents in enumerate(selected):
            in_segment = self.of_segment(number)
            chosen[in_segment] = documents[self.documents[in_segment]]
        return MatchArrays(
            self.index, self.layer, self.segment[chosen], self.start[chosen], self.end[chosen]
        )

    def holding(self) -> tuple[Numbers, Numbers, Numbers]:
        """The documents with a match, by segment and number, and how many each has."""
        documents, counts = np.unique(self.segment << 32 | self.documents, return_counts=True)
        return documents >> 32, documents & 0xFFFFFFFF, counts

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
        documents = segment << 32 | number
        of = np.searchsorted(documents, self.segment << 32 | self.documents)
        return np.argsort(rank[of], kind="stable")

    def by_neighbours(self, side: str, reporter: Reporter | None = None, nth: int = 1) -> Numbers:
        """By the words before each match, the nearest first, or by those after it; from the
        `nth` on."""
        if not len(self):
            return np.empty(0, np.int64)
        with (reporter or Silent()).stage("sorting", len(self)) as advance:
            if self._has_own_items():
                return self._by_text(side, nth, advance)
            return np.lexsort(self._words(side, advance)[:, nth - 1 :].T[::-1])

    def forms(self) -> tuple[list[str], Numbers]:
        """What was matched, capitals folded, and which of these each match is."""
        names: dict[str, int] = {}
        of = np.zeros(len(self), np.int64)
        lengths = self.end - self.start
        for number, segment in enumerate(self.index.segments):
            in_segment = np.arange(len(self))[self.of_segment(number)]
            column = segment.columns[self.read_layer()]
            for length in np.unique(lengths[in_segment]).tolist():
                alike = in_segment[lengths[in_segment] == length]
                grid = self.start[alike][:, None] + np.arange(length)
                ids = column.ids.take(grid.ravel()).reshape(grid.shape)
                first, which = unique_rows(ids, column.ids.bits)
                contexts = (self.index.context(place, 0) for place in self.places(alike[first]))
                read = [" ".join(context.match.lower().split()) for context in contexts]
                numbers = [names.setdefault(form, len(names)) for form in read]
                of[alike] = np.array(numbers, np.int64)[which]
        return list(names), of

    def _has_own_items(self) -> bool:
        """Whether the matches are of other items than words: subwords, trees."""
        return self.layer != "word" and self.layer in self.index.segments[0].positions

    def read_layer(self) -> str:
        """A layer with the items of the matches that folds capitals, if there is one."""
        if self._has_own_items():
            return self.layer
        return next(name for name in (*_FOLDED, self.layer) if name in self.index.layers)

    def _by_text(self, side: str, nth: int, advance: Advance) -> Numbers:
        """Beside subwords or trees, too, people look for words: those of the text."""
        keys: list[list[str]] = []
        for first in range(0, len(self), _AT_ONCE):
            block = np.arange(first, min(first + _AT_ONCE, len(self)))
            keys += [
                neighbours(self.index.context(occurrence, _AROUND), side)[nth - 1 :]
                for occurrence in self.places(block)
            ]
            advance(len(block))
        return np.array(sorted(range(len(self)), key=keys.__getitem__), np.int64)

    def _words(self, side: str, advance: Advance) -> Numbers:
        """The nearest words of each match as ranks of their strings; 0 where there are no more.

        Marks are passed over, and what lies beyond the document's end.
        """
        layer = self.read_layer()
        ids = np.zeros((len(self), _WORDS), np.int64)
        strings: list[dict[int, str]] = []
        for number, segment in enumerate(self.index.segments):
            in_segment, column = self.of_segment(number), segment.columns[layer]
            strings.append({})
            seen, is_word = np.zeros((2, len(column.vocabulary)), np.bool_)
            for first in range(in_segment.start, in_segment.stop, _AT_ONCE):
                block = slice(first, min(first + _AT_ONCE, in_segment.stop))
                here = items_beside(column, self.start[block], self.end[block], side)
                read = np.zeros(len(seen), np.bool_)
                read[here] = True
                for item in np.flatnonzero(read & ~seen).tolist():
                    string = column.vocabulary[item] if item != END else ""
                    if any(map(str.isalnum, string)):
                        strings[number][item] = string
                        is_word[item] = True
                seen |= read
                here *= is_word[here]
                # Words in front, in their order.
                order = np.argsort(here == END, axis=1, kind="stable")[:, :_WORDS]
                ids[block] = np.take_along_axis(here, order, axis=1)
                advance(block.stop - block.start)
        rank = {
            word: number
            for number, word in enumerate(
                sorted({w for words_of_segment in strings for w in words_of_segment.values()}), 1
            )
        }
        for number, words in enumerate(strings):
            in_segment = self.of_segment(number)
            table = np.zeros(max(words, default=END) + 1, np.int64)
            table[list(words)] = [rank[word] for word in words.values()]
            ids[in_segment] = table[ids[in_segment]]
        return ids


def find_matches(index: Index, parsed: queries.Query, limit: int | None = None) -> MatchArrays:
    """The first matches of a query, or all of them, in the order of the documents."""
    nothing = np.empty(0, np.int64)
    parts = [(nothing, nothing, nothing)]
    for number, start, end in index.find(parsed, limit):
        parts.append((np.full(len(start), number), start, end))
    segment, starts, ends = (np.concatenate(column) for column in zip(*parts))
    return MatchArrays(index, parsed.layers[0], segment, starts, ends)


def neighbours(context: MatchContext, side: str) -> list[str]:
    """The words next to a match, the nearest first, in lower case."""
    if side == "right":
        return re.findall(r"\w+", context.after.lower())
    return re.findall(r"\w+", context.before.lower())[::-1]


def items_beside(column: LayerColumn, start: Numbers, end: Numbers, side: str) -> Numbers:
    """The items next to matches, the nearest first; from the document's end on nothing else."""
    steps = np.arange(ITEMS)
    occurrences = end[:, None] + steps if side == "right" else start[:, None] - 1 - steps
    inside = (occurrences >= 0) & (occurrences < len(column.ids))
    ids = column.ids.take(np.where(inside, occurrences, 0).ravel()).reshape(occurrences.shape)
    ids[~inside] = END
    ids *= np.cumprod(ids != END, axis=1)
    return ids


def unique_rows(rows: Numbers, bits: int) -> tuple[Numbers, Numbers]:
    """The first of each different row, and which of them each row is."""
    if rows.shape[1] * bits < 64:
        # As one number each they are told apart far faster.
        rows = (rows << bits * np.arange(rows.shape[1])).sum(axis=1)
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, which.ravel()
