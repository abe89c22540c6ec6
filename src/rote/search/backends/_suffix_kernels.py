"""Binary search in a suffix array of bytes, as infini-gram writes it: the kernels.

Entry r of the table is `width` bytes, little-endian: where a suffix begins in the text, in bytes.
Suffixes are in the order of their bytes, not of their tokens' numbers: of tokens of two bytes, 256
(00 01) comes before 1 (01 00).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]
Integer: TypeAlias = "int | np.integer[Any]"


@njit(cache=True, nogil=True, inline="always")
def pointer(table: Array, rank: int, width: int) -> Integer:
    """Where the suffix of this rank begins."""
    place = np.int64(0)
    for byte in range(width):
        place |= np.int64(table[rank * width + byte]) << (8 * byte)
    return place


@njit(cache=True, nogil=True, inline="always")
def _compared(text: Array, place: Integer, query: Array, first: int, last: int) -> int:
    """-1 where the suffix comes before the query, 0 where it begins with it, 1 behind it."""
    for step in range(last - first):
        if place + step >= len(text):
            return -1
        if text[place + step] != query[first + step]:
            return -1 if text[place + step] < query[first + step] else 1
    return 0


@njit(cache=True, nogil=True)
def search(text: Array, table: Array, width: int, queries: Array, length: Array) -> Array:
    """For each query of `length` bytes, one after another, the first rank and the one behind."""
    found = np.zeros((len(length), 2), np.int64)
    entries = len(table) // width
    first = 0
    for q in range(len(length)):
        last = first + length[q]
        for side in range(2):
            # The ranks below `low` come before the answer, `high` and all behind do not.
            low = found[q, 0] if side else 0
            high = entries
            while low < high:
                middle = (low + high) // 2
                order = _compared(text, pointer(table, middle, width), queries, first, last)
                if order < 0 or (side and order == 0):
                    low = middle + 1
                else:
                    high = middle
            found[q, side] = low
        first = last
    return found


@njit(cache=True, nogil=True)
def pointers(table: Array, width: int, low: int, high: int) -> Array:
    """Where the suffixes of these ranks begin."""
    places = np.empty(high - low, np.int64)
    for rank in range(low, high):
        places[rank - low] = pointer(table, rank, width)
    return places
