"""From a run of items to its range of sorted suffixes, by its first bits: where searches begin.

The code of the run's items picks a range of the table, see `Suffixes`. A run of few bits is
answered by the table alone; for a longer one all suffixes of the range agree with it in the
items that the table's bits cover, so that only the others have to be compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns import intrinsics
from rote.index.columns.compressed_suffix_array import (
    CompressedItems,
    CompressedPositions,
    item_at,
    skip,
)
from rote.index.columns.packed_array import Bytes, StreamItems, read
from rote.index.grams import END

Int64s = NDArray[np.int64]
prefetch = intrinsics.prefetch
# Searches that go in step: enough to hide the waits for memory, few enough that their state and
# the lines they ask for stay in the nearest caches.
SEARCHES = 128


class ColumnArrays(NamedTuple):
    """The arrays of a column as kernels take them."""

    ids: StreamItems | CompressedItems
    ids_bits: int
    order: Bytes | CompressedPositions
    order_bits: int
    codes: NDArray[np.uint64]
    lengths: NDArray[np.uint8]
    table: Bytes
    table_bits: int
    last: int
    """The last position, a document's end: whoever begins to read there or before stops in time."""


@njit(inline="always")
def prefix_range(parts, head, bits):  # type: ignore[no-untyped-def]
    """The range of suffixes that begin with the top `bits` bits of `head`.

    `bits` is at most the table's. `head` has zeros behind them.
    """
    first = np.int64(head >> np.uint64(64 - parts.table_bits))
    behind = first + (np.int64(1) << (parts.table_bits - bits))
    bits = parts.order_bits
    return read(parts.table, bits, first), read(parts.table, bits, behind)


@njit(inline="always")
def encode_run(parts, grams, start, end):  # type: ignore[no-untyped-def]
    """The top of a run's code, how many bits it has, and how many items the table settles.

    Bits beyond the table's are counted only so far as to tell that there are some. The number
    of bits is -1 for a run that cannot occur: an unknown item, or an end that is not the last.
    """
    head, bits, settled = np.uint64(0), np.int64(0), np.int64(0)
    possible = True
    for i in range(start, end):
        item = np.int64(grams[i])
        if not 0 <= item < len(parts.codes) or (item == END and i < end - 1):
            possible = False
        if possible and bits <= parts.table_bits:
            head |= parts.codes[item] >> np.uint64(bits)
            bits += np.int64(parts.lengths[item])
            settled += bits <= parts.table_bits
    return head, bits if possible else np.int64(-1), settled


@njit(inline="always")
def compare_run(parts, at, grams, start, end):  # type: ignore[no-untyped-def]
    """Below 0, 0 or above 0: how the items from a cursor on stand to the run."""
    at = min(at, parts.last)  # beyond it only if the suffixes are not sorted
    for i in range(start, end):
        difference = item_at(parts.ids, parts.ids_bits, at) - np.int64(grams[i])
        if difference != 0:
            return difference
        at = skip(parts.ids, at, 1)
    return np.int64(0)
