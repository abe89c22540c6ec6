"""How sure means, shares and ratios are where some observations belong together, in clusters.

An estimate knows how much every cluster adds to it (its influence), so that differences, ratios and
whatever is paired over clusters follow by adding and subtracting. Where every cluster is one
observation, errors are those of the jackknife.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rote.compare.intervals import interval_from_error, left_out_error, shares, wilson
from rote.core.arrays import Floats, Integers
from rote.core.table import estimate


@dataclass(frozen=True, slots=True)
class ClusterEstimate:
    """A number, and what each cluster adds to it; `least` clusters are in the smallest part."""

    value: float
    influence: Floats
    least: int

    @property
    def error(self) -> float:
        if self.least < 2 or math.isnan(self.value):
            return math.nan
        return math.sqrt(float((self.influence**2).sum()))

    def __sub__(self, other: ClusterEstimate) -> ClusterEstimate:
        influence = self.influence - other.influence
        return ClusterEstimate(self.value - other.value, influence, min(self.least, other.least))

    def log(self) -> ClusterEstimate:
        if not self.value > 0:
            return ClusterEstimate(math.nan, self.influence, self.least)
        return ClusterEstimate(math.log(self.value), self.influence / self.value, self.least)

    def interval(self, level: float, *, share: bool = False) -> tuple[float, float]:
        """By Student's t, with the degrees of freedom of the smallest part."""
        return interval_from_error(self.value, self.error, level, self.least, share=share)

    def cells(self, name: str, level: float) -> dict[str, float]:
        """The number and the ends of its interval, as rows hold them."""
        return estimate(name, self.value, self.interval(level))

    def exp_interval(self, level: float) -> tuple[float, float]:
        """That of what this is the logarithm of."""
        low, high = self.interval(level)
        return safe_exp(low), safe_exp(high)


def mean_by_cluster(values: Floats, clusters: Integers, count: int) -> ClusterEstimate:
    """The mean of what is defined; `clusters` number from 0 to below `count`."""
    defined = ~np.isnan(values)
    values, clusters = values[defined], clusters[defined]
    if not len(values):
        return ClusterEstimate(math.nan, np.zeros(count), 0)
    middle = float(values.mean())
    least = len(np.unique(clusters))
    sums = np.bincount(clusters, values - middle, minlength=count) / len(values)
    # One cluster says nothing of how far others are: the error is nan then.
    return ClusterEstimate(middle, sums * math.sqrt(least / max(1, least - 1)), least)


def average_estimates(estimates: Sequence[ClusterEstimate]) -> ClusterEstimate:
    return ClusterEstimate(
        float(np.mean([estimate.value for estimate in estimates])),
        np.mean([estimate.influence for estimate in estimates], axis=0),
        min(estimate.least for estimate in estimates),
    )


def clustered_mean(values: Floats, names: Sequence[object] | Integers) -> ClusterEstimate:
    """The mean of what is defined; `names` say what belongs together."""
    return mean_by_cluster(values, number_clusters(names), len(values))


def share_error(counts: Integers, totals: Integers, clusters: Integers) -> float:
    """Jackknife standard error of a share of all that texts hold, leaving out whole clusters."""
    number = number_clusters(clusters)
    counts, totals = (np.bincount(number, column) for column in (counts, totals))
    return left_out_error(shares(counts.sum() - counts, totals.sum() - totals))


def cluster_ids(strata: Integers, least: int) -> Integers | None:
    """The cluster of each text from its number, which is -1 where it has none; None where each is
    its own, or where there are fewer than `least`."""
    ids = np.where(strata >= 0, strata, -1 - np.arange(len(strata)))
    return ids if least <= len(np.unique(ids)) < len(ids) else None


def error_of_sum(parts: Floats, clusters: Integers | None) -> float:
    """The standard error of a sum from what each text adds to it, around 0; nan where that is not
    known, as if it were like the others. Texts of one cluster vary together.

    >>> error_of_sum(np.array([1.0, -1.0, 1.0, -1.0]), None)
    2.309401076758503
    """
    ids = np.arange(len(parts)) if clusters is None else number_clusters(clusters)
    known = ~np.isnan(parts)
    units, of_unit = np.unique(ids[known], return_inverse=True)
    if len(units) < 2:
        return math.nan
    sums = np.bincount(of_unit, parts[known])
    return math.sqrt(len(np.unique(ids)) / (len(units) - 1) * float(sums @ sums))


def share_interval(right: Floats, clusters: Integers, level: float) -> tuple[float, float]:
    """Wilson's interval of a share of ones (nan entries are left out), at the number of independent
    observations that would be as sure: all of them where every cluster is one."""
    defined = ~np.isnan(right)
    right, clusters = right[defined], number_clusters(clusters[defined])
    total = len(right)
    if not total or not level:
        return math.nan, math.nan
    fewer = error_inflation(right, clusters) ** 2
    count, units = float(right.sum()) / fewer, inflation_units(right, clusters)
    return wilson(count, total / fewer, level, units)


def error_inflation(right: Floats, clusters: Integers) -> float:
    """How many times as large the error of a share is as if all observations were independent.

    Where all are right or all wrong nothing varies: as if a cluster were one observation.
    """
    total, least = len(right), len(np.unique(clusters))
    if least == total:
        return 1.0
    alone = mean_by_cluster(right, np.arange(total), total).error
    if least < 2 or not alone > 0:
        return math.sqrt(total / least)
    return max(1.0, mean_by_cluster(right, number_clusters(clusters), total).error / alone)


def inflation_units(right: Floats, clusters: Integers) -> float:
    """On how many clusters `error_inflation` rests; infinity where it is no estimate, since all
    observations are independent, or nothing varies."""
    least = len(np.unique(clusters))
    varies = bool(right.min() < right.max())
    return least if varies and 1 < least < len(right) else math.inf


def number_clusters(names: Sequence[object] | Integers) -> Integers:
    if not len(names):
        return np.empty(0, np.int64)
    return np.unique(np.asarray(names), return_inverse=True)[1].reshape(-1).astype(np.int64)


def safe_exp(number: float) -> float:
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf
