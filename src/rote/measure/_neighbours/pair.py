"""A source beside the reference: precision, recall, density and coverage, of all or of a part."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rote.core.metric import Values
from rote.measure._neighbours.balls import Balls, Effort, Neighbours, balls, neighbours
from rote.measure._neighbours.points import Members, Numbers, Points

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

    def scores(self, source: Numbers | None = None, reference: Numbers | None = None) -> Values:
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
    near_source = near_reference
    if source is not reference:
        near_source = neighbours(space, source.points, rule.kept, effort)
    around_reference = balls(
        space, near_reference, source.points, strict=rule.strict, effort=effort
    )
    around_source = around_reference
    if source is not reference:
        around_source = balls(
            space, near_source, reference.points, strict=rule.strict, effort=effort
        )
    return Pair(source, reference, around_source, around_reference, rule)
