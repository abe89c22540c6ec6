"""Every place in many texts at which any of many strings stands, for the template variants.

The strings are words joined by spaces. Each is held by its core, from its first space to its
last, so that only the spaces of a text have to be looked at: a core that is known says how far
before and behind it strings reach, and each such stretch is looked up whole. Hashes of stretches
come from running hashes of the text; bytes are compared before a match counts, so it is exact.
A string without a space has an empty core, which stands everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]

SPACE = 32
NONE = -1
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# An odd multiplier without structure, for hashes that wrap at 64 bits.
_STEP = np.uint64(0xD6E8FEB86659FD93)


class Strings(NamedTuple):
    """Distinct byte strings: number s is `data[starts[s]:ends[s]]`."""

    data: Array
    starts: Array
    ends: Array


class Table(NamedTuple):
    """The strings by their hashes, and what stands around each core.

    `strings` and `cores` are open tables: slot -> number, NONE where empty. Core c reaches as far
    as the shapes of a chain: `heads[c]`, then `following[shape]`; shape: `before` bytes before the
    core and `behind` bytes after it; `shapes` are those of the strings. `spaces` are the numbers
    of spaces that strings hold.
    """

    strings: Array
    hashes: Array
    shapes: Array
    cores: Array
    core_hashes: Array
    heads: Array
    following: Array
    before: Array
    behind: Array
    spaces: Array


@dataclass(frozen=True, slots=True)
class Matches:
    """String `strings[i]` stands at byte `starts[i]` of text `texts[i]`."""

    texts: NDArray[np.int64]
    starts: NDArray[np.int64]
    strings: NDArray[np.int64]


def distinct(data: Array, starts: Array, ends: Array) -> tuple[Strings, NDArray[np.int64]]:
    """The different strings among many in order of first appearance, and each one's number."""
    numbers, first = _number(data, starts, ends, _size(len(starts)))
    return Strings(data, starts[first], ends[first]), numbers


def find(strings: Strings, data: Array, starts: Array, ends: Array) -> Matches:
    """Where the strings stand in texts; text t is `data[starts[t]:ends[t]]`. No string is empty."""
    if not len(strings.starts):
        nothing = np.empty(0, np.int64)
        return Matches(nothing, nothing, nothing)
    table = _table(strings, _size(len(strings.starts)))
    longest = int((strings.ends - strings.starts).max())
    found = _search(strings, table, _powers(longest), data, starts, ends)
    return Matches(found[:, 0].copy(), found[:, 1].copy(), found[:, 2].copy())


def _size(count: int) -> int:
    """A power of two that leaves an open table at least half empty."""
    return 1 << max(4, (2 * count).bit_length())


@njit(cache=True, nogil=True, inline="always")
def _slot(hashed: Any, size: int) -> Any:
    spread = hashed ^ (hashed >> np.uint64(32))
    return np.int64((spread * _GOLDEN) >> np.uint64(20)) & (size - 1)


@njit(cache=True, nogil=True)
def _hash(data: Array, start: int, end: int) -> Any:
    hashed = np.uint64(0)
    for place in range(start, end):
        hashed = hashed * _STEP + np.uint64(data[place]) + np.uint64(1)
    return hashed


@njit(cache=True, nogil=True)
def _powers(longest: int) -> Array:
    powers = np.ones(longest + 1, np.uint64)
    for length in range(1, longest + 1):
        powers[length] = powers[length - 1] * _STEP
    return powers


@njit(cache=True, nogil=True)
def _same(a: Array, start: int, b: Array, other: int, length: int) -> bool:
    equal = 0
    while equal < length and a[start + equal] == b[other + equal]:
        equal += 1
    return equal == length


@njit(cache=True, nogil=True)
def _number(data: Array, starts: Array, ends: Array, size: int) -> tuple[Array, Array]:
    table = np.full(size, NONE, np.int64)
    hashes = np.empty(len(starts), np.uint64)
    first = np.empty(len(starts), np.int64)
    numbers = np.empty(len(starts), np.int64)
    kinds = 0
    for entry in range(len(starts)):
        start, length = starts[entry], ends[entry] - starts[entry]
        hashed = _hash(data, start, ends[entry])
        slot = _slot(hashed, size)
        while table[slot] != NONE:
            known = first[table[slot]]
            if (
                hashes[table[slot]] == hashed
                and ends[known] - starts[known] == length
                and _same(data, starts[known], data, start, length)
            ):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] == NONE:
            table[slot] = kinds
            hashes[kinds] = hashed
            first[kinds] = entry
            kinds += 1
        numbers[entry] = table[slot]
    return numbers, first[:kinds]


@njit(cache=True, nogil=True)
def _core(data: Array, start: int, end: int) -> tuple[int, int, int]:
    """Where the core begins and ends, and how many spaces it holds."""
    low, high, spaces = start, start, 0
    for place in range(start, end):
        if data[place] == SPACE:
            if spaces == 0:
                low = place
            high = place + 1
            spaces += 1
    return low, high, spaces


