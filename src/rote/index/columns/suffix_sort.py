"""Sort the suffixes of a stream of numbers: the heart of building an index.

Suffixes are sorted by 64-bit keys of coded items, scattered into buckets by their top bits. That
is several times faster than any method which sorts suffixes for certain in linear time, as long
as few of them begin alike for long. Where a sample of the buckets shows that they do, or the
work grows beyond its budget all the same, the stream is handed to `sais`.

**Codes** of items keep their order and are short for those that occur often, so 64 bits hold six or
seven words of natural text, and the top bits of keys are spread evenly: they serve to scatter the
suffixes and as the table that queries begin with. Codes are part of what is on disk, so they are
made with whole numbers alone and come out the same everywhere.

**Keys.** A key is the codes of a suffix's items one behind the other, up to and with the document's
end, cut at 64 bits. Swept backward, each key follows from the one behind it, so keys need not be
stored: one sweep counts how many fall into each bucket, a second puts them there. `steps` holds
for every number its code and, in the seven bits below that are always free, the code's length.

**Equal keys.** A run of equal keys is sorted again by the keys behind the items which the first key
holds completely, and so on; a run whose key holds the document's end is equal to the end. On
natural text this is rare and shallow. Where much repeats it could take forever, so the work is
counted, and the caller gives up beyond a budget.

**Memory.** Four bytes an item for the stream, twelve for keys and positions, at most one for the
table, or two for a large one; measured, 16.3 bytes an item in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.intrinsics import prefetch
from rote.index.grams import END, MAX_POSITIONS

Codes: TypeAlias = NDArray[np.uint64]
Lengths: TypeAlias = NDArray[np.uint8]

MAX_CODE_BITS = 57
"""No code has more bits: a key of 64 holds at least one item whole, and seven bits below a code
are free for its length."""
# Twice the sum of all weights must stay a signed 64-bit number.
_MAX_WEIGHT = 1 << 61


def build_alphabetic_code(weights: NDArray[np.int64]) -> tuple[Codes, Lengths]:
    """Codes (left-aligned) and their lengths for numbers 0, 1, ... that occur this often.

    Every range of numbers is parted where its two halves weigh most alike, the lower half gets
    the bit 0. A code is at most about two bits longer than its number's share calls for. A
    number that does not occur is treated as if it occurred once.
    """
    scaled = np.maximum(weights, 1).astype(np.int64, copy=False)
    if len(weights) and int(weights.min()) < 0:
        raise ValueError("weights of a code must not be negative")
    codes, lengths = np.zeros(len(scaled), np.uint64), np.ones(len(scaled), np.uint8)
    if len(scaled) > 1:
        while int(scaled.max()) > _MAX_WEIGHT // len(scaled):
            scaled = (scaled + 1) >> 1
        # Steeply growing weights make a deep tree; flatter ones make it shallow enough in time.
        while not _split_ranges(
            np.concatenate([np.zeros(1, np.int64), scaled.cumsum()]), codes, lengths
        ):
            scaled = (scaled + 1) >> 1
    codes.flags.writeable = lengths.flags.writeable = False
    return codes, lengths


@njit(cache=True, nogil=True)
def _split_ranges(sums, codes, lengths):  # type: ignore[no-untyped-def]
    """Fill in codes from sums of weights; False if one would be longer than LONGEST."""
    # What is still to be parted: the upper halves beside the path to the range in hand.
    starts, stops = np.empty(MAX_CODE_BITS + 2, np.int64), np.empty(MAX_CODE_BITS + 2, np.int64)
    depths, heads = np.empty(MAX_CODE_BITS + 2, np.int64), np.empty(MAX_CODE_BITS + 2, np.uint64)
    starts[0], stops[0], depths[0], heads[0] = 0, len(codes), 0, np.uint64(0)
    waiting = 1
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        depth, head = depths[waiting], heads[waiting]
        while stop - start > 1:
            if depth == MAX_CODE_BITS:
                return False
            middle = _middle(sums, start, stop)
            starts[waiting], stops[waiting] = middle, stop
            depths[waiting] = depth + 1
            heads[waiting] = head | (np.uint64(1) << np.uint64(63 - depth))
            waiting += 1
            stop = middle
            depth += 1
        codes[start] = head
        lengths[start] = depth
    return True


@njit(inline="always")
def _middle(sums, start, stop):  # type: ignore[no-untyped-def]
    """Where to part a range so that both sides weigh most alike; the lower position if in doubt."""
    both = sums[start] + sums[stop]
    low, high = start + 1, stop - 1
    while low < high:
        position = (low + high) >> 1
        if 2 * sums[position] < both:
            low = position + 1
        else:
            high = position
    # `low` is the first position whose left side weighs half or more (or the last one).
    if low - 1 > start and both - 2 * sums[low - 1] <= abs(2 * sums[low] - both):
        low -= 1
    return low


Ids = NDArray[np.int32]
TableSize = Literal["small", "usual", "large"]
MIN_TABLE_BITS, MAX_TABLE_BITS = 4, 25
_MORE_BITS: dict[TableSize, int] = {"small": -4, "usual": 0, "large": 1}
# Work on equal keys, for each item, up to which this is as fast as `sais` ...
_FAIR = 6
# ... and when to give up although the sample promised less.
_BUDGET = 12
# A small stream is never worth the change.
_MIN_BUDGET = 1 << 20
# Buckets are sorted in so many strides, the first of which is the sample. A prime, so that the
# buckets of a stride have all kinds of bits.
_STRIDES = 61
# Streams with fewer items are sorted in one go, on one thread.
_LARGE = 1 << 17
# Buckets of about this many items stay in cache while they are sorted.
_BUCKET = 1 << 12
_MAX_BUCKET_BITS = 14


@dataclass(frozen=True, slots=True)
class SortedSuffixes:
    """What `Suffixes` holds, with `order` not packed yet; all arrays are read-only."""

    order: NDArray[np.int32]
    codes: Codes
    lengths: Lengths
    table: NDArray[np.uint32]


def sort_suffixes(
    ids: Ids, entries: int, *, threads: int = 1, table: TableSize = "usual"
) -> SortedSuffixes:
    """Sort the positions of all items in a stream whose numbers are below `entries`.

    The result does not depend on the number of threads. Suffixes that are equal to their
    documents' ends stand in the order of their positions, unless `sais` sorted them.
    """
    ids = _check_stream(ids)
    counts = np.zeros(max(1, entries), np.int64)
    wrong = count_items(ids, counts)
    if wrong >= 0:
        raise ValueError(f"place {wrong} holds {ids[wrong]}, entries are 0 to {entries - 1}")
    codes, lengths = build_alphabetic_code(counts)
    steps = codes | lengths.astype(np.uint64)  # codes with their lengths in the lowest bits
    steps.flags.writeable = False
    items = len(ids) - int(counts[END])
    bits = table_bits_for(items, table)
    order, entry_of = _sort_by_radix(ids, steps, items, bits, threads) or _sort_by_sais(
        ids, entries, steps, bits
    )
    order.flags.writeable = entry_of.flags.writeable = False
    return SortedSuffixes(order, codes, lengths, entry_of)


def table_bits_for(items: int, size: TableSize = "usual") -> int:
    """Of the table: four to eight items an entry; a large one has twice as many entries."""
    bits = max(MIN_TABLE_BITS, (items // 4).bit_length() - 1 + _MORE_BITS[size])
    return min(MAX_TABLE_BITS - 1 + (size == "large"), bits)


def _check_stream(ids: Ids) -> Ids:
    if ids.dtype != np.int32:
        raise TypeError(f"a stream holds int32, not {ids.dtype}")
    if len(ids) > MAX_POSITIONS:
        raise ValueError(f"{len(ids)} places are more than one segment may have ({MAX_POSITIONS})")
    if len(ids) and ids[-1] != END:
        raise ValueError("a stream has to end with the end of a document")
    # One type for the kernels: a plain, read-only array.
    stream = np.ascontiguousarray(ids).view(np.ndarray)
    stream.flags.writeable = False
    return stream


def _sort_by_radix(
    ids: Ids, steps: NDArray[np.uint64], items: int, table_bits: int, threads: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]] | None:
    """Order and table; nothing if it would take too long."""
    bits = max(MIN_TABLE_BITS, min(_MAX_BUCKET_BITS, (items // _BUCKET).bit_length() - 1))
    strides = _STRIDES if items >= _LARGE else 1
    threads = threads if items >= _LARGE else 1
    parts = list(pairwise(len(ids) * i // threads for i in range(threads + 1)))
    counts = np.zeros((threads, 1 << bits), np.uint32)
    bounds = np.zeros((1 << bits) + 1, np.int64)
    table = np.empty((1 << table_bits) + 1, np.uint32)

    def count(part: int) -> None:
        count_keys(ids, steps, *parts[part], bits, counts[part])

    def deal(part: int) -> None:
        scatter_keys(ids, steps, *parts[part], bits, ends[part], keys, positions)

    def sort(first: int) -> int:
        """Sort the buckets of one stride; the work that equal keys made."""
        work: int = sort_buckets(
            ids, steps, first, strides, bounds, keys, positions, table, table_bits, budget
        )
        return work

    with thread_map(threads) as each:
        list(each(count, range(threads)))
        np.cumsum(counts.sum(axis=0), out=bounds[1:])
        ends = bounds[:-1] + counts.cumsum(axis=0, dtype=np.int64)
        keys, positions = np.empty(items, np.uint64), np.empty(items, np.int32)
        list(each(deal, range(threads)))
        table[-1] = items
        budget = max(_MIN_BUDGET, _BUDGET * items)
        work = sort(0)
        sampled = int((bounds[1::strides] - bounds[:-1:strides]).sum())
        # If hardly anything fell into the sample, it says nothing about the rest.
        fair = max(_MIN_BUDGET, _FAIR * items)
        if work > budget or (sampled * strides * 4 > items and work * items > fair * sampled):
            return None
        for more in each(sort, range(1, strides)):
            work += more
            if work > budget:
                return None
    return positions, table


@contextmanager
def thread_map(threads: int) -> Iterator[Callable[..., Iterator[Any]]]:
    if threads == 1:
        yield map
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)


def _sort_by_sais(
    ids: Ids, entries: int, steps: NDArray[np.uint64], table_bits: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Order and table in linear time, whatever repeats."""
    from rote.index.columns.sais import sais

    order = sais(ids, entries)
    table = np.zeros((1 << table_bits) + 1, np.uint32)
    count_keys(ids, steps, 0, len(ids), table_bits, table[1:])
    np.cumsum(table, out=table, dtype=np.uint32)
    return order, table


