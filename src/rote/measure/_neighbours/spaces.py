"""All sources beside the reference in one space: that of trees, or that of meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.metric import Work
from rote.measure._neighbours.balls import effort_of, neighbours
from rote.measure._neighbours.pair import Pair, Rule, pair
from rote.measure._neighbours.pca import projected
from rote.measure._neighbours.points import Members
from rote.measure._neighbours.samples import members_of
from rote.measure._neighbours.trees import tree_points
from rote.measure._neighbours.vectors import VectorPoints, different
from rote.measure._sentences import Sentences
from rote.measure._trees.histograms import Histograms


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


def _renumbered(sample: Members, points: NDArray[np.int64]) -> Members:
    return replace(sample, points=np.searchsorted(points, sample.points))
