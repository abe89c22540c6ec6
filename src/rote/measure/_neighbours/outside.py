"""The reference's sentences that a source does not reach: outside every ball of its trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rote.core.metric import Work
from rote.measure._neighbours.balls import balls, effort_of, neighbours
from rote.measure._neighbours.points import Numbers
from rote.measure._neighbours.samples import equal_size, members_of, of_equal_size
from rote.measure._neighbours.trees import tree_points
from rote.measure._sentences import Sentences
from rote.measure._trees.histograms import Histograms


@dataclass(frozen=True, slots=True)
class Outside:
    """By source the numbers of the reference's sentences in none of its balls.

    `measured` are those of the reference that were compared, `size` of them, with as many of
    each source. A source of too few sentences is missing.
    """

    size: int
    measured: Numbers
    by_source: Mapping[str, Numbers]


def outside(
    histograms: Histograms,
    sentences: Sentences,
    work: Work,
    *,
    k: int = 4,
    strict: bool = False,
    count: int = 5_000,
) -> Outside:
    """`histograms` are those of the sentences; at most `count` of each source are compared."""
    size = equal_size(sentences, work, k, count)
    if not size:
        return Outside(0, np.empty(0, np.int64), {})
    drawn = of_equal_size(sentences, work, size)
    chosen = np.flatnonzero(drawn).astype(np.int64)
    space, number = tree_points(histograms, chosen)
    samples = members_of(sentences.chosen(drawn), number, work)
    reference = samples.pop(str(work.reference))
    centres = sum(len(sample.points) for sample in samples.values())
    effort, found = effort_of(work.jobs, work.progress, 2 * centres), {}
    for source, sample in samples.items():
        near = neighbours(space, sample.points, k, effort)
        around = balls(space, near, reference.points, strict=strict, effort=effort)
        held = around.held(sample.counts(), reference.counts(), k)
        alone = (held.times == 0)[reference.which]
        found[source] = chosen[reference.sentences[alone]]
    return Outside(size, chosen[reference.sentences], found)
