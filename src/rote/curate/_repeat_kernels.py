"""Kernels that number runs of words: the same number wherever the same words begin.

Each place of a stream has a key, a hash of its next words. Places are dealt into buckets by the
top bits of their keys; a small table in each bucket then finds for a place the first one with the
same words, which are compared one by one: a key decides where to look and nothing else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.layer_column import END

Array: TypeAlias = NDArray[Any]
ONCE = -1
TOP = 40
"""Bits of a key that say which pass and which bucket it belongs to; the others are for tables."""
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BASE = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _bucket(key: np.uint64, first: int, of: int) -> np.int64:
    """The bucket of a key, of all `of`, counted from `first` on."""
    return np.int64(((key >> np.uint64(64 - TOP)) * np.uint64(of)) >> np.uint64(TOP)) - first


@njit(cache=True, nogil=True)
def deal(
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
        own = _mixed(key)
        bucket = _bucket(own, first, of)
        if 0 <= bucket < buckets:
            if len(keys):
                keys[ends[bucket]] = own
                places[ends[bucket]] = place - length + 1
            ends[bucket] += 1


@njit(cache=True, nogil=True)
def _same(ids: Array, one: int, other: int, length: int) -> bool:
    step = 0
    while step < length and ids[one + step] == ids[other + step]:
        step += 1
    return step == length


@njit(cache=True, nogil=True)
def match(ids: Array, length: int, keys: Array, places: Array, numbers: Array) -> None:
    """In one bucket, whose places are in order: for a place whose words occur at another the first
    of these places."""
    slots = 16
    while slots < 2 * len(keys):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int32)
    for one in range(len(keys)):
        slot = keys[one] & mask
        while table[slot] >= 0:
            other = table[slot]
            if keys[other] == keys[one] and _same(ids, places[other], places[one], length):
                numbers[places[other]] = places[other]
                numbers[places[one]] = places[other]
                break
            slot = (slot + np.uint64(1)) & mask
        else:
            table[slot] = one


@njit(cache=True, nogil=True)
def renumber(numbers: Array) -> int:
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
