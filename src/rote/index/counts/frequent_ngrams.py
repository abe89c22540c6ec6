"""The most frequent n-grams of a layer, exactly: `rote top` and templates ask this.

**Several segments**, without holding all n-grams: one among the k most frequent has at least the
k-th best total t; with S segments it has at least t / S in one of them. So: of the k best of each
segment the likeliest are counted everywhere, which gives a total t that k of them reach; then those
are counted that reach t / S somewhere and may reach t in all.

**One segment**, in two ways that give the same answer. N-grams of any length are read off the
sorted suffixes, where equal ones are neighbours. Where the n numbers fit into 64 bits, all windows
can be counted by hashing instead: faster for the few n-grams of a short n (2 to 2.5 times for
tags), and the only way for a layer without sorted suffixes.

**Hashing.** An n-gram's key is its numbers one behind the other, the first on top, so keys are in
the order of the n-grams. A key is scattered by a multiplication with an odd number, which loses
nothing: the *hash* stands for the key everywhere. Hashes are dealt out to parts by their top bits,
so that all that are equal meet in one part, and a part's distinct hashes are few enough to be
counted in the cache. What is known of an n-gram until the end is its hash and its *rank*: how many
windows of the same part came before it was first seen. Positions are found by a last pass that
counts ranks again, which saves storing them. The table of a part has two words per slot: hash (0 is
free: no key is 0, as no item is), then rank and count together.

**Best counts.** Candidates are rows of `best`: a key, where it was first seen, and its count.
`state` holds the bar below which a count cannot be among the highest any more, how many candidates
are at or above it, and how many rows are filled. `tallies[c]` is how many candidates have count c,
so the bar rises without looking at the candidates again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.index.answers import Counts, FrequentNgrams
from rote.index.columns import intrinsics
from rote.index.columns.layer_column import LayerColumn, Numbers, SharedVocabulary, Suffixes
from rote.index.columns.packed_array import StreamItems, read
from rote.index.counts.batch import map_segments
from rote.index.counts.document_counts import count_documents
from rote.index.counts.lookup import Lookup
from rote.index.grams import Grams


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
    if n < 1 or (k is not None and k < 1):
        raise OptionError("an n-gram has at least one item, and at least one is asked for")
    ends = [np.diff(column.document_ends, prepend=-1) for column in columns]
    if n >= max((int(sizes.max(initial=1)) for sizes in ends), default=1):
        return FrequentNgrams(Grams.of(()), np.empty(0, np.int64), np.empty(0, np.int64))
    if shared is None:
        return _top_in_one(columns[0], n, k, documents=documents)
    if lookups is None:
        return _top_by_adding(columns, shared, n, k, documents=documents, threads=threads)
    return _top_in_all(lookups, shared, n, k, documents=documents, threads=threads)


def _top_in_one(column: LayerColumn, n: int, k: int | None, *, documents: bool) -> FrequentNgrams:
    """The k most frequent n-grams of one column, ties at the cut in the order of the items."""
    positions, counts = find_frequent(column, n, most=k)
    positions, counts = positions[:k], counts[:k]
    document_counts = count_documents(column, positions, n) if documents else None
    grams = _as_grams(_items_at(column, positions, n), column.vocabulary)
    return FrequentNgrams(grams, counts, document_counts)


def _top_in_all(
    lookups: Sequence[Lookup],
    shared: SharedVocabulary,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int,
) -> FrequentNgrams:
    """The same over the columns of several segments."""
    columns = [lookup.column for lookup in lookups]
    least, reached = 1, 0
    if k is not None:
        first, known, _, _ = _add_columns(columns, shared, n, threads, most=k)
        best = first[likeliest_rows(known, k)]
        totals = np.sort(_total_counts(lookups, shared, best, threads))[::-1]
        if len(totals) >= k:
            reached = int(totals[k - 1])
            least = -(-reached // len(columns))
    chosen, totals, seen, _ = _add_columns(columns, shared, n, threads, least=least)
    if least > 1:
        chosen = chosen[can_reach(totals, seen, len(columns), least, reached)]
        totals = _total_counts(lookups, shared, chosen, threads)
    # Numbers are in the order of the strings; the last key is the first to be sorted by.
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    chosen, totals = chosen[order], totals[order]
    document_counts = _total_documents(lookups, shared, chosen, threads) if documents else None
    return FrequentNgrams(_as_grams(chosen, shared.strings), totals, document_counts)


def likeliest_rows(known: Counts, k: int) -> NDArray[np.int64]:
    """Which n-grams to count everywhere for a k-th best total, by what some segments have."""
    return np.argsort(-known, kind="stable")[: 2 * k]


def can_reach(known: Counts, seen: Counts, segments: int, least: int, reached: int) -> NDArray[Any]:
    """What may reach the total: where an n-gram was not seen it occurs less than `least` times."""
    reachable: NDArray[Any] = known + (segments - seen) * (least - 1) >= reached
    return reachable


def _top_by_adding(
    columns: Sequence[LayerColumn],
    shared: SharedVocabulary,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int,
) -> FrequentNgrams:
    """The same for a layer that is not sorted: all n-grams of every segment, added up."""
    chosen, totals, _, document_counts = _add_columns(
        columns, shared, n, threads, documents=documents
    )
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    grams = _as_grams(chosen[order], shared.strings)
    return FrequentNgrams(grams, totals[order], document_counts[order] if documents else None)


def _add_columns(
    columns: Sequence[LayerColumn],
    shared: SharedVocabulary,
    n: int,
    threads: int,
    *,
    least: int = 1,
    most: int | None = None,
    documents: bool = False,
) -> tuple[Numbers, Counts, Counts, Counts]:
    """The frequent n-grams of every column in shared numbers, each once; how often the columns
    that give it have it, how many these are, and how many of their documents hold it."""

    def count(number: int) -> tuple[Numbers, Counts, Counts]:
        column = columns[number]
        positions, counts = find_frequent(
            column, n, least=least, most=most, memory=MEMORY // threads
        )
        document_counts = (
            count_documents(column, positions, n) if documents else np.zeros_like(counts)
        )
        return shared.up[number][_items_at(column, positions, n)], counts, document_counts

    each = list(map_segments(count, range(len(columns)), threads))
    rows = [part for part, _, _ in each]
    chosen, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    totals, seen, document_counts = np.zeros((3, len(chosen)), np.int64)
    parts = np.split(which.reshape(-1), np.cumsum([len(part) for part in rows])[:-1])
    for part, (_, counts, in_documents) in zip(parts, each):
        totals[part] += counts
        seen[part] += 1
        document_counts[part] += in_documents
    return chosen, totals, seen, document_counts


def _total_counts(
    lookups: Sequence[Lookup], shared: SharedVocabulary, chosen: Numbers, threads: int
) -> Counts:
    def count(number: int) -> Counts:
        low, high = _rows_range(lookups[number], shared.down[number], chosen)
        return high - low

    return sum(map_segments(count, range(len(lookups)), threads), np.zeros(len(chosen), np.int64))


def _total_documents(
    lookups: Sequence[Lookup], shared: SharedVocabulary, chosen: Numbers, threads: int
) -> Counts:
    def count(number: int) -> Counts:
        low, high = _rows_range(lookups[number], shared.down[number], chosen)
        there, column = high > low, lookups[number].column
        assert column.suffixes is not None
        document_counts = np.zeros(len(chosen), np.int64)
        positions = column.suffixes.order.take(low[there])
        document_counts[there] = count_documents(column, positions, chosen.shape[1])
        return document_counts

    return sum(map_segments(count, range(len(lookups)), threads), np.zeros(len(chosen), np.int64))


def _rows_range(lookup: Lookup, numbers: Numbers, chosen: Numbers) -> tuple[Counts, Counts]:
    ends = np.arange(1, len(chosen) + 1, dtype=np.int64) * chosen.shape[1]
    return lookup.ranges(numbers[chosen].reshape(-1), ends)


def _items_at(column: LayerColumn, positions: NDArray[np.int64], n: int) -> Numbers:
    """The numbers of the n-grams at these positions, one row each."""
    flat = column.ids.take((positions[:, None] + np.arange(n)).reshape(-1))
    return flat.astype(np.int32).reshape(-1, n)


def _as_grams(rows: Numbers, vocabulary: Sequence[str]) -> Grams:
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return Grams(rows.reshape(-1), ends, vocabulary)


Counted = tuple[NDArray[np.int64], NDArray[np.int64]]
Text = tuple[StreamItems, int, NDArray[np.int64], int]
KEY_BITS = 64
MEMORY = 2 << 30
"""Bytes that hashes of the text in hand take at most."""
# A part of so many windows is counted in the cache, even if no two are equal.
_PART_WINDOWS = 1 << 13
# More parts at once would each need a page of their own at hand while the hashes are dealt out.
_MAX_PART_BITS = 12
# So many different n-grams are counted in the cache without dealing them out. Only then is
# hashing faster than the walk over sorted suffixes.
_FEW_NGRAMS = 1 << 17


def find_frequent(
    column: LayerColumn,
    n: int,
    *,
    least: int = 1,
    most: int | None = None,
    memory: int = MEMORY,
) -> Counted:
    """All n-grams that occur at least `least` times: the first position of each, and its count.

    With `most` only so many of the highest counts, and all that tie with the last of them. The
    most frequent come first; equal counts stand in the order of the n-grams. No n-gram crosses
    a document's end. Hashes of the text in hand take at most `memory` bytes; a longer text is
    gone through several times.
    """
    if n < 1 or least < 1 or (most is not None and most < 0):
        raise OptionError(
            f"n-grams of {n}, at least {least} times, at most {most}: "
            "n and least begin at 1, most at 0"
        )
    if most == 0 or column.items == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    column = column.plain()
    suffixes, fits = column.suffixes, n * column.ids.bits <= KEY_BITS
    if fits and (suffixes is None or _has_few(column, n)):
        part_bits = _choose_part_bits(column, n, memory // 8)
        return count_by_hashing(column, n, least, most, part_bits=part_bits, room=memory // 8)
    if suffixes is None:
        raise OptionError(
            f"n-grams of {n} items are found in sorted suffixes, and the layer "
            f"'{column.name}' has none. Add them with: rote index add-layer INDEX {column.name}"
        )
    return count_by_order(column, suffixes, n, least, most)


def count_by_order(
    column: LayerColumn, suffixes: Suffixes, n: int, least: int, most: int | None
) -> Counted:
    """Off the sorted suffixes; for any n."""
    order, ids = suffixes.order, column.ids
    best, tallies, state = _new_top(least, most)
    best = count_sorted(
        order.data, order.bits, len(order), ids.data, ids.bits, n, best, tallies, state
    )
    rows = _top_rows(best, state)
    # They come in the order of the n-grams, which a stable sort keeps for equal counts.
    by_count = np.argsort(-rows[:, COUNT], kind="stable")
    return rows[by_count, FIRST], rows[by_count, COUNT]


def count_by_hashing(
    column: LayerColumn, n: int, least: int, most: int | None, *, part_bits: int, room: int
) -> Counted:
    """By counting all windows in 2**part_bits parts, with room for so many hashes at a time.

    For n-grams that fit into KEY_BITS.
    """
    ids = column.stream()
    text: Text = (ids.data, ids.bits, column.document_ends, n)
    best, tallies, state = _new_top(least, most)
    rounds = list(_plan_rounds(text, part_bits, room))
    # Made once, and by numpy, which asks for large pages: dealing writes to many pages at once.
    dealt = np.empty(max(0 if bounds is None else bounds[-1] for _, bounds in rounds), np.uint64)
    for low, bounds in rounds:
        if bounds is None:
            best = count_streamed(*text, part_bits, low, best, tallies, state)
        else:
            _deal(*text, part_bits, low, bounds, dealt)
            best = count_dealt(dealt, bounds, part_bits, best, tallies, state)
    del dealt
    rows = _top_rows(best, state)
    hashes, counts = rows[:, KEY].view(np.uint64), rows[:, COUNT]
    parts = ((hashes >> np.uint64(1)) >> np.uint64(63 - part_bits)).astype(np.int64)
    # Parts come one after the other, and in a part n-grams stand as they were first seen.
    ranks = rows[:, FIRST].copy()
    positions = _places_of(*text, part_bits, parts, ranks)
    order = np.argsort(hashes * np.uint64(GATHER))
    order = order[np.argsort(-counts[order], kind="stable")]
    return positions[order], counts[order]


def _has_few(column: LayerColumn, n: int) -> bool:
    """Whether there are so few possible n-grams that they can be counted in the cache."""
    return float(len(column.vocabulary) - 1) ** n <= _FEW_NGRAMS


def _choose_part_bits(column: LayerColumn, n: int, room: int) -> int:
    """Into how many parts the windows should be dealt, as a power of two; 0: do not deal."""
    if _has_few(column, n):
        return 0
    wanted = (column.items // _PART_WINDOWS).bit_length()
    rounds = column.items // max(1, room)
    return min(wanted, _MAX_PART_BITS + rounds.bit_length())


def _plan_rounds(
    text: Text, part_bits: int, room: int
) -> Iterator[tuple[int, NDArray[np.int64] | None]]:
    """Which parts to count together: the first, and where each begins among the hashes dealt.

    Without bounds: this one part alone has no room, or there is only one, so it should be
    counted without storing it. A large part is no worry for that, as it is large by what
    repeats in it.
    """
    if part_bits == 0:
        yield 0, None
        return
    sizes = part_sizes(*text, part_bits)
    ends = np.cumsum(sizes)
    low = 0
    while low < len(sizes):
        before = int(ends[low - 1]) if low else 0
        high = int(np.searchsorted(ends, before + room, side="right"))
        if high > low:
            yield low, np.concatenate([[0], ends[low:high] - before])
            low = high
        else:
            yield low, None
            low += 1


KEY, FIRST, COUNT = 0, 1, 2
BAR, ABOVE, FILLED, MOST = 0, 1, 2, 3
# The bar rises no further than this: of n-grams that are so frequent there can only be few.
_HIGHEST = 1023
_ROWS = 1024


def _new_top(least: int, most: int | None) -> tuple[NDArray[np.int64], ...]:
    """`best`, `tallies` and `state` with no candidate yet; most None: all that reach least."""
    state = np.array([least, 0, 0, -1 if most is None else most], np.int64)
    return np.empty((_ROWS, 3), np.int64), np.zeros(_HIGHEST + 1, np.int64), state


def _top_rows(best: NDArray[np.int64], state: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of the highest counts and of all that tie with the last of them."""
    rows = best[: state[FILLED]]
    bar, most = int(state[BAR]), int(state[MOST])
    if bar == _HIGHEST and 0 < most < len(rows):
        # The bar may have stopped too low.
        counts = rows[:, COUNT]
        bar = max(bar, int(np.partition(counts, len(rows) - most)[len(rows) - most]))
    return rows[rows[:, COUNT] >= bar]


