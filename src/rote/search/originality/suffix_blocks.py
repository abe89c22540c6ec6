"""Sorted suffixes of a segment in blocks that no match leaves.

Three numbers stand beside each suffix: how many items it shares with the one before it, how many
items there are up to its sentence's end (a match ends there), and its source. No fragment is
shorter than two items, so blocks are cut where neighbours share fewer, and no match reaches across
a cut.

Comparing neighbours costs as much as they share. Where much repeats, the shared lengths are found
in the order of the text instead, in linear time (Phi: Kärkkäinen, Manzini, Puglisi 2009), for
four bytes an item. Lengths beyond the longest sentence are all the same to a match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.index.columns.intrinsics import load64, prefetch, trailing_zeros
from rote.index.columns.layer_column import Suffixes
from rote.index.columns.packed_array import PADDING, read
from rote.index.counts.document_counts import DocumentTable, document_of, document_table
from rote.index.segments.segment import Segment

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
# Suffixes of a stretch: few enough to stay in cache.
BLOCK_SIZE = 1 << 16
# Items compared for each suffix beyond which the order of the text is the faster one.
_BUDGET = 24
# A small segment is never worth the change.
_MIN_BUDGET = 1 << 16


@dataclass(frozen=True, slots=True)
class SuffixBlock:
    """Suffixes in their order from number `start` on, and what `_fill_block` says of each."""

    start: int
    places: Int64s
    shared: Int32s
    rests: Int32s
    sources: Int32s

    @property
    def stop(self) -> int:
        return self.start + len(self.places)

    def part(self, start: int, stop: int) -> SuffixBlock:
        """Some of its suffixes, counted from its first."""
        places, some = self.places[start:stop], slice(start, stop)
        columns = (column[some] for column in (self.shared, self.rests, self.sources))
        return SuffixBlock(self.start + start, places, *columns)


def _cut_blocks(blocks: Iterable[SuffixBlock]) -> Iterator[SuffixBlock]:
    """The same suffixes in pieces that no match leaves; blocks follow each other in the order."""
    pending: list[SuffixBlock] = []
    for block in blocks:
        cuts = np.flatnonzero(block.shared < MIN_FRAGMENT)
        if len(cuts) and (pending or cuts[-1]):
            yield _join_blocks([*pending, block.part(0, int(cuts[-1]))])
            pending, block = [], block.part(int(cuts[-1]), len(block.places))
        pending.append(block)
    if pending:
        yield _join_blocks(pending)


def _join_blocks(blocks: Sequence[SuffixBlock]) -> SuffixBlock:
    columns = zip(*((each.places, each.shared, each.rests, each.sources) for each in blocks))
    return SuffixBlock(blocks[0].start, *map(np.concatenate, columns))


class SourcedSegment:
    """One layer of a segment, its sentences, and the source of each of its documents."""

    def __init__(self, segment: Segment, layer: str, sources: Int32s) -> None:
        self.segment, self.sources = segment, sources
        self.column = segment.columns[layer].plain()
        if layer in segment.positions and layer != "word":
            raise OptionError(
                f"fragments are made of words, and the layer '{layer}' has items of its own"
            )
        last = segment.positions_of(layer).sentence_last
        if last is None:
            raise OptionError("this index has no sentence boundaries: it was built without them")
        self.sentence_last = last
        self._shared_by_place: Int32s = np.empty(0, np.int32)
        self._work = 0
        self._lock = Lock()

    @property
    def suffixes(self) -> Suffixes:
        assert self.column.suffixes is not None  # `Index.lookups` has said so
        return self.column.suffixes

    def rests(self) -> Int32s:
        """Per position the number of items to its sentence's end; 0 at a document's end."""
        ids, last = self.column.ids, self.sentence_last.data
        rests: Int32s = _list_rests(last, ids.data, ids.bits, len(ids))
        return rests

    def rests_at(self, positions: Int64s) -> Int32s:
        rests: Int32s = _list_rests_at(self.sentence_last.data, positions)
        return rests

    def cut_ranges(self, ranges: Iterable[tuple[int, int]] | None = None) -> Iterator[SuffixBlock]:
        """All suffixes, in order, or those of some ranges, each of which no match leaves."""
        for start, end in [(0, len(self.suffixes.order))] if ranges is None else ranges:
            yield from _cut_blocks(self._blocks(start, end))

    def _blocks(self, start: int, end: int) -> Iterator[SuffixBlock]:
        """Suffixes `start` to `end`; the first shares nothing: no match comes from before it."""
        table = document_table(self.column.document_ends)
        for first in range(start, end, BLOCK_SIZE):
            size = min(BLOCK_SIZE, end - first)
            places, columns = np.empty(size, np.int64), np.empty((3, size), np.int32)
            block = SuffixBlock(first, places, *columns)
            if self._fill_block(table, block) < 0:
                with self._lock:  # several threads walk along parts of the order
                    if not len(self._shared_by_place):
                        self._shared_by_place = self._compare_in_text_order()
                self._fill_block(table, block)
            if first == start:
                block.shared[0] = 0
            yield block

    def _fill_block(self, table: DocumentTable, block: SuffixBlock) -> int:
        """Fill in a block; gives -1 if its suffixes share too much to be compared."""
        ids, order = self.column.ids, self.suffixes.order
        work = _fill_block(
            (ids.data, ids.bits, order.data, order.bits, block.start),
            self._shared_by_place,
            self.longest,
            _BUDGET * len(ids) + _MIN_BUDGET - self._work,
            self.sentence_last.data,
            (table.ends, table.shift, table.first),
            self.sources,
            (block.places, block.shared, block.rests, block.sources),
        )
        self._work += max(0, work)
        return int(work)

    def _compare_in_text_order(self) -> Int32s:
        ids, order = self.column.ids, self.suffixes.order
        out = np.empty(len(ids), np.int32)
        _compare_in_text_order(
            ids.data, ids.bits, order.data, order.bits, len(order), self.longest, out
        )
        return out

    @cached_property
    def longest(self) -> int:
        last, ends = self.sentence_last.data, self.column.document_ends
        return int(_longest_sentence(last, len(self.column.ids), ends))


MIN_FRAGMENT = 2
"""Items of the shortest fragment."""
_AHEAD = 32
# Bits of a load that belong to it wherever the load begins.
_LOADED = 57


@njit(inline="always")
def rest_of_sentence(last, position):  # type: ignore[no-untyped-def]
    """Items from a position to its sentence's end; `last` has a bit for the last item of each."""
    at = position >> 3
    bits = load64(last, at) >> np.uint64(position & 7)
    if bits:
        rest = trailing_zeros(bits) + 1
    else:
        at += 8
        while at < len(last) and last[at] == 0:
            at += 1
        bits = np.uint64(last[at]) if at < len(last) else np.uint64(1)
        rest = (at << 3) + trailing_zeros(bits) - position + 1
    # Beyond them only behind the last sentence, where no suffix begins if they are sorted.
    return min(rest, ((len(last) - PADDING) << 3) - position)


