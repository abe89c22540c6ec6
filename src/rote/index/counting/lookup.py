"""Where runs of items stand among the sorted suffixes of a column: counts and places.

A run's bucket (`buckets.py`) is halved until both edges of the suffixes that begin with the run
are found. A search over gigabytes waits for memory most of the time. In a batch, some hundred
searches go in step: each round asks for the places of all, then for the items at these places,
then compares them, and so the waits overlap. `single.py` does one search on its own,
`longest.py` and `extend.py` answer more than where a run stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.cursor import skip, suffix_at
from rote.index.columns.packed import Stream
from rote.index.columns.parts import Column
from rote.index.counting.buckets import TOGETHER, Parts, Places, bucket, compare, encode, prefetch
from rote.index.counting.single import MOST_ITEMS, PUT, RUN, Desk, range_of

# What a search is after: any suffix that begins with the run, then the two edges of those.
_ANY, _LOWER, _UPPER = 0, 1, 2


@njit(cache=True, nogil=True)
def _ranges(parts, grams, ends, lows, highs):  # type: ignore[no-untyped-def]
    """Many searches, `TOGETHER` at a time in step."""
    heads = np.empty(TOGETHER, np.uint64)
    bits = np.empty(TOGETHER, np.int64)
    settled = np.empty(TOGETHER, np.int64)
    middles = np.empty(TOGETHER, np.int64)
    places = np.empty(TOGETHER, np.int64)
    wanted = np.empty(TOGETHER, np.int64)
    # The lower edge, and from where to where the upper one can be.
    found = np.empty(TOGETHER, np.int64)
    upper_lows = np.empty(TOGETHER, np.int64)
    upper_highs = np.empty(TOGETHER, np.int64)
    active = np.empty(TOGETHER, np.int64)
    for base in range(0, len(ends), TOGETHER):
        size = min(TOGETHER, len(ends) - base)
        start = ends[base - 1] if base else np.int64(0)
        for k in range(size):
            end = ends[base + k]
            heads[k], bits[k], settled[k] = encode(parts, grams, start, end)
            entry = np.int64(heads[k] >> np.uint64(64 - parts.table_bits))
            prefetch(parts.table, (entry * parts.order_bits) >> 3)
            start = end
        left = 0
        for k in range(size):
            low, high = np.int64(0), np.int64(0)
            if bits[k] >= 0:
                low, high = bucket(parts, heads[k], min(bits[k], parts.table_bits))
            lows[base + k], highs[base + k] = low, high
            if low < high and bits[k] > parts.table_bits:
                wanted[k] = _ANY
                middles[k] = (low + high) >> 1
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[left] = k
                left += 1
        while left:
            for a in range(left):
                k = active[a]
                at = suffix_at(parts.order, parts.order_bits, middles[k])
                places[k] = skip(parts.ids, at, settled[k])
                prefetch(parts.ids, (places[k] * parts.ids_bits) >> 3)
            kept = 0
            for a in range(left):
                k = active[a]
                g = base + k
                start = (ends[g - 1] if g else np.int64(0)) + settled[k]
                difference = compare(parts, places[k], grams, start, ends[g])
                low, high = lows[g], highs[g]
                if difference == 0 and wanted[k] == _ANY:
                    wanted[k], upper_lows[k], upper_highs[k] = _LOWER, middles[k] + 1, high
                    high = middles[k]
                elif difference < 0 or (difference == 0 and wanted[k] == _UPPER):
                    low = middles[k] + 1
                else:
                    high = middles[k]
                if low == high and wanted[k] == _LOWER:
                    wanted[k], found[k] = _UPPER, low
                    low, high = upper_lows[k], upper_highs[k]
                if low == high:
                    lows[g], highs[g] = found[k] if wanted[k] == _UPPER else low, low
                    continue
                lows[g], highs[g] = low, high
                middles[k] = (low + high) >> 1
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[kept] = k
                kept += 1
            left = kept


class Lookup:
    """Searches in one column; made once, so that a single search does no more than search."""

    __slots__ = ("_desk", "_most", "column", "parts")

    def __init__(self, column: Column) -> None:
        suffixes = column.suffixes
        if suffixes is None:
            raise ValueError(f"the layer {column.name!r} has no sorted suffixes")
        self.column = column
        self.parts = Parts(
            column.ids.data,
            column.ids.bits,
            suffixes.order.data,
            suffixes.order.bits,
            suffixes.codes(),
            suffixes.lengths,
            suffixes.table.data,
            suffixes.table_bits,
            max(0, len(column.ids) - 1),
        )
        # Only packed columns can be laid on a desk.
        packed = isinstance(column.ids, Stream)
        self._most = MOST_ITEMS if packed else -1
        self._desk: Any = Desk(self.parts) if packed else None

    def count(self, gram: Sequence[int]) -> int:
        """How often the run occurs."""
        size = len(gram)
        if size > self._most:
            low, high = self.range(gram)
            return high - low
        # As in `range`, written out: one call less is a twentieth of the time.
        desk = self._desk.numbers
        PUT[size](desk, RUN, *gram)
        low, high = range_of(desk, size)
        found: int = high - low
        return found

    def range(self, gram: Sequence[int]) -> tuple[int, int]:
        """From where to where in `suffixes.order` the suffixes begin with the run.

        Empty for a run that cannot occur: one with a number that is no item of the column, or
        with a document's end that is not its last. The empty run begins every suffix.
        """
        size = len(gram)
        if size > self._most:
            low, high = self.ranges(np.array(gram, np.int32), np.array([size]))
            return int(low[0]), int(high[0])
        desk = self._desk.numbers
        PUT[size](desk, RUN, *gram)
        found: tuple[int, int] = range_of(desk, size)
        return found

    def ranges(self, grams: NDArray[Any], ends: NDArray[Any]) -> tuple[Places, Places]:
        """The same for many runs at once; run g is `grams[ends[g - 1] : ends[g]]`."""
        if len(grams) != (ends[-1] if len(ends) else 0):
            raise ValueError("the last run has to end where the numbers end")
        low, high = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        _ranges(self.parts, fixed(grams, np.int32), fixed(ends, np.int64), low, high)
        return low, high


def fixed(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    """Read-only and of one type, as kernels expect it, so that each is compiled only once."""
    view = np.ascontiguousarray(values, kind).view()
    view.flags.writeable = False
    return view