@njit(cache=True, nogil=True)
def _make_room(best, state, rows):  # type: ignore[no-untyped-def]
    """`best` with room for so many more rows; those below the bar are dropped if there is not."""
    if state[FILLED] + rows <= len(best):
        return best
    remaining = 0
    for i in range(state[FILLED]):
        if best[i, COUNT] >= state[BAR]:
            for j in range(3):
                best[remaining, j] = best[i, j]
            remaining += 1
    state[FILLED] = remaining
    if 2 * (remaining + rows) <= len(best):
        return best
    larger = np.empty((2 * (remaining + rows), 3), np.int64)
    for i in range(remaining):
        for j in range(3):
            larger[i, j] = best[i, j]
    return larger


@njit(inline="always")
def _offer(best, tallies, state, key, first, count):  # type: ignore[no-untyped-def]
    """Take a candidate if it reaches the bar; `best` must have room."""
    if count >= state[BAR]:
        filled = state[FILLED]
        best[filled, KEY] = key
        best[filled, FIRST] = first
        best[filled, COUNT] = count
        state[FILLED] = filled + 1
        if state[MOST] > 0:
            tallies[min(count, _HIGHEST)] += 1
            state[ABOVE] += 1
            while state[BAR] < _HIGHEST and state[ABOVE] - tallies[state[BAR]] >= state[MOST]:
                state[ABOVE] -= tallies[state[BAR]]
                state[BAR] += 1


