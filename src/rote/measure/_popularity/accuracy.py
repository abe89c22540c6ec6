"""Accuracy of the less and the more popular half of a task, and of its tenths, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.compare.shares import wilson
from rote.measure._popularity.deciles import Deciles

LOW, HIGH, NEITHER = 0, 1, -1
HALVES = {LOW: "low", HIGH: "high"}

Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Share:
    """So many right answers among so many."""

    items: int
    correct: int

    @classmethod
    def of(cls, correct: NDArray[np.float64]) -> Share:
        """From ones and zeros; what nobody knows (nan) does not count."""
        known = correct[~np.isnan(correct)]
        return cls(len(known), int(known.sum()))

    @property
    def value(self) -> float:
        return self.correct / self.items if self.items else math.nan

    def interval(self, level: float) -> tuple[float, float]:
        return wilson(self.correct, self.items, level)


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


def difference(high: Share, low: Share, level: float) -> tuple[float, float, float]:
    """How much larger a share is than another, and Newcombe's interval of it.

    Newcombe (1998), method 10: made of the Wilson intervals of the two shares, so it stays within
    -1 and 1 and needs no drawing.
    """
    found = high.value - low.value
    if math.isnan(found):
        return math.nan, math.nan, math.nan
    (a, b), (c, d) = high.interval(level), low.interval(level)
    below = math.hypot(high.value - a, d - low.value)
    above = math.hypot(b - high.value, low.value - c)
    return found, found - below, found + above


def _defined(scores: NDArray[np.float64], tasks: Labels) -> Mapping[int, NDArray[np.int64]]:
    """Of each task the items that have a score."""
    return {
        int(task): own
        for task in np.unique(tasks)
        if len(own := np.flatnonzero((tasks == task) & ~np.isnan(scores)))
    }
