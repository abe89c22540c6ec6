"""Whether one group of numbers tends to stand above another, by their ranks alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mann_whitney(
    a: NDArray[Any] | Sequence[float], b: NDArray[Any] | Sequence[float]
) -> tuple[float, float]:
    """Mann-Whitney U of `a` against `b`, and its two-sided p-value.

    U counts the pairs in which a number of `a` is the larger one, equal ones as half. The
    p-value is exact where one group has at most 8 numbers and none is equal to another;
    otherwise it comes from the normal approximation, corrected for ties and continuity. Both
    are nan where a group is empty.
    """
    if not len(a) or not len(b):
        return math.nan, math.nan
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if np.ptp(np.concatenate((first, second))) == 0:
        # All are equal: no variance to divide by, and no difference.
        return len(a) * len(b) / 2, 1.0
    from scipy.stats import mannwhitneyu

    found = mannwhitneyu(first, second, alternative="two-sided", method="auto")
    return float(found.statistic), float(found.pvalue)
