"""What becomes of a score from T_nov to T_sim: ratio, rank correlation, and how sure they are.

A ratio of means is worked on the log: its own interval would be lop-sided. Texts of one item
belong together.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare import clusters
from rote.compare.clusters import Estimate
from rote.compare.correlation import bonett_wright_interval

Numbers: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
_LEAST = 3
"""Two items always lie on a line."""


def mean(column: Numbers) -> float:
    """Over what is defined; nan where nothing is."""
    defined = column[~np.isnan(column)]
    return float(defined.mean()) if len(defined) else math.nan


def ratio(novel: Numbers, similar: Numbers) -> float:
    """Mean score in T_sim / mean score in T_nov; nan where there is nothing to divide by."""
    below = mean(novel)
    return mean(similar) / below if below else math.nan


def log_ratio(column: Numbers, bins: Integers, items: Integers, last: int) -> Estimate:
    """log of (mean score in bin `last` / mean score in bin 0); `items` number from 0 on."""
    count = int(items.max(initial=-1)) + 1
    similar, novel = (
        clusters.mean(column[bins == bin], items[bins == bin], count) for bin in (last, 0)
    )
    return similar.log() - novel.log()


def paired_log_ratio(over: Numbers, under: Numbers) -> Estimate:
    """log of mean(over) / mean(under), both of the same items."""
    items = np.arange(len(over))
    above, below = (clusters.mean(column, items, len(over)) for column in (over, under))
    return above.log() - below.log()


def rank_correlation(x: Numbers, y: Numbers) -> float:
    """Spearman's, over what is defined in both; nan where one of them does not vary."""
    return rank_test(x, y)[0]


def rank_test(x: Numbers, y: Numbers) -> tuple[float, float, int]:
    """Spearman's correlation, the two-sided p-value of its t statistic, and over how many texts."""
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[defined], y[defined], int(defined.sum())
    if n < _LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan, n
    from scipy.stats import rankdata, t

    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    rho = float(np.clip((a @ b) / math.sqrt((a @ a) * (b @ b)), -1, 1))
    if abs(rho) == 1:
        return rho, 0.0, n
    statistic = rho * math.sqrt((n - 2) / (1 - rho * rho))
    return rho, float(2 * t.sf(abs(statistic), n - 2)), n


def rank_estimate(x: Numbers, y: Numbers, items: Integers) -> Estimate:
    """Spearman's correlation with what each item adds to it, the ranks of the others included."""
    count = int(items.max(initial=-1)) + 1
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y, items = x[defined], y[defined], items[defined]
    least = len(np.unique(items))
    if least < _LEAST or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate(math.nan, np.zeros(count), least)
    from scipy.stats import rankdata

    n = len(x)
    a, b = (rankdata(column) / n for column in (x, y))
    a, b = a - a.mean(), b - b.mean()
    over, under = float((a * b).mean()), math.sqrt(float((a * a).mean() * (b * b).mean()))
    # An item moves the products by its own, and by raising the ranks of all above it.
    product = a * b + _above(x, b) + _above(y, a)
    spread = (a * a + 2 * _above(x, a)) / (a * a).mean() + (b * b + 2 * _above(y, b)) / (
        b * b
    ).mean()
    each = (product - product.mean()) / under - over / under / 2 * (spread - spread.mean())
    influence = np.bincount(items, each, minlength=count) / n
    return Estimate(over / under, influence * math.sqrt(least / (least - 1)), least)


def _above(x: Numbers, weights: Numbers) -> Numbers:
    """For each x the mean of weights where x is larger, those where it is equal half."""
    kinds, place = np.unique(x, return_inverse=True)
    sums = np.bincount(place, weights, minlength=len(kinds))
    found: Numbers = ((sums[::-1].cumsum()[::-1] - sums / 2) / len(x))[place]
    return found


def clustered_rank_test(
    x: Numbers, y: Numbers, items: Integers, level: float
) -> tuple[float, float, tuple[float, float], int]:
    """Spearman's correlation, its p-value and interval, and over how many items.

    Where every text is one item, by the t statistic, and after Bonett and Wright; where several
    texts belong to one, by what each item adds to the correlation.
    """
    rho, p, texts = rank_test(x, y)
    defined = ~(np.isnan(x) | np.isnan(y))
    count = len(np.unique(items[defined]))
    if count == texts or math.isnan(rho):
        return rho, p, rank_interval(rho, texts, level), count
    from scipy.stats import t

    found = rank_estimate(x, y, items)
    p = float(2 * t.sf(abs(rho / found.error), count - 1)) if found.error > 0 else math.nan
    return rho, p, found.interval(level), count


def rank_interval(rho: float, items: int, level: float) -> tuple[float, float]:
    """Of Spearman's correlation over so many items, after Bonett and Wright."""
    return bonett_wright_interval(rho, items, level) if level else (math.nan, math.nan)
