"""Suffixes whose keys are the same: they are told apart by what stands behind the key.

A run of equal keys is sorted again by the keys that begin behind the items which the first key
holds whole, and so on; a run whose key holds the document's end is equal to the end. On natural
text this is rare and shallow. Where much repeats it could take forever, so the work is counted,
and whoever calls gives it up beyond a budget.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.index.sorting.radix import DIGIT, ROOM, key_at, prefetch, sort_keys

# Runs up to this size are sorted by comparing items one by one.
_FEW = 8
# Runs within runs; whoever nests deeper has used up any budget that makes sense.
_DEEPEST = 4096
# How many suffixes ahead memory is asked for.
_AHEAD = 24
# Going to another place of the stream costs as much as reading so many items in a row.
_VISIT = 8


@njit(cache=True, nogil=True)
def sort_buckets(  # type: ignore[no-untyped-def]
    ids, steps, first, step, bounds, keys, places, table, table_bits, budget
):
    """Sort every `step`-th bucket from `first` on, fill in its part of the table.

    Gives the work that equal keys made, about one unit for every item looked at; more than the
    budget means that it gave up.
    """
    held_keys, held_places = np.empty(ROOM, np.uint64), np.empty(ROOM, np.int32)
    counts = np.empty(1 << DIGIT, np.int32)
    frames = np.empty((_DEEPEST, 3), np.int64)
    work = 0
    for bucket in range(first, len(bounds) - 1, step):
        start, stop = bounds[bucket], bounds[bucket + 1]
        sort_keys(keys, places, start, stop, held_keys, held_places, counts)
        _tabulate(keys, start, stop, bucket, len(bounds) - 1, table, table_bits)
        work = _settle(
            ids,
            steps,
            keys,
            places,
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
def _settle(  # type: ignore[no-untyped-def]
    ids, steps, keys, places, start, stop, held_keys, held_places, counts, frames, work, budget
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
                prefetch(ids, np.int64(places[i - 1]) + depth)
                prefetch(ids, np.int64(places[i]) + depth)
        held = _items_in_key(ids, steps, places[at] + depth)
        if held == 0:
            for i in range(at, end):
                keys[i] = np.uint64(places[i])
            sort_keys(keys, places, at, end, held_keys, held_places, counts)
            continue
        depth += held
        if end - at <= _FEW:
            work = _insert(ids, places, at, end, depth, work, budget)
        else:
            work += (end - at) * (held + _VISIT)
            level += 1
        if work > budget or level == _DEEPEST:
            return budget + 1
        if end - at > _FEW:
            for i in range(at, end):
                if i + _AHEAD < end:
                    prefetch(ids, np.int64(places[i + _AHEAD]) + depth)
                keys[i] = key_at(ids, steps, places[i] + depth)
            sort_keys(keys, places, at, end, held_keys, held_places, counts)
            frames[level, 0], frames[level, 1], frames[level, 2] = at, end, depth
    return work


@njit(inline="always")
def _items_in_key(ids, steps, place):  # type: ignore[no-untyped-def]
    """How many items the key at a place holds whole; 0 if it holds the document's end."""
    held, filled = 0, np.uint64(0)
    while True:
        filled += steps[ids[place + held]] & np.uint64(127)
        if filled > np.uint64(64):
            return held
        if ids[place + held] == 0:
            return 0
        held += 1


@njit(cache=True, nogil=True)
def _insert(ids, places, start, stop, depth, work, budget):  # type: ignore[no-untyped-def]
    """Sort a few suffixes that are equal for `depth` items."""
    for i in range(start + 1, stop):
        place = places[i]
        j = i
        while j > start and work <= budget:
            one, other = np.int64(places[j - 1]) + depth, np.int64(place) + depth
            begin = one
            while ids[one] == ids[other] and ids[one]:
                one += 1
                other += 1
            work += one - begin + _VISIT
            # Equal to the end: the earlier place first.
            if ids[one] < ids[other] or (ids[one] == ids[other] and one < other):
                break
            places[j] = places[j - 1]
            j -= 1
        places[j] = place
    return work