load64: Any = intrinsics.load64
prefetch: Any = intrinsics.prefetch
_AHEAD = 32
_ORDER_BLOCK = 1024


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


@njit(inline="always")
def _is_inside_document(data, bits, position, start, n):  # type: ignore[no-untyped-def]
    """Whether the window holds no document's end; the first `start` items are known."""
    while start < n and read(data, bits, position + start) != 0:
        start += 1
    return start == n


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
        is_inside = _is_inside_document(data, bits, position, shared, n)
        previous, first, count = (position if is_inside else np.int64(-1)), position, np.int64(1)
        if filled == len(firsts):
            walk[0], walk[1], walk[2], walk[3] = i + 1, previous, first, count
            return filled
    if previous >= 0 and count >= bar:
        firsts[filled], counts[filled] = first, count
        filled += 1
    walk[0], walk[1] = length, -1
    return filled


@njit(cache=True, nogil=True)
def count_sorted(order, order_bits, length, data, bits, n, best, tallies, state):  # type: ignore[no-untyped-def]
    """Offer all n-grams to the best, by their first position, in order; returns `best`."""
    walk = np.array([0, -1, 0, 0])
    firsts, counts = np.empty(_ORDER_BLOCK, np.int64), np.empty(_ORDER_BLOCK, np.int64)
    while True:
        filled = _next_grams(
            order, order_bits, length, data, bits, n, state[BAR], walk, firsts, counts
        )
        best = _make_room(best, state, filled)
        for i in range(filled):
            _offer(best, tallies, state, 0, firsts[i], counts[i])
        if filled < _ORDER_BLOCK:
            return best


