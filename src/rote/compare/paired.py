"""Before and after on the same items: are answers lost, have numbers fallen?

Items with the same number in `clusters` (mirrored twins) are not independent: their signs are
turned together. Where each is alone, the tests are the classical ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
_EXACT = 50
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


def mcnemar(
    before: NDArray[np.bool_], after: NDArray[np.bool_], clusters: Labels | None = None
) -> McNemar:
    """Exact: of the answers that changed, each is as likely lost as gained."""
    lost, gained = before & ~after, ~before & after
    changed = int(np.sum(lost | gained))
    turned = _summed(gained.astype(np.int64) - lost, clusters)
    p = _turned_exact(turned) if changed else math.nan
    return McNemar(int(lost.sum()), int(gained.sum()), p)


def signed_ranks(
    before: NDArray[np.float64], after: NDArray[np.float64], clusters: Labels | None = None
) -> SignedRanks:
    """Whether numbers moved; pairs that are equal, or undefined, do not count (Wilcoxon 1945).

    Exact, ties and all, for few pairs; otherwise normal with the variance corrected for ties.
    """
    from scipy.stats import norm, rankdata

    moved = np.isfinite(before) & np.isfinite(after) & (before != after)
    differences = (after - before)[moved]
    if not len(differences):
        return SignedRanks(0, math.nan, math.nan)
    ranks = rankdata(np.abs(differences))
    statistic = float(min(ranks[differences > 0].sum(), ranks[differences < 0].sum()))
    own = None if clusters is None else clusters[moved]
    # Shared ranks may end in .5: doubled, they are whole.
    turned = _summed(np.rint(2 * ranks * np.sign(differences)).astype(np.int64), own)
    if len(differences) <= _EXACT:
        p = _turned_exact(turned)
    elif not turned.any():
        p = 1.0
    else:
        p = 2 * float(norm.sf(abs(float(turned.sum())) / math.sqrt(float((turned**2).sum()))))
    return SignedRanks(len(differences), statistic, p)


def _summed(signed: Labels, clusters: Labels | None) -> Labels:
    """The sum of each cluster, whose sign is turned as one."""
    if clusters is None:
        return signed
    place = np.unique(clusters, return_inverse=True)[1]
    return np.rint(np.bincount(place, signed)).astype(np.int64)


def _turned_exact(sums: Labels) -> float:
    """Two-sided: how often is the total as far from 0 if every sign is as likely as the other?

    The distribution is built up from the sums of each size at once.
    """
    from scipy.stats import binom

    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    chances = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist()):
        spread = np.zeros(2 * size * count + 1)
        spread[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, spread)
    # Place k is a total of k - (the sum of all sizes).
    away = np.abs(np.arange(len(chances)) - len(chances) // 2)
    return min(1.0, float(chances[away >= abs(int(sums.sum()))].sum()))
