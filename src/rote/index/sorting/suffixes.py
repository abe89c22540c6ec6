"""From a stream of numbers to its sorted suffixes, the heart of building an index.

Suffixes are sorted by 64-bit keys of coded items, scattered into buckets by their top bits. That
is several times faster than any method which sorts suffixes for certain in linear time, as long
as few of them begin alike for long. Where a sample of the buckets shows that they do, or the
work grows beyond its budget all the same, the stream is handed to `sais`.

Memory: four bytes an item for the stream, twelve for keys and places, at most one for the
table, or two for a large one; measured, 16.3 bytes an item in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rote.index.columns.packed import bits_for, pack
from rote.index.columns.parts import END, MOST_PLACES, Suffixes
from rote.index.sorting import radix
from rote.index.sorting.codes import Codes, Lengths, alphabetic
from rote.index.sorting.ties import sort_buckets

Stream = NDArray[np.int32]
TableSize = Literal["small", "usual", "large"]
LEAST_TABLE_BITS, MOST_TABLE_BITS = 4, 25
_MORE_BITS: dict[TableSize, int] = {"small": -4, "usual": 0, "large": 1}
# Work on equal keys, for each item, up to which this is as fast as `sais` ...
_FAIR = 6
# ... and when to give up although the sample promised less.
_BUDGET = 12
# A small stream is never worth the change.
_LEAST_BUDGET = 1 << 20
# Buckets are sorted in so many strides, the first of which is the sample. A prime, so that the
# buckets of a stride have all kinds of bits.
_STRIDES = 61
# Streams with fewer items are sorted in one go, on one thread.
_LARGE = 1 << 17
# Buckets of about this many items stay in cache while they are sorted.
_BUCKET = 1 << 12
_MOST_BUCKET_BITS = 14


@dataclass(frozen=True, slots=True)
class SortedSuffixes:
    """What `Suffixes` holds, with `order` not packed yet; all arrays are read-only."""

    order: NDArray[np.int32]
    codes: Codes
    lengths: Lengths
    table: NDArray[np.uint32]


def sort_suffixes(
    ids: Stream, entries: int, *, threads: int = 1, table: TableSize = "usual"
) -> SortedSuffixes:
    """Sort the places of all items in a stream whose numbers are below `entries`.

    The result does not depend on the number of threads. Suffixes that are equal to their
    documents' ends stand in the order of their places, unless `sais` sorted them.
    """
    ids = _checked(ids)
    counts = _count(ids, entries)
    codes, lengths = alphabetic(counts)
    steps = radix.steps_of(codes, lengths)
    items = len(ids) - int(counts[END])
    bits = table_bits_for(items, table)
    order, entry_of = _by_radix(ids, steps, items, bits, threads) or _by_sais(
        ids, entries, steps, bits
    )
    order.flags.writeable = entry_of.flags.writeable = False
    return SortedSuffixes(order, codes, lengths, entry_of)


def pack_suffixes(found: SortedSuffixes, places: int) -> Suffixes:
    """Ready for queries; `places` is the length of the stream."""
    order = pack(found.order, bits_for(max(1, places - 1)))
    return Suffixes(order, found.lengths, pack(found.table, order.bits))


def table_bits_for(items: int, size: TableSize = "usual") -> int:
    """Of the table: four to eight items an entry; a large one has twice as many entries."""
    bits = max(LEAST_TABLE_BITS, (items // 4).bit_length() - 1 + _MORE_BITS[size])
    return min(MOST_TABLE_BITS - 1 + (size == "large"), bits)


def _checked(ids: Stream) -> Stream:
    if ids.dtype != np.int32:
        raise TypeError(f"a stream holds int32, not {ids.dtype}")
    if len(ids) > MOST_PLACES:
        raise ValueError(f"{len(ids)} places are more than one segment may have ({MOST_PLACES})")
    if len(ids) and ids[-1] != END:
        raise ValueError("a stream has to end with the end of a document")
    # One type for the kernels: a plain, read-only array.
    held = np.ascontiguousarray(ids).view(np.ndarray)
    held.flags.writeable = False
    return held


def _count(ids: Stream, entries: int) -> NDArray[np.int64]:
    counts = np.zeros(max(1, entries), np.int64)
    wrong = radix.count_items(ids, counts)
    if wrong >= 0:
        raise ValueError(f"place {wrong} holds {ids[wrong]}, entries are 0 to {entries - 1}")
    return counts


def _by_radix(
    ids: Stream, steps: NDArray[np.uint64], items: int, table_bits: int, threads: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]] | None:
    """Order and table; nothing if it would take too long."""
    bits = max(LEAST_TABLE_BITS, min(_MOST_BUCKET_BITS, (items // _BUCKET).bit_length() - 1))
    strides = _STRIDES if items >= _LARGE else 1
    threads = threads if items >= _LARGE else 1
    parts = list(pairwise(len(ids) * i // threads for i in range(threads + 1)))
    counts = np.zeros((threads, 1 << bits), np.uint32)
    bounds = np.zeros((1 << bits) + 1, np.int64)
    table = np.empty((1 << table_bits) + 1, np.uint32)

    def count(part: int) -> None:
        radix.histogram(ids, steps, *parts[part], bits, counts[part])

    def deal(part: int) -> None:
        radix.scatter(ids, steps, *parts[part], bits, ends[part], keys, places)

    def sort(first: int) -> int:
        """Sort the buckets of one stride; the work that equal keys made."""
        work: int = sort_buckets(
            ids, steps, first, strides, bounds, keys, places, table, table_bits, budget
        )
        return work

    with workers(threads) as each:
        list(each(count, range(threads)))
        np.cumsum(counts.sum(axis=0), out=bounds[1:])
        ends = bounds[:-1] + counts.cumsum(axis=0, dtype=np.int64)
        keys, places = np.empty(items, np.uint64), np.empty(items, np.int32)
        list(each(deal, range(threads)))
        table[-1] = items
        budget = max(_LEAST_BUDGET, _BUDGET * items)
        work = sort(0)
        seen = int((bounds[1::strides] - bounds[:-1:strides]).sum())
        # If hardly anything fell into the sample, it says nothing about the rest.
        fair = max(_LEAST_BUDGET, _FAIR * items)
        if work > budget or (seen * strides * 4 > items and work * items > fair * seen):
            return None
        for more in each(sort, range(1, strides)):
            work += more
            if work > budget:
                return None
    return places, table


@contextmanager
def workers(threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """A `map` that works on so many threads."""
    if threads == 1:
        yield map
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def _by_sais(
    ids: Stream, entries: int, steps: NDArray[np.uint64], table_bits: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Order and table in linear time, whatever repeats."""
    from rote.index.sorting.sais import sais

    order = sais(ids, entries)
    table = np.zeros((1 << table_bits) + 1, np.uint32)
    radix.histogram(ids, steps, 0, len(ids), table_bits, table[1:])
    np.cumsum(table, out=table, dtype=np.uint32)
    return order, table
