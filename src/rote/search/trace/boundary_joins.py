"""Verbatim spans across words that were cut differently, which the index alone would break in two.

Whether a full stop belongs to the word before it (`Mr.`, `Q.`) is decided by capitals and line
breaks too. So where a passage was re-cased or re-wrapped, the text may have `q` and `.` where the
corpus has `q.`, or the other way around. Such a boundary is no difference: the characters are the
same. Where a longest match ends at one, it is followed in the documents themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer, items_of
from rote.index.columns.packed_array import read
from rote.index.counts.lookup import Lookup, as_kernel_array
from rote.index.grams import ABSENT
from rote.index.index import Index
from rote.search.trace.alignment import Numbers

STOP = "."
_ANCHOR = 4
"""Words that a match has at least for its ends to be looked at."""
_PLACES = 50
"""Positions of a match that are looked at."""


@dataclass(frozen=True, slots=True)
class BoundaryJoin:
    """Words `first` to `last` of the texts are positions `start` to `end` of a segment."""

    first: int
    last: int
    segment: int
    start: int
    end: int


def join_boundaries(
    index: Index, layer: Layer, first: Numbers, last: Numbers
) -> list[BoundaryJoin]:
    """The spans that reach across a seam, each with one position; those inside another left out."""
    stops = _FullStops(layer)
    keep = (last - first >= _ANCHOR) & stops.beside(first, last)
    joins: set[BoundaryJoin] = set()
    for segment, lookup in enumerate(index.lookups(layer.name)):
        joins |= stops.follow(lookup, first[keep], last[keep], segment)
    return _drop_nested(joins)


class _FullStops:
    """Where a full stop follows or ends a word of a layer, and how a corpus would cut it."""

    def __init__(self, layer: Layer) -> None:
        self._layer, self._ids = layer, layer.ids
        items = layer.vocabulary
        stop = np.array([item == STOP for item in items], bool)
        ends = np.array([len(item) > 1 and item.endswith(STOP) for item in items], bool)
        # One more at either end of the text, so that looking beyond it finds no full stop.
        padded = np.concatenate((layer.ids, np.full(2, len(items), np.int32)))
        self._stop, self._ends = np.append(stop, False)[padded], np.append(ends, False)[padded]
        # Words that could be one with the full stop behind them, and ones that could be two.
        self._joined = np.unique(layer.ids[self._stop[1 : len(layer.ids) + 1]])
        self._parted = np.flatnonzero(ends)
        self._with = [items[i] + STOP for i in self._joined.tolist()]
        self._without = [items[i][:-1] for i in self._parted.tolist()]
        self._word = int(stop.argmax()) if stop.any() else ABSENT

    def beside(self, first: Numbers, last: Numbers) -> NDArray[np.bool_]:
        """Whether a word with a full stop, or a word and a full stop, stand right beside a span."""
        before = self._ends[first - 1] | self._stop[first - 1]
        behind = self._ends[last] | self._stop[np.minimum(last + 1, len(self._stop) - 1)]
        is_beside: NDArray[np.bool_] = (before & (first > 0)) | behind
        return is_beside

    def follow(
        self, lookup: Lookup, first: Numbers, last: Numbers, segment: int
    ) -> set[BoundaryJoin]:
        """Matches as far as they go in a segment, seams included, where that is further."""
        vocabulary, texts = lookup.column.vocabulary, self._layer.text_ends
        tables = np.full((3, len(self._layer.vocabulary) + 1), ABSENT, np.int32)
        tables[0, :-1] = vocabulary.numbers(self._layer.vocabulary)
        tables[1, self._joined] = vocabulary.numbers(self._with)
        tables[2, self._parted] = vocabulary.numbers(self._without)
        otherwise = self._cut_otherwise(tables, first, last)
        first, last = first[otherwise], last[otherwise]
        items, ends = items_of(first, last)
        low, high = lookup.ranges(tables[0, self._ids[items]], ends)
        positions, behind = items_of(low, np.minimum(high, low + _PLACES))
        which = np.repeat(np.arange(len(first)), np.diff(behind, prepend=0))
        suffixes = lookup.column.suffixes
        assert suffixes is not None
        out = np.empty((len(which), 4), np.int64)
        text = np.searchsorted(texts, first, side="right")
        _follow(
            lookup.parts.ids,
            lookup.parts.ids_bits,
            lookup.parts.last,
            as_kernel_array(self._ids, np.int32),
            tables,
            self._word,
            vocabulary.find(STOP),
            as_kernel_array(
                np.stack((first, last, self._layer.text_starts[text], texts[text])), np.int64
            ),
            which,
            suffixes.order.take(positions),
            out,
        )
        longer = (out[:, 0] < first[which]) | (out[:, 1] > last[which])
        return {BoundaryJoin(a, b, segment, c, d) for a, b, c, d in out[longer].tolist()}

    def _cut_otherwise(
        self, tables: NDArray[np.int32], first: Numbers, last: Numbers
    ) -> NDArray[np.bool_]:
        """Whether the corpus has the words beside a span in their other form at all."""
        ids = np.append(self._ids, np.int32(tables.shape[1] - 1))
        _, as_one, as_two = tables > 0
        behind = np.where(
            self._ends[last], as_two[ids[last]], as_one[ids[last]] & self._stop[last + 1]
        )
        before = np.where(
            self._ends[first - 1],
            as_two[ids[first - 1]],
            as_one[ids[np.maximum(first - 2, 0)]] & self._stop[first - 1] & (first > 1),
        )
        occurs: NDArray[np.bool_] = behind | (before & (first > 0))
        return occurs


@njit(cache=True, nogil=True)
def _follow(data, bits, final, ids, tables, point, stop, spans, which, positions, out):  # type: ignore[no-untyped-def]
    """Follow each match in both directions: from where to where it goes in text and corpus.

    `tables` say of each word of the text which number it has in the corpus, which with a full stop,
    and which without the one that it ends with. A full stop is `point` in the text, `stop` in the
    corpus, where 0 is a document's end.
    """
    same, joined, parted = tables[0], tables[1], tables[2]
    for k in range(len(which)):
        first, last = spans[0, which[k]], spans[1, which[k]]
        low, high = spans[2, which[k]], spans[3, which[k]]
        start, end = positions[k], min(positions[k] + last - first, final)
        while last < high:
            word, item = ids[last], read(data, bits, end)
            if item == 0:
                break
            if same[word] == item:
                last, end = last + 1, end + 1
            elif joined[word] == item and last + 1 < high and ids[last + 1] == point:
                last, end = last + 2, end + 1
            elif parted[word] == item and read(data, bits, end + 1) == stop:
                last, end = last + 1, end + 2
            else:
                break
        while first > low and start > 0:
            word, item = ids[first - 1], read(data, bits, start - 1)
            if item == 0:
                break
            if same[word] == item:
                first, start = first - 1, start - 1
            elif first - 1 > low and joined[ids[first - 2]] == item and word == point:
                first, start = first - 2, start - 1
            elif start > 1 and item == stop and parted[word] == read(data, bits, start - 2):
                first, start = first - 1, start - 2
            else:
                break
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = first, last, start, end


def _drop_nested(joins: set[BoundaryJoin]) -> list[BoundaryJoin]:
    """Those that lie in no other, in order."""
    outermost: list[BoundaryJoin] = []
    for span in sorted(joins, key=lambda s: (s.first, -s.last, s.segment, s.start)):
        before = outermost[-1] if outermost else None
        if (
            before is None
            or span.last > before.last
            or (span.first, span.last) == (before.first, before.last)
        ):
            outermost.append(span)
    return outermost
