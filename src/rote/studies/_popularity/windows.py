"""The different n-grams of many texts, numbered exactly.

An n-gram's number comes from those of two shorter ones that overlap or touch in it, so that three
sortings of one integer a place are enough for seven items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.grams import Grams, window_starts

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Windows:
    """Which n-grams stand in which text, each once: `text` and `gram` are pairs, by text.

    `grams` are the different n-grams themselves.
    """

    text: Numbers
    gram: Numbers
    grams: Grams


def windows(layer: Layer, n: int) -> Windows:
    """The different n-grams of each text."""
    starts = window_starts(layer, n)
    numbers, first = _numbered(layer, starts, n)
    texts = np.searchsorted(layer.text_ends, starts, side="right")
    kinds = max(1, len(first))
    pairs = np.unique(texts * kinds + numbers)
    ids = layer.ids[first[:, None] + np.arange(n)].reshape(-1)
    grams = Grams(ids, np.arange(1, len(first) + 1, dtype=np.int64) * n, layer.vocabulary)
    return Windows(pairs // kinds, pairs % kinds, grams)


def _numbered(layer: Layer, starts: Numbers, n: int) -> tuple[Numbers, Numbers]:
    """The number of the n-gram at each start, and of each number the first item it begins at."""
    # By place; what stands behind the last start of a text is never looked at.
    at_place = layer.ids.astype(np.int64)
    length, places = 1, np.arange(len(at_place))
    while length < n:
        longer = min(2 * length, n)
        places = window_starts(layer, longer)
        kinds = int(at_place.max(initial=0)) + 1
        keys = at_place[places] * kinds + at_place[places + longer - length]
        _, at_place[places] = np.unique(keys, return_inverse=True)
        length = longer
    _, first, numbers = np.unique(at_place[starts], return_index=True, return_inverse=True)
    return numbers.astype(np.int64), starts[first]
