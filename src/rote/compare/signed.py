"""Are differences more often up than down? Exact tests for a handful of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rote.compare.correlation import ranks

_AT_ONCE = 500


def sign_test(differences: Sequence[float]) -> float:
    """Two-sided p-value of as uneven a split into up and down; differences of 0 do not count."""
    up = sum(d > 0 for d in differences)
    down = sum(d < 0 for d in differences)
    n = up + down
    if not n:
        return math.nan
    tail = sum(math.comb(n, k) for k in range(min(up, down) + 1)) / 2**n
    return min(1.0, float(2 * tail))


def sign_flip(differences: Sequence[float], draws: int = 9_999, seed: int = 0) -> float:
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
    rng, reached = np.random.default_rng(seed), 1
    for first in range(0, draws, _AT_ONCE):
        count = min(_AT_ONCE, draws - first)
        sums = rng.choice(np.array([-1.0, 1.0]), (count, len(sizes))) @ sizes
        reached += int((np.abs(sums) >= least).sum())
    return reached / (1 + draws)


def wilcoxon_exact(differences: Sequence[float]) -> float:
    """Two-sided p-value of Wilcoxon's signed ranks, exact also with ties.

    Every sign is as likely as the other; the distribution of the rank sum is built up one
    difference at a time. Differences of 0 do not count.
    """
    signed = np.array([d for d in differences if d != 0 and not math.isnan(d)])
    if not len(signed):
        return math.nan
    # Shared ranks may end in .5: doubled, they are whole.
    doubled = np.rint(2 * ranks(np.abs(signed))).astype(int)
    chances = np.ones(1)
    for rank in doubled:
        grown = np.zeros(len(chances) + rank)
        grown[: len(chances)] += chances / 2
        grown[rank:] += chances / 2
        chances = grown
    up = int(doubled[signed > 0].sum())
    low = min(up, int(doubled.sum()) - up)
    return min(1.0, 2 * float(chances[: low + 1].sum()))
