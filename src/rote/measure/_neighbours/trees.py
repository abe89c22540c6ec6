"""Dependency trees as points: how alike two histograms are, exactly.

The distance is sqrt(2 - 2 k(a, b)) with k = <a, b> / sqrt(<a, a> <b, b>). Seen from one centre a,
the order of distances is that of -<a, b>^2 / <b, b>. The inner products are whole numbers, so this
quotient is rounded once, as every division is: equal distances are equal numbers, and different
ones are kept apart as long as <b, b> stays below some 200,000, far beyond any sentence.

A few labels stand in almost every sentence, most stand in hardly any: products over the first are
left to BLAS, the others are found along lists of the sentences that hold a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.measure._neighbours.points import Floats, Numbers, same
from rote.measure._trees.histograms import Histograms

Array: TypeAlias = NDArray[Any]
# Labels that more than this share of the points hold are common.
_COMMON = 1 / 24
# Whole numbers below this are exact in 32-bit floats, sums of them too.
_EXACT = 2**24


@dataclass(frozen=True, slots=True)
class TreePoints:
    """Different histograms: counts of common labels as a matrix, of others in lists."""

    common: Array
    labels: Array
    counts: Array
    ends: Numbers
    kinds: int
    norms: Floats

    def chosen(self, others: Numbers) -> TreesChosen:
        from rote.measure._neighbours.ball_kernels import holders

        found = holders(self.labels, self.counts, self.ends, self.kinds, others)
        return TreesChosen(self, self.common[others].T.copy(), *found, self.norms[others])

    def from_itself(self, centres: Numbers) -> Floats:
        return -self.norms[centres]


@dataclass(frozen=True, slots=True)
class TreesChosen:
    """The chosen points, ready to be compared: for every label, which of them hold it."""

    points: TreePoints
    common: Array
    holder: Array
    times: Array
    holder_ends: Numbers
    norms: Floats

    def __call__(self, centres: Numbers) -> Floats:
        from rote.measure._neighbours.ball_kernels import add_products, negative_square_over

        points = self.points
        products = points.common[centres] @ self.common
        add_products(
            *(products, centres, points.labels, points.counts, points.ends),
            *(self.holder, self.times, self.holder_ends),
        )
        return negative_square_over(products, self.norms)


def tree_points(made: Histograms, sentences: Numbers) -> tuple[TreePoints, Numbers]:
    """The different histograms among those of the given sentences, and the number of each's."""
    starts = np.concatenate((np.zeros(1, np.int64), made.ends[:-1]))[sentences]
    sizes = made.ends[sentences] - starts
    first, number = same(
        made.labels[start:end].tobytes() + made.counts[start:end].tobytes()
        for start, end in zip(starts, starts + sizes)
    )
    starts, sizes, norms = starts[first], sizes[first], made.norms[sentences[first]]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    entries = np.repeat(starts, sizes) + within
    labels, counts = made.labels[entries], made.counts[entries]
    owner = np.repeat(np.arange(len(first)), sizes)
    held = np.bincount(labels, minlength=made.kinds)
    common = np.flatnonzero(held > _COMMON * len(first))
    column = np.full(made.kinds, -1, np.int64)
    column[common] = np.arange(len(common))
    often = column[labels] >= 0
    kind = np.float32 if norms.max(initial=0) < _EXACT else np.float64
    matrix = np.zeros((len(first), len(common)), kind)
    matrix[owner[often], column[labels[often]]] = counts[often]
    ends = np.cumsum(np.bincount(owner[~often], minlength=len(first))).astype(np.int64)
    points = TreePoints(
        *(matrix, labels[~often], counts[~often], ends, made.kinds, norms.astype(np.float64))
    )
    return points, number
