"""How far each vector of a group is from the nearest other one of the group.

Cosine distances, as half the squared distance of unit vectors; computed apart from the search, so
that they do not depend on how blocks were cut, and equal vectors are at exactly 0.

Half-samples and permuted groups ask again and again for the same vectors, so each vector keeps a
short list of the nearest ones in the sources that its own has been mixed with. In a part of
those sources its nearest vector is the first of the list that is in the part; where none is, since
the list ended before, the distances of that vector are computed anew. So all distances are those
between the vectors themselves, and no matrix of all pairs is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Floats, Integers
from rote.core.progress import Reporter, Silent

LISTED = 32
"""Nearest vectors of a source that are listed; sentences of one text, near each other, are left out
together."""
FEW = 500
"""Up to this many vectors comparing all of them is quicker than looking through lists, unless they
are a good part of those that the lists are of."""
_PART = 4
_ALL = 4096
"""Up to this many vectors, where they are all of their sources, no list is made for them."""
_AT_ONCE = 4_000_000  # similarities in memory

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Lists:
    """The nearest vectors of one source for every vector of another (or the same), nearest first.

    `whole`: nothing of that source is missing from the lists.
    """

    numbers: NDArray[np.int32]
    distances: Floats
    whole: bool


@dataclass(frozen=True, slots=True)
class Joined:
    """The nearest vectors of several sources for every vector of them, as far as they are known:
    no other one is nearer than the last. Behind it stands a number that no vector has."""

    rows: Integers
    """Row of each vector."""
    numbers: NDArray[np.int32]
    distances: Floats


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Unit vectors, the source of each, and the lists that were made so far."""

    vectors: Vectors
    sources: Integers
    reporter: Reporter = field(default_factory=Silent)
    lists: dict[tuple[int, int], Lists] = field(default_factory=dict)
    joined: dict[tuple[int, ...], Joined] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    @property
    def counts(self) -> Integers:
        """Vectors of no source, and of each."""
        return np.bincount(self.sources + 1)

    def distances(self, chosen: Integers) -> Floats:
        """Cosine distance of each chosen vector to the nearest other chosen one; two at least."""
        from rote.measure._nearest_kernels import first_inside

        present = tuple((np.flatnonzero(np.bincount(self.sources[chosen] + 1)) - 1).tolist())
        every = int(self.counts[np.array(present) + 1].sum())
        if (len(chosen) <= FEW and _PART * len(chosen) < every) or len(chosen) == every <= _ALL:
            return nearest_among(self.vectors, chosen, chosen)
        with self.lock:
            if present not in self.joined:
                self.joined[present] = self._joined(present)
        lists = self.joined[present]
        inside = np.zeros(len(self.vectors) + 1, np.bool_)
        inside[chosen] = True
        found = first_inside(lists.rows[chosen], lists.numbers, lists.distances, inside)
        if len(left := np.flatnonzero(np.isinf(found))):
            found[left] = nearest_among(self.vectors, chosen[left], chosen)
        return np.asarray(found)

    def _joined(self, present: tuple[int, ...]) -> Joined:
        """The lists of several sources as one."""
        members = [np.flatnonzero(self.sources == source) for source in present]
        rows = np.empty(len(self.vectors), np.int64)
        rows[np.concatenate(members)] = np.arange(sum(map(len, members)))
        numbers, distances = [], []
        for one in present:
            own = [self._listed(one, other) for other in present]
            near = np.concatenate([lists.numbers for lists in own], axis=1)
            far = np.concatenate([lists.distances for lists in own], axis=1)
            reach = np.full(len(near), np.inf)
            for lists in own:
                if not lists.whole:
                    reach = np.minimum(reach, lists.distances[:, -1])
            near[far > reach[:, None]] = len(self.vectors)
            order = np.argsort(far, axis=1, kind="stable")
            numbers.append(np.take_along_axis(near, order, axis=1))
            distances.append(np.take_along_axis(far, order, axis=1))
        width = max(near.shape[1] for near in numbers)
        return Joined(
            rows,
            np.concatenate([_wide(near, width, len(self.vectors)) for near in numbers]),
            np.concatenate([_wide(far, width, np.inf) for far in distances]),
        )

    def _listed(self, one: int, other: int) -> Lists:
        if (one, other) not in self.lists:
            self.lists[one, other] = self._made(one, other)
        return self.lists[one, other]

    def _made(self, one: int, other: int) -> Lists:
        from rote.measure._nearest_kernels import apart, largest

        of, among = (np.flatnonzero(self.sources == source) for source in (one, other))
        length = min(LISTED, len(among) - (one == other))
        numbers = np.empty((len(of), length), np.int32)
        with self.reporter.stage("nearest sentences", len(of)) as advance:
            for rows, likeness in _likeness(self.vectors, of, among):
                if length:
                    largest(likeness, among, numbers[rows])
                advance(len(likeness))
        distances = apart(self.vectors, of, numbers)
        order = np.argsort(distances, axis=1, kind="stable")
        numbers = np.take_along_axis(numbers, order, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        return Lists(numbers, distances, length == len(among) - (one == other))


def nearest_among(vectors: Vectors, of: Integers, among: Integers) -> Floats:
    """The distance of some vectors to the nearest of others (ascending), themselves left out."""
    from rote.measure._nearest_kernels import apart

    best = np.empty((len(of), 1), np.int32)
    for rows, likeness in _likeness(vectors, of, among):
        best[rows, 0] = among[likeness.argmax(axis=1)]
    return np.asarray(apart(vectors, of, best)[:, 0])


def _wide(table: Any, width: int, filler: float) -> Any:
    """With as many columns as others have."""
    return np.pad(table, ((0, 0), (0, width - table.shape[1])), constant_values=filler)


def _likeness(
    vectors: Vectors, of: Integers, among: Integers
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Cosines in blocks of rows; that of a vector with itself is set to minus infinity."""
    others = vectors[among].T
    step = max(1, _AT_ONCE // max(1, len(among)))
    for start in range(0, len(of), step):
        some = of[start : start + step]
        likeness = vectors[some] @ others
        places = np.searchsorted(among, some).clip(max=len(among) - 1)
        same = np.flatnonzero(among[places] == some)
        likeness[same, places[same]] = -np.inf
        yield slice(start, start + len(some)), likeness