# As many keys as stay in the second-level cache together with their copy.
CACHED_KEYS = 1 << 15
# Up to so many are sorted by insertion.
SMALL = 24
# Bits by which keys are dealt out at once, with a copy and in place.
DIGIT, _LARGE_DIGIT = 11, 8
# Groups that wait at the same time: disjoint parts of one range that has a copy, and the
# brothers of the ranges around it.
_WAITING = CACHED_KEYS // SMALL + (64 // _LARGE_DIGIT << _LARGE_DIGIT)
_LENGTH = np.uint64(127)
_CODE = ~_LENGTH


@njit(inline="always")
def key_at(ids, steps, position):  # type: ignore[no-untyped-def]
    """The key of the suffix at a position, read forward."""
    key, filled = np.uint64(0), np.uint64(0)
    while filled < np.uint64(64):
        step = steps[ids[position]]
        key |= (step & _CODE) >> filled
        filled += step & _LENGTH
        if ids[position] == 0:
            break
        position += 1
    return key


@njit(inline="always")
def _key_behind(ids, steps, stop):  # type: ignore[no-untyped-def]
    return key_at(ids, steps, stop) if stop < len(ids) else np.uint64(0)


@njit(inline="always")
def _key_before(key, number, step):  # type: ignore[no-untyped-def]
    """The key of a suffix from that of the next one and the number in front of it."""
    if number == 0:
        return np.uint64(0)
    return (step & _CODE) | (key >> (step & _LENGTH))


