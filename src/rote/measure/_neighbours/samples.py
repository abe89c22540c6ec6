"""Sources beside the reference, as samples of equal size: with more points balls are smaller.

In the space of trees or of meanings, all of them or some texts of each; and which sentences of the
reference a source does not reach. Texts that answer the same input are about the same things, so it
matters which halves meet: `strata` holds the number of each text's input (`doc_id`), or -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Flags, Integers
from rote.core.metric import Values, Work
from rote.core.sample import Take
from rote.measure._neighbours.balls import Effort, Pair, Rule, balls, effort_of, neighbours, pair
from rote.measure._neighbours.points import Members, VectorPoints, different, projected, tree_points
from rote.measure._sentences import Sentences, drawn, ranks
from rote.measure._trees.histograms import Histograms


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
    kept = drawn(sentences, work, size)
    for take in work.groups.values():
        own = sentences.of(take)
        if len(own) < size:
            kept[own] = False
    return kept


def members_of(sentences: Sentences, number: Integers, work: Work) -> dict[str, Members]:
    """The samples, given the number of every sentence's point; sources without any have none."""
    found = {}
    for source, take in work.groups.items():
        own = sentences.of(take)
        if len(own):
            points, which = np.unique(number[own], return_inverse=True)
            found[source] = Members(points, which.astype(np.int64), sentences.texts[own], own)
    return found


@dataclass(frozen=True, slots=True)
class Space:
    """The pair of every source with the reference; the reference's own is with itself.

    `dimensions`: how many of the vectors' are left, by source.
    """

    size: int
    pairs: Mapping[str, Pair]
    dimensions: Mapping[str, int]


def among_trees(made: Histograms, sentences: Sentences, work: Work, rule: Rule) -> Space:
    """The sentences are those compared, equally many of every source."""
    points, number = tree_points(made, np.arange(len(made)))
    samples = members_of(sentences, number, work)
    reference = samples[str(work.reference)]
    centres = sum(len(sample.points) for sample in samples.values())
    effort = effort_of(work.jobs, work.progress, 2 * centres + len(samples) * len(reference.points))
    near = neighbours(points, reference.points, rule.kept, effort)
    return Space(
        size=len(reference),
        pairs={
            source: pair(points, sample, reference, rule, effort, near)
            for source, sample in samples.items()
        },
        dimensions={},
    )


def among_vectors(
    vectors: NDArray[np.float32], sentences: Sentences, work: Work, rule: Rule, share: float
) -> Space:
    """The same in the space of the principal components that hold `share` of the variance.

    They are those of the two samples together, so every source has a space of its own.
    """
    first, number = different(vectors)
    samples = members_of(sentences, number, work)
    reference = samples[str(work.reference)]
    own = sum(len(s.points) + len(reference.points) for s in samples.values() if s is not reference)
    effort = effort_of(work.jobs, work.progress, 2 * (own + len(reference.points)))
    pairs, dimensions = {}, {}
    for source, sample in samples.items():
        both = np.union1d(sample.points, reference.points)
        theirs = _renumbered(reference, both)
        ours = theirs if sample is reference else _renumbered(sample, both)
        counts = np.bincount(ours.points[ours.which], minlength=len(both))
        counts += np.bincount(theirs.points[theirs.which], minlength=len(both))
        points = VectorPoints(projected(vectors[first[both]], counts, share))
        pairs[source] = pair(points, ours, theirs, rule, effort)
        dimensions[source] = points.vectors.shape[1]
    return Space(len(reference), pairs, dimensions)


def _renumbered(sample: Members, points: Integers) -> Members:
    return replace(sample, points=np.searchsorted(points, sample.points))


def scores_of_texts(pair: Pair, ours: Take, theirs: Take, rng: np.random.Generator) -> Values:
    """Of the source's and the reference's sentences in these texts, cut to equal numbers."""
    kept = [
        np.flatnonzero(np.isin(sample.texts, texts))
        for sample, texts in ((pair.source, ours), (pair.reference, theirs))
    ]
    size = min(map(len, kept))
    return pair.scores(*(rng.choice(places, size, replace=False) for places in kept))


def matching_half(theirs: Take, ours: Take, strata: Integers, rng: np.random.Generator) -> Take:
    """One half of the reference's texts: first those with the same inputs as `ours`.

    So inputs are what is resampled where all answer the same ones; else it is any half, with the
    texts of one input together.
    """
    inputs = strata[ours]
    shared = np.isin(strata[theirs], inputs[inputs >= 0])
    shuffled = rng.permutation(len(theirs))
    own = np.where(strata[theirs] >= 0, strata[theirs], -1 - np.arange(len(theirs)))[shuffled]
    _, begins, input = np.unique(own, return_index=True, return_inverse=True)
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
    """`histograms` are those of the sentences; at most `count` of each source are compared."""
    size = equal_size(sentences, work, rule.k, count)
    if not size:
        return Outside(0, np.empty(0, np.int64), {})
    rank = ranks(sentences, np.arange(len(sentences), dtype=np.int64), work)

    def lowest(take: Take, size: int) -> Integers:
        """Always the same ones first."""
        own = sentences.of(take)
        return np.sort(own[np.argsort(rank[own], kind="stable")[:size]])

    def both(ours: Take, theirs: Take) -> tuple[Integers, Integers]:
        """Equally many of both."""
        most = min(size, *(len(sentences.of(take)) for take in (ours, theirs)))
        return lowest(ours, most), lowest(theirs, most)

    drawn = {
        source: [both(*groups) for groups in own]
        for source, own in runs.items()
        if len(sentences.of(own[0][0])) >= size
    }
    pools = {
        source: np.unique(np.concatenate([part for pair in own for part in pair]))
        for source, own in drawn.items()
    }
    effort = effort_of(work.jobs, work.progress, 2 * sum(map(len, pools.values())))
    found = {
        source: _missed(histograms, pools[source], own, rule, effort)
        for source, own in drawn.items()
    }
    work.progress(1.0)
    return Outside(size, lowest(work.groups[str(work.reference)], size), found)


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
    near = neighbours(space, points, rule.kept, effort)
    around = balls(space, near, points, strict=rule.strict, effort=effort)
    found = []
    for ours, theirs in drawn:
        which = number[np.searchsorted(pool, ours)], number[np.searchsorted(pool, theirs)]
        own, other = (np.bincount(w, minlength=len(points)).astype(np.int64) for w in which)
        alone = np.zeros(len(theirs), np.bool_)
        if len(ours) > rule.k:
            alone = around.held(own, other, rule.k).times[which[1]] == 0
        found.append(theirs[alone])
    return found