# An odd number near 2**64 / golden ratio, and the one that undoes the multiplication.
SCATTER = 0x9E3779B97F4A7C15
GATHER = pow(SCATTER, -1, 1 << 64)
_SCATTER = np.uint64(SCATTER)
_BLOCK = 2048
_SLOTS = 4096
_LOW = np.uint64(0xFFFFFFFF)
_FREE, _ONE, _TWO, _HALF = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(32)


@njit(inline="always")
def _part_of(hashed, part_bits):  # type: ignore[no-untyped-def]
    """The top bits; in two steps since no shift by 64 is defined, and there may be one part."""
    return np.int64((hashed >> np.uint64(1)) >> np.uint64(63 - part_bits))


@njit(inline="always")
def _log2(power):  # type: ignore[no-untyped-def]
    bits = 0
    while (1 << bits) < power:
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def next_windows(data, bits, ends, n, at, block):  # type: ignore[no-untyped-def]
    """Hashes of the windows from at[1] in document at[0] on, as many as fit, of one document.

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
        block[i] = key * _SCATTER
    at[0], at[1] = document, position + size
    return size


@njit(cache=True, nogil=True)
def part_sizes(data, bits, ends, n, part_bits):  # type: ignore[no-untyped-def]
    """How many windows fall into each part."""
    sizes = np.zeros(1 << part_bits, np.int64)
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    while True:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            return sizes
        for i in range(size):
            sizes[_part_of(block[i], part_bits)] += 1


@njit(cache=True, nogil=True)
def _deal(data, bits, ends, n, part_bits, low, bounds, dealt):  # type: ignore[no-untyped-def]
    """Write the hashes of the parts from `low` on, part by part, each in the order of the text.

    `bounds[j]` is where part low + j begins in `dealt`; the last is where it ends.
    """
    parts = len(bounds) - 1
    to = bounds[:parts].copy()
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    while True:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            return
        for i in range(size):
            part = _part_of(block[i], part_bits) - low
            if 0 <= part < parts:
                dealt[to[part]] = block[i]
                to[part] += 1


@njit(cache=True, nogil=True)
def _insert(table, taken, used, part_bits, hashes, start, stop, rank):  # type: ignore[no-untyped-def]
    """Count hashes of one part, the first with this rank, until the table is half full.

    `taken` lists the slots in use in the order in which they were taken. Returns how many there
    are, and where it stopped. The loop stays free of everything else: it is where the time goes.
    """
    slots = np.uint64(len(table) // 2)
    mask = slots - _ONE
    # The slot is given by the bits behind those that all hashes of the part have in common.
    cut, drop = np.uint64(part_bits), np.uint64(64 - _log2(len(table) // 2))
    for i in range(start, stop):
        hashed = hashes[i]
        slot = (hashed << cut) >> drop
        slot_hash = table[_TWO * slot]
        while slot_hash != hashed and slot_hash != _FREE:
            slot = (slot + _ONE) & mask
            slot_hash = table[_TWO * slot]
        if slot_hash == _FREE:
            if used == len(taken):
                return used, i
            table[_TWO * slot] = hashed
            table[_TWO * slot + _ONE] = np.uint64(rank + i - start) << _HALF
            taken[used] = slot
            used += 1
        table[_TWO * slot + _ONE] += _ONE
    return used, stop


@njit(cache=True, nogil=True)
def new_table(slots):  # type: ignore[no-untyped-def]
    """A table and the list of its slots in use; `slots` is a power of two."""
    return np.zeros(2 * slots, np.uint64), np.empty(slots // 2, np.uint64)


@njit(cache=True, nogil=True)
def _grown(table, taken, part_bits):  # type: ignore[no-untyped-def]
    """A table of twice the size, for one whose list is full."""
    larger, listed = new_table(len(table))
    single_hash = np.empty(1, np.uint64)
    for i in range(len(taken)):
        old = _TWO * taken[i]
        single_hash[0] = table[old]
        _insert(larger, listed, i, part_bits, single_hash, 0, 1, 0)
        larger[_TWO * listed[i] + _ONE] = table[old + _ONE]
    return larger, listed


@njit(cache=True, nogil=True)
def _add(table, taken, used, part_bits, hashes, start, stop, rank):  # type: ignore[no-untyped-def]
    """Count hashes of one part; returns the table, which may have grown, its list, and its use."""
    while True:
        used, at = _insert(table, taken, used, part_bits, hashes, start, stop, rank)
        if at == stop:
            return table, taken, used
        table, taken = _grown(table, taken, part_bits)
        start, rank = at, rank + at - start


@njit(cache=True, nogil=True)
def _take(table, taken, used, best, tallies, state):  # type: ignore[no-untyped-def]
    """Offer all n-grams of the table to the best, and empty it for the next part."""
    bar, passed = np.uint64(state[BAR]), 0
    for i in range(used):
        slot = taken[i]
        if (table[_TWO * slot + _ONE] & _LOW) >= bar:
            taken[passed] = slot
            passed += 1
        else:
            table[_TWO * slot] = _FREE
    best = _make_room(best, state, passed)
    for i in range(passed):
        slot = _TWO * taken[i]
        both = table[slot + _ONE]
        first, count = np.int64(both >> _HALF), np.int64(both & _LOW)
        _offer(best, tallies, state, np.int64(table[slot]), first, count)
        table[slot] = _FREE
    return best


@njit(cache=True, nogil=True)
def count_dealt(dealt, bounds, part_bits, best, tallies, state):  # type: ignore[no-untyped-def]
    """Offer the n-grams that `deal` laid out to the best; returns `best`, moved if it grew."""
    table, taken = new_table(_SLOTS)
    for part in range(len(bounds) - 1):
        table, taken, used = _add(
            table, taken, 0, part_bits, dealt, bounds[part], bounds[part + 1], 0
        )
        best = _take(table, taken, used, best, tallies, state)
    return best


@njit(cache=True, nogil=True)
def count_streamed(data, bits, ends, n, part_bits, part, best, tallies, state):  # type: ignore[no-untyped-def]
    """The same for one part straight from the text, without storing its hashes."""
    table, taken = new_table(_SLOTS)
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    used, rank = 0, 0
    while True:
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            return _take(table, taken, used, best, tallies, state)
        mine = 0
        for i in range(size):
            hashed = block[i]
            block[mine] = hashed
            mine += _part_of(hashed, part_bits) == part
        table, taken, used = _add(table, taken, used, part_bits, block, 0, mine, rank)
        rank += mine


@njit(cache=True, nogil=True)
def _places_of(data, bits, ends, n, part_bits, parts, ranks):  # type: ignore[no-untyped-def]
    """The positions of the windows with these ranks in these parts, which ascend together."""
    positions = np.empty(len(parts), np.int64)
    due = np.zeros(1 << part_bits, np.int64)  # of each part, the next wanted
    last = np.zeros(1 << part_bits, np.int64)
    left = np.full(1 << part_bits, -1, np.int64)  # windows of the part before that one
    for i in range(len(parts) - 1, -1, -1):
        due[parts[i]] = i
        left[parts[i]] = ranks[i]
    for i in range(len(parts)):
        last[parts[i]] = i
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    located = 0
    while located < len(parts):
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            raise RuntimeError("the text changed while its n-grams were counted")
        for i in range(size):
            part = _part_of(block[i], part_bits)
            if left[part] == 0:
                wanted = due[part]
                positions[wanted] = at[1] - size + i
                located += 1
                if wanted < last[part]:
                    due[part] = wanted + 1
                    left[part] = ranks[wanted + 1] - ranks[wanted]
            left[part] -= 1
    return positions
