"""Which of some texts' n-grams occur in others, which are read once and not kept.

The n-grams of the test items are few, those of the training set many. So the former are numbered
and the latter only looked up: memory goes with the test set alone, however large the training set
is. Numbers are exact, as an n-gram's key is made from the number of its first n-1 words and its
last word; nothing is hashed.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
_UNKNOWN = -1


class Wanted:
    """The n-grams of a layer's texts, and which of them were met elsewhere."""

    def __init__(self, layer: Layer, n: int) -> None:
        self.n = n
        self._words = {word: number for number, word in enumerate(layer.vocabulary)}
        self._keys: list[Integers] = []
        """For 2, 3, ... n words: the keys of all n-grams, ascending; the place is the number."""
        self._places = n_gram_starts(layer, n)
        numbers = layer.ids.astype(np.int64)
        for length in range(2, n + 1):
            starts = n_gram_starts(layer, length)
            keys = self._key(numbers[starts], layer.ids[starts + length - 1])
            known, own = np.unique(keys, return_inverse=True)
            self._keys.append(known)
            numbers[starts] = own
        self._numbers = numbers[self._places]
        self._items = len(layer.ids)
        self._met = np.zeros(len(self._keys[-1]) if self._keys else len(self._words), np.bool_)

    @property
    def kinds(self) -> int:
        """How many different n-grams there are."""
        return len(self._met)

    def meet(self, layer: Layer) -> None:
        """Mark the n-grams that these texts hold."""
        self._met[self._places_and_numbers(layer)[1]] = True

    def hits(self, layer: Layer) -> tuple[Integers, Integers]:
        """Which of these texts holds which n-gram, by number; each pair once."""
        starts, numbers = self._places_and_numbers(layer)
        kinds = max(1, self.kinds)
        pairs = np.unique(np.searchsorted(layer.text_ends, starts, side="right") * kinds + numbers)
        return pairs // kinds, pairs % kinds

    def _places_and_numbers(self, layer: Layer) -> tuple[Integers, Integers]:
        """Where these texts hold an n-gram of the items, and which."""
        words = np.array([self._words.get(w, _UNKNOWN) for w in layer.vocabulary], np.int64)
        if not len(words) or not len(self._met):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        ids = words[layer.ids]
        starts = n_gram_starts(layer, self.n)
        starts = starts[ids[starts] != _UNKNOWN]
        numbers = ids[starts]
        for length, known in enumerate(self._keys, 2):
            last = ids[starts + length - 1]
            keys = self._key(numbers, last)
            found = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            held = (last != _UNKNOWN) & (known[found] == keys)
            starts, numbers = starts[held], found[held]
        return starts, numbers

    def found(self, met: Flags | None = None) -> Flags:
        """For every item of the layer: whether the n-gram that begins there was met, or is among
        those that are given."""
        flags = np.zeros(self._items, np.bool_)
        flags[self._places] = (self._met if met is None else met)[self._numbers]
        return flags

    def _key(self, first: Integers, last: NDArray[np.int64] | NDArray[np.int32]) -> Integers:
        return first * len(self._words) + last


def n_gram_starts(layer: Layer, n: int) -> Integers:
    """The items at which an n-gram begins that ends in the same text."""
    lengths = layer.text_ends - layer.text_starts
    left = np.repeat(layer.text_ends, lengths) - np.arange(len(layer.ids))
    return np.flatnonzero(left >= n)
