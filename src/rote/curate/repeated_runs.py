"""Which places of a corpus begin with the same words, within a given memory.

Arrays as long as the corpus are kept in memory while there is room, then in files that are mapped,
which the system reads and writes as needed. Runs are numbered in as many passes as it takes for the
work of one to fit; what comes out depends neither on the memory nor on the threads.

The same number stands wherever the same words begin. Each place of a stream has a key, a hash of
its next words. Places are dealt into buckets by the top bits of their keys; a small table in each
bucket then finds for a place the first one with the same words, which are compared one by one: a
key decides where to look and nothing else.
"""

from __future__ import annotations

import tempfile
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.arrays import Array
from rote.core.kernels import njit
from rote.index.grams import END, MAX_POSITIONS

DEFAULT_MEMORY = 4 * 2**30
# A key and a place.
_ENTRY = 16
_BUCKET = 1 << 12
_MOST_BUCKETS = 1 << 14


class ArrayRoom:
    """Room for arrays: half of the memory for those that last, half for work."""

    def __init__(self, memory: int = DEFAULT_MEMORY, folder: Path | None = None) -> None:
        self.work = memory // 2
        self._left = memory - self.work
        self._folder = folder

    def array(self, size: int, dtype: Any, fill: int = 0) -> Array:
        """In memory if it fits, else mapped from a file that has no name."""
        needed = size * np.dtype(dtype).itemsize
        if needed <= self._left:
            array: Array = np.full(size, fill, dtype)
            self._left -= needed
            weakref.finalize(array, self._give_back, needed)
            return array
        with tempfile.TemporaryFile(prefix=".rote-", dir=self._folder) as file:
            file.truncate(needed)
            array = np.memmap(file, dtype=dtype, mode="r+").view(np.ndarray)
        if fill:
            array[:] = fill
        return array

    def _give_back(self, size: int) -> None:
        self._left += size


def position_dtype(places: int) -> Any:
    """The type of numbers that stand for places of a stream."""
    return np.int32 if places <= MAX_POSITIONS else np.int64


def number_runs(
    ids: Array, length: int, numbers: Array, room: ArrayRoom, *, threads: int = 1
) -> int:
    """Fill in the same number for all places where the same `length` words begin, from 0 on in the
    order of their first places; ONCE where no other place has them. How many numbers there are."""
    numbers[:] = ONCE
    at_once = max(1, room.work // _ENTRY)
    passes = -(-len(ids) // at_once)
    buckets = min(_MOST_BUCKETS, max(1, min(at_once, len(ids)) // _BUCKET))
    parts = list(pairwise(len(ids) * i // threads for i in range(threads + 1)))
    nothing = np.empty(0, np.uint64), np.empty(0, numbers.dtype)

    from rote.index.columns.suffix_sort import thread_map

    with thread_map(threads) as each:
        for number in range(passes):
            first, of = number * buckets, passes * buckets
            ends = np.zeros((threads, buckets), np.int64)

            def count(part: int) -> None:
                _deal_positions(ids, *parts[part], length, first, of, ends[part], *nothing)  # noqa: B023

            list(each(count, range(threads)))
            bounds = np.concatenate((np.zeros(1, np.int64), ends.sum(axis=0).cumsum()))
            ends = bounds[:-1] + ends.cumsum(axis=0) - ends
            keys, places = np.empty(bounds[-1], np.uint64), np.empty(bounds[-1], numbers.dtype)

            def fill(part: int) -> None:
                _deal_positions(ids, *parts[part], length, first, of, ends[part], keys, places)  # noqa: B023

            def look(bucket: int) -> None:
                start, end = bounds[bucket : bucket + 2]  # noqa: B023
                _match_bucket(ids, length, keys[start:end], places[start:end], numbers)  # noqa: B023

            list(each(fill, range(threads)))
            list(each(look, range(buckets)))
    kinds: int = _renumber(numbers)
    return kinds


ONCE = -1
_TOP_BITS = 40
"""Bits of a key that say which pass and which bucket it belongs to; the others are for tables."""
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BASE = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _mix(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _bucket(key: np.uint64, first: int, of: int) -> np.int64:
    """The bucket of a key, of all `of`, counted from `first` on."""
    return (
        np.int64(((key >> np.uint64(64 - _TOP_BITS)) * np.uint64(of)) >> np.uint64(_TOP_BITS))
        - first
    )


@njit(cache=True, nogil=True)
def _deal_positions(
    ids: Array,
    start: int,
    stop: int,
    length: int,
    first: int,
    of: int,
    ends: Array,
    keys: Array,
    places: Array,
) -> None:
    """Put the places from `start` to `stop` into their buckets, which begin at `ends` and grow;
    with no room in `keys` they are only counted."""
    buckets = len(ends)
    power = np.uint64(1)
    for _ in range(length):
        power *= _BASE
    key, known = np.uint64(0), 0
    for place in range(start, min(stop + length - 1, len(ids))):
        if ids[place] == END:
            key, known = np.uint64(0), 0
            continue
        key = key * _BASE + np.uint64(ids[place])
        known += 1
        if known > length:
            key -= power * np.uint64(ids[place - length])
        if known < length:
            continue
        mixed = _mix(key)
        bucket = _bucket(mixed, first, of)
        if 0 <= bucket < buckets:
            if len(keys):
                keys[ends[bucket]] = mixed
                places[ends[bucket]] = place - length + 1
            ends[bucket] += 1


@njit(cache=True, nogil=True)
def _has_same_words(ids: Array, first: int, second: int, length: int) -> bool:
    step = 0
    while step < length and ids[first + step] == ids[second + step]:
        step += 1
    return step == length


@njit(cache=True, nogil=True)
def _match_bucket(ids: Array, length: int, keys: Array, places: Array, numbers: Array) -> None:
    """In one bucket, whose places are in order: for a place whose words occur at another the first
    of these places."""
    slots = 16
    while slots < 2 * len(keys):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int32)
    for entry in range(len(keys)):
        slot = keys[entry] & mask
        while table[slot] >= 0:
            occupant = table[slot]
            if keys[occupant] == keys[entry] and _has_same_words(
                ids, places[occupant], places[entry], length
            ):
                numbers[places[occupant]] = places[occupant]
                numbers[places[entry]] = places[occupant]
                break
            slot = (slot + np.uint64(1)) & mask
        else:
            table[slot] = entry


@njit(cache=True, nogil=True)
def _renumber(numbers: Array) -> int:
    """Numbers from 0 on, in the order of first places; how many there are."""
    kinds = 0
    for place in range(len(numbers)):
        first = numbers[place]
        if first == place:
            numbers[place] = kinds
            kinds += 1
        elif first != ONCE:
            numbers[place] = numbers[first]
    return kinds
