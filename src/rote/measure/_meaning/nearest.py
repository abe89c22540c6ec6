"""How far each vector is from the nearest other one of its group, for any group.

Half-samples and permuted groups ask again and again for the same vectors, so each vector keeps a
short list of the nearest ones in every source that its own has been mixed with. In a part of
those sources its nearest vector is the first of the lists that is in the part; where that cannot
be told, because a list ended before, the distances of that vector are computed anew. So all
distances are those between the vectors themselves, and no matrix of all pairs is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.progress import Reporter, Silent

LISTED = 16
FEW = 500
"""Up to this many vectors comparing all of them is quicker than looking through lists."""
_AT_ONCE = 4_000_000  # similarities in memory

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lists:
    """The nearest vectors of one source for every vector of another (or the same), nearest first.

    `whole`: nothing of that source is missing from the lists.
    """

    numbers: NDArray[np.int32]
    distances: Floats
    whole: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Unit vectors, the source of each, and the lists that were made so far."""

    vectors: Vectors
    sources: Numbers
    reporter: Reporter = field(default_factory=Silent)
    lists: dict[tuple[int, int], Lists] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    def distances(self, chosen: Numbers) -> Floats:
        """Cosine distance of each chosen vector to the nearest other chosen one; two at least."""
        if len(chosen) <= FEW:
            return nearest_among(self.vectors, chosen, chosen)
        inside = np.zeros(len(self.vectors), np.bool_)
        inside[chosen] = True
        found = np.full(len(self.vectors), np.inf)
        known_to = np.full(len(self.vectors), np.inf)
        present = np.unique(self.sources[chosen]).tolist()
        for one in present:
            members, places = self._chosen_of(one, inside)
            for other in present:
                nearest, reach = _first_inside(self._listed(one, other), places, inside)
                found[members] = np.minimum(found[members], nearest)
                known_to[members] = np.minimum(known_to[members], reach)
        again = chosen[found[chosen] > known_to[chosen]]
        found[again] = nearest_among(self.vectors, again, chosen)
        return found[chosen]

    def _chosen_of(self, source: int, inside: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
        """Vectors of a source that are chosen, and their rows in its lists."""
        members = np.flatnonzero(self.sources == source)
        places = np.flatnonzero(inside[members])
        return members[places], places

    def _listed(self, one: int, other: int) -> Lists:
        with self.lock:
            if (one, other) not in self.lists:
                self.lists[one, other] = self._made(one, other)
            return self.lists[one, other]

    def _made(self, one: int, other: int) -> Lists:
        of, among = (np.flatnonzero(self.sources == source) for source in (one, other))
        length = min(LISTED, len(among) - (one == other))
        numbers = np.empty((len(of), length), np.int32)
        distances = np.empty((len(of), length))
        with self.reporter.stage("nearest sentences", len(of)) as advance:
            for rows, likeness in _likeness(self.vectors, of, among):
                best = np.argpartition(-likeness, length - 1, axis=1)[:, :length]
                apart = _apart(self.vectors, of[rows], among[best])
                order = np.argsort(apart, axis=1, kind="stable")
                numbers[rows] = np.take_along_axis(among[best], order, axis=1)
                distances[rows] = np.take_along_axis(apart, order, axis=1)
                advance(len(likeness))
        return Lists(numbers, distances, length == len(among) - (one == other))


def nearest_among(vectors: Vectors, of: Numbers, among: Numbers) -> Floats:
    """The distance of some vectors to the nearest of others (ascending), themselves left out."""
    found = np.empty(len(of))
    for rows, likeness in _likeness(vectors, of, among):
        best = among[likeness.argmax(axis=1)]
        found[rows] = _apart(vectors, of[rows], best[:, None])[:, 0]
    return found


def _first_inside(
    lists: Lists, places: Numbers, inside: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """By vector: the distance to the first one of its list that is inside, and how far the list
    reached if none is: there may be one inside beyond that."""
    nearest, reach = np.full(len(places), np.inf), np.full(len(places), np.inf)
    if not lists.numbers.shape[1]:
        return nearest, reach
    hits = inside[lists.numbers[places]]
    first = hits.argmax(axis=1)
    some = hits[np.arange(len(places)), first]
    nearest[some] = lists.distances[places[some], first[some]]
    if not lists.whole:
        reach[~some] = lists.distances[places[~some], -1]
    return nearest, reach


def _likeness(
    vectors: Vectors, of: Numbers, among: Numbers
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


def _apart(vectors: Vectors, of: Numbers, to: Numbers) -> Floats:
    """Cosine distances, row by row, as half the squared distance of unit vectors.

    Computed apart from the search, so that they do not depend on how blocks were cut, and equal
    vectors are at exactly 0.
    """
    own = vectors[of].astype(np.float64)
    columns = [((vectors[to[:, n]] - own) ** 2).sum(axis=1) / 2 for n in range(to.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty(to.shape)
