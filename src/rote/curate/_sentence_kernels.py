"""Kernel of `pseudo_summaries`: the sentence that shares most words with the rest of its text."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]


@njit(cache=True, nogil=True)
def most_shared(
    ids: Array, places: Array, text_ends: Array, sentences: Array, last_sentences: Array, kinds: int
) -> tuple[Array, Array]:
    """For each text the first of its sentences that share most words, and how many it shares.

    Text t holds the words `text_ends[t-1]:text_ends[t]`, which begin at the characters `places`,
    and the sentences `last_sentences[t-1]:last_sentences[t]`, which begin at the characters
    `sentences`. A word is shared as often as it stands both in the sentence and in the rest. A
    text without sentences has -1.
    """
    best = np.full(len(text_ends), -1, np.int64)
    shared = np.zeros(len(text_ends), np.int64)
    whole = np.zeros(kinds, np.int32)
    own = np.zeros(kinds, np.int32)
    word = 0
    first = 0
    for text in range(len(text_ends)):
        begin = word
        for place in range(begin, text_ends[text]):
            whole[ids[place]] += 1
        last = last_sentences[text]
        for sentence in range(first, last):
            start = word
            while word < text_ends[text] and (
                sentence + 1 == last or places[word] < sentences[sentence + 1]
            ):
                own[ids[word]] += 1
                word += 1
            found = 0
            for place in range(start, word):
                here = own[ids[place]]
                found += min(here, whole[ids[place]] - here)
                own[ids[place]] = 0  # a second occurrence adds nothing
            if best[text] < 0 or found > shared[text]:
                best[text] = sentence - first
                shared[text] = found
        word = text_ends[text]
        for place in range(begin, word):
            whole[ids[place]] = 0
        first = last
    return best, shared
