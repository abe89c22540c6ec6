"""Every text's sum of unit vectors, and what a group of texts makes of them.

With u = h / |h| of every sentence, the mean similarity over pairs needs no more than the squared
length of the sum of u. A label that only one text holds adds the same to it in every group with
that text; a group has to look only at labels that several texts hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Ids, Offsets
from rote.measure._sentences import Sentences
from rote.measure._trees.histograms import Histograms

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

NONE, SEVERAL = -1, -2


@dataclass(frozen=True, slots=True)
class TextSums:
    """Of every text: how many vectors, the squared length of their sum, the part of it from labels
    of its own, and the sum over shared labels, `weights[ends[t-1]:ends[t]]`."""

    counts: NDArray[np.int64]
    squares: Floats
    own: Floats
    shared: Ids
    weights: Floats
    ends: Offsets
    kinds: int

    def square(self, take: NDArray[np.int64], factors: Floats | None = None) -> float:
        """The squared length of the sum over a group, of each text `factors` times its sum."""
        factors = np.ones(len(take)) if factors is None else factors
        total = self.total(take, factors)
        # Not by BLAS, whose last digit may depend on how many threads are at work.
        return float((factors**2 * self.own[take]).sum() + np.square(total).sum())

    def total(self, take: NDArray[np.int64], factors: Floats) -> Floats:
        """That sum over the shared labels."""
        return group_sum(self.shared, self.weights, self.ends, self.kinds, take, factors)

    def products(self, take: NDArray[np.int64]) -> Floats:
        """The sum over the group times that over each of its texts."""
        total = self.total(take, np.ones(len(take)))
        return self.own[take] + text_products(self.shared, self.weights, self.ends, total, take)


def text_sums(made: Histograms, sentences: Sentences, texts: int) -> TextSums:
    """The sums of the sentences of each of `texts` texts."""
    counts = np.bincount(sentences.texts, minlength=texts).astype(np.int64)
    lengths = np.sqrt(made.norms.astype(np.float64))
    found = summed(made.labels, made.counts, made.ends, lengths, counts, made.kinds)
    return TextSums(counts, *found)


@njit(cache=True, nogil=True)
def summed(
    labels: Array, counts: Array, ends: Array, lengths: Array, per_text: Array, kinds: int
) -> tuple[Array, Array, Array, Array, Array, int]:
    owner = np.full(kinds, NONE, np.int32)
    sentence = 0
    entry = 0
    for text in range(len(per_text)):
        for _ in range(per_text[text]):
            while entry < ends[sentence]:
                label = labels[entry]
                if owner[label] == NONE:
                    owner[label] = text
                elif owner[label] != text:
                    owner[label] = SEVERAL
                entry += 1
            sentence += 1

    renumbered = np.full(kinds, NONE, np.int32)
    shared_kinds = 0
    most = 0
    for label in range(kinds):
        if owner[label] == SEVERAL:
            renumbered[label] = shared_kinds
            shared_kinds += 1
    for label in labels:
        most += owner[label] == SEVERAL

    single = np.zeros(kinds, np.float64)
    shared = np.empty(most, np.int32)
    weights = np.empty(most, np.float64)
    shared_ends = np.empty(len(per_text), np.int64)
    squares = np.zeros(len(per_text), np.float64)
    own = np.zeros(len(per_text), np.float64)
    place_of = np.full(shared_kinds, NONE, np.int64)
    filled = 0
    sentence = 0
    entry = 0
    for text in range(len(per_text)):
        begin = filled
        for _ in range(per_text[text]):
            while entry < ends[sentence]:
                weight = counts[entry] / lengths[sentence]
                number = renumbered[labels[entry]]
                if number == NONE:
                    single[labels[entry]] += weight
                elif place_of[number] >= begin:
                    weights[place_of[number]] += weight
                else:
                    place_of[number] = filled
                    shared[filled] = number
                    weights[filled] = weight
                    filled += 1
                entry += 1
            sentence += 1
        shared_ends[text] = filled
        for place in range(begin, filled):
            squares[text] += weights[place] ** 2
    for label in range(kinds):
        if owner[label] >= 0:
            own[owner[label]] += single[label] ** 2
    return (
        squares + own,
        own,
        shared[:filled].copy(),
        weights[:filled].copy(),
        shared_ends,
        shared_kinds,
    )


def square_of(made: Histograms, chosen: NDArray[np.int64]) -> float:
    """The squared length of the sum over the chosen sentences."""
    total = sentence_sum(made.labels, made.counts, made.ends, made.norms, made.kinds, chosen)
    return float(np.square(total).sum())


@njit(cache=True, nogil=True)
def sentence_sum(
    labels: Array, counts: Array, ends: Array, norms: Array, kinds: int, chosen: Array
) -> Array:
    """The sum of the chosen sentences' unit vectors."""
    total = np.zeros(kinds, np.float64)
    for sentence in chosen:
        length = np.sqrt(np.float64(norms[sentence]))
        for entry in range(ends[sentence - 1] if sentence else 0, ends[sentence]):
            total[labels[entry]] += counts[entry] / length
    return total


@njit(cache=True, nogil=True)
def group_sum(
    shared: Array, weights: Array, ends: Array, kinds: int, take: Array, factors: Array
) -> Array:
    """The sum of the chosen texts' vectors, times their factors, over the shared labels."""
    total = np.zeros(kinds, np.float64)
    for number in range(len(take)):
        text, factor = take[number], factors[number]
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            total[shared[entry]] += factor * weights[entry]
    return total


@njit(cache=True, nogil=True)
def text_products(shared: Array, weights: Array, ends: Array, total: Array, take: Array) -> Array:
    """`total` times the vector of each chosen text, over the shared labels."""
    found = np.zeros(len(take), np.float64)
    for number in range(len(take)):
        text = take[number]
        for entry in range(ends[text - 1] if text else 0, ends[text]):
            found[number] += total[shared[entry]] * weights[entry]
    return found
