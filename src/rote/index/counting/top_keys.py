"""Kernels that count all n-grams whose numbers fit together into 64 bits.

An n-gram's key is its numbers one behind the other, the first on top, so keys stand in the order
of the n-grams. A key is scattered by a multiplication with an odd number, which loses nothing:
the *hash* stands for the key everywhere. Hashes are dealt out to parts by their top bits, so
that all that are equal meet in one part, and a part's distinct hashes are few enough to be
counted in the cache. What is known of an n-gram until the end is its hash and its *rank*: how
many windows of the same part came before it was first seen. Places are found by a last pass that
counts ranks again, which saves storing them.

The table of a part has two words per slot: hash (0 is free: no key is 0, as no item is), then
rank and count together.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.index.columns.packed import read
from rote.index.counting.top_best import BAR, keep, with_room

# An odd number near 2**64 / golden ratio, and the one that undoes the multiplication.
SCATTER = 0x9E3779B97F4A7C15
GATHER = pow(SCATTER, -1, 1 << 64)
_SCATTER = np.uint64(SCATTER)
_BLOCK = 2048
_SLOTS = 4096
_LOW = np.uint64(0xFFFFFFFF)
_FREE, _ONE, _TWO, _HALF = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(32)


@njit(inline="always")
def part_of(hashed, part_bits):  # type: ignore[no-untyped-def]
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
    document, place = at[0], at[1]
    while document < len(ends) and place + n > ends[document]:
        place = ends[document] + 1
        document += 1
    if document == len(ends):
        return 0
    size = min(len(block), ends[document] - n + 1 - place)
    shift = np.uint64(bits)
    mask = ~np.uint64(0) >> np.uint64(64 - n * bits)
    key = np.uint64(0)
    for i in range(place, place + n - 1):
        key = (key << shift) | np.uint64(read(data, bits, i))
    last = place + n - 1
    for i in range(size):
        key = ((key << shift) | np.uint64(read(data, bits, last + i))) & mask
        block[i] = key * _SCATTER
    at[0], at[1] = document, place + size
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
            sizes[part_of(block[i], part_bits)] += 1


@njit(cache=True, nogil=True)
def deal(data, bits, ends, n, part_bits, low, bounds, dealt):  # type: ignore[no-untyped-def]
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
            part = part_of(block[i], part_bits) - low
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
        held = table[_TWO * slot]
        while held != hashed and held != _FREE:
            slot = (slot + _ONE) & mask
            held = table[_TWO * slot]
        if held == _FREE:
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
    one = np.empty(1, np.uint64)
    for i in range(len(taken)):
        old = _TWO * taken[i]
        one[0] = table[old]
        _insert(larger, listed, i, part_bits, one, 0, 1, 0)
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
    best = with_room(best, state, passed)
    for i in range(passed):
        slot = _TWO * taken[i]
        both = table[slot + _ONE]
        first, count = np.int64(both >> _HALF), np.int64(both & _LOW)
        keep(best, tallies, state, np.int64(table[slot]), first, count)
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
            mine += part_of(hashed, part_bits) == part
        table, taken, used = _add(table, taken, used, part_bits, block, 0, mine, rank)
        rank += mine


@njit(cache=True, nogil=True)
def places_of(data, bits, ends, n, part_bits, parts, ranks):  # type: ignore[no-untyped-def]
    """The places of the windows with these ranks in these parts, which ascend together."""
    places = np.empty(len(parts), np.int64)
    due = np.zeros(1 << part_bits, np.int64)  # of each part, the next wanted
    last = np.zeros(1 << part_bits, np.int64)
    left = np.full(1 << part_bits, -1, np.int64)  # windows of the part before that one
    for i in range(len(parts) - 1, -1, -1):
        due[parts[i]] = i
        left[parts[i]] = ranks[i]
    for i in range(len(parts)):
        last[parts[i]] = i
    block, at = np.empty(_BLOCK, np.uint64), np.zeros(2, np.int64)
    found = 0
    while found < len(parts):
        size = next_windows(data, bits, ends, n, at, block)
        if size == 0:
            raise RuntimeError("the text changed while its n-grams were counted")
        for i in range(size):
            part = part_of(block[i], part_bits)
            if left[part] == 0:
                wanted = due[part]
                places[wanted] = at[1] - size + i
                found += 1
                if wanted < last[part]:
                    due[part] = wanted + 1
                    left[part] = ranks[wanted + 1] - ranks[wanted]
            left[part] -= 1
    return places
