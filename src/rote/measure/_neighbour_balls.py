"""Balls around the points of a sample that reach to the k-th neighbour in it, and what they hold.

Halves of the samples are asked about hundreds of times, so distances are taken once: every centre
keeps more neighbours than it needs, and the points of the other sample by the neighbour whose
distance they do not exceed. In a half, the radius is that of the k-th neighbour still there. A
centre that has lost too many neighbours is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rote.core.arrays import Flags, Floats, Integers
from rote.core.metric import Progress, Values, Work
from rote.core.sample import Take
from rote.measure._neighbour_points import (
    Members,
    Points,
    VectorPoints,
    count_balls,
    different,
    held_points,
    nearest,
    projected,
    tree_points,
)
from rote.measure._sentences import Sentences, drawn, ranks
from rote.measure._tree_histograms import Histograms
from rote.run import side_by_side

_ROWS = 128
Part = TypeVar("Part")


@dataclass(slots=True)
class Effort:
    """How many threads may work, and whom they tell which share of `total` centres is done."""

    jobs: int = 1
    progress: Progress = lambda share: None
    total: int = 1
    done: int = 0

    def in_blocks(self, function: Callable[[slice], Part], count: int) -> list[Part]:
        """The results for all centres, a block at a time, in order."""
        blocks = [slice(at, min(at + _ROWS, count)) for at in range(0, count, _ROWS)]
        results = []
        for block, part in zip(blocks, side_by_side(function, blocks, self.jobs)):
            self.done += block.stop - block.start
            self.progress(self.done / self.total)
            results.append(part)
        return results


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
    point_numbers = space.chosen(points)

    def block(rows: slice) -> tuple[NDArray[np.int32], Floats]:
        width = 1 + min(count, len(points) - 1)
        places = np.empty((rows.stop - rows.start, width), np.int32)
        far = np.empty(places.shape)
        places[:, 0] = np.arange(rows.start, rows.stop)
        far[:, 0] = space.from_itself(points[rows])
        nearest(point_numbers(points[rows]), rows.start, places, far)
        return places, far

    parts = effort.in_blocks(block, len(points))
    return Neighbours(points, *(np.concatenate(columns) for columns in zip(*parts)))


@dataclass(frozen=True, slots=True)
class Balls:
    """Around each of `centres` the points of `reached`, by how many neighbours they are away.

    `points[ends[c-1, -1]:ends[c, t]]` are those within the distance of neighbour t of centre c.
    """

    space: Points
    centres: Integers
    reached: Integers
    places: NDArray[np.int32]
    points: NDArray[np.int32]
    ends: Integers
    strict: bool

    def count_held(self, ours: Integers, theirs: Integers, k: int) -> tuple[Integers, Flags]:
        """In how many balls each point of the other sample lies, and which centres' balls hold one,
        where `ours` and `theirs` say how often each point is there; more than k of `ours`."""
        times, holds, unknown = count_balls(self.places, self.points, self.ends, ours, theirs, k)
        centres = np.flatnonzero(unknown)
        if len(centres):
            there, others = np.flatnonzero(ours), np.flatnonzero(theirs)
            to_own = self.space.chosen(self.centres[there])
            to_other = self.space.chosen(self.reached[others])
        for first in range(0, len(centres), _ROWS):
            block = centres[first : first + _ROWS]
            far, away = to_own(self.centres[block]), to_other(self.centres[block])
            for centre, to_there, to_others in zip(block.tolist(), far, away):
                radius = _radius(to_there, ours[there] - (there == centre), k)
                inside = to_others < radius if self.strict else to_others <= radius
                times[others[inside]] += ours[centre]
                holds[centre] = inside.any()
        return times, holds


def _radius(far: Floats, counts: Integers, k: int) -> float:
    """How far the k-th neighbour is, of points that are there so many times, all but one at least
    once."""
    near = np.argpartition(far, k + 1)[: k + 2] if len(far) > k + 2 else np.arange(len(far))
    near = near[np.argsort(far[near])]
    return float(far[near[np.searchsorted(np.cumsum(counts[near]), k)]])


def balls(
    space: Points, near: Neighbours, other: Integers, *, strict: bool, effort: Effort
) -> Balls:
    """The balls around the points of one sample, and where the other's lie in them."""
    point_numbers = space.chosen(other)

    def block(rows: slice) -> tuple[NDArray[np.int32], Integers]:
        return held_points(point_numbers(near.points[rows]), near.far[rows], strict)

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
    def neighbours_kept(self) -> int:
        """So many neighbours that one half of a sample seldom has fewer than k of them."""
        return 4 * self.k + 16


