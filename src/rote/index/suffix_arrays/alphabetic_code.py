"""A code over the numbers of a layer that keeps their order, short for those that occur often.

The codes of a suffix's items, one behind the other, make a key that sorts as the suffix does.
Frequent items have short codes, so 64 bits hold six or seven words of natural text, and the top
bits of keys are spread evenly: they serve to scatter the suffixes before sorting and as the
table that queries begin with. Codes are part of what is on disk, so they are made with whole
numbers alone and come out the same everywhere.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Codes: TypeAlias = NDArray[np.uint64]
Lengths: TypeAlias = NDArray[np.uint8]

MAX_CODE_BITS = 57
"""No code has more bits: a key of 64 holds at least one item whole, and seven bits below a code
are free for its length."""
# Twice the sum of all weights must stay a signed 64-bit number.
_MAX_WEIGHT = 1 << 61


def build_alphabetic_code(weights: NDArray[np.int64]) -> tuple[Codes, Lengths]:
    """Codes (left-aligned) and their lengths for numbers 0, 1, ... that occur this often.

    Every range of numbers is parted where its two halves weigh most alike, the lower half gets
    the bit 0. A code is at most about two bits longer than its number's share calls for. A
    number that does not occur is treated as if it occurred once.
    """
    scaled = np.maximum(weights, 1).astype(np.int64, copy=False)
    if len(weights) and int(weights.min()) < 0:
        raise ValueError("weights of a code must not be negative")
    codes, lengths = np.zeros(len(scaled), np.uint64), np.ones(len(scaled), np.uint8)
    if len(scaled) > 1:
        while int(scaled.max()) > _MAX_WEIGHT // len(scaled):
            scaled = (scaled + 1) >> 1
        # Steeply growing weights make a deep tree; flatter ones make it shallow enough in time.
        while not _split_ranges(
            np.concatenate([np.zeros(1, np.int64), scaled.cumsum()]), codes, lengths
        ):
            scaled = (scaled + 1) >> 1
    codes.flags.writeable = lengths.flags.writeable = False
    return codes, lengths


@njit(cache=True, nogil=True)
def _split_ranges(sums, codes, lengths):  # type: ignore[no-untyped-def]
    """Fill in codes from sums of weights; False if one would be longer than LONGEST."""
    # What is still to be parted: the upper halves beside the path to the range in hand.
    starts, stops = np.empty(MAX_CODE_BITS + 2, np.int64), np.empty(MAX_CODE_BITS + 2, np.int64)
    depths, heads = np.empty(MAX_CODE_BITS + 2, np.int64), np.empty(MAX_CODE_BITS + 2, np.uint64)
    starts[0], stops[0], depths[0], heads[0] = 0, len(codes), 0, np.uint64(0)
    waiting = 1
    while waiting:
        waiting -= 1
        start, stop = starts[waiting], stops[waiting]
        depth, head = depths[waiting], heads[waiting]
        while stop - start > 1:
            if depth == MAX_CODE_BITS:
                return False
            middle = _middle(sums, start, stop)
            starts[waiting], stops[waiting] = middle, stop
            depths[waiting] = depth + 1
            heads[waiting] = head | (np.uint64(1) << np.uint64(63 - depth))
            waiting += 1
            stop = middle
            depth += 1
        codes[start] = head
        lengths[start] = depth
    return True


@njit(inline="always")
def _middle(sums, start, stop):  # type: ignore[no-untyped-def]
    """Where to part a range so that both sides weigh most alike; the lower position if in doubt."""
    both = sums[start] + sums[stop]
    low, high = start + 1, stop - 1
    while low < high:
        position = (low + high) >> 1
        if 2 * sums[position] < both:
            low = position + 1
        else:
            high = position
    # `low` is the first position whose left side weighs half or more (or the last one).
    if low - 1 > start and both - 2 * sums[low - 1] <= abs(2 * sums[low] - both):
        low -= 1
    return low