@njit(cache=True, nogil=True)
def count_items(ids, counts):  # type: ignore[no-untyped-def]
    """Count each number; gives the first position whose number is out of range, or -1."""
    for i in range(len(ids)):
        if ids[i] < 0 or ids[i] >= len(counts):
            return i
        counts[ids[i]] += 1
    return -1


@njit(cache=True, nogil=True)
def count_keys(ids, steps, start, stop, bits, counts):  # type: ignore[no-untyped-def]
    """How many of the items' keys from start to stop begin with each combination of bits."""
    shift = np.uint64(64 - bits)
    key = _key_behind(ids, steps, stop)
    for i in range(stop - 1, start - 1, -1):
        number = ids[i]
        key = _key_before(key, number, steps[number])
        if number:
            counts[np.int64(key >> shift)] += 1


@njit(cache=True, nogil=True)
def scatter_keys(ids, steps, start, stop, bits, ends, keys, positions):  # type: ignore[no-untyped-def]
    """Put the items' keys and positions from start to stop into their buckets.

    A bucket is filled backward from `ends`, as the sweep goes: its positions ascend, whatever
    ranges the stream was cut into.
    """
    shift = np.uint64(64 - bits)
    key = _key_behind(ids, steps, stop)
    for i in range(stop - 1, start - 1, -1):
        number = ids[i]
        key = _key_before(key, number, steps[number])
        if number:
            bucket = np.int64(key >> shift)
            at = np.int64(ends[bucket]) - 1
            ends[bucket] = at
            keys[at] = key
            positions[at] = i


