"""How sure a value is: half-samples of texts, or the jackknife where a formula exists.

Diversity and repetition are not sums over texts, and a text drawn twice looks like
repetition, so texts are never drawn with replacement.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rote.compare._resample import draws
from rote.compare.shares import wilson
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

HALF_SAMPLES = 200
_NO_ERROR = 1e-12
"""Standard errors below that are rounding."""


def half_sample_errors(
    reduce: Callable[[Take, np.random.Generator], Values],
    take: Take,
    *,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> Values:
    """Standard error of each value by the delete-half jackknife.

    The standard deviation over 200 half-samples without replacement; for an odd
    number of texts scaled by sqrt(m / (n - m)), which is 1 when n is even.
    """
    n, m = len(take), len(take) // 2
    if m < 1:
        return {}

    def one(rng: np.random.Generator) -> Values:
        return reduce(np.sort(rng.choice(take, m, replace=False)), rng)

    table = draws(one, count=HALF_SAMPLES, seed=seed, purpose=purpose, jobs=jobs, advance=advance)
    scale = math.sqrt(m / (n - m))
    return {name: scale * _deviation(column) for name, column in table.items()}


def mean_error(values: NDArray[np.float64]) -> float:
    """Jackknife standard error of a mean over texts (nan entries are left out)."""
    defined = values[~np.isnan(values)]
    return _deviation(defined) / math.sqrt(len(defined)) if len(defined) > 1 else math.nan


def pair_mean_error(row_sums: NDArray[np.float64]) -> float:
    """Jackknife standard error, over texts, of a mean over unordered pairs.

    `row_sums[i]` is the sum over the pairs that text i is part of.
    """
    n = len(row_sums)
    if n < 3:
        return math.nan
    total = row_sums.sum() / 2
    return left_out_error((total - row_sums) / ((n - 1) * (n - 2) / 2))


def left_out_error(without: NDArray[np.float64]) -> float:
    """Jackknife standard error of a value, from its values without each of the texts."""
    n = len(without)
    if n < 2 or np.isnan(without).any():
        return math.nan
    return math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))


def around(value: float, error: float, level: float, *, texts: int = 0) -> tuple[float, float]:
    """The interval at the given level: value -+ z standard errors; nan where no level is asked for.

    `texts` says that the value is a share, of so many texts. Its interval is Wilson's, for as many
    independent answers of yes or no as would have this standard error: it does not leave 0 and 1,
    and is wider on the side where there is room. A share of exactly 0 or 1 has no spread to go by;
    it is as sure as one of whole texts, which is the least sure that a share over them can be.
    """
    if not level or math.isnan(value) or math.isnan(error):
        return math.nan, math.nan
    if texts:
        # What rounding left beyond the ends is at them.
        share = min(max(value, 0.0), 1.0)
        room = share * (1 - share)
        answers = room / error**2 if room and error > _NO_ERROR else float(texts)
        if not room or error > _NO_ERROR:
            low, high = wilson(share * answers, answers, level)
            return min(low, share), max(high, share)
    reach = quantile(level) * error
    return value - reach, value + reach


def at_level(
    value: float, ends: tuple[float, float], was: float, level: float, *, share: bool = False
) -> tuple[float, float]:
    """An interval of the level `was` at another level.

    That of a share by Wilson's formula, from whose farther end follows how many answers there were;
    elsewhere each side is stretched, so that what reaches farther on one side still does.
    """
    far = max(ends, key=lambda end: abs(end - value))
    if share and 0 < far < 1 and far != value:
        answers = quantile(was) ** 2 * far * (1 - far) / (far - value) ** 2
        return wilson(value * answers, answers, level)
    stretch = quantile(level) / quantile(was)
    low, high = (value + stretch * (end - value) for end in ends)
    return (max(low, 0.0), min(high, 1.0)) if share else (low, high)


def quantile(level: float) -> float:
    """How many standard errors an interval of this level reaches."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _deviation(values: NDArray[np.float64]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
