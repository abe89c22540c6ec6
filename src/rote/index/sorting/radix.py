"""Kernels that sort suffixes by keys: the sweeps that scatter them, and the sort of a bucket.

A key is the codes of a suffix's items one behind the other, up to and with the document's end,
cut at 64 bits. Swept backward, each key follows from the one behind it, so keys need not be
kept: one sweep counts how many fall into each bucket, a second puts them there. `steps` holds
for every number its code and, in the seven bits below that are always free, the code's length:
one load for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns import memory
from rote.index.sorting.codes import Codes, Lengths

prefetch: Any = memory.prefetch  # numba hides the first argument, which type checkers do not know
# As many keys as stay in the second-level cache together with their copy.
ROOM = 1 << 15
# Up to so many are sorted by insertion.
SMALL = 24
# Bits by which keys are dealt out at once, with a copy and in place.
DIGIT, _LARGE_DIGIT = 11, 8
# Groups that wait at the same time: disjoint parts of one range that has a copy, and the
# brothers of the ranges around it.
_WAITING = ROOM // SMALL + (64 // _LARGE_DIGIT << _LARGE_DIGIT)
_LENGTH = np.uint64(127)
_CODE = ~_LENGTH


def steps_of(codes: Codes, lengths: Lengths) -> NDArray[np.uint64]:
    """Codes with their lengths in the lowest bits."""
    steps: NDArray[np.uint64] = codes | lengths.astype(np.uint64)
    steps.flags.writeable = False
    return steps


@njit(inline="always")
def key_at(ids, steps, place):  # type: ignore[no-untyped-def]
    """The key of the suffix at a place, read forward."""
    key, filled = np.uint64(0), np.uint64(0)
    while filled < np.uint64(64):
        step = steps[ids[place]]
        key |= (step & _CODE) >> filled
        filled += step & _LENGTH
        if ids[place] == 0:
            break
        place += 1
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
    """Count each number; gives the first place whose number is out of range, or -1."""
    for i in range(len(ids)):
        if ids[i] < 0 or ids[i] >= len(counts):
            return i
        counts[ids[i]] += 1
    return -1


@njit(cache=True, nogil=True)
def histogram(ids, steps, start, stop, bits, counts):  # type: ignore[no-untyped-def]
    """How many of the items' keys from start to stop begin with each combination of bits."""
    shift = np.uint64(64 - bits)
    key = _key_behind(ids, steps, stop)
    for i in range(stop - 1, start - 1, -1):
        number = ids[i]
        key = _key_before(key, number, steps[number])
        if number:
            counts[np.int64(key >> shift)] += 1


@njit(cache=True, nogil=True)
def scatter(ids, steps, start, stop, bits, ends, keys, places):  # type: ignore[no-untyped-def]
    """Put the items' keys and places from start to stop into their buckets.

    A bucket is filled backward from `ends`, as the sweep goes: its places ascend, whatever
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
            places[at] = i


@njit(cache=True, nogil=True)
def sort_keys(keys, places, start, stop, held_keys, held_places, counts):  # type: ignore[no-untyped-def]
    """Sort keys from start to stop, and their places along with them; time is bounded by bits.

    A range is dealt out by the highest of those bits in which its keys differ, in place if it is
    larger than the room for its copy, then each group again.
    """
    if stop - start <= SMALL:
        _insert(keys, places, start, stop)
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
        bits = _bits(differing)
        if stop - start > ROOM:
            digit = min(bits, _LARGE_DIGIT)
            _swap(keys, places, start, stop, bits - digit, digit, counts)
        else:
            digit = min(bits, DIGIT, _bits(np.uint64(stop - start)) - 1)
            _deal(keys, places, start, stop, bits - digit, digit, held_keys, held_places, counts)
        # Small groups side by side are sorted in one go; no key leaves its group.
        sorted_to, at = start, start
        for group in range(1 << digit):
            end = start + counts[group]
            if end - at > SMALL:
                _insert(keys, places, sorted_to, at)
                starts[waiting], stops[waiting] = at, end
                waiting += 1
                sorted_to = end
            at = end
        _insert(keys, places, sorted_to, stop)


@njit(inline="always")
def _bits(number):  # type: ignore[no-untyped-def]
    bits = np.int64(0)
    while number:
        number >>= np.uint64(1)
        bits += 1
    return bits


@njit(cache=True, nogil=True)
def _deal(keys, places, start, stop, shift, digit, held_keys, held_places, counts):  # type: ignore[no-untyped-def]
    """Stable: by `digit` bits from `shift` on; `counts` are then the ends of the groups."""
    mask = (np.uint64(1) << np.uint64(digit)) - np.uint64(1)
    low = np.uint64(shift)
    counts[: 1 << digit] = 0
    for i in range(start, stop):
        held_keys[i - start] = keys[i]
        held_places[i - start] = places[i]
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
        places[at] = held_places[i]


@njit(cache=True, nogil=True)
def _swap(keys, places, start, stop, shift, digit, counts):  # type: ignore[no-untyped-def]
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
            key, place = keys[heads[group]], places[heads[group]]
            home = np.int64((key >> low) & mask)
            # Send away what does not belong here until something comes that does.
            while home != group:
                at = heads[home]
                heads[home] += 1
                keys[at], key = key, keys[at]
                places[at], place = place, places[at]
                home = np.int64((key >> low) & mask)
            keys[heads[group]], places[heads[group]] = key, place
            heads[group] += 1


@njit(cache=True, nogil=True)
def _insert(keys, places, start, stop):  # type: ignore[no-untyped-def]
    for i in range(start + 1, stop):
        key, place = keys[i], places[i]
        j = i
        while j > start and keys[j - 1] > key:
            keys[j] = keys[j - 1]
            places[j] = places[j - 1]
            j -= 1
        keys[j] = key
        places[j] = place