@njit(cache=True, nogil=True)
def sort_keys(keys, positions, start, stop, held_keys, held_places, counts):  # type: ignore[no-untyped-def]
    """Sort keys from start to stop, and their positions along with them; time is bounded by bits.

    A range is dealt out by the highest of those bits in which its keys differ, in place if it is
    larger than the room for its copy, then each group again.
    """
    if stop - start <= SMALL:
        _insert_keys(keys, positions, start, stop)
        return
    starts, stops = np.empty(_WAITING, np.int64), np.empty(_WAITING, np.int64)
    starts[0], stops[0] = start, stop
    waiting = 1
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        differing = np.uint64(0)
        for i in range(start + 1, stop):
            differing |= keys[i] ^ keys[start]
        if differing == 0:
            continue
        bits = _bit_length(differing)
        if stop - start > CACHED_KEYS:
            digit = min(bits, _LARGE_DIGIT)
            _swap(keys, positions, start, stop, bits - digit, digit, counts)
        else:
            digit = min(bits, DIGIT, _bit_length(np.uint64(stop - start)) - 1)
            _deal(keys, positions, start, stop, bits - digit, digit, held_keys, held_places, counts)
        # Small groups side by side are sorted in one go; no key leaves its group.
        sorted_to, at = start, start
        for group in range(1 << digit):
            end = start + counts[group]
            if end - at > SMALL:
                _insert_keys(keys, positions, sorted_to, at)
                starts[waiting], stops[waiting] = at, end
                waiting += 1
                sorted_to = end
            at = end
        _insert_keys(keys, positions, sorted_to, stop)


