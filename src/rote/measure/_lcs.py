"""ROUGE-L of all pairs of texts, some rows of the pair matrix at a time.

Longest common subsequences are bit-parallel (Crochemore et al. 2001, Hyyrö 2004): a
column of the usual table is a row of bits, 64 cells to a word, and a word of the
other text costs one addition with carry for each 64 words of this one. Words that
this text does not hold change nothing and are dropped beforehand.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]

ZERO = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True, inline="always")
def step(cells: np.uint64, mask: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """64 cells of the next column, and the carry into the 64 below."""
    matched = cells & mask
    partial = cells + matched
    summed = partial + carry
    carry = np.uint64(partial < cells) | np.uint64(summed < partial)
    return summed | (cells ^ matched), carry


@njit(cache=True, nogil=True)
def _zeros(cells: np.uint64) -> int:
    """How many bits are 0."""
    left = ~cells
    count = 0
    while left != ZERO:
        left &= left - ONE
        count += 1
    return count


@njit(cache=True, nogil=True)
def common(masks: Array, rows: Array, carries: Array) -> int:
    """Length of the longest common subsequence.

    `masks[g, r]` marks where row r's word stands among the words 256 g to 256 g + 255
    of one text; `rows` are the words of the other. Four words of cells stay in
    registers while the other text passes; longer texts take several passes, and
    `carries` brings each word's carry from one pass to the next.
    """
    common = 0
    several = len(masks) > 1
    carries[: len(rows)] = 0
    for part in masks:
        first, second, third, fourth = ALL, ALL, ALL, ALL
        for number in range(len(rows)):
            mask = part[rows[number]]
            carry = np.uint64(carries[number]) if several else ZERO
            first, carry = step(first, mask[0], carry)
            second, carry = step(second, mask[1], carry)
            third, carry = step(third, mask[2], carry)
            fourth, carry = step(fourth, mask[3], carry)
            if several:
                carries[number] = carry
        # Cells beyond the text's end never match, and so stay 1.
        common += _zeros(first) + _zeros(second) + _zeros(third) + _zeros(fourth)
    return common


@njit(cache=True, nogil=True)
def rouge_rows(ids: Array, starts: Array, ends: Array, kinds: int, first: int, last: int) -> Array:
    """ROUGE-L F of the texts `first` to `last` with every later text; 0 elsewhere.

    F = 2 * LCS / (length + length), and 0 if one of the two is empty.
    """
    scores = np.zeros((last - first, len(starts)))
    longest = 0
    for text in range(len(starts)):
        longest = max(longest, ends[text] - starts[text])
    rows = np.empty(longest + 1, np.int32)
    carries = np.zeros(longest + 1, np.uint8)
    row_of = np.full(kinds, -1, np.int32)
    for one in range(first, last):
        length = ends[one] - starts[one]
        distinct = 0
        for place in range(starts[one], ends[one]):
            if row_of[ids[place]] < 0:
                row_of[ids[place]] = distinct
                distinct += 1
        masks = np.zeros(((length + 255) // 256, distinct, 4), np.uint64)
        for place in range(length):
            row = row_of[ids[starts[one] + place]]
            masks[place >> 8, row, (place >> 6) & 3] |= ONE << np.uint64(place & 63)
        for other in range(one + 1, len(starts)):
            found = 0
            for place in range(starts[other], ends[other]):
                row = row_of[ids[place]]
                rows[found] = row  # overwritten by the next unless it counts: no branch
                found += row >= 0
            if found:
                shared = common(masks, rows[:found], carries)
                scores[one - first, other] = 2.0 * shared / (length + ends[other] - starts[other])
        for place in range(starts[one], ends[one]):
            row_of[ids[place]] = -1
    return scores
