"""Before and after on the same items: are answers lost, have numbers fallen?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def mcnemar(before: NDArray[np.bool_], after: NDArray[np.bool_]) -> McNemar:
    """Exact: of the answers that changed, each is as likely lost as gained."""
    from scipy.stats import binom

    lost = int(np.sum(before & ~after))
    gained = int(np.sum(~before & after))
    changed = lost + gained
    p = min(1.0, 2 * float(binom.cdf(min(lost, gained), changed, 0.5))) if changed else math.nan
    return McNemar(lost, gained, p)


def signed_ranks(before: NDArray[np.float64], after: NDArray[np.float64]) -> SignedRanks:
    """Whether numbers moved; pairs that are equal, or undefined, do not count (Wilcoxon 1945).

    Exact, ties and all, for few pairs; otherwise normal with the variance corrected for ties.
    """
    from scipy.stats import norm, rankdata

    from rote.compare.signed import wilcoxon_exact

    differences = (after - before)[np.isfinite(before) & np.isfinite(after)]
    differences = differences[differences != 0]
    if not len(differences):
        return SignedRanks(0, math.nan, math.nan)
    ranks = rankdata(np.abs(differences))
    statistic = float(min(ranks[differences > 0].sum(), ranks[differences < 0].sum()))
    if len(differences) <= _EXACT:
        p = wilcoxon_exact(differences.tolist())
    else:
        p = 2 * float(norm.cdf((statistic - ranks.sum() / 2) / math.sqrt((ranks**2).sum() / 4)))
    return SignedRanks(len(differences), statistic, p)
