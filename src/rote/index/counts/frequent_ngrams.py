"""The most frequent n-grams of a layer, exactly: `rote top` and templates ask this.

**Several segments**, without holding all n-grams: one among the k most frequent has at least the
k-th best total t; with S segments it has at least t / S in one of them. So: of the k best of each
segment the likeliest are counted everywhere, which gives a total t that k of them reach; then those
are counted that reach t / S somewhere and may reach t in all.

**One segment.** N-grams of any length are read off the sorted suffixes, where equal ones are
neighbours. A key is the numbers of an n-gram one behind the other, the first on top, so that keys
are in the order of the n-grams. Where all possible keys fit into a small table (short n-grams of
tags), windows are counted there, 2 to 3 times faster. In a layer without sorted suffixes the keys
of all windows are sorted, if they fit into 64 bits; what does not fit into memory in several
rounds, dealt out by a hash of the keys, so that equal ones meet.

**The highest counts.** While suffixes are gone through, a bar rises to the lowest count that can
still be among the highest, so that few candidates are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.index.answers import FrequentNgrams
from rote.index.columns.intrinsics import load64, prefetch
from rote.index.columns.layer_column import LayerColumn, Numbers, SharedVocabulary, Suffixes
from rote.index.columns.packed_array import read
from rote.index.counts.document_counts import count_documents
from rote.index.counts.lookup import Lookup, map_segments
from rote.index.grams import Counts, Grams


def most_frequent(
    columns: Sequence[LayerColumn],
    shared: SharedVocabulary | None,
    lookups: Sequence[Lookup] | None,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int = 1,
) -> FrequentNgrams:
    """The k most frequent n-grams (all without k) of the columns of all segments.

    Several columns have a vocabulary that they share, and `lookups` where they are sorted.
    """
    if shared is not None:

        def list_frequent(least: int, most: int | None, documents: bool) -> Iterator[CountedRows]:
            def in_segment(number: int) -> CountedRows:
                room = MEMORY // threads
                return frequent_rows(columns[number], n, least, most, documents, memory=room)

            each = map_segments(in_segment, range(len(columns)), threads)
            for up, (rows, counts, in_documents) in zip(shared.up, each):
                yield up[rows], counts, in_documents

        def count(rows: Numbers, documents: bool) -> Counts:
            work = _count_row_documents if documents else _count_rows
            pairs = list(zip(lookups or (), shared.down))
            each = map_segments(lambda pair: work(pair[0], pair[1][rows]), pairs, threads)
            return sum(each, np.zeros(len(rows), np.int64))

        ask = count if lookups is not None else None
        return top_of_segments(columns, n, k, shared, list_frequent, ask, documents=documents)
    if _is_too_long(columns, n, k):
        return _NONE
    # Ties at the cut are in the order of the items.
    (column,) = columns
    positions, counts = find_frequent(column, n, most=k)
    positions, counts = positions[:k], counts[:k]
    document_counts = count_documents(column, positions, n) if documents else None
    grams = Grams.of_rows(items_at(column, positions, n), column.vocabulary)
    return FrequentNgrams(grams, counts, document_counts)


CountedRows = tuple[Numbers, Counts, Counts]
"""N-grams as rows of numbers, how often each occurs, and in how many documents (0: not asked)."""
_NONE = FrequentNgrams(Grams.of(()), np.empty(0, np.int64), np.empty(0, np.int64))


def _is_too_long(columns: Sequence[LayerColumn], n: int, k: int | None) -> bool:
    if n < 1 or (k is not None and k < 1):
        raise OptionError("n and the number of n-grams must both be at least 1")
    sizes = [np.diff(column.document_ends, prepend=-1) for column in columns]
    return n >= max((int(each.max(initial=1)) for each in sizes), default=1)


def top_of_segments(
    columns: Sequence[LayerColumn],
    n: int,
    k: int | None,
    shared: SharedVocabulary,
    list_frequent: Callable[[int, int | None, bool], Iterable[CountedRows]],
    count: Callable[[Numbers, bool], Counts] | None,
    *,
    documents: bool,
) -> FrequentNgrams:
    """Those of several segments; without `count` all n-grams of each, added up.

    `list_frequent(least, most, documents)` gives those of each segment, `count(rows, documents)`
    how often all segments hold some, or in how many documents; rows are of shared numbers.
    """
    if _is_too_long(columns, n, k):
        return _NONE
    least, reached = 1, 0
    if k is not None and count is not None:
        first, known, *_ = _add_up(list_frequent(1, k, False))
        # By what some segments have, the likeliest are counted everywhere.
        totals = np.sort(count(first[np.argsort(-known, kind="stable")[: 2 * k]], False))[::-1]
        if len(totals) >= k:
            reached = int(totals[k - 1])
            least = -(-reached // len(columns))
    listed = list_frequent(least, None, documents and count is None)
    chosen, totals, holders, document_counts = _add_up(listed)
    if least > 1 and count is not None:
        # Where an n-gram was not seen it occurs less than `least` times.
        chosen = chosen[totals + (len(columns) - holders) * (least - 1) >= reached]
        totals = count(chosen, False)
    # Numbers are in the order of the strings; the last key is the first to be sorted by.
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    grams = Grams.of_rows(chosen[order], shared.strings)
    if not documents:
        return FrequentNgrams(grams, totals[order])
    in_documents = document_counts[order] if count is None else count(chosen[order], True)
    return FrequentNgrams(grams, totals[order], in_documents)


def frequent_rows(
    column: LayerColumn,
    n: int,
    least: int,
    most: int | None,
    documents: bool,
    *,
    memory: int | None = None,
) -> CountedRows:
    """The frequent n-grams of one segment, in its own numbers."""
    positions, counts = find_frequent(column, n, least=least, most=most, memory=memory or MEMORY)
    in_documents = count_documents(column, positions, n) if documents else np.zeros_like(counts)
    return items_at(column, positions, n), counts, in_documents


def _add_up(each: Iterable[CountedRows]) -> tuple[Numbers, Counts, Counts, Counts]:
    """Each n-gram once; how often the segments that give it have it, how many these are, and how
    many of their documents hold it."""
    listed = list(each)
    rows = [part for part, _, _ in listed]
    chosen, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    totals, holders, document_counts = np.zeros((3, len(chosen)), np.int64)
    parts = np.split(which.reshape(-1), np.cumsum([len(part) for part in rows])[:-1])
    for part, (_, counts, in_documents) in zip(parts, listed):
        totals[part] += counts
        holders[part] += 1
        document_counts[part] += in_documents
    return chosen, totals, holders, document_counts


def _count_rows(lookup: Lookup, rows: Numbers) -> Counts:
    low, high = _rows_range(lookup, rows)
    return high - low


def _count_row_documents(lookup: Lookup, rows: Numbers) -> Counts:
    low, high = _rows_range(lookup, rows)
    there, suffixes = high > low, lookup.column.suffixes
    assert suffixes is not None
    counts = np.zeros(len(rows), np.int64)
    counts[there] = count_documents(lookup.column, suffixes.order.take(low[there]), rows.shape[1])
    return counts


def _rows_range(lookup: Lookup, rows: Numbers) -> tuple[Counts, Counts]:
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return lookup.ranges(rows.reshape(-1), ends)


def items_at(column: LayerColumn, positions: NDArray[np.int64], n: int) -> Numbers:
    """The numbers of the n-grams at these positions, one row each."""
    flat = column.ids.take((positions[:, None] + np.arange(n)).reshape(-1))
    return flat.astype(np.int32).reshape(-1, n)


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
KEY_BITS = 64
MEMORY = 2 << 30
"""Bytes that keys of the text in hand take, about."""
# A table of so many keys stays in the cache: then counting in it is faster than the sorted order.
_TABLE_BITS = 18


def find_frequent(
    column: LayerColumn, n: int, *, least: int = 1, most: int | None = None, memory: int = MEMORY
) -> Counted:
    """All n-grams that occur at least `least` times: the first position of each, and its count.

    With `most` only so many of the highest counts, and all that tie with the last of them. The
    most frequent come first; equal counts stand in the order of the n-grams. No n-gram crosses
    a document's end. Keys of the text in hand take about `memory` bytes; a longer text is gone
    through several times.
    """
    if n < 1 or least < 1 or (most is not None and most < 0):
        raise OptionError(
            f"n-grams of {n}, at least {least} times, at most {most}: "
            "n and least begin at 1, most at 0"
        )
    if most == 0 or column.items == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    column = column.plain()
    key_bits = n * column.ids.bits
    if key_bits <= _TABLE_BITS:
        return count_in_table(column, n, least, most)
    if column.suffixes is not None:
        return count_by_order(column, column.suffixes, n, least, most)
    if key_bits <= KEY_BITS:
        return count_by_sorting(column, n, least, most, room=memory // 8)
    raise OptionError(
        f"n-grams of {n} items are found in sorted suffixes, and the layer "
        f"'{column.name}' has none. Add them with: rote index add-layer INDEX {column.name}"
    )


def count_by_order(
    column: LayerColumn, suffixes: Suffixes, n: int, least: int, most: int | None
) -> Counted:
    """Off the sorted suffixes; for any n."""
    order, ids = suffixes.order, column.ids
    best, size, room = [np.empty((2, 0), np.int64)], 0, max(2 * _ORDER_BLOCK, 2 * (most or 0))
    walk, block = np.array([0, -1, 0, 0]), np.empty((2, _ORDER_BLOCK), np.int64)
    filled = _ORDER_BLOCK
    while filled == _ORDER_BLOCK:
        filled = _next_grams(
            order.data, order.bits, len(order), ids.data, ids.bits, n, least, walk, *block
        )
        best.append(block[:, :filled].copy())
        size += filled
        if most is not None and size >= room:
            firsts, counts = np.concatenate(best, axis=1)
            least = max(least, int(np.partition(counts, -most)[-most]))
            best = [np.stack((firsts, counts))[:, counts >= least]]
            size = best[0].shape[1]
            room = max(room, 2 * size)
    firsts, counts = np.concatenate(best, axis=1)
    return _highest(firsts, counts, most)


def count_in_table(column: LayerColumn, n: int, least: int, most: int | None) -> Counted:
    """In a table of all possible keys; for n-grams that fit into _TABLE_BITS."""
    ids = column.stream()
    firsts, counts = np.zeros((2, 1 << n * ids.bits), np.int64)
    fill_table(ids.data, ids.bits, column.document_ends, n, firsts, counts)
    keys = np.flatnonzero(counts >= least)
    return _highest(firsts[keys], counts[keys], most)


def count_by_sorting(
    column: LayerColumn, n: int, least: int, most: int | None, *, room: int
) -> Counted:
    """By sorting the keys of all windows, about `room` at a time; n-grams fit into KEY_BITS."""
    ids = column.stream()
    text = (ids.data, ids.bits, column.document_ends, n)
    rounds = -(-column.items // max(1, room))
    parts = []
    for part in range(rounds):
        windows = np.empty(window_keys(*text, part, rounds, np.empty(0, np.uint64)), np.uint64)
        window_keys(*text, part, rounds, windows)
        keys, counts = np.unique(windows, return_counts=True)
        parts.append((keys[counts >= least], counts[counts >= least]))
    keys, counts = (np.concatenate(columns) for columns in zip(*parts))
    order = np.argsort(keys)
    chosen, counts = _highest(order, counts[order], most)
    by_key = np.argsort(keys[chosen])
    positions = np.empty(len(chosen), np.int64)
    positions[by_key] = first_positions(*text, keys[chosen[by_key]])
    return positions, counts


def _highest(items: NDArray[np.int64], counts: NDArray[np.int64], most: int | None) -> Counted:
    """The items of the highest counts and of all that tie with the last of them, those first;
    they come in the order of the n-grams, which a stable sort keeps for equal counts."""
    by_count = np.argsort(-counts, kind="stable")
    if most is not None and most < len(counts):
        least = counts[by_count[most - 1]]
        by_count = by_count[: int(np.count_nonzero(counts >= least))]
    return items[by_count], counts[by_count]


_AHEAD = 32
_ORDER_BLOCK = 1 << 16


@njit(inline="always")
def _load_items(data, bits, position, items):  # type: ignore[no-untyped-def]
    """The numbers of some items at once, as many as fit into one load."""
    at = np.int64(position) * np.int64(bits)
    mask = (np.uint64(1) << np.uint64(items * bits)) - np.uint64(1)
    return (load64(data.data, at >> 3) >> np.uint64(at & 7)) & mask


@njit(inline="always")
def _shared_items(data, bits, first, second, n):  # type: ignore[no-untyped-def]
    """How many items the two windows share at least; n only if they are equal.

    `first` holds no document's end, so `second` differs where its document ends, and nothing
    behind the end of the text is read.
    """
    step = 57 // bits
    done = 0
    while done < n:
        items = min(step, n - done)
        if _load_items(data, bits, first + done, items) == _load_items(
            data, bits, second + done, items
        ):
            done += items
            continue
        if len(data.table) == 0:
            return done
        # Different numbers may stand for the same item.
        stop = done + items
        while done < stop and read(data, bits, first + done) == read(data, bits, second + done):
            done += 1
        if done < stop:
            return done
    return n


@njit(cache=True, nogil=True)
def _next_grams(order, order_bits, length, data, bits, n, bar, walk, firsts, counts):  # type: ignore[no-untyped-def]
    """Fill in first positions and counts of the next n-grams that reach the bar.

    `walk` says where in the order to go on, and with which n-gram in hand: a position (or -1), its
    first position and its count so far. Returns how many were filled in; fewer than there is room
    for only at the end.
    """
    start, previous, first, count = walk[0], walk[1], walk[2], walk[3]
    filled = 0
    for i in range(start, length):
        ahead = read(order, order_bits, min(i + _AHEAD, length - 1))
        prefetch(data, (ahead * bits) >> 3)
        position = read(order, order_bits, i)
        shared = np.int64(0)
        if previous >= 0:
            shared = _shared_items(data, bits, previous, position, n)
            if shared == n:
                count += 1
                first = min(first, position)
                continue
            if count >= bar:
                firsts[filled], counts[filled] = first, count
                filled += 1
        # The next one in hand if it holds no document's end; the shared items hold none.
        while shared < n and read(data, bits, position + shared) != 0:
            shared += 1
        previous, first, count = (position if shared == n else np.int64(-1)), position, np.int64(1)
        if filled == len(firsts):
            walk[0], walk[1], walk[2], walk[3] = i + 1, previous, first, count
            return filled
    if previous >= 0 and count >= bar:
        firsts[filled], counts[filled] = first, count
        filled += 1
    walk[0], walk[1] = length, -1
    return filled


_SCATTER = np.uint64(0x9E3779B97F4A7C15)  # an odd number near 2**64 / golden ratio
_BLOCK = 2048


@njit(cache=True, nogil=True)
def next_windows(data, bits, ends, n, at, block):  # type: ignore[no-untyped-def]
    """Keys of the windows from at[1] in document at[0] on, as many as fit, of one document.

    Returns how many; 0 when there are no more. `at` then says where the next one begins.
    """
    document, position = at[0], at[1]
    while document < len(ends) and position + n > ends[document]:
        position = ends[document] + 1
        document += 1
    if document == len(ends):
        return 0
    size = min(len(block), ends[document] - n + 1 - position)
    shift = np.uint64(bits)
    mask = ~np.uint64(0) >> np.uint64(64 - n * bits)
    key = np.uint64(0)
    for i in range(position, position + n - 1):
        key = (key << shift) | np.uint64(read(data, bits, i))
    last = position + n - 1
    for i in range(size):
        key = ((key << shift) | np.uint64(read(data, bits, last + i))) & mask
        block[i] = key
    at[0], at[1] = document, position + size
    return size


@njit(cache=True, nogil=True)
def fill_table(data, bits, ends, n, firsts, counts):  # type: ignore[no-untyped-def]
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    while True:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            return
        for i in range(size):
            if counts[block[i]] == 0:
                firsts[block[i]] = at[1] - size + i
            counts[block[i]] += 1


@njit(cache=True, nogil=True)
def window_keys(data, bits, ends, n, part, parts, keys):  # type: ignore[no-untyped-def]
    """Write the keys of one part of all windows, as far as there is room; returns how many."""
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    count = 0
    while True:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            return count
        for i in range(size):
            if parts > 1 and ((block[i] * _SCATTER) >> np.uint64(32)) % np.uint64(parts) != part:
                continue
            if count < len(keys):
                keys[count] = block[i]
            count += 1


@njit(cache=True, nogil=True)
def first_positions(data, bits, ends, n, keys):  # type: ignore[no-untyped-def]
    """The first window with each of these keys, which ascend."""
    positions = np.full(len(keys), -1, np.int64)
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    missing = len(keys)
    while missing > 0:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            raise RuntimeError("the text changed while its n-grams were counted")
        for i in range(size):
            place = np.searchsorted(keys, block[i])
            if place < len(keys) and keys[place] == block[i] and positions[place] < 0:
                positions[place] = at[1] - size + i
                missing -= 1
    return positions