@njit(inline="always")
def _bit_length(number):  # type: ignore[no-untyped-def]
    bits = np.int64(0)
    while number:
        number >>= np.uint64(1)
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def _deal(keys, positions, start, stop, shift, digit, held_keys, held_places, counts):  # type: ignore[no-untyped-def]
    """Stable: by `digit` bits from `shift` on; `counts` are then the ends of the groups."""
    mask = (np.uint64(1) << np.uint64(digit)) - np.uint64(1)
    low = np.uint64(shift)
    counts[: 1 << digit] = 0
    for i in range(start, stop):
        held_keys[i - start] = keys[i]
        held_places[i - start] = positions[i]
        counts[np.int64((keys[i] >> low) & mask)] += 1
    total = 0
    for group in range(1 << digit):
        size = counts[group]
        counts[group] = total
        total += size
    for i in range(stop - start):
        home = np.int64((held_keys[i] >> low) & mask)
        at = start + np.int64(counts[home])
        counts[home] += 1
        keys[at] = held_keys[i]
        positions[at] = held_places[i]


@njit(cache=True, nogil=True)
def _swap(keys, positions, start, stop, shift, digit, counts):  # type: ignore[no-untyped-def]
    """As `_deal`, in place and not stable."""
    mask = (np.uint64(1) << np.uint64(digit)) - np.uint64(1)
    low = np.uint64(shift)
    counts[: 1 << digit] = 0
    for i in range(start, stop):
        counts[np.int64((keys[i] >> low) & mask)] += 1
    heads = np.empty(1 << digit, np.int64)
    total = 0
    for group in range(1 << digit):
        heads[group] = start + total
        total += counts[group]
        counts[group] = total
    for group in range(1 << digit):
        end = start + np.int64(counts[group])
        while heads[group] < end:
            key, position = keys[heads[group]], positions[heads[group]]
            home = np.int64((key >> low) & mask)
            # Send away what does not belong here until something comes that does.
            while home != group:
                at = heads[home]
                heads[home] += 1
                keys[at], key = key, keys[at]
                positions[at], position = position, positions[at]
                home = np.int64((key >> low) & mask)
            keys[heads[group]], positions[heads[group]] = key, position
            heads[group] += 1


@njit(cache=True, nogil=True)
def _insert_keys(keys, positions, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start + 1, stop):
        key, position = keys[i], positions[i]
        j = i
        while j > start and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            positions[j] = positions[j - 1]
            j -= 1
        keys[j] = key
        positions[j] = position


# Runs up to this size are sorted by comparing items one by one.
_FEW = 8
# Runs within runs; whoever nests deeper has used up any budget that makes sense.
_DEEPEST = 4096
# How many suffixes ahead memory is asked for.
_AHEAD = 24
# Going to another position of the stream costs as much as reading so many items in a row.
_VISIT = 8


@njit(cache=True, nogil=True)
def sort_buckets(  # type: ignore[no-untyped-def]
    ids, steps, first, step, bounds, keys, positions, table, table_bits, budget
):
    """Sort every `step`-th bucket from `first` on, fill in its part of the table.

    Gives the work that equal keys made, about one unit for every item looked at; more than the
    budget means that it gave up.
    """
    held_keys, held_places = np.empty(CACHED_KEYS, np.uint64), np.empty(CACHED_KEYS, np.int32)
    counts = np.empty(1 << DIGIT, np.int32)
    frames = np.empty((_DEEPEST, 3), np.int64)
    work = 0
    for bucket in range(first, len(bounds) - 1, step):
        start, stop = bounds[bucket], bounds[bucket + 1]
        sort_keys(keys, positions, start, stop, held_keys, held_places, counts)
        _tabulate(keys, start, stop, bucket, len(bounds) - 1, table, table_bits)
        work = _sort_equal_keys(
            ids,
            steps,
            keys,
            positions,
            start,
            stop,
            held_keys,
            held_places,
            counts,
            frames,
            work,
            budget,
        )
        if work > budget:
            break
    return work


