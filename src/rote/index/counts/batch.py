"""Questions to all segments of an index: many n-grams at once, the matches of a whole text.

Segments are asked on several threads, since kernels hold no lock. Answers come in the order of the
segments and are joined in it, so that they do not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.index.counts.longest_match import longest_matches, match_lengths
from rote.index.counts.lookup import Lookup
from rote.index.grams import ABSENT, Counts, Grams

In = TypeVar("In")
Out = TypeVar("Out")
Range = tuple[Counts, Counts]
"""From where to where in the sorted positions of a segment each n-gram stands."""
FEW = 512
"""So many n-grams are found, or items counted, before a thread has begun."""


def threads_for(threads: int, size: int) -> int:
    """How many threads are worth starting for a question of this size."""
    return threads if size > FEW else 1


def map_segments(work: Callable[[In], Out], parts: Sequence[In], threads: int) -> Iterator[Out]:
    """The work on each part, in their order; only so many are at work, or wait to be taken."""
    threads = min(threads, len(parts))
    if threads < 2:
        yield from map(work, parts)
        return
    with ThreadPoolExecutor(threads) as pool:
        for first in range(0, len(parts), threads):
            yield from pool.map(work, parts[first : first + threads])


def find_ranges(lookup: Lookup, grams: Grams) -> Range:
    """Where each n-gram of a batch stands in one segment."""
    if grams.vocabulary is lookup.column.vocabulary:
        return lookup.ranges(grams.ids, grams.ends)
    table = lookup.column.vocabulary.numbers(grams.vocabulary)
    return lookup.ranges(table[grams.ids] if len(table) else grams.ids, grams.ends)


def find_all_ranges(lookups: Sequence[Lookup], grams: Grams, threads: int) -> list[Range]:
    """Where each n-gram of a batch stands in every segment."""
    some = threads_for(threads, len(grams))
    return list(map_segments(lambda lookup: find_ranges(lookup, grams), lookups, some))


class TextQuery:
    """The items of texts, for their longest matches: between two texts nothing matches."""

    def __init__(self, ids: NDArray[np.int32], vocabulary: Sequence[str], ends: Counts) -> None:
        self.size, self._vocabulary = len(ids), vocabulary
        self._inner = np.insert(np.arange(len(ids)), ends, ABSENT)
        self._ids = np.append(ids, np.int32(len(vocabulary)))[self._inner]

    def longest(self, lookup: Lookup) -> tuple[NDArray[np.int32], Counts, Counts]:
        """The longest matches in one segment: their lengths and ranges."""
        lengths, low, high = longest_matches(lookup, self._numbers(lookup))
        inside = self._inner >= 0
        return lengths[inside], low[inside], high[inside]

    def lengths(self, lookup: Lookup) -> NDArray[np.int32]:
        """The lengths alone."""
        return match_lengths(lookup, self._numbers(lookup))[self._inner >= 0]

    def _numbers(self, lookup: Lookup) -> NDArray[np.int32]:
        numbers = lookup.column.vocabulary.numbers(self._vocabulary)
        return np.append(numbers, np.int32(ABSENT))[self._ids]
