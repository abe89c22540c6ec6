"""How strongly two counts, or two words, go together, and how evenly one is spread.

Log-likelihood G2 (Dunning 1993), log ratio (Hardie 2014), pointwise mutual information, t-score and
logDice (Rychlý 2008) of collocations; Juilland's D (Juilland and Chang-Rodríguez 1964) and the
deviation of proportions DP (Gries 2008) of dispersion. All are plain formulas over arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def log_likelihood(a: ArrayLike, b: ArrayLike, total_a: ArrayLike, total_b: ArrayLike) -> Floats:
    """G2 of a thing that occurs a times among `total_a` and b times among `total_b`.

    Over all four cells of the table; negative where the first has it less often.
    """
    own, other, all_own, all_other = (np.asarray(x, np.float64) for x in (a, b, total_a, total_b))
    share = (own + other) / (all_own + all_other)
    found = np.zeros(np.broadcast_shapes(own.shape, other.shape, all_own.shape))
    for total, count in ((all_own, own), (all_other, other)):
        for seen, expected in ((count, total * share), (total - count, total * (1 - share))):
            with np.errstate(divide="ignore", invalid="ignore"):
                found += np.where(seen > 0, seen * np.log(seen / expected), 0.0)
    return np.where(own * all_other < other * all_own, -2.0, 2.0) * np.maximum(found, 0.0)


def likelihood_p(g2: ArrayLike) -> Floats:
    """How often chance gives a G2 as far from 0, if occurrences were independent."""
    from scipy.special import chdtrc

    return np.asarray(chdtrc(1, np.abs(np.asarray(g2, np.float64))), np.float64)


def log_ratio(a: ArrayLike, b: ArrayLike, total_a: ArrayLike, total_b: ArrayLike) -> Floats:
    """Binary logarithm of how many times as frequent it is in the first; 0 counts as a half. nan
    where one of them holds nothing that is this long."""
    own, other, all_own, all_other = (np.asarray(x, np.float64) for x in (a, b, total_a, total_b))
    all_own, all_other = (np.where(total > 0, total, np.nan) for total in (all_own, all_other))
    own, other = np.where(own > 0, own, 0.5), np.where(other > 0, other, 0.5)
    return np.asarray(np.log2(own / all_own) - np.log2(other / all_other), np.float64)


def juilland(counts: ArrayLike, sizes: ArrayLike) -> float:
    """Juilland's D of a thing over parts of these sizes: 1 where all have it at one rate, 0 where
    one part (of equal parts) has it alone. nan with one part, or where it does not occur."""
    held, size = np.asarray(counts, np.float64), np.asarray(sizes, np.float64)
    held, size = held[size > 0], size[size > 0]
    if len(held) < 2 or not held.any():
        return float("nan")
    rates = held / size
    variation = float(rates.std() / rates.mean())
    return 1 - variation / float(np.sqrt(len(rates) - 1))


def deviation(counts: ArrayLike, sizes: ArrayLike) -> float:
    """Gries' DP: half the sum of differences between each part's share of the thing and of all
    words. 0 where it is spread as the words are, near 1 where it is in one small part alone."""
    held, size = np.asarray(counts, np.float64), np.asarray(sizes, np.float64)
    if not held.any() or not size.any():
        return float("nan")
    return float(np.abs(held / held.sum() - size / size.sum()).sum() / 2)


def collocation(
    together: ArrayLike, node: ArrayLike, word: ArrayLike, total: ArrayLike
) -> dict[str, Any]:
    """Of a word that occurs `together` times among the `node` places near another, and `word`
    times among all `total`: expected count, G2, PMI (bits), t-score, logDice."""
    o, n, w, t = (np.asarray(x, np.float64) for x in (together, node, word, total))
    expected = n * w / t
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "expected": expected,
            "g2": log_likelihood(o, w - o, n, t - n),
            "pmi": np.log2(o / expected),
            "t": (o - expected) / np.sqrt(o),
            "log_dice": 14 + np.log2(2 * o / (n + w)),
        }
