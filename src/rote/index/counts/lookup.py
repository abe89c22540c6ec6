"""Where runs of items stand among the sorted suffixes of a column, and what follows them.

The code of a run's items picks a range of the prefix table, see `Suffixes`. A run of few bits is
answered by the table alone; for a longer one all suffixes of the range agree with it in the items
that the table's bits cover, and the range is halved until both edges of those that begin with the
run are found. A search over gigabytes waits for memory most of the time. In a batch, some hundred
searches go in step: each round asks for the positions of all, then for the items there, then
compares them, and so the waits overlap.

**One search.** To hand an array to a kernel takes longer than some searches. So the kernel of a
single search gets one array, the `CountBuffer`: where the column's arrays lie and how long they
are, and behind that the run that is looked for.

**Continuations.** Suffixes with the same next item are neighbours. Where a group ends is read from
the table if the run and the item have few enough bits, and else found by steps of doubling size:
the work grows with the number of different items, not with how often the run occurs.

**Threads.** Segments are asked on several, since kernels hold no lock. Answers come in the order of
the segments and are joined in it, so that they do not depend on how many threads there are.
"""

from __future__ import annotations

import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import carray  # type: ignore[attr-defined]
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.kernels import njit
from rote.index.answers import Continuations
from rote.index.columns.compressed_suffix_array import (
    CompressedItems,
    CompressedPositions,
    item_at,
    skip,
    suffix_at,
)
from rote.index.columns.intrinsics import pointer, prefetch
from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import OUT_OF_RANGE, Bytes, ItemStream, StreamItems, read
from rote.index.grams import END, Counts, Grams

Int64s = NDArray[np.int64]
# Searches that go in step: enough to hide the waits for memory, few enough that their state and
# the lines they ask for stay in the nearest caches.
SEARCHES = 128


class ColumnArrays(NamedTuple):
    ids: StreamItems | CompressedItems
    ids_bits: int
    order: Bytes | CompressedPositions
    order_bits: int
    codes: NDArray[np.uint64]
    lengths: NDArray[np.uint8]
    table: Bytes
    table_bits: int
    last: int
    """The last position, a document's end: whoever begins to read there or before stops in time."""


@njit(inline="always")
def prefix_range(parts, head, bits):  # type: ignore[no-untyped-def]
    """The range of suffixes that begin with the top `bits` bits of `head`.

    `bits` is at most the table's. `head` has zeros behind them.
    """
    first = np.int64(head >> np.uint64(64 - parts.table_bits))
    behind = first + (np.int64(1) << (parts.table_bits - bits))
    bits = parts.order_bits
    return read(parts.table, bits, first), read(parts.table, bits, behind)


@njit(inline="always")
def encode_run(parts, grams, start, end):  # type: ignore[no-untyped-def]
    """The top of a run's code, how many bits it has, and how many items the table settles.

    Bits beyond the table's are counted only so far as to tell that there are some. The number
    of bits is -1 for a run that cannot occur: an unknown item, or an end that is not the last.
    """
    head, bits, settled = np.uint64(0), np.int64(0), np.int64(0)
    possible = True
    for i in range(start, end):
        item = np.int64(grams[i])
        if not 0 <= item < len(parts.codes) or (item == END and i < end - 1):
            possible = False
        if possible and bits <= parts.table_bits:
            head |= parts.codes[item] >> np.uint64(bits)
            bits += np.int64(parts.lengths[item])
            settled += bits <= parts.table_bits
    return head, bits if possible else np.int64(-1), settled


@njit(inline="always")
def compare_run(parts, at, grams, start, end):  # type: ignore[no-untyped-def]
    """Below 0, 0 or above 0: how the items from a cursor on stand to the run."""
    at = min(at, parts.last)  # beyond it only if the suffixes are not sorted
    for i in range(start, end):
        difference = item_at(parts.ids, parts.ids_bits, at) - np.int64(grams[i])
        if difference != 0:
            return difference
        at = skip(parts.ids, at, 1)
    return np.int64(0)


# What a search is after: any suffix that begins with the run, then the two edges of those.
_ANY, _LOWER, _UPPER = 0, 1, 2