@dataclass(frozen=True, slots=True)
class Pair:
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
        balls_around_ours, holds = self.of_reference.count_held(theirs, ours, k)
        balls_around_theirs, _ = self.of_source.count_held(ours, theirs, k)
        return {
            "precision": int(ours[balls_around_ours > 0].sum()) / size,
            "recall": int(theirs[balls_around_theirs > 0].sum()) / size,
            "density": int((ours * balls_around_ours).sum()) / (k * size),
            "coverage": int(theirs[holds].sum()) / size,
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
        near_reference = neighbours(space, reference.points, rule.neighbours_kept, effort)
    around = balls(space, near_reference, source.points, strict=rule.strict, effort=effort)
    if source is reference:
        return Pair(source, reference, around, around, rule)
    near = neighbours(space, source.points, rule.neighbours_kept, effort)
    reference_balls = balls(space, near, reference.points, strict=rule.strict, effort=effort)
    return Pair(source, reference, reference_balls, around, rule)


# Sources beside the reference, as samples of equal size: with more points balls are smaller.
#
# In the space of trees or of meanings, all of them or some texts of each; and which sentences of
# the reference a source does not reach. Texts that answer the same input are about the same
# things, so it matters which halves meet: `strata` holds the number of each text's input
# (`doc_id`), or -1.


def equal_size(sentences: Sentences, work: Work, k: int, most: int) -> int:
    """As many sentences as the smallest source has, at most `most`; 0 if nothing can be compared.

    A source of no more than k sentences has no k-th neighbours: it is not compared, and does
    not make the samples of the others small.
    """
    if work.reference is None:
        return 0
    sizes = {source: len(sentences.of(take)) for source, take in work.groups.items()}
    enough = [size for size in sizes.values() if size > k]
    if sizes[work.reference] <= k or len(enough) < 2:
        return 0
    return min(*enough, most)


def of_equal_size(sentences: Sentences, work: Work, size: int) -> Flags:
    """Which sentences are drawn: `size` of every source that has as many, none of the others."""
    is_drawn = drawn(sentences, work, size)
    for take in work.groups.values():
        of_source = sentences.of(take)
        if len(of_source) < size:
            is_drawn[of_source] = False
    return is_drawn


def members_of(sentences: Sentences, number: Integers, work: Work) -> dict[str, Members]:
    """The samples, given the number of every sentence's point; sources without any have none."""
    by_source = {}
    for source, take in work.groups.items():
        of_source = sentences.of(take)
        if len(of_source):
            points, which = np.unique(number[of_source], return_inverse=True)
            which, texts = which.astype(np.int64), sentences.texts[of_source]
            by_source[source] = Members(points, which, texts, of_source)
    return by_source


@dataclass(frozen=True, slots=True)
class Space:
    """The pair of every source with the reference; the reference's own is with itself.

    `dimensions`: how many of the vectors' are left, by source.
    """

    size: int
    pairs: Mapping[str, Pair]
    dimensions: Mapping[str, int]


def among_trees(histograms: Histograms, sentences: Sentences, work: Work, rule: Rule) -> Space:
    """The sentences are those compared, equally many of every source."""
    points, number = tree_points(histograms, np.arange(len(histograms)))
    samples = members_of(sentences, number, work)
    reference = samples[str(work.reference)]
    centres = sum(len(sample.points) for sample in samples.values())
    effort = Effort(work.jobs, work.progress, 2 * centres + len(samples) * len(reference.points))
    near = neighbours(points, reference.points, rule.neighbours_kept, effort)
    how = (reference, rule, effort, near)
    pairs = {source: pair(points, sample, *how) for source, sample in samples.items()}
    return Space(len(reference), pairs, dimensions={})


def among_vectors(
    vectors: NDArray[np.float32], sentences: Sentences, work: Work, rule: Rule, share: float
) -> Space:
    """The same in the space of the principal components that hold `share` of the variance.

    They are those of the two samples together, so every source has a space of its own.
    """
    first, number = different(vectors)
    samples = members_of(sentences, number, work)
    reference = samples[str(work.reference)]
    others = [sample for sample in samples.values() if sample is not reference]
    total = sum(len(sample.points) + len(reference.points) for sample in others)
    effort = Effort(work.jobs, work.progress, 2 * (total + len(reference.points)))
    pairs, dimensions = {}, {}
    for source, sample in samples.items():
        both = np.union1d(sample.points, reference.points)
        theirs, ours = (
            replace(members, points=np.searchsorted(both, members.points))
            for members in (reference, sample)
        )
        ours = theirs if sample is reference else ours
        counts = np.bincount(ours.points[ours.which], minlength=len(both))
        counts += np.bincount(theirs.points[theirs.which], minlength=len(both))
        points = VectorPoints(projected(vectors[first[both]], counts, share))
        pairs[source] = pair(points, ours, theirs, rule, effort)
        dimensions[source] = points.vectors.shape[1]
    return Space(len(reference), pairs, dimensions)


def scores_of_texts(pair: Pair, ours: Take, theirs: Take, rng: np.random.Generator) -> Values:
    """Of the source's and the reference's sentences in these texts, cut to equal numbers."""
    chosen = [
        np.flatnonzero(np.isin(sample.texts, texts))
        for sample, texts in ((pair.source, ours), (pair.reference, theirs))
    ]
    size = min(map(len, chosen))
    return pair.scores(*(rng.choice(places, size, replace=False) for places in chosen))


def matching_half(theirs: Take, ours: Take, strata: Integers, rng: np.random.Generator) -> Take:
    """One half of the reference's texts: first those with the same inputs as `ours`.

    So inputs are what is resampled where all answer the same ones; else it is any half, with the
    texts of one input together.
    """
    inputs = strata[ours]
    shared = np.isin(strata[theirs], inputs[inputs >= 0])
    shuffled = rng.permutation(len(theirs))
    prompts = np.where(strata[theirs] >= 0, strata[theirs], -1 - np.arange(len(theirs)))[shuffled]
    _, begins, input = np.unique(prompts, return_index=True, return_inverse=True)
    first = shuffled[np.lexsort((begins[input], ~shared[shuffled]))]
    return theirs[first[: len(theirs) // 2]]


def strange_halves(
    ours: Take, theirs: Take, strata: Integers, rng: np.random.Generator
) -> tuple[Take, Take]:
    """About one half of each, with no input in common, nor a text if both are the same source."""
    texts = np.union1d(ours, theirs)
    inputs = np.unique(strata[texts])
    inputs = inputs[inputs >= 0]
    chosen = rng.permutation(inputs)[: len(inputs) // 2]
    on_their_side = np.zeros(len(strata), np.bool_)
    on_their_side[texts] = np.isin(strata[texts], chosen)
    for group in (ours, theirs):
        alone = group[strata[group] < 0]
        on_their_side[alone] = False
        on_their_side[rng.permutation(alone)[: len(alone) // 2]] = True
    return ours[~on_their_side[ours]], theirs[on_their_side[theirs]]


Runs = Mapping[str, Sequence[tuple[Take, Take]]]
"""By source its texts and those of the reference: all, those that are tested, then these with
permuted labels."""


@dataclass(frozen=True, slots=True)
class Outside:
    """By source and run the numbers of the reference's sentences in none of its balls.

    `measured` are those of the reference that were compared, `size` of them, with as many of
    each source. A source of too few sentences is missing.
    """

    size: int
    measured: Integers
    by_source: Mapping[str, Sequence[Integers]]


def outside(
    histograms: Histograms,
    sentences: Sentences,
    work: Work,
    runs: Runs,
    *,
    rule: Rule,
    count: int = 5_000,
) -> Outside:
    """`histograms` are those of the sentences; at most `count` of each source are compared.

    What is tested comes from one sample of twice as many sentences of both sources that does not
    look at the labels: distances between all sentences would take too long.
    """
    size = equal_size(sentences, work, rule.k, count)
    if not size:
        return Outside(0, np.empty(0, np.int64), {})
    rank = ranks(sentences, np.arange(len(sentences), dtype=np.int64), work)

    def lowest(numbers: Integers, size: int) -> Integers:
        """Always the same ones first."""
        return np.sort(numbers[np.argsort(rank[numbers], kind="stable")[:size]])

    def both(ours: Integers, theirs: Integers) -> tuple[Integers, Integers]:
        """Equally many of both."""
        most = min(size, len(ours), len(theirs))
        return lowest(ours, most), lowest(theirs, most)

    def samples(groups: Sequence[tuple[Take, Take]]) -> list[tuple[Integers, Integers]]:
        every, *tested = groups
        in_sample = np.zeros(len(sentences), np.bool_)
        if tested:
            in_sample[lowest(sentences.of(np.union1d(*tested[0])), 2 * count)] = True
        sides = ([sentences.of(take) for take in pair] for pair in tested)
        return [
            both(*map(sentences.of, every)),
            *(both(*(numbers[in_sample[numbers]] for numbers in pair)) for pair in sides),
        ]

    drawn = {
        source: samples(groups)
        for source, groups in runs.items()
        if len(sentences.of(groups[0][0])) >= size
    }
    pools = {
        source: np.unique(np.concatenate([part for pair in pairs for part in pair]))
        for source, pairs in drawn.items()
    }
    effort = Effort(work.jobs, work.progress, 2 * sum(map(len, pools.values())))
    by_source = {
        source: _missed(histograms, pools[source], sentence_numbers, rule, effort)
        for source, sentence_numbers in drawn.items()
    }
    work.progress(1.0)
    reference = sentences.of(work.groups[str(work.reference)])
    return Outside(size, lowest(reference, size), by_source)


def _missed(
    histograms: Histograms,
    pool: Integers,
    drawn: Sequence[tuple[Integers, Integers]],
    rule: Rule,
    effort: Effort,
) -> list[Integers]:
    """In each run the sentences of the second sample in no ball of the first."""
    space, number = tree_points(histograms, pool)
    points = np.unique(number)
    # Texts of one cluster are alike and leave a sample together: more neighbours than for halves.
    near = neighbours(space, points, 4 * rule.neighbours_kept, effort)
    around = balls(space, near, points, strict=rule.strict, effort=effort)

    def missed(samples: tuple[Integers, Integers]) -> Integers:
        ours, theirs = (number[np.searchsorted(pool, sample)] for sample in samples)
        if len(ours) <= rule.k:
            return samples[1][:0]
        count, other_count = (
            np.bincount(side, minlength=len(points)).astype(np.int64) for side in (ours, theirs)
        )
        times, _ = around.count_held(count, other_count, rule.k)
        return np.asarray(samples[1][times[theirs] == 0])

    return list(side_by_side(missed, drawn, effort.jobs))
