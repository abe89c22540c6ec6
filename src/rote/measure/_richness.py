"""Lexical richness of single texts, and word counts of groups.

One pass over the ids; scratch arrays are as long as the vocabulary and are
cleaned text by text, never as long as the texts.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]


@njit(cache=True, nogil=True)
def mattr_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, window: int) -> Array:
    """Mean distinct / total over all windows of each text; nan if it is shorter."""
    counts = np.zeros(kinds, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        if last - first < window or window < 1:
            continue
        distinct = 0
        summed = 0
        for place in range(first, last):
            word = ids[place]
            distinct += counts[word] == 0
            counts[word] += 1
            if place - first >= window:
                gone = ids[place - window]
                counts[gone] -= 1
                distinct -= counts[gone] == 0
            if place - first >= window - 1:
                summed += distinct
        for place in range(last - window, last):
            counts[ids[place]] = 0
        result[text] = summed / window / (last - first - window + 1)
    return result


@njit(cache=True, nogil=True)
def _factors(
    ids: Array, first: int, last: int, step: int, threshold: float, seen: Array, stamp: int
) -> tuple[float, int]:
    """Factors of one text read from `first` towards `last`, and the next free stamp."""
    stamp += 1
    factors = 0.0
    words = 0
    distinct = 0
    place = first
    while place != last:
        word = ids[place]
        if seen[word] != stamp:
            seen[word] = stamp
            distinct += 1
        words += 1
        if distinct / words <= threshold:
            factors += 1
            words = 0
            distinct = 0
            stamp += 1
        place += step
    if words > 0:
        factors += (1 - distinct / words) / (1 - threshold)
    if factors == 0:
        factors = 1.0  # no word comes twice: the whole text counts as one factor
    return factors, stamp


@njit(cache=True, nogil=True)
def mtld_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, threshold: float) -> Array:
    """Words per factor, mean of reading forwards and backwards; nan without words."""
    seen = np.zeros(kinds, np.int64)
    stamp = 0
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        words = last - first
        if words == 0:
            continue
        forward, stamp = _factors(ids, first, last, 1, threshold, seen, stamp)
        backward, stamp = _factors(ids, last - 1, first - 1, -1, threshold, seen, stamp)
        result[text] = (words / forward + words / backward) / 2
    return result


@njit(cache=True, nogil=True)
def hdd_of_texts(ids: Array, starts: Array, ends: Array, kinds: int, draws: int) -> Array:
    """Expected distinct / total among `draws` words of each text; nan if it is shorter.

    A word of frequency f is missed with probability C(N-f, d) / C(N, d), which is
    symmetric in f and d: the product runs over the smaller of the two.
    """
    counts = np.zeros(kinds, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        first, last = starts[text], ends[text]
        words = last - first
        if words < draws or draws < 1:
            continue
        for place in range(first, last):
            counts[ids[place]] += 1
        found = 0.0
        for place in range(first, last):
            frequency = counts[ids[place]]
            if frequency == 0:
                continue  # met before in this text
            counts[ids[place]] = 0
            missed = 1.0
            small, large = min(frequency, draws), max(frequency, draws)
            for step in range(small):
                missed *= max(words - large - step, 0) / (words - step)
            found += 1 - missed
        result[text] = found / draws
    return result


@njit(cache=True, nogil=True)
def ttr_of_texts(ids: Array, starts: Array, ends: Array, kinds: int) -> Array:
    """Distinct / total words of each text; nan without words."""
    seen = np.full(kinds, -1, np.int64)
    result = np.full(len(starts), np.nan)
    for text in range(len(starts)):
        distinct = 0
        for place in range(starts[text], ends[text]):
            if seen[ids[place]] != text:
                seen[ids[place]] = text
                distinct += 1
        if ends[text] > starts[text]:
            result[text] = distinct / (ends[text] - starts[text])
    return result


@njit(cache=True, nogil=True)
def ttr_and_entropy(
    ids: Array, starts: Array, ends: Array, take: Array, kinds: int
) -> tuple[float, float]:
    """Distinct / total words and Shannon entropy in bits of the chosen texts together."""
    counts = np.zeros(kinds, np.int64)
    total = 0
    for text in take:
        total += ends[text] - starts[text]
        for place in range(starts[text], ends[text]):
            counts[ids[place]] += 1
    if total == 0:
        return np.nan, np.nan
    distinct = 0
    weighted = 0.0
    for count in counts:
        if count:
            distinct += 1
            weighted += count * np.log2(count)
    # Rounding may leave a tiny negative number where all words are the same.
    return distinct / total, max(np.log2(total) - weighted / total, 0.0)
