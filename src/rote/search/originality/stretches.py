"""A segment's sorted suffixes in stretches that no match leaves, ready for `_reach`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.packed import Packed
from rote.index.columns.parts import Column, Suffixes
from rote.index.counting.tally import document_table, documents_of
from rote.index.segments.segment import Segment
from rote.search.originality import neighbour_kernels as kernels

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
# Suffixes of a stretch: few enough to stay in cache.
_SIZE = 1 << 16
# Items compared for each suffix beyond which the order of the text is the faster one.
_BUDGET = 24
# A small segment is never worth the change.
_LEAST_BUDGET = 1 << 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """Suffixes `start` to `stop` of the order, and what `_neighbours` says of each."""

    start: int
    places: Int64s
    shared: Int32s
    rests: Int32s
    sources: Int32s

    @property
    def stop(self) -> int:
        return self.start + len(self.places)


@dataclass(slots=True)
class Suffixed:
    """One layer of a segment, its sentences, and the source of each of its documents."""

    segment: Segment
    layer: str
    sources: Int32s
    _longest: int | None = None
    _by_place: Int32s | None = None
    _work: int = 0
    column: Column = field(init=False)
    sentence_last: Packed = field(init=False)

    def __post_init__(self) -> None:
        self.column = self.segment.columns[self.layer]
        if self.layer in self.segment.frames and self.layer != "word":
            raise OptionError(
                f"fragments are made of words, and the layer '{self.layer}' has items of its own"
            )
        last = self.segment.frame_of(self.layer).sentence_last
        if last is None:
            raise OptionError(
                "this index does not know where sentences end: it was made without them"
            )
        self.sentence_last = last

    @property
    def suffixes(self) -> Suffixes:
        assert self.column.suffixes is not None  # `Index.lookups` has said so
        return self.column.suffixes

    def rests(self) -> Int32s:
        """For each place how many items there are to its sentence's end; 0 at a document's end."""
        out = np.empty(len(self.column.ids), np.int32)
        ids = self.column.ids
        kernels.rests_of(self.sentence_last.data, kernels.LOWEST_BIT, ids.data, ids.bits, out)
        return out

    def rests_at(self, places: Int64s) -> Int32s:
        """The same for some places, which hold items."""
        out = np.empty(len(places), np.int32)
        kernels.rests_at(self.sentence_last.data, kernels.LOWEST_BIT, places, out)
        return out

    def stretches(self, ranges: Iterable[tuple[int, int]] | None = None) -> Iterator[Stretch]:
        """All suffixes, in order, or those of some ranges, each of which no match leaves."""
        table = document_table(self.column.document_ends)
        order = self.suffixes.order
        for start, end in [(0, len(order))] if ranges is None else ranges:
            size = _SIZE
            while start < end:
                stop = min(start + size, end)
                shared = self._shared(start, stop)
                if stop < end:
                    cuts = np.flatnonzero(shared[1:] < kernels.LEAST)
                    if not len(cuts):
                        size *= 2  # more suffixes than these begin alike
                        continue
                    stop = start + int(cuts[-1]) + 1
                    shared = shared[: stop - start]
                shared[0] = 0
                places, rests = self._located(start, stop)
                sources = self.sources[documents_of(table, places)]
                yield Stretch(start, places, shared, rests, sources)
                start, size = stop, _SIZE

    def _located(self, start: int, stop: int) -> tuple[Int64s, Int32s]:
        places, rests = np.empty(stop - start, np.int64), np.empty(stop - start, np.int32)
        order, last = self.suffixes.order, self.sentence_last
        kernels.locate(order.data, order.bits, start, last.data, kernels.LOWEST_BIT, places, rests)
        return places, rests

    def _shared(self, start: int, stop: int) -> Int32s:
        """What each of these suffixes shares with the one before it."""
        out = np.empty(stop - start, np.int32)
        ids, order = self.column.ids, self.suffixes.order
        parts = (ids.data, ids.bits, order.data, order.bits)
        if self._by_place is None:
            left = _BUDGET * len(self.column.ids) + _LEAST_BUDGET - self._work
            compare: Any = kernels.compare_neighbours
            work = compare(*parts, start, self.longest, left, out)
            if work >= 0:
                self._work += work
                return out
            self._by_place = np.empty(len(self.column.ids), np.int32)
            compare = kernels.compare_in_text_order
            compare(*parts, len(order), self.longest, self._by_place)
        kernels.gather(self._by_place, order.data, order.bits, start, out)
        return out

    @property
    def longest(self) -> int:
        """Items of the longest sentence."""
        if self._longest is None:
            self._longest = int(
                kernels.longest_sentence(
                    self.sentence_last.data, len(self.column.ids), self.column.document_ends
                )
            )
        return self._longest