@njit(cache=True, nogil=True)
def _tabulate(keys, start, stop, bucket, buckets, table, table_bits):  # type: ignore[no-untyped-def]
    """The table's entries that begin with this bucket's bits, from its sorted keys."""
    each = (np.int64(1) << table_bits) // buckets
    entry, last = bucket * each, (bucket + 1) * each
    shift = np.uint64(64 - table_bits)
    for i in range(start, stop):
        top = np.int64(keys[i] >> shift)
        while entry <= top:
            table[entry] = i
            entry += 1
    while entry < last:
        table[entry] = stop
        entry += 1


@njit(cache=True, nogil=True)
def _sort_equal_keys(  # type: ignore[no-untyped-def]
    ids, steps, keys, positions, start, stop, held_keys, held_places, counts, frames, work, budget
):
    """Sort what has equal keys; gives the work done, with what was done before."""
    # A frame is a range of sorted keys, looked through up to its first number, and the number of
    # items in front of those keys.
    frames[0, 0], frames[0, 1], frames[0, 2] = start, stop, 0
    level = 0
    while level >= 0:
        at, stop, depth = frames[level, 0], frames[level, 1], frames[level, 2]
        while at + 1 < stop and keys[at] != keys[at + 1]:
            at += 1
        if at + 1 >= stop:
            level -= 1
            continue
        end = at + 2
        while end < stop and keys[end] == keys[at]:
            end += 1
        frames[level, 0] = end
        # Ask for what the runs that follow will read, as far ahead again as this run is long.
        for i in range(at + _AHEAD, min(end + _AHEAD, stop)):
            if keys[i] == keys[i - 1]:
                prefetch(ids, np.int64(positions[i - 1]) + depth)
                prefetch(ids, np.int64(positions[i]) + depth)
        whole_items = _items_in_key(ids, steps, positions[at] + depth)
        if whole_items == 0:
            for i in range(at, end):
                keys[i] = np.uint64(positions[i])
            sort_keys(keys, positions, at, end, held_keys, held_places, counts)
            continue
        depth += whole_items
        if end - at <= _FEW:
            work = _insert_suffixes(ids, positions, at, end, depth, work, budget)
        else:
            work += (end - at) * (whole_items + _VISIT)
            level += 1
        if work > budget or level == _DEEPEST:
            return budget + 1
        if end - at > _FEW:
            for i in range(at, end):
                if i + _AHEAD < end:
                    prefetch(ids, np.int64(positions[i + _AHEAD]) + depth)
                keys[i] = key_at(ids, steps, positions[i] + depth)
            sort_keys(keys, positions, at, end, held_keys, held_places, counts)
            frames[level, 0], frames[level, 1], frames[level, 2] = at, end, depth
    return work


@njit(inline="always")
def _items_in_key(ids, steps, position):  # type: ignore[no-untyped-def]
    """How many items the key at a position holds whole; 0 if it holds the document's end."""
    items, filled = 0, np.uint64(0)
    while True:
        filled += steps[ids[position + items]] & np.uint64(127)
        if filled > np.uint64(64):
            return items
        if ids[position + items] == 0:
            return 0
        items += 1


@njit(cache=True, nogil=True)
def _insert_suffixes(ids, positions, start, stop, depth, work, budget):  # type: ignore[no-untyped-def]
    for i in range(start + 1, stop):
        position = positions[i]
        j = i
        while j > start and work <= budget:
            here, there = np.int64(positions[j - 1]) + depth, np.int64(position) + depth
            begin = here
            while ids[here] == ids[there] and ids[here]:
                here += 1
                there += 1
            work += here - begin + _VISIT
            # Equal to the end: the earlier position first.
            if ids[here] < ids[there] or (ids[here] == ids[there] and here < there):
                break
            positions[j] = positions[j - 1]
            j -= 1
        positions[j] = position
    return work
