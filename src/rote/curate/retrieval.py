"""The training document most like a document: BM25 (Robertson et al. 1994), exactly.

Words are counted by scikit-learn, weights and scores are sparse matrices of scipy; both are part of
the base install, and scores of all documents are one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rote.core.array_types import Floats, Integers

K1, B = 1.5, 0.75
_AT_ONCE = 256


class Bm25:
    """Documents ready to be asked."""

    def __init__(self, documents: Sequence[str]) -> None:
        from scipy import sparse
        from sklearn.feature_extraction.text import CountVectorizer

        self._words = CountVectorizer(token_pattern=r"(?u)\w+")
        counts = sparse.csr_array(self._words.fit_transform(documents), dtype=np.float64)
        lengths = np.asarray(counts.sum(1)).ravel()
        often = np.bincount(counts.indices, minlength=counts.shape[1])
        rarity = np.log1p((len(documents) - often + 0.5) / (often + 0.5))
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))
        rows = np.repeat(np.arange(len(documents)), np.diff(counts.indptr))
        counts.data = rarity[counts.indices] * counts.data * (K1 + 1) / (counts.data + norm[rows])
        self._weights: Any = sparse.csc_array(counts.T)

    def scores(self, queries: Sequence[str]) -> Floats:
        """A row for each query, a column for each document; a word counts as often as it occurs."""
        asked = self._words.transform(queries)
        return np.asarray((asked @ self._weights).toarray(), np.float64)

    def nearest(
        self,
        queries: Sequence[str],
        *,
        own: Sequence[int | None] | None = None,
        advance: Callable[[float], None] = lambda amount: None,
    ) -> Integers:
        """The best document of each query, the first of equals; `own` is left out."""
        found = np.empty(len(queries), np.int64)
        for first in range(0, len(queries), _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, len(queries)))
            scores = self.scores(queries[some])
            for row, place in enumerate((own or [None] * len(queries))[some]):
                if place is not None:
                    scores[row, place] = -np.inf
            found[some] = scores.argmax(1)
            advance(some.stop - some.start)
        return found
