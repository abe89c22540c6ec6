"""Points and the samples that are made of them: dependency trees, or embeddings.

Sentences with the same tree, or with the same vector, are one point. Distances are taken between
points, so that two copies are never a rounding error apart; a sample says how often it holds each
point, and so does any half of it.

The distance of trees is sqrt(2 - 2 k(a, b)) with k = <a, b> / sqrt(<a, a> <b, b>). Seen from one
centre a, the order of distances is that of -<a, b>^2 / <b, b>. The inner products are whole
numbers, so this quotient is rounded once, as every division is: equal distances are equal numbers,
and different ones are kept apart as long as <b, b> stays below some 200,000, far beyond any
sentence. A few labels occur in almost every sentence, most occur in hardly any: products over the
first are left to BLAS, the others are found along lists of the sentences that hold a label.

Of vectors, differences are squared and added up in the order of the dimensions, for many pairs side
by side: a point is at exactly 0 from itself, which a test with <= on a radius needs, and |a|^2 +
|b|^2 - 2 ab does not give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Array, Floats, Integers
from rote.core.layer import items_of, starts_of
from rote.measure._trees.histograms import Histograms

Far: TypeAlias = Callable[[Integers], Floats]
"""How far chosen points lie from any centres: a row for each centre, a column for each point;
smaller is nearer. Within a row equal distances are equal numbers, and the order is that of the
distances; numbers of different rows need not be comparable."""


class Points(Protocol):
    """Different points, by number."""

    def chosen(self, others: Integers) -> Far:
        """How far these lie from any centre."""

    def from_itself(self, centres: Integers) -> Floats:
        """What `Far` says of the distance 0."""


@dataclass(frozen=True, slots=True)
class Members:
    """The sentences of one sample: sentence i is the point `points[which[i]]` of text `texts[i]`.

    `points` are different and ascending; `sentences` are the sentences' own numbers.
    """

    points: Integers
    which: Integers
    texts: Integers
    sentences: Integers

    def __len__(self) -> int:
        return len(self.sentences)

    def counts(self, kept: Integers | None = None) -> Integers:
        """How often each point stands among the kept sentences (places in the sample), or all."""
        which = self.which if kept is None else self.which[kept]
        return np.bincount(which, minlength=len(self.points)).astype(np.int64)


def same(things: Iterable[bytes]) -> tuple[Integers, Integers]:
    """Number different things: where each stands first, and the number of every thing.

    Numbers follow the order of the bytes, so the order in which things come cannot be seen in
    anything that is summed over them.
    """
    keys = np.array(list(things), object)
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    return first.astype(np.int64), numbers.reshape(-1).astype(np.int64)


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
    ends: Integers
    kinds: int
    norms: Floats

    def chosen(self, others: Integers) -> Far:
        from rote.measure._neighbours.ball_kernels import add_products

        common, norms = self.common[others].T.copy(), self.norms[others]
        # For every label: which of the chosen points hold it, by place; how often; where it ends.
        starts, ends = starts_of(self.ends)[others], self.ends[others]
        entries, _ = items_of(starts, ends)
        labels = self.labels[entries]
        order = np.argsort(labels, kind="stable")
        holder = np.repeat(np.arange(len(others), dtype=np.int32), ends - starts)[order]
        times = self.counts[entries][order]
        holder_ends = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=self.kinds))))

        def far(centres: Integers) -> Floats:
            products = self.common[centres] @ common
            add_products(
                *(products, centres, self.labels, self.counts, self.ends),
                *(holder, times, holder_ends),
            )
            squares = np.square(products, dtype=np.float64)
            return np.asarray(-(squares / norms), np.float64)

        return far

    def from_itself(self, centres: Integers) -> Floats:
        return -self.norms[centres]


def tree_points(made: Histograms, sentences: Integers) -> tuple[TreePoints, Integers]:
    """The different histograms among those of the given sentences, and the number of each's."""
    starts = starts_of(made.ends)[sentences]
    sizes = made.ends[sentences] - starts
    first, number = same(
        made.labels[start:end].tobytes() + made.counts[start:end].tobytes()
        for start, end in zip(starts, starts + sizes)
    )
    starts, sizes, norms = starts[first], sizes[first], made.norms[sentences[first]]
    entries, _ = items_of(starts, starts + sizes)
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


@dataclass(frozen=True, slots=True)
class VectorPoints:
    """Different vectors, one in each row."""

    vectors: Floats

    def chosen(self, others: Integers) -> Far:
        from rote.measure._neighbours.ball_kernels import squared_distances

        columns = self.vectors[others].T.copy()
        return lambda centres: np.asarray(squared_distances(self.vectors[centres], columns))

    def from_itself(self, centres: Integers) -> Floats:
        return np.zeros(len(centres))


def different(vectors: NDArray[np.float32]) -> tuple[Integers, Integers]:
    """Where each of the different rows stands first, and the number of every row's."""
    return same(row.tobytes() for row in vectors + np.float32(0))  # so that -0 is 0


def projected(vectors: NDArray[np.float32], counts: Integers, share: float) -> Floats:
    """The vectors on the first components of their own sample, where each stands `counts` times.

    As few components as hold at least `share` of the variance; one if there is no variance.
    """
    weights = counts.astype(np.float64)
    wide = vectors.astype(np.float64)
    wide -= (weights @ wide) / weights.sum()
    variances, axes = np.linalg.eigh((wide * weights[:, None]).T @ wide)
    variances, axes = np.maximum(variances[::-1], 0.0), axes[:, ::-1]
    held = np.cumsum(variances)
    kept = int(np.searchsorted(held, share * held[-1])) + 1
    return np.ascontiguousarray(wide @ axes[:, : min(kept, len(held))])
