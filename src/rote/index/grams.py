"""Many n-grams at once, in the form that an index counts them: numbers with a vocabulary.

A batch holds each distinct word once, so that asking an index about a million n-grams looks up
words per vocabulary entry, not per n-gram.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Ids, Layer, Offsets, n_gram_starts

Counts = NDArray[np.int64]
END = 0
"""The number that stands behind every document in the stream."""
ABSENT = -1
"""What `Vocabulary.find` says of a string that it does not hold."""
MAX_POSITIONS = 2**31 - 2
"""The longest stream of one segment: positions are signed 32-bit numbers while it is built."""


@dataclass(frozen=True, slots=True)
class Grams:
    """N-grams of any lengths: gram g is `ids[ends[g-1]:ends[g]]`, numbers into the vocabulary."""

    ids: Ids
    ends: Offsets
    vocabulary: Sequence[str]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, g: int) -> tuple[str, ...]:
        start = int(self.ends[g - 1]) if g else 0
        return tuple(self.vocabulary[i] for i in self.ids[start : int(self.ends[g])])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """One after the other; an item is read once, however often it occurs."""
        read, start = cache(self.vocabulary.__getitem__), 0
        for end in map(int, self.ends):
            yield tuple(map(read, self.ids[start:end].tolist()))
            start = end

    @classmethod
    def of(cls, grams: Iterable[Sequence[str]]) -> Grams:
        """From sequences of items."""
        numbers: dict[str, int] = {}
        ids: list[int] = []
        ends: list[int] = []
        for gram in grams:
            ids += [numbers.setdefault(item, len(numbers)) for item in gram]
            ends.append(len(ids))
        return cls(np.array(ids, np.int32), np.array(ends, np.int64), tuple(numbers))

    @classmethod
    def of_rows(cls, rows: Ids, vocabulary: Sequence[str]) -> Grams:
        """N-grams of one length, one a row."""
        ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
        return cls(rows.reshape(-1), ends, vocabulary)

    @classmethod
    def windows(cls, layer: Layer, n: int) -> tuple[Grams, Offsets]:
        """Every n-gram of every text, and the item of the layer at which each begins."""
        starts = n_gram_starts(layer, n)
        return cls.of_rows(layer.ids[starts[:, None] + np.arange(n)], layer.vocabulary), starts
