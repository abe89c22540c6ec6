"""The reference's sentences that a source does not reach: outside every ball of its trees.

The same is asked of groups with permuted labels, so distances are taken once, between all
sentences that any of them draws; whose a sentence is decides only which of them count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rote.core.metric import Work
from rote.core.sample import Take
from rote.measure._neighbours.balls import Effort, balls, effort_of, neighbours
from rote.measure._neighbours.pair import Rule
from rote.measure._neighbours.points import Numbers
from rote.measure._neighbours.samples import equal_size
from rote.measure._neighbours.trees import tree_points
from rote.measure._sentences import Sentences, ranks
from rote.measure._trees.histograms import Histograms

Runs = Mapping[str, Sequence[tuple[Take, Take]]]
"""By source its texts and those of the reference: as they are, then with permuted labels."""


@dataclass(frozen=True, slots=True)
class Outside:
    """By source and run the numbers of the reference's sentences in none of its balls.

    `measured` are those of the reference that were compared, `size` of them, with as many of
    each source. A source of too few sentences is missing.
    """

    size: int
    measured: Numbers
    by_source: Mapping[str, Sequence[Numbers]]


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
    drawing = _Drawing(sentences, work, size)
    drawn = {
        source: [drawing.pair(*groups) for groups in own]
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
    measured = drawing.lowest(work.groups[str(work.reference)], size)
    return Outside(size, measured, found)


class _Drawing:
    """At most `size` sentences of some texts, always the same ones first."""

    def __init__(self, sentences: Sentences, work: Work, size: int) -> None:
        self.sentences, self.size = sentences, size
        everything = np.arange(len(sentences), dtype=np.int64)
        self.ranks = ranks(sentences, everything, work)

    def pair(self, ours: Take, theirs: Take) -> tuple[Numbers, Numbers]:
        """Equally many of both."""
        size = min(self.size, *(len(self.sentences.of(take)) for take in (ours, theirs)))
        return self.lowest(ours, size), self.lowest(theirs, size)

    def lowest(self, take: Take, size: int) -> Numbers:
        own = self.sentences.of(take)
        return np.sort(own[np.argsort(self.ranks[own], kind="stable")[:size]])


def _missed(
    histograms: Histograms,
    pool: Numbers,
    drawn: Sequence[tuple[Numbers, Numbers]],
    rule: Rule,
    effort: Effort,
) -> list[Numbers]:
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
