"""N-grams that several texts hold, and what a group of texts makes of them.

A group has to look only at n-grams that stand in more than one text; all others are
a count per text. In most texts those others are the large majority.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.measure._ngrams import ONCE

Array: TypeAlias = NDArray[Any]


@njit(cache=True, nogil=True)
def shared_sets(
    numbers: Array, starts: Array, ends: Array, n: int, kinds: int
) -> tuple[Array, Array, Array, Array, int]:
    """Each text's set of n-grams, split by whether another text holds the n-gram too.

    Gives: how many n-grams of its own each text has; the shared ones, renumbered,
    text after text, with their counts in the text; where each text ends there;
    how many shared ones there are.
    """
    several = -2
    own = np.zeros(len(starts), np.int64)
    owner = np.full(kinds, -1, np.int32)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            number = numbers[place]
            if number == ONCE:
                own[text] += 1
            elif owner[number] == -1:
                owner[number] = text
            elif owner[number] != text:
                owner[number] = several

    renumbered = np.full(kinds, -1, np.int32)
    shared_kinds = 0
    for number in range(kinds):
        if owner[number] == several:
            renumbered[number] = shared_kinds
            shared_kinds += 1
        elif owner[number] >= 0:
            own[owner[number]] += 1

    most = 0
    for text in range(len(starts)):
        for place in range(starts[text], ends[text] - n + 1):
            most += numbers[place] != ONCE and renumbered[numbers[place]] >= 0
    shared = np.empty(most, np.int32)
    counts = np.empty(most, np.int32)
    shared_ends = np.empty(len(starts), np.int64)
    entry = np.full(shared_kinds, -1, np.int64)
    filled = 0
    for text in range(len(starts)):
        begin = filled
        for place in range(starts[text], ends[text] - n + 1):
            if numbers[place] == ONCE:
                continue
            number = renumbered[numbers[place]]
            if number < 0:
                continue
            if entry[number] >= begin:
                counts[entry[number]] += 1
            else:
                entry[number] = filled
                shared[filled] = number
                counts[filled] = 1
                filled += 1
        shared_ends[text] = filled
    return own, shared[:filled].copy(), counts[:filled].copy(), shared_ends, shared_kinds


@njit(cache=True, nogil=True)
def distinct_in_group(
    own: Array, shared: Array, shared_ends: Array, shared_kinds: int, take: Array
) -> int:
    """How many different n-grams the chosen texts hold together."""
    marked = np.zeros(shared_kinds, np.uint8)
    distinct = 0
    for text in take:
        distinct += own[text]
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            number = shared[entry]
            distinct += 1 - marked[number]
            marked[number] = 1
    return distinct


@njit(cache=True, nogil=True)
def texts_elsewhere(shared: Array, shared_ends: Array, shared_kinds: int, take: Array) -> Array:
    """For each chosen text: in how many other chosen texts its n-grams stand, summed."""
    frequency = np.zeros(shared_kinds, np.int64)
    for text in take:
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            frequency[shared[entry]] += 1
    summed = np.zeros(len(take), np.int64)
    for number in range(len(take)):
        text = take[number]
        first = shared_ends[text - 1] if text else 0
        for entry in range(first, shared_ends[text]):
            summed[number] += frequency[shared[entry]] - 1
    return summed