@njit(cache=True, nogil=True)
def _table(strings: Strings, size: int) -> Table:
    count = len(strings.starts)
    table = np.full(size, NONE, np.int64)
    hashes = np.empty(count, np.uint64)
    shapes = np.empty((count, 2), np.int64)
    cores = np.full(size, NONE, np.int64)
    core_hashes = np.empty(count, np.uint64)
    heads = np.full(count, NONE, np.int64)
    following = np.full(count, NONE, np.int64)
    before = np.empty(count, np.int64)
    behind = np.empty(count, np.int64)
    held = {0}  # numba reads the type from it
    held.clear()
    known = chained = 0
    for string in range(count):
        start, end = strings.starts[string], strings.ends[string]
        hashes[string] = _hash(strings.data, start, end)
        slot = _slot(hashes[string], size)
        while table[slot] != NONE:
            slot = (slot + 1) & (size - 1)
        table[slot] = string
        low, high, spaces = _core(strings.data, start, end)
        held.add(spaces)
        shapes[string, 0], shapes[string, 1] = low - start, end - high
        # Two cores of one hash would share their shapes: more is looked up, nothing is missed.
        hashed = _hash(strings.data, low, high)
        slot = _slot(hashed, size)
        while cores[slot] != NONE and core_hashes[cores[slot]] != hashed:
            slot = (slot + 1) & (size - 1)
        if cores[slot] == NONE:
            cores[slot] = known
            core_hashes[known] = hashed
            known += 1
        core = cores[slot]
        shape = heads[core]
        while shape != NONE and (before[shape] != low - start or behind[shape] != end - high):
            shape = following[shape]
        if shape == NONE:
            before[chained], behind[chained] = low - start, end - high
            following[chained] = heads[core]
            heads[core] = chained
            chained += 1
    return Table(
        table,
        hashes,
        shapes,
        cores,
        core_hashes,
        heads,
        following,
        before,
        behind,
        np.array(sorted(held)),
    )


@njit(cache=True, nogil=True)
def _search(
    strings: Strings, table: Table, powers: Array, data: Array, starts: Array, ends: Array
) -> Array:
    # Taken out of their records here: inside the loops each look would count references.
    letters, firsts, lasts = strings
    slots, hashes, shapes, cores, core_hashes, heads, following, befores, behinds, counts = table
    size = len(slots)
    found = np.empty((1024, 3), np.int64)
    filled = most = 0
    for text in range(len(starts)):
        most = max(most, ends[text] - starts[text])
    running = np.zeros(most + 1, np.uint64)
    gaps = np.empty(most + 1, np.int64)
    for text in range(len(starts)):
        base, length = starts[text], ends[text] - starts[text]
        seen = 0
        for place in range(length):
            letter = data[base + place]
            running[place + 1] = running[place] * _STEP + np.uint64(letter) + np.uint64(1)
            if letter == SPACE:
                gaps[seen] = place
                seen += 1
        for spaces in counts:
            for anchor in range(seen - spaces + 1 if spaces else length + 1):
                low = gaps[anchor] if spaces else anchor
                high = gaps[anchor + spaces - 1] + 1 if spaces else anchor
                if high - low >= len(powers):
                    continue
                hashed = running[high] - running[low] * powers[high - low]
                slot = _slot(hashed, size)
                while cores[slot] != NONE and core_hashes[cores[slot]] != hashed:
                    slot = (slot + 1) & (size - 1)
                shape = heads[cores[slot]] if cores[slot] != NONE else NONE
                while shape != NONE:
                    before, behind = befores[shape], behinds[shape]
                    start, end = low - before, high + behind
                    shape = following[shape]
                    if start < 0 or end > length or end - start >= len(powers):
                        continue
                    hashed = running[end] - running[start] * powers[end - start]
                    slot = _slot(hashed, size)
                    while slots[slot] != NONE and hashes[slots[slot]] != hashed:
                        slot = (slot + 1) & (size - 1)
                    string = slots[slot]
                    # Of equal hashes the bytes decide. Another core of the same string would
                    # find it a second time, so its own shape is asked for.
                    while string != NONE and not (
                        shapes[string, 0] == before
                        and shapes[string, 1] == behind
                        and lasts[string] - firsts[string] == end - start
                        and _same(letters, firsts[string], data, base + start, end - start)
                    ):
                        slot = (slot + 1) & (size - 1)
                        string = slots[slot]
                    if string == NONE:
                        continue
                    if filled == len(found):
                        larger = np.empty((2 * filled, 3), np.int64)
                        larger[:filled] = found
                        found = larger
                    found[filled, 0] = text
                    found[filled, 1] = start
                    found[filled, 2] = string
                    filled += 1
    return found[:filled]