@njit(cache=True, nogil=True)
def _longest_sentence(last, positions, ends):  # type: ignore[no-untyped-def]
    """Items of the longest sentence; `ends` are the documents' ends."""
    longest, start, document = 0, 0, 0
    for position in range(positions):
        if document < len(ends) and position == ends[document]:
            document += 1
            start = position + 1
        elif (last[position >> 3] >> np.uint8(position & 7)) & np.uint8(1):
            longest = max(longest, position + 1 - start)
            start = position + 1
    return longest


@njit(inline="always")
def _loads(bits):  # type: ignore[no-untyped-def]
    """How many items one load holds, its bits, and the lowest bit of each item."""
    step = _LOADED // bits
    low = np.uint64(0)
    for k in range(step):
        low |= np.uint64(1) << np.uint64(k * bits)
    return step, (np.uint64(1) << np.uint64(step * bits)) - np.uint64(1), low


@njit(inline="always")
def _load(ids, bits, mask, position):  # type: ignore[no-untyped-def]
    """The numbers of as many items as one load holds."""
    at = position * bits
    return (load64(ids.data, at >> 3) >> np.uint64(at & 7)) & mask


@njit(inline="always")
def _difference_bit(bits, low, mine, theirs):  # type: ignore[no-untyped-def]
    """A number whose lowest bit lies in the first item that differs, or that is 0; 0 if none is.

    The lowest item that is 0 borrows when 1 is taken off each.
    """
    return (mine ^ theirs) | ((mine - low) & ~mine & (low << np.uint64(bits - 1)))


