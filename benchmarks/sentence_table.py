"""Sentences in memory, all compared with all, in place of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from rote.core.arrays import Integers
from rote.search.meaning.chains import UNIT, Vectors, word_weight

_EXACT = 1024
"""Vectors in these units have whole products below 2**24: single precision adds them exactly."""


class SentenceTable:
    """Sentences in memory, all compared with all: the source for test items and small corpora.

    How rare words are is counted among these sentences.
    """

    def __init__(
        self, words: Sequence[frozenset[str]], documents: Integers, vectors: Vectors
    ) -> None:
        self._numbers = np.rint(np.asarray(vectors, np.float32) * _EXACT)
        self._documents, self._words = documents, words
        self._counts = Counter(word for each in words for word in each)

    def nearest(self, vectors: Vectors, k: int) -> tuple[Integers, Integers]:
        k = min(k, len(self._numbers))
        cosines = np.full((len(vectors), k), 0, np.int64)
        numbers = np.full((len(vectors), k), -1, np.int64)
        for first in range(0, len(vectors), 256):
            some = np.rint(np.asarray(vectors[first : first + 256], np.float32) * _EXACT)
            near = np.rint(some @ self._numbers.T * (UNIT / _EXACT**2)).astype(np.int64)
            order = np.argsort(-near, axis=1, kind="stable")[:, :k]
            numbers[first : first + 256] = order
            cosines[first : first + 256] = np.take_along_axis(near, order, axis=1)
        return cosines, numbers

    def documents(self, numbers: Integers) -> Integers:
        return self._documents[numbers]

    def words(self, numbers: Integers) -> list[frozenset[str]]:
        return [self._words[number] for number in numbers.tolist()]

    def weights(self, words: Sequence[str]) -> list[int]:
        return [word_weight((self._counts[word] + 0.5) / (len(self._words) + 1)) for word in words]
