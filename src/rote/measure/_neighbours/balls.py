"""Balls around the points of a sample that reach to the k-th neighbour in it, and what they hold.

Halves of the samples are asked about hundreds of times, so distances are taken once: every centre
keeps more neighbours than it needs, and the points of the other sample by the neighbour whose
distance they do not exceed. In a half, the radius is that of the k-th neighbour still there. A
centre that has lost too many neighbours is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Flags, Floats, Integers
from rote.core.metric import Progress, Values
from rote.measure._neighbours.points import Members, Points
from rote.run import side_by_side

_ROWS = 128
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Effort:
    """How many threads may work, and whom they tell how many centres are done."""

    jobs: int = 1
    done: Callable[[int], None] = lambda centres: None

    def in_blocks(self, function: Callable[[slice], Part], count: int) -> list[Part]:
        """The results for all centres, a block at a time, in order."""
        blocks = [slice(at, min(at + _ROWS, count)) for at in range(0, count, _ROWS)]
        found = []
        for block, part in zip(blocks, side_by_side(function, blocks, self.jobs)):
            self.done(block.stop - block.start)
            found.append(part)
        return found


def effort_of(jobs: int, progress: Progress, total: int) -> Effort:
    """One that tells which share of `total` centres is done."""
    so_far = 0

    def done(centres: int) -> None:
        nonlocal so_far
        so_far += centres
        progress(so_far / total)

    return Effort(jobs, done)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Every point of a sample with those nearest to it, itself first: their places, how far.

    Copies of a point are the point itself; how often it is there is not known here.
    """

    points: Integers
    places: NDArray[np.int32]
    far: Floats


def neighbours(space: Points, points: Integers, count: int, effort: Effort) -> Neighbours:
    """The `count` nearest of each point, or all there are."""
    from rote.measure._neighbours.ball_kernels import nearest

    seen = space.chosen(points)

    def block(rows: slice) -> tuple[NDArray[np.int32], Floats]:
        width = 1 + min(count, len(points) - 1)
        places = np.empty((rows.stop - rows.start, width), np.int32)
        far = np.empty(places.shape)
        places[:, 0] = np.arange(rows.start, rows.stop)
        far[:, 0] = space.from_itself(points[rows])
        nearest(seen(points[rows]), rows.start, places, far)
        return places, far

    parts = effort.in_blocks(block, len(points))
    return Neighbours(points, *(np.concatenate(columns) for columns in zip(*parts)))


@dataclass(frozen=True, slots=True)
class Held:
    """In how many balls each point of the other sample lies; which centres' balls hold one."""

    times: Integers
    holds: Flags


@dataclass(frozen=True, slots=True)
class Balls:
    """Around every point of `own` the points of `other`, by how many neighbours they are away.

    `points[ends[c-1, -1]:ends[c, t]]` are those within the distance of neighbour t of centre c.
    """

    space: Points
    own: Integers
    other: Integers
    places: NDArray[np.int32]
    points: NDArray[np.int32]
    ends: Integers
    strict: bool

    def held(self, own: Integers, other: Integers, k: int) -> Held:
        """Where `own` and `other` say how often each point is there; more than k of `own`."""
        from rote.measure._neighbours.ball_kernels import count_balls

        times, holds, unknown = count_balls(self.places, self.points, self.ends, own, other, k)
        for centre in np.flatnonzero(unknown):
            inside = self._measured(int(centre), own, other, k)
            times[inside] += own[centre]
            holds[centre] = len(inside) > 0
        return Held(times, holds)

    def _measured(self, centre: int, own: Integers, other: Integers, k: int) -> Integers:
        """The points of the other sample in one ball, from the distances themselves."""
        there = np.flatnonzero(own)
        number = self.own[centre : centre + 1]
        far = self.space.chosen(self.own[there])(number)[0]
        left = own[there] - (there == centre)
        order = np.argsort(far, kind="stable")
        radius = far[order[np.searchsorted(np.cumsum(left[order]), k)]]
        others = np.flatnonzero(other)
        away = self.space.chosen(self.other[others])(number)[0]
        inside = away < radius if self.strict else away <= radius
        return np.asarray(others[inside], np.int64)


def balls(
    space: Points, near: Neighbours, other: Integers, *, strict: bool, effort: Effort
) -> Balls:
    """The balls around the points of one sample, and where the other's lie in them."""
    from rote.measure._neighbours.ball_kernels import held_points

    seen = space.chosen(other)

    def block(rows: slice) -> tuple[NDArray[np.int32], Integers]:
        return held_points(seen(near.points[rows]), near.far[rows], strict)

    parts = effort.in_blocks(block, len(near.points))
    before = np.cumsum([0, *(len(points) for points, _ in parts)])
    ends = np.concatenate([ends + base for (_, ends), base in zip(parts, before)])
    points = np.concatenate([points for points, _ in parts])
    return Balls(space, near.points, other, near.places, points, ends, strict)


SCORES = ("precision", "recall", "density", "coverage")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a ball is: it reaches to the k-th neighbour; `strict` leaves its surface out."""

    k: int
    strict: bool

    @property
    def kept(self) -> int:
        """So many neighbours that one half of a sample seldom has fewer than k of them."""
        return 4 * self.k + 16


@dataclass(frozen=True, slots=True)
class Pair:
    """Two samples and the balls around the points of each."""

    source: Members
    reference: Members
    of_source: Balls
    of_reference: Balls
    rule: Rule

    def scores(self, source: Integers | None = None, reference: Integers | None = None) -> Values:
        """Of the kept sentences (places in the samples), equally many of each; nan if too few."""
        ours, theirs = self.source.counts(source), self.reference.counts(reference)
        size, k = int(ours.sum()), self.rule.k
        if size <= k:
            return dict.fromkeys(SCORES, math.nan)
        real = self.of_reference.held(theirs, ours, k)
        made = self.of_source.held(ours, theirs, k)
        return {
            "precision": int(ours[real.times > 0].sum()) / size,
            "recall": int(theirs[made.times > 0].sum()) / size,
            "density": int((ours * real.times).sum()) / (k * size),
            "coverage": int(theirs[real.holds].sum()) / size,
        }


def pair(
    space: Points,
    source: Members,
    reference: Members,
    rule: Rule,
    effort: Effort,
    near_reference: Neighbours | None = None,
) -> Pair:
    """Take the distances. `near_reference`: the reference's neighbours, where they are known."""
    if near_reference is None:
        near_reference = neighbours(space, reference.points, rule.kept, effort)
    strict = rule.strict
    around = balls(space, near_reference, source.points, strict=strict, effort=effort)
    if source is reference:
        return Pair(source, reference, around, around, rule)
    near = neighbours(space, source.points, rule.kept, effort)
    own = balls(space, near, reference.points, strict=strict, effort=effort)
    return Pair(source, reference, own, around, rule)