@njit(inline="always")
def _items_before(bits, stop):  # type: ignore[no-untyped-def]
    """How many items lie before the lowest bit; the division is a multiplication."""
    return (trailing_zeros(stop) * (65536 // bits + 1)) >> 16


@njit(inline="always")
def _shared_items(ids, bits, loads, first, second, shared, most):  # type: ignore[no-untyped-def]
    """How many items two positions share, `shared` of them known; a document's end is none."""
    step, mask, low = loads
    while shared < most:
        mine = _load(ids, bits, mask, first + shared)
        stop = _difference_bit(bits, low, mine, _load(ids, bits, mask, second + shared))
        if stop == 0:
            shared += step
            continue
        shared += _items_before(bits, stop)
        # Different numbers may stand for the same item.
        if shared >= most or len(ids.table) == 0:
            return min(most, shared)
        item = read(ids, bits, first + shared)
        if item == 0 or item != read(ids, bits, second + shared):
            return shared
        shared += 1
    return most


@njit(cache=True, nogil=True)
def _fill_block(suffixes, known, most, budget, last, table, source_of, block):  # type: ignore[no-untyped-def]
    """Fill in all that is to be known of the suffixes from `start` on.

    What each shares with the one before it, up to `most` items, is looked up in `known`, by
    position, or compared if that is empty. Gives the number of items compared, or -1 as soon as
    they are more than the budget.
    """
    ids, bits, order, order_bits, start = suffixes
    positions, shared, rests, sources = block
    loads = _loads(bits)
    step, mask, low = loads
    work = np.int64(0)
    before = read(order, order_bits, start - 1) if start else np.int64(-1)
    # What the suffix before begins with; no suffix begins with a document's end.
    items = _load(ids, bits, mask, before) if start else np.uint64(0)
    final = start + len(positions) - 1
    for i in range(len(positions)):
        ahead = read(order, order_bits, min(start + i + _AHEAD, final))
        position = read(order, order_bits, start + i)
        positions[i] = position
        if len(known):
            prefetch(known, ahead)
            shared[i] = known[position]
            continue
        prefetch(ids, (ahead * bits) >> 3)
        mine = _load(ids, bits, mask, position)
        stop = _difference_bit(bits, low, mine, items)
        if stop and (len(ids.table) == 0 or before < 0):
            shared[i] = min(most, _items_before(bits, stop))
        else:
            shared[i] = _shared_items(ids, bits, loads, before, position, 0 if stop else step, most)
        before, items = position, mine
        work += shared[i]
        if work > budget:
            return np.int64(-1)
    # Apart from the loop above, which waits for memory: both are faster so.
    ends, shift, first = table
    for i in range(len(positions)):
        position = positions[i]
        prefetch(last, positions[min(i + _AHEAD, len(positions) - 1)] >> 3)
        rests[i] = min(most, rest_of_sentence(last, position))
        sources[i] = source_of[document_of(ends, shift, first, position)]
    return work


@njit(cache=True, nogil=True)
def _compare_in_text_order(ids, bits, order, order_bits, suffixes, most, out):  # type: ignore[no-untyped-def]
    """By position: the items its suffix shares with the one before it in order, up to `most`."""
    loads = _loads(bits)
    before = np.int64(-1)
    for i in range(suffixes):
        prefetch(out, read(order, order_bits, min(i + _AHEAD, suffixes - 1)))
        place = read(order, order_bits, i)
        out[place] = before
        before = place
    shared = np.int64(0)
    for place in range(len(out)):
        ahead = min(place + _AHEAD, len(out) - 1)
        prefetch(ids, (max(np.int64(out[ahead]), np.int64(0)) * bits) >> 3)
        if read(ids, bits, place) == 0:
            shared = np.int64(0)
            out[place] = 0
            continue
        neighbour = np.int64(out[place])
        shared = max(shared - 1, np.int64(0))
        # Beyond the end only if the suffixes are not sorted.
        if neighbour + shared >= len(out) or place + shared >= len(out):
            shared = np.int64(0)
        if 0 <= neighbour < len(out):
            shared = _shared_items(ids, bits, loads, neighbour, place, shared, most)
        else:
            shared = np.int64(0)
        out[place] = shared


@njit(cache=True, nogil=True)
def _list_rests(last, ids, bits, positions):  # type: ignore[no-untyped-def]
    """The rest of the sentence at each position; 0 at a document's end."""
    rests = np.zeros(positions, np.int32)
    for position in range(positions):
        if read(ids, bits, position):
            rests[position] = min(rest_of_sentence(last, position), positions - position)
    return rests


@njit(cache=True, nogil=True)
def _list_rests_at(last, positions):  # type: ignore[no-untyped-def]
    """The same for some positions, which hold items."""
    rests = np.empty(len(positions), np.int32)
    for i in range(len(positions)):
        rests[i] = rest_of_sentence(last, positions[i])
    return rests
