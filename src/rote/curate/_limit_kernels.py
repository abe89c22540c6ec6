"""Kernels of `limit`: which n-grams stand how often, and the walk that keeps texts under a limit.

N-grams come numbered (`measure/_ngram_kernels.py`): exactly, by their words and not by a hash.
Those that stand once in the whole set have the number ONCE.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.measure._ngram_kernels import ONCE

Array: TypeAlias = NDArray[Any]


@njit(cache=True, nogil=True)
def frequencies(numbers: Array, starts: Array, ends: Array, kinds: int, n: int) -> Array:
    """How often each n-gram occurs in all parts."""
    found = np.zeros(kinds, np.int32)
    for part in range(len(starts)):
        for place in range(starts[part], ends[part] - n + 1):
            if numbers[place] != ONCE:
                found[numbers[place]] += 1
    return found


@njit(cache=True, nogil=True)
def most_frequent(
    numbers: Array, starts: Array, ends: Array, last_parts: Array, n: int, frequency: Array
) -> tuple[Array, Array]:
    """For each text: how often its most frequent n-gram occurs in the whole set, and its own most
    frequent one in itself; 0 for a text without any.

    Text t holds the parts `last_parts[t-1]:last_parts[t]`; no n-gram goes across parts.
    """
    everywhere = np.zeros(len(last_parts), np.int32)
    inside = np.zeros(len(last_parts), np.int32)
    counts = np.zeros(len(frequency), np.int32)
    first = 0
    for text in range(len(last_parts)):
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                number = numbers[place]
                if number == ONCE:
                    everywhere[text] = max(everywhere[text], 1)
                    inside[text] = max(inside[text], 1)
                else:
                    counts[number] += 1
                    everywhere[text] = max(everywhere[text], frequency[number])
                    inside[text] = max(inside[text], counts[number])
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                if numbers[place] != ONCE:
                    counts[numbers[place]] = 0
        first = last_parts[text]
    return everywhere, inside


@njit(cache=True, nogil=True)
def above(
    numbers: Array,
    starts: Array,
    ends: Array,
    last_parts: Array,
    n: int,
    frequency: Array,
    least: int,
    grams: Array,
) -> tuple[Array, Array]:
    """The n-grams that stand more than `least` times, text by text and numbered anew.

    The others can never reach a limit of `least` or more. Writes the numbers one after another;
    gives where each text ends among them, and for each number the place where it first stands.
    """
    renumbered = np.full(len(frequency), ONCE, np.int32)
    kept = 0
    for number in range(len(frequency)):
        if frequency[number] > least:
            renumbered[number] = kept
            kept += 1
    text_ends = np.empty(len(last_parts), np.int64)
    places = np.full(kept, -1, np.int64)
    filled = 0
    first = 0
    for text in range(len(last_parts)):
        for part in range(first, last_parts[text]):
            for place in range(starts[part], ends[part] - n + 1):
                if numbers[place] == ONCE:
                    continue
                number = renumbered[numbers[place]]
                if number != ONCE:
                    grams[filled] = number
                    filled += 1
                    if places[number] < 0:
                        places[number] = place
        first = last_parts[text]
        text_ends[text] = filled
    return text_ends, places


@njit(cache=True, nogil=True)
def walk(
    order: Array, grams: Array, text_ends: Array, kinds: int, limit: int
) -> tuple[Array, Array]:
    """Go through the texts in order and keep each that takes no n-gram over the limit.

    Gives which texts are kept, and for each n-gram how many texts it kept out.
    """
    kept = np.zeros(len(text_ends), np.bool_)
    counts = np.zeros(kinds, np.int32)
    blocked = np.zeros(kinds, np.int32)
    for text in order:
        first = text_ends[text - 1] if text else 0
        over = False
        for place in range(first, text_ends[text]):
            counts[grams[place]] += 1
            over |= counts[grams[place]] > limit
        kept[text] = not over
        if over:
            for place in range(first, text_ends[text]):
                gram = grams[place]
                counts[gram] -= 1
                # Passed once by every n-gram that was over it, however far.
                blocked[gram] += counts[gram] == limit
    return kept, blocked
