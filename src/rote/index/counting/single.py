"""One search on its own, for those who ask one thing at a time.

To hand an array to a kernel takes longer than some searches. So this kernel gets a single one,
the desk: where the column's arrays lie and how long they are, and behind that the run that is
looked for.
"""

from __future__ import annotations

import struct
import threading
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined]
from numba.core import cgutils
from numba.extending import intrinsic

from rote.core.kernels import njit
from rote.index.columns.packed import Items, read
from rote.index.counting.buckets import Parts, bucket, compare, encode

MOST_ITEMS = 32
"""The longest run that the desk has room for."""
# Numbers on the desk that describe the column.
_HELD = 16
RUN = 8 * _HELD
"""The byte of the desk from which on the run lies."""
PUT = tuple(struct.Struct(f"{size}q").pack_into for size in range(MOST_ITEMS + 1))
"""`PUT[size](desk.numbers, RUN, *gram)` lays a run on the desk, faster than numpy does."""


class Desk(threading.local):
    """What a single search needs; each thread has its own."""

    def __init__(self, parts: Parts) -> None:
        held: list[int] = []
        for part in parts:
            each: Any = part if isinstance(part, tuple) else (part,)
            for one in each:
                held += [one.ctypes.data, len(one)] if isinstance(one, np.ndarray) else [one]
        # The arrays must live as long as their addresses.
        self.parts = parts
        self.numbers: Any = np.array(held + [0] * MOST_ITEMS, np.int64)


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


pointer: Any = _pointer  # numba hides the first argument, as of `load64`


@njit(cache=True, nogil=True)
def range_of(desk, size):  # type: ignore[no-untyped-def]
    """From where to where the suffixes begin with the run of `size` items on the desk."""
    parts = Parts(
        Items(
            carray(pointer(desk[0]), desk[1], np.uint8),
            carray(pointer(desk[2]), desk[3], np.int32),
        ),
        desk[4],
        carray(pointer(desk[5]), desk[6], np.uint8),
        desk[7],
        carray(pointer(desk[8]), desk[9], np.uint64),
        carray(pointer(desk[10]), desk[11], np.uint8),
        carray(pointer(desk[12]), desk[13], np.uint8),
        desk[14],
        desk[15],
    )
    gram = desk[_HELD:]
    head, bits, settled = encode(parts, gram, 0, size)
    if bits < 0:
        return np.int64(0), np.int64(0)
    low, high = bucket(parts, head, min(bits, parts.table_bits))
    if bits <= parts.table_bits:
        return low, high
    upper_low, upper_high = low, low
    met = False
    while low < high:
        middle = (low + high) >> 1
        place = read(parts.order, parts.order_bits, middle) + settled
        difference = compare(parts, place, gram, settled, size)
        if difference < 0:
            low = middle + 1
            continue
        if difference == 0 and not met:
            met, upper_low, upper_high = True, middle + 1, high
        high = middle
    if not met:
        return low, low
    while upper_low < upper_high:
        middle = (upper_low + upper_high) >> 1
        place = read(parts.order, parts.order_bits, middle) + settled
        if compare(parts, place, gram, settled, size) == 0:
            upper_low = middle + 1
        else:
            upper_high = middle
    return low, upper_low
