"""Write chosen texts as bytes into one buffer: raw text, or items joined by spaces."""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit

SPACE = 32


@njit(cache=True, nogil=True)
def spelled_lengths(ids: Array, starts: Array, ends: Array, word_ends: Array) -> Array:
    """Bytes of each text when its items are joined by single spaces."""
    lengths = np.zeros(len(starts), np.int64)
    for text in range(len(starts)):
        for place in range(starts[text], ends[text]):
            word = ids[place]
            lengths[text] += word_ends[word] - (word_ends[word - 1] if word else 0)
        if ends[text] > starts[text]:
            lengths[text] += ends[text] - starts[text] - 1
    return lengths


@njit(cache=True, nogil=True)
def spelled_texts(
    ids: Array,
    starts: Array,
    ends: Array,
    words: Array,
    word_ends: Array,
    take: Array,
    size: int,
    separator: int,
) -> Array:
    """The chosen texts, items joined by spaces, the separator after every text."""
    out = np.empty(size, np.uint8)
    filled = 0
    for text in take:
        for place in range(starts[text], ends[text]):
            word = ids[place]
            if place > starts[text]:
                out[filled] = SPACE
                filled += 1
            for letter in range(word_ends[word - 1] if word else 0, word_ends[word]):
                out[filled] = words[letter]
                filled += 1
        out[filled] = separator
        filled += 1
    return out


@njit(cache=True, nogil=True)
def raw_texts(
    data: Array, starts: Array, ends: Array, take: Array, size: int, separator: int
) -> Array:
    """The chosen raw texts, the separator after every text."""
    out = np.empty(size, np.uint8)
    filled = 0
    for text in take:
        # To assign a slice would take a second to compile. Of slices that begin at 0 a loop is
        # vectorized, and takes a tenth of the time.
        source = data[starts[text] : ends[text]]
        target = out[filled : filled + len(source)]
        for place in range(len(source)):
            target[place] = source[place]
        out[filled + len(source)] = separator
        filled += len(source) + 1
    return out
