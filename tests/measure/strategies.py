"""Random texts for Hypothesis: few words, so that much repeats; empty texts too."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from rote.core.layer import Ids, Offsets
from tests.examples import Maker, drawn, some

Texts = list[list[int]]


def _texts(words: int, longest: int, most: int = 8) -> Maker:
    return some(some(range(words), longest), most)


def texts_of_ids(words: int = 4, longest: int = 12) -> st.SearchStrategy[Texts]:
    return drawn(_texts(words, longest))


def columns(texts: Sequence[Sequence[int]]) -> tuple[Ids, Offsets, Offsets]:
    """Ids, starts and ends of texts given as lists of ids."""
    ids = np.array([word for text in texts for word in text], np.int32)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return ids, ends - np.array([len(text) for text in texts], np.int64), ends


def texts_and_take(words: int = 4, longest: int = 12) -> st.SearchStrategy[tuple[Texts, list[int]]]:
    """Texts, and some of their numbers in ascending order."""

    def made(chance: random.Random) -> tuple[Texts, list[int]]:
        texts = _texts(words, longest)(chance)
        return texts, [number for number in range(len(texts)) if chance.random() < 0.5]

    return drawn(made)
