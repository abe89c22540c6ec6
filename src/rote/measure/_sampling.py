"""Draw n-grams of a group of texts without replacement and count the distinct ones.

Nothing here is as long as the texts: ranks are drawn, their places looked up, and
only the drawn windows are read, so the column of ids may be a file larger than
the memory. Counting compares the windows themselves; a hash only says where to look.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]
Integer: TypeAlias = int | np.integer[Any]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MIX = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MIX = np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True, inline="always")
def mixed(seed: np.uint64, counter: np.uint64) -> np.uint64:
    """Number `counter` of the splitmix64 sequence that starts at `seed`."""
    state = seed + counter * GOLDEN
    state = (state ^ (state >> np.uint64(30))) * FIRST_MIX
    state = (state ^ (state >> np.uint64(27))) * SECOND_MIX
    return state ^ (state >> np.uint64(31))


@njit(cache=True, nogil=True)
def table_size(entries: int) -> int:
    """Slots of an open-addressing table at most half full: a power of two."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def draw(total: int, count: int, seed: np.uint64) -> Array:
    """`count` distinct numbers below `total`, all subsets equally likely (Floyd).

    Bounded numbers are cut from the bits and rejected when too large, so they
    carry no modulo bias. What was drawn is marked in a bitmap, or, where that would
    be larger than a hash table of the drawn numbers, in such a table.
    """
    size = table_size(count)
    as_bits = total <= 64 * size
    marks = np.zeros(total // 8 + 1 if as_bits else 0, np.uint8)
    table = np.full(0 if as_bits else size, -1, np.int64)
    drawn = np.empty(count, np.int64)
    counter = np.uint64(0)
    bits = np.uint64(1)
    for last in range(total - count, total):
        while bits < np.uint64(last):
            bits = (bits << np.uint64(1)) | np.uint64(1)
        counter += np.uint64(1)
        number = np.int64(mixed(seed, counter) & bits)
        while number > last:
            counter += np.uint64(1)
            number = np.int64(mixed(seed, counter) & bits)
        if not (_mark(marks, number) if as_bits else _enter(table, number)):
            number = np.int64(last)  # larger than all before it, so never drawn yet
            _mark(marks, number) if as_bits else _enter(table, number)
        drawn[last - (total - count)] = number
    return drawn


@njit(cache=True, nogil=True, inline="always")
def _mark(marks: Array, number: Integer) -> bool:
    """Set a bit; whether it was not set before."""
    bit = np.uint8(1 << (number & 7))
    if marks[number >> 3] & bit:
        return False
    marks[number >> 3] |= bit
    return True


@njit(cache=True, nogil=True, inline="always")
def _enter(table: Array, number: Integer) -> bool:
    """Enter a number in a hash table; whether it was not there before."""
    slot = np.int64((np.uint64(number) * GOLDEN) >> np.uint64(32)) & (len(table) - 1)
    while table[slot] != -1:
        if table[slot] == number:
            return False
        slot = (slot + 1) & (len(table) - 1)
    table[slot] = number
    return True


@njit(cache=True, nogil=True)
def ngram_total(starts: Array, ends: Array, take: Array, n: int) -> int:
    """How many n-grams the chosen texts hold, none across two texts."""
    total = 0
    for text in take:
        total += max(ends[text] - starts[text] - n + 1, 0)
    return total


@njit(cache=True, nogil=True)
def places(starts: Array, ends: Array, take: Array, n: int, ranks: Array) -> Array:
    """Where the n-grams with the given ranks start, ranked in the order of the texts.

    A guide table leads from the high bits of a rank to the first text that can
    hold it; on average one step from there finds the text.
    """
    before = np.empty(len(take) + 1, np.int64)
    before[0] = 0
    for number in range(len(take)):
        length = ends[take[number]] - starts[take[number]] - n + 1
        before[number + 1] = before[number] + max(length, 0)
    total = before[len(take)]
    shift = 0
    while (total >> shift) > len(take):
        shift += 1
    guide = np.empty((total >> shift) + 1, np.int64)
    text = 0
    for bucket in range(len(guide)):
        while text + 1 < len(take) and before[text + 1] <= (bucket << shift):
            text += 1
        guide[bucket] = text
    found = np.empty(len(ranks), np.int64)
    for number in range(len(ranks)):
        rank = ranks[number]
        text = guide[rank >> shift]
        while before[text + 1] <= rank:
            text += 1
        found[number] = starts[take[text]] + rank - before[text]
    return found


@njit(cache=True, nogil=True)
def windows(ids: Array, found: Array, n: int) -> Array:
    """The n-grams that start at the given places, one row each."""
    rows = np.empty((len(found), n), ids.dtype)
    for number in range(len(found)):
        place = found[number]
        for step in range(n):
            rows[number, step] = ids[place + step]
    return rows


@njit(cache=True, nogil=True)
def distinct_rows(rows: Array) -> int:
    """How many different rows there are."""
    size = table_size(len(rows))
    table = np.full(size, -1, np.int32)
    distinct = 0
    for number in range(len(rows)):
        code = np.uint64(0)
        for step in range(rows.shape[1]):
            code = (code ^ np.uint64(rows[number, step])) * GOLDEN
            code ^= code >> np.uint64(29)
        slot = np.int64(code & np.uint64(size - 1))
        while True:
            other = table[slot]
            if other == -1:
                table[slot] = number
                distinct += 1
                break
            same = True
            for step in range(rows.shape[1]):
                if rows[number, step] != rows[other, step]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
    return distinct


@njit(cache=True, nogil=True)
def distinct_share(
    ids: Array, starts: Array, ends: Array, take: Array, n: int, limit: int, seed: np.uint64
) -> float:
    """Distinct / total over `limit` drawn n-grams, or over all where there are fewer."""
    total = ngram_total(starts, ends, take, n)
    if total == 0:
        return np.nan
    ranks = draw(total, limit, seed) if total > limit else np.arange(total)
    rows = windows(ids, places(starts, ends, take, n, ranks), n)
    return distinct_rows(rows) / len(rows)
