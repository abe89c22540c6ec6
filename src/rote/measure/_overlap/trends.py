"""What becomes of a score from T_nov to T_sim: ratio, difference, rank correlation, their errors.

Texts are left out one at a time, within each of the two bins, where a value has a formula.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import left_out_error

Numbers: TypeAlias = NDArray[np.float64]
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


def ratio_error(novel: Numbers, similar: Numbers) -> float:
    """Jackknife standard error of the ratio of the means of two bins."""
    if math.isnan(ratio(novel, similar)):
        return math.nan
    without = _means_without(novel)
    if (without == 0).any():
        return math.nan
    parts = (
        left_out_error(_means_without(similar) / mean(novel)),
        left_out_error(mean(similar) / without),
    )
    return math.hypot(*parts)


def paired_ratio_error(over: Numbers, under: Numbers) -> float:
    """Jackknife standard error of mean(over) / mean(under), both of the same items."""
    if len(over) < 2:
        return math.nan
    below = _means_without(under)
    return math.nan if (below == 0).any() else left_out_error(_means_without(over) / below)


def rank_correlation(x: Numbers, y: Numbers) -> float:
    """Spearman's, over what is defined in both; nan where one of them does not vary."""
    return rank_test(x, y)[0]


def rank_test(x: Numbers, y: Numbers) -> tuple[float, float, int]:
    """Spearman's correlation, the two-sided p-value of its t statistic, and over how many items."""
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


def _means_without(column: Numbers) -> Numbers:
    """The mean without each of the numbers."""
    n = len(column)
    return (column.sum() - column) / (n - 1) if n > 1 else np.full(n, np.nan)