@njit(cache=True, nogil=True)
def _search_ranges(parts, grams, ends, lows, highs):  # type: ignore[no-untyped-def]
    """Many searches, `SEARCHES` at a time in step."""
    heads = np.empty(SEARCHES, np.uint64)
    bits = np.empty(SEARCHES, np.int64)
    settled = np.empty(SEARCHES, np.int64)
    middles = np.empty(SEARCHES, np.int64)
    positions = np.empty(SEARCHES, np.int64)
    wanted = np.empty(SEARCHES, np.int64)
    # The lower edge, and from where to where the upper one can be.
    lower_edges = np.empty(SEARCHES, np.int64)
    upper_lows = np.empty(SEARCHES, np.int64)
    upper_highs = np.empty(SEARCHES, np.int64)
    active = np.empty(SEARCHES, np.int64)
    for base in range(0, len(ends), SEARCHES):
        size = min(SEARCHES, len(ends) - base)
        start = ends[base - 1] if base else np.int64(0)
        for k in range(size):
            end = ends[base + k]
            heads[k], bits[k], settled[k] = encode_run(parts, grams, start, end)
            entry = np.int64(heads[k] >> np.uint64(64 - parts.table_bits))
            prefetch(parts.table, (entry * parts.order_bits) >> 3)
            start = end
        pending = 0
        for k in range(size):
            low, high = np.int64(0), np.int64(0)
            if bits[k] >= 0:
                low, high = prefix_range(parts, heads[k], min(bits[k], parts.table_bits))
            lows[base + k], highs[base + k] = low, high
            if low < high and bits[k] > parts.table_bits:
                wanted[k] = _ANY
                middles[k] = (low + high) >> 1
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[pending] = k
                pending += 1
        while pending:
            for a in range(pending):
                k = active[a]
                at = suffix_at(parts.order, parts.order_bits, middles[k])
                positions[k] = skip(parts.ids, at, settled[k])
                prefetch(parts.ids, (positions[k] * parts.ids_bits) >> 3)
            remaining = 0
            for a in range(pending):
                k = active[a]
                g = base + k
                start = (ends[g - 1] if g else np.int64(0)) + settled[k]
                difference = compare_run(parts, positions[k], grams, start, ends[g])
                low, high = lows[g], highs[g]
                if difference == 0 and wanted[k] == _ANY:
                    wanted[k], upper_lows[k], upper_highs[k] = _LOWER, middles[k] + 1, high
                    high = middles[k]
                elif difference < 0 or (difference == 0 and wanted[k] == _UPPER):
                    low = middles[k] + 1
                else:
                    high = middles[k]
                if low == high and wanted[k] == _LOWER:
                    wanted[k], lower_edges[k] = _UPPER, low
                    low, high = upper_lows[k], upper_highs[k]
                if low == high:
                    lows[g], highs[g] = lower_edges[k] if wanted[k] == _UPPER else low, low
                    continue
                lows[g], highs[g] = low, high
                middles[k] = (low + high) >> 1
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[remaining] = k
                remaining += 1
            pending = remaining


class Lookup:
    """Searches in one column; made once, so that a single search does no more than search."""

    __slots__ = ("_desk", "_most", "column", "parts")

    def __init__(self, column: LayerColumn) -> None:
        suffixes = column.suffixes
        if suffixes is None:
            raise ValueError(f"the layer {column.name!r} has no sorted suffixes")
        self.column = column
        self.parts = ColumnArrays(
            column.ids.data,
            column.ids.bits,
            suffixes.order.data,
            suffixes.order.bits,
            suffixes.codes(),
            suffixes.lengths,
            suffixes.table.data,
            suffixes.table_bits,
            max(0, len(column.ids) - 1),
        )
        # Only packed columns can be laid on a desk.
        packed = isinstance(column.ids, ItemStream)
        self._most = MAX_RUN if packed else -1
        self._desk: Any = CountBuffer(self.parts) if packed else None

    def count(self, gram: Sequence[int]) -> int:
        low, high = self.range(gram)
        return high - low

    def range(self, gram: Sequence[int]) -> tuple[int, int]:
        """From where to where in `suffixes.order` the suffixes begin with the run.

        Empty for a run that cannot occur: one with a number that is no item of the column, or
        with a document's end that is not its last. The empty run begins every suffix.
        """
        size = len(gram)
        if size > self._most:
            low, high = self.ranges(np.array(gram, np.int32), np.array([size]))
            return int(low[0]), int(high[0])
        desk = self._desk.numbers
        PUT_RUN[size](desk, RUN_OFFSET, *gram)
        rank_range: tuple[int, int] = range_of(desk, size)
        return rank_range

    def ranges(self, grams: NDArray[Any], ends: NDArray[Any]) -> tuple[Int64s, Int64s]:
        """The same for many runs at once; run g is `grams[ends[g - 1] : ends[g]]`."""
        if len(grams) != (ends[-1] if len(ends) else 0):
            raise ValueError("the last run has to end where the numbers end")
        low, high = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        _search_ranges(
            self.parts, as_kernel_array(grams, np.int32), as_kernel_array(ends, np.int64), low, high
        )
        return low, high


