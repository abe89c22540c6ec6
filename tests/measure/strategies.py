"""Random texts for Hypothesis: few words, so that much repeats; empty texts too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from rote.core.layer import Ids, Offsets

Texts = list[list[int]]


def texts_of_ids(words: int = 4, longest: int = 12, most: int = 8) -> st.SearchStrategy[Texts]:
    return st.lists(st.lists(st.integers(0, words - 1), max_size=longest), max_size=most)


def columns(texts: Sequence[Sequence[int]]) -> tuple[Ids, Offsets, Offsets]:
    """Ids, starts and ends of texts given as lists of ids."""
    ids = np.array([word for text in texts for word in text], np.int32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return ids, ends - np.array([len(text) for text in texts], np.int64), ends


@st.composite
def texts_and_take(draw: st.DrawFn, words: int = 4, longest: int = 12) -> tuple[Texts, list[int]]:
    """Texts, and some of their numbers in ascending order."""
    texts = draw(texts_of_ids(words, longest))
    kept = draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    return texts, [number for number, keep in enumerate(kept) if keep]
