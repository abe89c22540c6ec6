"""Which places of a corpus begin with the same words, within a given memory.

Arrays as long as the corpus are kept in memory while there is room, then in files that are mapped,
which the system reads and writes as needed. Runs are numbered in as many passes as it takes for
the work of one to fit; what comes out depends neither on the memory nor on the threads.
"""

from __future__ import annotations

import tempfile
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.curate._repeat_kernels import ONCE, deal, match, renumber
from rote.index.columns.layer_column import MAX_POSITIONS
from rote.index.suffix_arrays.suffix_sort import thread_map

Array = NDArray[Any]
DEFAULT = 4 * 2**30
# A key and a place.
_ENTRY = 16
_BUCKET = 1 << 12
_MOST_BUCKETS = 1 << 14


class Room:
    """Room for arrays: half of the memory for those that last, half for work."""

    def __init__(self, memory: int = DEFAULT, folder: Path | None = None) -> None:
        self.work = memory // 2
        self._left = memory - self.work
        self._folder = folder

    def array(self, size: int, dtype: Any, fill: int = 0) -> Array:
        """In memory if it fits, else mapped from a file that has no name."""
        taken = size * np.dtype(dtype).itemsize
        if taken <= self._left:
            made: Array = np.full(size, fill, dtype)
            self._left -= taken
            weakref.finalize(made, self._give_back, taken)
            return made
        with tempfile.TemporaryFile(prefix=".rote-", dir=self._folder) as file:
            file.truncate(taken)
            made = np.memmap(file, dtype=dtype, mode="r+").view(np.ndarray)
        if fill:
            made[:] = fill
        return made

    def _give_back(self, taken: int) -> None:
        self._left += taken


def kind_of_places(places: int) -> Any:
    """The type of numbers that stand for places of a stream."""
    return np.int32 if places <= MAX_POSITIONS else np.int64


def number_runs(ids: Array, length: int, numbers: Array, room: Room, *, threads: int = 1) -> int:
    """Fill in the same number for all places where the same `length` words begin, from 0 on in the
    order of their first places; ONCE where no other place has them. How many numbers there are."""
    numbers[:] = ONCE
    at_once = max(1, room.work // _ENTRY)
    passes = -(-len(ids) // at_once)
    buckets = min(_MOST_BUCKETS, max(1, min(at_once, len(ids)) // _BUCKET))
    parts = list(pairwise(len(ids) * i // threads for i in range(threads + 1)))
    nothing = np.empty(0, np.uint64), np.empty(0, numbers.dtype)

    with thread_map(threads) as each:
        for number in range(passes):
            first, of = number * buckets, passes * buckets
            ends = np.zeros((threads, buckets), np.int64)

            def count(part: int) -> None:
                deal(ids, *parts[part], length, first, of, ends[part], *nothing)  # noqa: B023

            list(each(count, range(threads)))
            bounds = np.concatenate((np.zeros(1, np.int64), ends.sum(axis=0).cumsum()))
            ends = bounds[:-1] + ends.cumsum(axis=0) - ends
            keys, places = np.empty(bounds[-1], np.uint64), np.empty(bounds[-1], numbers.dtype)

            def fill(part: int) -> None:
                deal(ids, *parts[part], length, first, of, ends[part], keys, places)  # noqa: B023

            def look(bucket: int) -> None:
                start, end = bounds[bucket : bucket + 2]  # noqa: B023
                match(ids, length, keys[start:end], places[start:end], numbers)  # noqa: B023

            list(each(fill, range(threads)))
            list(each(look, range(buckets)))
    kinds: int = renumber(numbers)
    return kinds
