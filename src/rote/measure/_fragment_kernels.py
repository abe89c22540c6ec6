"""Fragments of texts in their documents: the longest run at each word, greedily."""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit


@njit(cache=True, nogil=True)
def fragments(
    words: Array,
    starts: Array,
    ends: Array,
    others: Array,
    other_starts: Array,
    other_ends: Array,
    kinds: int,
    printed: bool,
) -> tuple[Array, Array]:
    """For each text the words in fragments, and the sum of their squared lengths.

    Words are numbered as those of the documents are, -1 for one that no document holds. `printed`:
    a run in the document is passed over as a whole, as the published procedure does.
    """
    covered = np.zeros(len(starts))
    squares = np.zeros(len(starts))
    heads = np.full(kinds, -1, np.int64)
    longest = 1
    for text in range(len(starts)):
        longest = max(longest, other_ends[text] - other_starts[text])
    later = np.empty(longest, np.int64)
    for text in range(len(starts)):
        first, last = other_starts[text], other_ends[text]
        # The places of each word, in order: the next one of the same word.
        for place in range(last - 1, first - 1, -1):
            later[place - first] = heads[others[place]]
            heads[others[place]] = place
        at = starts[text]
        while at < ends[text]:
            best, free = 0, first
            place = heads[words[at]] if words[at] >= 0 else -1
            while place >= 0:
                if not printed or place >= free:
                    length = 1
                    while (
                        at + length < ends[text]
                        and place + length < last
                        and words[at + length] == others[place + length]
                    ):
                        length += 1
                    best = max(best, length)
                    free = place + length
                place = later[place - first]
            covered[text] += best
            squares[text] += best * best
            at += max(best, 1)
        for place in range(first, last):
            heads[others[place]] = -1
    return covered, squares
