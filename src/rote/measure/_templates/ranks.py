"""Where n-grams stand among all those of a corpus: how often, which rank, among the foremost.

One `Standing` is made for each corpus and serves all sources. It knows how many n-grams of the
corpus have which count, not which they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.index.grams import Grams
from rote.index.index import Index

Gram = tuple[str, ...]
# N-grams of one segment that are looked up in the others at a time.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Standing:
    """The n-grams of a corpus by their counts.

    `counts` ascend; `above[i]` n-grams have a larger count than `counts[i]`; `kinds` is how many
    different n-grams there are. `last` is the count and the items of the last n-gram that is
    among the most frequent; None where all are.
    """

    index: Index
    layer: str
    counts: NDArray[np.int64]
    above: NDArray[np.int64]
    kinds: int
    last: tuple[int, Gram] | None

    def of(self, grams: Sequence[Gram]) -> NDArray[np.int64]:
        """How often each n-gram stands in the corpus."""
        return self.index.counts(Grams.of(grams), self.layer)

    def ranks(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """1 + how many n-grams are more frequent; one that is absent comes after all present."""
        at = np.searchsorted(self.counts, counts)
        return 1 + np.where(counts > 0, np.append(self.above, 0)[at], self.kinds)

    def among(self, grams: Sequence[Gram], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each is among the most frequent; ties at the cut go by the order of items."""
        least, last = self.last or (0, ())
        tied = np.array([gram <= last for gram in grams], np.bool_)
        found: NDArray[np.bool_] = (counts > least) | ((counts == least) & tied)
        return found


def standing(index: Index, layer: str, n: int, most_frequent: int) -> Standing:
    """Count the n-grams of a corpus."""
    tallied = count_of_counts(index, layer, n)
    counts = np.array(sorted(tallied), np.int64)
    kinds = np.array([tallied[count] for count in counts.tolist()], np.int64)
    total = int(kinds.sum())
    last = None
    if total > most_frequent:
        foremost = index.top(n, most_frequent, layer)
        last = int(foremost.counts[-1]), foremost.grams[len(foremost) - 1]
    return Standing(index, layer, counts, total - np.cumsum(kinds), total, last)


def count_of_counts(index: Index, layer: str, n: int) -> Counter[int]:
    """How many different n-grams have which count.

    An n-gram that several segments hold is counted in the first of them, with what the later
    ones add, so that no list of all n-grams of all segments is ever needed.
    """
    found: Counter[int] = Counter()
    segments = [Index([segment]) for segment in index.segments]
    for number, segment in enumerate(segments):
        own = segment.top(n, None, layer)
        rows = own.grams.ids.reshape(-1, n)
        for start in range(0, len(own), _AT_ONCE):
            totals = own.counts[start : start + _AT_ONCE].copy()
            grams = _grams(rows[start : start + _AT_ONCE], own.grams.vocabulary)
            for earlier in segments[:number]:
                new = earlier.counts(grams, layer) == 0
                totals = totals[new]
                grams = _grams(grams.ids.reshape(-1, n)[new], grams.vocabulary)
            for later in segments[number + 1 :]:
                totals += later.counts(grams, layer)
            values, kinds = np.unique(totals, return_counts=True)
            found.update(dict(zip(values.tolist(), kinds.tolist())))
    return found


def _grams(rows: NDArray[np.int32], vocabulary: Sequence[str]) -> Grams:
    """N-grams of equal length, one a row."""
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return Grams(rows.reshape(-1), ends, vocabulary)
