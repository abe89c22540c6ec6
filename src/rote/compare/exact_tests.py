"""Tests of few numbers: before and after on the same items, ups and downs, one group and another.

Items with the same number in `clusters` (mirrored twins) are not independent: their signs are
turned together. Where each is alone, the tests are the classical ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rote.compare.correlation import ranked
from rote.core.arrays import Array, Flags, Floats, Integers

_MAX_EXACT = 50
"""Up to so many pairs the distribution of signed ranks is built up; beyond it is normal enough."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """How many answers went from right to wrong and back, and the exact two-sided p-value."""

    lost: int
    gained: int
    p: float


@dataclass(frozen=True, slots=True)
class SignedRanks:
    """Wilcoxon's signed ranks: pairs that differ, the smaller rank sum, the two-sided p-value."""

    pairs: int
    statistic: float
    p: float


def mcnemar(before: Flags, after: Flags, clusters: Integers | None = None) -> McNemar:
    """Exact: of the answers that changed, each is as likely lost as gained."""
    lost, gained = before & ~after, ~before & after
    changed = int(np.sum(lost | gained))
    turned = _sum_clusters(gained.astype(np.int64) - lost, clusters)
    p = _sign_flip_p(turned) if changed else math.nan
    return McNemar(int(lost.sum()), int(gained.sum()), p)


def signed_ranks(before: Floats, after: Floats, clusters: Integers | None = None) -> SignedRanks:
    """Whether numbers moved; pairs that are equal, or undefined, do not count (Wilcoxon 1945).

    Exact, ties and all, for few pairs; otherwise normal with the variance corrected for ties.
    """
    from scipy.special import ndtr  # scipy.stats takes a second and a half to import

    moved = np.isfinite(before) & np.isfinite(after) & (before != after)
    differences = (after - before)[moved]
    if not len(differences):
        return SignedRanks(0, math.nan, math.nan)
    signed = _doubled_ranks(differences)
    statistic = float(min(signed[signed > 0].sum(), -signed[signed < 0].sum())) / 2
    turned = _sum_clusters(signed, None if clusters is None else clusters[moved])
    if len(differences) <= _MAX_EXACT:
        p = _sign_flip_p(turned)
    elif not turned.any():
        p = 1.0
    else:
        p = 2 * float(ndtr(-abs(float(turned.sum())) / math.sqrt(float((turned**2).sum()))))
    return SignedRanks(len(differences), statistic, p)


def _sum_clusters(signed: Integers, clusters: Integers | None) -> Integers:
    """The sum of each cluster, whose sign is turned as one."""
    if clusters is None:
        return signed
    place = np.unique(clusters, return_inverse=True)[1]
    return np.rint(np.bincount(place, signed)).astype(np.int64)


def _sign_flip_p(sums: Integers) -> float:
    """Two-sided: how often is the total as far from 0 if every sign is as likely as the other?

    The distribution is built up from the sums of each size at once.
    """
    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist()):
        spread = np.zeros(2 * size * count + 1)
        spread[:: 2 * size] = _binomial_half(count)
        chances = np.convolve(chances, spread)
    # Place k is a total of k - (the sum of all sizes).
    away = np.abs(np.arange(len(chances)) - len(chances) // 2)
    return min(1.0, float(chances[away >= abs(int(sums.sum()))].sum()))


def _binomial_half(count: int) -> Sequence[float] | Floats:
    """How likely so many of `count` tosses are heads: of few exact to the last digit."""
    if count < 60:
        return [math.comb(count, up) / 2**count for up in range(count + 1)]
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(count + 1), count, 0.5), np.float64)


_BATCH = 500
_MAX_EXACT_GROUP = 8
"""Numbers of a group up to which Mann and Whitney's test is exact."""


def sign_test(differences: Sequence[float]) -> float:
    """Two-sided p-value of as uneven a split into up and down; differences of 0 do not count."""
    signs = np.sign(_nonzero(differences)).astype(np.int64)
    return _sign_flip_p(signs) if len(signs) else math.nan


def sign_flip(differences: Sequence[float], draws: int = 9_999) -> float:
    """Two-sided p-value of the sum of differences: is it as far from 0 if signs fall by chance?

    Every choice of signs is tried where they are few, else as many as are drawn. The order of the
    differences does not matter.
    """
    known = [d for d in differences if not math.isnan(d)]
    sizes = np.sort(np.abs([d for d in known if d != 0]))
    if not len(sizes):
        return 1.0 if known else math.nan
    observed = abs(math.fsum(known))
    least = observed - 1e-9 * float(sizes.sum())
    if 2 ** len(sizes) <= draws:
        signs = 1 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
        return float((np.abs(signs @ sizes) >= least).mean())
    rng, reached = np.random.default_rng(0), 1
    for first in range(0, draws, _BATCH):
        count = min(_BATCH, draws - first)
        sums = rng.choice(np.array([-1.0, 1.0]), (count, len(sizes))) @ sizes
        reached += int((np.abs(sums) >= least).sum())
    return reached / (1 + draws)


def wilcoxon_exact(differences: Sequence[float]) -> float:
    """Two-sided p-value of Wilcoxon's signed ranks, exact also with ties; 0 does not count."""
    changes = _nonzero(differences)
    return _sign_flip_p(_doubled_ranks(changes)) if len(changes) else math.nan


def _nonzero(differences: Sequence[float]) -> Floats:
    return np.array([d for d in differences if d != 0 and not math.isnan(d)])


def _doubled_ranks(changes: Floats) -> Integers:
    """Ranks by size, with the sign of each; shared ones may end in .5: doubled, they are whole."""
    return np.rint(2 * ranked(np.abs(changes)) * np.sign(changes)).astype(np.int64)


def mann_whitney(a: Array | Sequence[float], b: Array | Sequence[float]) -> tuple[float, float]:
    """Mann-Whitney U of `a` against `b`, and its two-sided p-value.

    U counts the pairs in which a number of `a` is the larger one, equal ones as half. The
    p-value is exact where one group has at most 8 numbers and none is equal to another;
    otherwise it comes from the normal approximation, corrected for ties and continuity. Both
    are nan where a group is empty or a number is.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    both = np.concatenate((first, second))
    if not len(a) or not len(b) or np.isnan(both).any():
        return math.nan, math.nan
    distinct = len(np.unique(both))
    if distinct == 1:
        # All are equal: no variance to divide by, and no difference.
        return len(a) * len(b) / 2, 1.0
    from scipy.stats import mannwhitneyu  # takes a second and a half to import

    is_exact = min(len(a), len(b)) <= _MAX_EXACT_GROUP and distinct == len(both)
    method: Literal["exact", "asymptotic"] = "exact" if is_exact else "asymptotic"
    test = mannwhitneyu(first, second, alternative="two-sided", method=method)
    return float(test.statistic), float(test.pvalue)
