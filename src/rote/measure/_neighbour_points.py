"""Points and the samples that are made of them: dependency trees, or embeddings.

Sentences with the same tree, or with the same vector, are one point, so that two copies are never a
rounding error apart; a sample says how often it holds each point, and so does any half of it.

The distance of trees is sqrt(2 - 2 k(a, b)) with k = <a, b> / sqrt(<a, a> <b, b>). Seen from one
centre a, the order of distances is that of -<a, b>^2 / <b, b>. The inner products are whole
numbers, so this quotient is rounded once: equal distances are equal numbers, and different ones are
kept apart as long as <b, b> stays below some 200,000, far beyond any sentence. A few labels occur
in almost every sentence, most in hardly any: products over the first are left to BLAS.

Of vectors, squared differences are added up in the order of the dimensions: a point is at exactly 0
from itself, which a test with <= on a radius needs, and |a|^2 + |b|^2 - 2 ab does not give.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Array, Floats, Integers
from rote.core.kernels import njit
from rote.core.layer import items_of, starts_of
from rote.measure._tree_histograms import Histograms

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

    def counts(self, chosen: Integers | None = None) -> Integers:
        """How often each point stands among the kept sentences (places in the sample), or all."""
        which = self.which if chosen is None else self.which[chosen]
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
        common, norms = self.common[others].T.copy(), self.norms[others]
        # For every label: which of the chosen points hold it, by place; how often; where it ends.
        starts, ends = starts_of(self.ends)[others], self.ends[others]
        entries, _ = items_of(starts, ends)
        labels = self.labels[entries]
        order = np.argsort(labels, kind="stable")
        holder = np.repeat(np.arange(len(others), dtype=np.int32), ends - starts)[order]
        times = self.counts[entries][order]
        holder_ends = np.concatenate(([0], np.cumsum(np.bincount(labels, minlength=self.kinds))))
        holders = (holder, times, holder_ends)

        def far(centres: Integers) -> Floats:
            products = self.common[centres] @ common
            add_products(products, centres, self.labels, self.counts, self.ends, *holders)
            squares = np.square(products, dtype=np.float64)
            return np.asarray(-(squares / norms), np.float64)

        return far

    def from_itself(self, centres: Integers) -> Floats:
        return -self.norms[centres]


def tree_points(histograms: Histograms, sentences: Integers) -> tuple[TreePoints, Integers]:
    """The different histograms among those of the given sentences, and the number of each's."""
    starts = starts_of(histograms.ends)[sentences]
    sizes = histograms.ends[sentences] - starts
    first, number = same(
        histograms.labels[start:end].tobytes() + histograms.counts[start:end].tobytes()
        for start, end in zip(starts, starts + sizes)
    )
    starts, sizes, norms = starts[first], sizes[first], histograms.norms[sentences[first]]
    entries, _ = items_of(starts, starts + sizes)
    labels, counts = histograms.labels[entries], histograms.counts[entries]
    owner = np.repeat(np.arange(len(first)), sizes)
    totals = np.bincount(labels, minlength=histograms.kinds)
    common = np.flatnonzero(totals > _COMMON * len(first))
    column = np.full(histograms.kinds, -1, np.int64)
    column[common] = np.arange(len(common))
    often = column[labels] >= 0
    kind = np.float32 if norms.max(initial=0) < _EXACT else np.float64
    matrix = np.zeros((len(first), len(common)), kind)
    matrix[owner[often], column[labels[often]]] = counts[often]
    ends = np.cumsum(np.bincount(owner[~often], minlength=len(first))).astype(np.int64)
    kinds, norms64 = histograms.kinds, norms.astype(np.float64)
    return TreePoints(matrix, labels[~often], counts[~often], ends, kinds, norms64), number


@dataclass(frozen=True, slots=True)
class VectorPoints:
    """Different vectors, one in each row."""

    vectors: Floats

    def chosen(self, others: Integers) -> Far:
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
    cumulative = np.cumsum(variances)
    dimensions = int(np.searchsorted(cumulative, share * cumulative[-1])) + 1
    return np.ascontiguousarray(wide @ axes[:, : min(dimensions, len(cumulative))])


COLUMNS = 256
"""Points compared side by side: their coordinates stay in the cache."""


@njit(cache=True, nogil=True)
def add_products(
    products: Array,
    centres: Array,
    labels: Array,
    counts: Array,
    ends: Array,
    holder: Array,
    times: Array,
    holder_ends: Array,
) -> None:
    """Add the inner products over the labels that are kept in lists."""
    for row in range(len(centres)):
        centre = centres[row]
        sums = products[row]
        for entry in range(ends[centre - 1] if centre else 0, ends[centre]):
            label, count = labels[entry], counts[entry]
            for slot in range(holder_ends[label], holder_ends[label + 1]):
                sums[holder[slot]] += count * times[slot]


@njit(cache=True, nogil=True)
def squared_distances(rows: Array, columns: Array) -> Array:
    """Between every row and every column; dimensions are added in their order, one by one.

    Four rows at a time share what is read of the columns.
    """
    dimensions, points = columns.shape
    fours = (len(rows) + 3) // 4
    at = np.zeros((4 * fours, dimensions), np.float64)
    for row in range(len(rows)):  # to assign a slice would take a second to compile
        for dimension in range(dimensions):
            at[row, dimension] = rows[row, dimension]
    far = np.zeros((4 * fours, points), np.float64)
    for first in range(0, points, COLUMNS):
        last = min(first + COLUMNS, points)
        for row in range(0, 4 * fours, 4):
            sum0, sum1 = far[row, first:last], far[row + 1, first:last]
            sum2, sum3 = far[row + 2, first:last], far[row + 3, first:last]
            for dimension in range(dimensions):
                others = columns[dimension, first:last]
                at0, at1 = at[row, dimension], at[row + 1, dimension]
                at2, at3 = at[row + 2, dimension], at[row + 3, dimension]
                for place in range(len(others)):
                    point = others[place]
                    sum0[place] += (at0 - point) * (at0 - point)
                    sum1[place] += (at1 - point) * (at1 - point)
                    sum2[place] += (at2 - point) * (at2 - point)
                    sum3[place] += (at3 - point) * (at3 - point)
    return far[: len(rows)]


@njit(cache=True, nogil=True)
def nearest(far: Array, first: int, places: Array, distances: Array) -> None:
    """Fill in the nearest points, nearest first, behind the point itself, which is in column 0.

    Row r of `far` is that of the point at place `first` + r. Of equally near ones the first stay.
    """
    last = places.shape[1] - 1
    if last == 0:
        return
    for row in range(len(far)):
        count = 0
        for place in range(far.shape[1]):
            distance = far[row, place]
            if place == first + row or (count == last and distance >= distances[row, last]):
                continue
            if count < last:
                count += 1
            slot = count
            while slot > 1 and distances[row, slot - 1] > distance:
                distances[row, slot] = distances[row, slot - 1]
                places[row, slot] = places[row, slot - 1]
                slot -= 1
            distances[row, slot] = distance
            places[row, slot] = place


@njit(cache=True, nogil=True)
def held_points(far: Array, radii: Array, strict: bool) -> tuple[Array, Array]:
    """Who lies in which ball of a centre: its points, those of the smallest ball first.

    Row r of `radii` ascends; `ends[r, t]` is where the points within radius t end.
    """
    sizes = radii.shape[1]
    ends = np.zeros((len(far), sizes), np.int64)
    filled = 0
    for row in range(len(far)):
        for place in range(far.shape[1]):
            ball = smallest(radii[row], far[row, place], strict)
            if ball < sizes:
                ends[row, ball] += 1
        for ball in range(sizes):
            filled += ends[row, ball]
            ends[row, ball] = filled
    points = np.empty(filled, np.int32)
    slots = np.empty(sizes, np.int64)
    begin = 0
    for row in range(len(far)):
        slots[0] = begin
        for ball in range(1, sizes):
            slots[ball] = ends[row, ball - 1]
        begin = ends[row, -1]
        for place in range(far.shape[1]):
            ball = smallest(radii[row], far[row, place], strict)
            if ball < sizes:
                points[slots[ball]] = place
                slots[ball] += 1
    return points, ends


@njit(cache=True, nogil=True)
def smallest(radii: Array, distance: float, strict: bool) -> int:
    """Number of the first radius that reaches the distance; their number if none does."""
    low, high = 0, len(radii)
    if distance > radii[high - 1] or (strict and distance == radii[high - 1]):
        return high
    while low < high:
        middle = (low + high) // 2
        if radii[middle] < distance or (strict and radii[middle] == distance):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def count_balls(
    places: Array, points: Array, ends: Array, centres: Array, other: Array, k: int
) -> tuple[Array, Array, Array]:
    """In how many balls each of the other points lies, which balls hold one, which are unknown.

    `centres` and `other` say how often a point is there. A ball reaches to the k-th of its sample's
    points that are there, copies of the centre included; it is unknown if the list has fewer.
    """
    times = np.zeros(len(other), np.int64)
    holds = np.zeros(len(centres), np.bool_)
    unknown = np.zeros(len(centres), np.bool_)
    for centre in range(len(centres)):
        if centres[centre] == 0:
            continue
        reached = centres[centre] - 1
        ball = 0
        while reached < k and ball + 1 < places.shape[1]:
            ball += 1
            reached += centres[places[centre, ball]]
        if reached < k:
            unknown[centre] = True
            continue
        for slot in range(ends[centre - 1, -1] if centre else 0, ends[centre, ball]):
            point = points[slot]
            if other[point]:
                times[point] += centres[centre]
                holds[centre] = True
    return times, holds, unknown
