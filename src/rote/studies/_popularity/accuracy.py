"""Accuracy of the less and the more popular half of a task, and of its tenths, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.compare.clusters import mean, numbered, stretched
from rote.compare.intervals import wilson
from rote.studies._popularity.deciles import Deciles

LOW, HIGH, NEITHER = 0, 1, -1
HALVES = {LOW: "low", HIGH: "high"}

Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """So many right answers among so many; `stretch`: how much less sure twins make it."""

    items: int
    correct: int
    stretch: float = 1.0

    @classmethod
    def of(cls, correct: NDArray[np.float64], bases: Labels) -> Share:
        """From ones and zeros; what nobody knows (nan) does not count. Items with the same number
        in `bases` belong together."""
        known = ~np.isnan(correct)
        stretch = stretched(correct[known], numbered(bases[known])) if known.any() else 1.0
        return cls(int(known.sum()), int(correct[known].sum()), stretch)

    @property
    def value(self) -> float:
        return self.correct / self.items if self.items else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        return wilson(self.correct / self.stretch**2, self.items / self.stretch**2, level)


def halves(scores: NDArray[np.float64], tasks: Labels) -> Labels:
    """LOW up to the median of the task's scores, HIGH above it, NEITHER where there is no score."""
    found = np.full(len(scores), NEITHER, np.int64)
    for own in _defined(scores, tasks).values():
        found[own] = np.where(scores[own] > np.median(scores[own]), HIGH, LOW)
    return found


def tenths(scores: NDArray[np.float64], tasks: Labels) -> Labels:
    """The decile of each score in its task, 1 to 10, by the rule of counts; 0 without a score."""
    found = np.zeros(len(scores), np.int64)
    for own in _defined(scores, tasks).values():
        found[own] = Deciles.of(scores[own])(scores[own])
    return found


def difference(
    correct: NDArray[np.float64], half: Labels, bases: Labels, level: float
) -> tuple[float, float, float]:
    """How much larger the share of right answers is in the high half, and Newcombe's interval.

    Newcombe (1998), method 10: made of the Wilson intervals of the two shares, so it stays within
    -1 and 1 and needs no drawing. Twins often stand in different halves: the interval is as many
    times as wide as they make the error of the difference larger.
    """
    own = np.arange(len(correct))
    high, low = (Share.of(correct[half == part], own[half == part]) for part in (HIGH, LOW))
    found = high.value - low.value
    if math.isnan(found) or not level:
        return found, math.nan, math.nan
    (a, b), (c, d) = high.interval(level), low.interval(level)
    stretch = _stretch(correct, half, bases)
    below = stretch * math.hypot(high.value - a, d - low.value)
    above = stretch * math.hypot(b - high.value, low.value - c)
    return found, max(-1.0, found - below), min(1.0, found + above)


def _stretch(correct: NDArray[np.float64], half: Labels, bases: Labels) -> float:
    """How many times as large the error of the difference is as if all items were independent."""
    count, errors = len(correct), []
    for clusters in (np.arange(count), numbered(bases)):
        parts = [mean(correct[half == p], clusters[half == p], count) for p in (HIGH, LOW)]
        errors.append((parts[0] - parts[1]).error)
    alone, together = errors
    return max(1.0, together / alone) if alone > 0 and together > 0 else 1.0


def _defined(scores: NDArray[np.float64], tasks: Labels) -> Mapping[int, NDArray[np.int64]]:
    """Of each task the items that have a score."""
    return {
        int(task): own
        for task in np.unique(tasks)
        if len(own := np.flatnonzero((tasks == task) & ~np.isnan(scores)))
    }