def as_kernel_array(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Read-only and of one type, as kernels expect it, so that each is compiled only once."""
    view = np.ascontiguousarray(values, kind).view()
    view.flags.writeable = False
    return view


MAX_RUN = 32
"""The longest run that the desk has room for."""
# Numbers on the desk that describe the column.
_HEADER = 16
RUN_OFFSET = 8 * _HEADER
"""The byte of the desk from which on the run lies."""
PUT_RUN = tuple(struct.Struct(f"{size}q").pack_into for size in range(MAX_RUN + 1))
"""`PUT[size](desk.numbers, RUN, *gram)` lays a run on the desk, faster than numpy does."""


class CountBuffer(threading.local):
    """What a single search needs; each thread has its own."""

    def __init__(self, parts: ColumnArrays) -> None:
        header: list[int] = []
        for part in parts:
            values: Any = part if isinstance(part, tuple) else (part,)
            for value in values:
                header += (
                    [value.ctypes.data, len(value)] if isinstance(value, np.ndarray) else [value]
                )
        # The arrays must live as long as their addresses.
        self.parts = parts
        self.numbers: Any = np.array(header + [0] * MAX_RUN, np.int64)


@njit(cache=True, nogil=True)
def range_of(desk, size):  # type: ignore[no-untyped-def]
    """From where to where the suffixes begin with the run of `size` items on the desk."""
    parts = ColumnArrays(
        StreamItems(
            carray(pointer(desk[0]), desk[1], np.uint8), carray(pointer(desk[2]), desk[3], np.int32)
        ),
        desk[4],
        carray(pointer(desk[5]), desk[6], np.uint8),
        desk[7],
        carray(pointer(desk[8]), desk[9], np.uint64),
        carray(pointer(desk[10]), desk[11], np.uint8),
        carray(pointer(desk[12]), desk[13], np.uint8),
        desk[14],
        desk[15],
    )
    gram = desk[_HEADER:]
    head, bits, settled = encode_run(parts, gram, 0, size)
    if bits < 0:
        return np.int64(0), np.int64(0)
    low, high = prefix_range(parts, head, min(bits, parts.table_bits))
    if bits <= parts.table_bits:
        return low, high
    upper_low, upper_high = low, low
    met = False
    while low < high:
        middle = (low + high) >> 1
        position = read(parts.order, parts.order_bits, middle) + settled
        difference = compare_run(parts, position, gram, settled, size)
        if difference < 0:
            low = middle + 1
            continue
        if difference == 0 and not met:
            met, upper_low, upper_high = True, middle + 1, high
        high = middle
    if not met:
        return low, low
    while upper_low < upper_high:
        middle = (upper_low + upper_high) >> 1
        position = read(parts.order, parts.order_bits, middle) + settled
        if compare_run(parts, position, gram, settled, size) == 0:
            upper_low = middle + 1
        else:
            upper_high = middle
    return low, upper_low


def next_items(lookup: Lookup, gram: Sequence[int]) -> tuple[NDArray[np.int32], Int64s]:
    """The numbers that follow the run, ascending, and how often each does.

    END among them says how often the run ends a document. Behind the empty run stands every
    item of the column, and END once for every document.
    """
    low, high = lookup.range(gram)
    if low == high or (len(gram) and gram[-1] == END):
        low = high = 0
    most = min(high - low, len(lookup.parts.codes)) + 1
    items, counts = np.empty(most, np.int32), np.empty(most, np.int64)
    filled = 0
    # The suffixes begin with items, so no END is among those that follow the empty run.
    if not len(gram) and len(lookup.column.document_ends):
        items[0], counts[0] = END, len(lookup.column.document_ends)
        filled = 1
    run = as_kernel_array(np.array(gram, np.int64), np.int64)
    filled = _list_next_items(lookup.parts, run, low, high, items, counts, filled)
    if filled < 0:
        raise InputError(OUT_OF_RANGE)
    return items[:filled].copy(), counts[:filled].copy()


@njit(cache=True, nogil=True)
def _list_next_items(parts, gram, low, high, items, counts, filled):  # type: ignore[no-untyped-def]
    size = len(gram)
    head, bits, _ = encode_run(parts, gram, 0, size)
    while low < high:
        item = _next_item(parts, low, size)
        length = np.int64(parts.lengths[item])
        if bits + length <= parts.table_bits:
            _, end = prefix_range(
                parts, head | (parts.codes[item] >> np.uint64(bits)), bits + length
            )
        else:
            end = _group_end(parts, low, high, size, item)
        if not low < end <= high or filled == len(items):
            return np.int64(-1)  # the suffixes are not sorted
        items[filled], counts[filled] = item, end - low
        filled += 1
        low = end
    return np.int64(filled)


@njit(inline="always")
def _next_item(parts, rank, size):  # type: ignore[no-untyped-def]
    """The item behind the first `size` of a suffix."""
    at = skip(parts.ids, suffix_at(parts.order, parts.order_bits, rank), size)
    return item_at(parts.ids, parts.ids_bits, min(at, parts.last))


@njit(inline="always")
def _group_end(parts, low, high, size, item):  # type: ignore[no-untyped-def]
    """The first suffix from `low` on, whose next item this is, that has another."""
    step = np.int64(1)
    while low + step < high and _next_item(parts, low + step, size) == item:
        low += step
        step += step
    high = min(high, low + step)
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if _next_item(parts, middle, size) == item:
            low = middle + 1
        else:
            high = middle
    return low


def continuations(lookups: Sequence[Lookup], items: Sequence[str]) -> Continuations:
    """What follows the items in any of the segments, and how often; most often first."""
    totals: Counter[str] = Counter()
    ends = 0
    for lookup in lookups:
        vocabulary = lookup.column.vocabulary
        numbers, counts = next_items(lookup, [vocabulary.find(item) for item in items])
        for number, count in zip(numbers.tolist(), counts.tolist()):
            if number == END:
                ends += count
            else:
                totals[vocabulary[number]] += count
    ordered = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
    return Continuations(dict(ordered), ends)


In = TypeVar("In")
Out = TypeVar("Out")
Range = tuple[Counts, Counts]
"""From where to where in the sorted positions of a segment each n-gram stands."""
FEW = 512
"""So many n-grams are found, or items counted, before a thread has begun."""


def threads_for(threads: int, size: int) -> int:
    """How many threads are worth starting for a question of this size."""
    return threads if size > FEW else 1


def map_segments(work: Callable[[In], Out], parts: Sequence[In], threads: int) -> Iterator[Out]:
    """The work on each part, in their order; only so many are at work, or wait to be taken."""
    threads = min(threads, len(parts))
    if threads < 2:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(parts), threads):
            yield from pool.map(work, parts[first : first + threads])


def find_ranges(lookup: Lookup, grams: Grams) -> Range:
    if grams.vocabulary is lookup.column.vocabulary:
        return lookup.ranges(grams.ids, grams.ends)
    table = lookup.column.vocabulary.numbers(grams.vocabulary)
    return lookup.ranges(table[grams.ids] if len(table) else grams.ids, grams.ends)


def find_all_ranges(lookups: Sequence[Lookup], grams: Grams, threads: int) -> list[Range]:
    some = threads_for(threads, len(grams))
    return list(map_segments(lambda lookup: find_ranges(lookup, grams), lookups, some))
