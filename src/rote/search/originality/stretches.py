"""Sorted suffixes in stretches that no match leaves, of one segment or of several together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.packed import Packed
from rote.index.columns.parts import Column, Suffixes
from rote.index.counting.tally import DocumentTable, document_table
from rote.index.segments.segment import Segment
from rote.search.originality import neighbour_kernels as kernels

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
# Suffixes of a stretch: few enough to stay in cache.
SIZE = 1 << 16
# Items compared for each suffix beyond which the order of the text is the faster one.
_BUDGET = 24
# A small segment is never worth the change.
_LEAST_BUDGET = 1 << 16


@dataclass(frozen=True, slots=True)
class Stretch:
    """Suffixes in their order from number `start` on, and what `neighbour_kernels` says of each."""

    start: int
    places: Int64s
    shared: Int32s
    rests: Int32s
    sources: Int32s

    @property
    def stop(self) -> int:
        return self.start + len(self.places)

    def part(self, start: int, stop: int) -> Stretch:
        """Some of its suffixes, counted from its first."""
        own = slice(start, stop)
        columns = (self.places[own], self.shared[own], self.rests[own], self.sources[own])
        return Stretch(self.start + start, *columns)


def empty_stretch(start: int, size: int) -> Stretch:
    """Room for what is to be known of some suffixes."""
    return Stretch(start, np.empty(size, np.int64), *(np.empty(size, np.int32) for _ in range(3)))


def cut(blocks: Iterable[Stretch]) -> Iterator[Stretch]:
    """The same suffixes in pieces that no match leaves; blocks follow each other in the order."""
    held: list[Stretch] = []
    for block in blocks:
        cuts = np.flatnonzero(block.shared < kernels.LEAST)
        if len(cuts) and (held or cuts[-1]):
            yield _joined([*held, block.part(0, int(cuts[-1]))])
            held, block = [], block.part(int(cuts[-1]), len(block.places))
        held.append(block)
    if held:
        yield _joined(held)


def _joined(stretches: Sequence[Stretch]) -> Stretch:
    if len(stretches) == 1:
        return stretches[0]
    parts = [(each.places, each.shared, each.rests, each.sources) for each in stretches]
    places, shared, rests, sources = (np.concatenate(column) for column in zip(*parts))
    return Stretch(stretches[0].start, places, shared, rests, sources)


@dataclass(slots=True)
class Suffixed:
    """One layer of a segment, its sentences, and the source of each of its documents."""

    segment: Segment
    layer: str
    sources: Int32s
    _longest: int | None = None
    _by_place: Int32s = field(default_factory=lambda: np.empty(0, np.int32))
    _compared: int = 0
    """How many shared items `_by_place` tells apart."""
    _work: int = 0
    _lock: Lock = field(default_factory=Lock)
    column: Column = field(init=False)
    sentence_last: Packed = field(init=False)

    def __post_init__(self) -> None:
        self.column = self.segment.columns[self.layer].plain()
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
        kernels.rests_of(self.sentence_last.data, self.column.ids.data, self.column.ids.bits, out)
        return out

    def rests_at(self, places: Int64s) -> Int32s:
        """The same for some places, which hold items."""
        out = np.empty(len(places), np.int32)
        kernels.rests_at(self.sentence_last.data, places, out)
        return out

    def stretches(self, ranges: Iterable[tuple[int, int]] | None = None) -> Iterator[Stretch]:
        """All suffixes, in order, or those of some ranges, each of which no match leaves."""
        for start, end in [(0, len(self.suffixes.order))] if ranges is None else ranges:
            yield from cut(self.blocks(start, end, SIZE, self.longest))

    def blocks(self, start: int, end: int, size: int, most: int) -> Iterator[Stretch]:
        """Suffixes `start` to `end`, so many at a time; they share no more than `most` items.

        The first one shares nothing: no match comes from before it.
        """
        table = document_table(self.column.document_ends)
        for first in range(start, end, size):
            found = empty_stretch(first, min(size, end - first))
            if self._locate(table, most, found) < 0:
                self._compare_in_text_order(most)
                self._locate(table, most, found)
            if first == start:
                found.shared[0] = 0
            yield found

    def _locate(self, table: DocumentTable, most: int, out: Stretch) -> int:
        """Fill in a stretch; gives -1 if its suffixes share too much to be compared."""
        ids, order = self.column.ids, self.suffixes.order
        work = kernels.locate(
            ids.data,
            ids.bits,
            order.data,
            order.bits,
            out.start,
            self._by_place if self._compared >= most else self._by_place[:0],
            most,
            _BUDGET * len(ids) + _LEAST_BUDGET - self._work,
            self.sentence_last.data,
            (table.ends, table.shift, table.first),
            self.sources,
            out.places,
            out.shared,
            out.rests,
            out.sources,
        )
        self._work += max(0, work)
        return int(work)

    def _compare_in_text_order(self, most: int) -> None:
        ids, order = self.column.ids, self.suffixes.order
        with self._lock:  # several threads walk along parts of the order
            if self._compared >= most:
                return
            by_place = np.empty(len(ids), np.int32)
            kernels.compare_in_text_order(
                ids.data, ids.bits, order.data, order.bits, len(order), most, by_place
            )
            self._by_place = by_place
            self._compared = most

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
