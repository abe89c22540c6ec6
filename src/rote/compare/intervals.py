"""How sure a value is: half-samples of texts, or the jackknife where a formula exists.

Diversity and repetition are not sums over texts, and a text drawn twice looks like repetition, so
texts are never drawn with replacement. The mean over all pairs of a similarity that is an inner
product needs no pairs: with unit vectors u and their sum S, the similarities of all ordered pairs
of different things add up to |S|^2 - n. Things belong to texts; the interval leaves out one text at
a time, since sentences of one text are not independent, and pairs still less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from rote.compare._resample import Many, draws, draws_of_groups
from rote.core.array_types import Array, Floats, Integers
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

HALF_SAMPLES = 200
NO_ERROR = 1e-12
"""Standard errors below that are rounding."""


def half_sample_errors(
    reduce: Callable[[Take, np.random.Generator], Values],
    take: Take,
    *,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
    many: Many | None = None,
    clusters: Integers | None = None,
) -> Values:
    """Standard error of each value by the delete-half jackknife.

    The standard deviation over 200 half-samples without replacement; for an odd
    number of texts scaled by sqrt(m / (n - m)), which is 1 when n is even. `many` takes the place
    of `reduce`, and many groups at once. `clusters`: of each text which others it belongs to, such
    as those that answer the same prompt; they are drawn or left out together.
    """
    kind = np.arange(len(take))
    if clusters is not None:
        kind = np.unique(clusters, return_inverse=True)[1]
    n = int(kind.max(initial=-1)) + 1
    m = n // 2
    if m < 1:
        return {}
    ascending = np.argsort(take)
    texts, kind = take[ascending], kind[ascending]

    def half(rng: np.random.Generator) -> Take:
        drawn = np.zeros(n, np.bool_)
        drawn[rng.choice(n, m, replace=False)] = True
        return texts[drawn[kind]]

    how: dict[str, Any] = {"count": HALF_SAMPLES, "seed": seed, "purpose": purpose, "jobs": jobs}
    if many is None:
        table = draws(lambda rng: reduce(half(rng), rng), **how, advance=advance)
    else:
        (table,) = draws_of_groups(many, lambda rng: [half(rng)], **how, advance=advance)
    scale = math.sqrt(m / (n - m))
    return {name: scale * _deviation(column) for name, column in table.items()}


def mean(values: Floats) -> float:
    """Over what is defined; nan where nothing is."""
    defined = values[~np.isnan(values)]
    # As `mean` does it, which takes longer to begin than to add up few texts.
    return float(defined.sum() / len(defined)) if len(defined) else math.nan


def shares(found: Array, every: Array) -> Floats:
    """So many of so many, one by one; nan where there is nothing."""
    undefined = np.full(np.broadcast_shapes(found.shape, every.shape), np.nan)
    return np.asarray(np.divide(found, every, out=undefined, where=every > 0), np.float64)


def mean_error(values: Floats) -> float:
    """Jackknife standard error of a mean over texts (nan entries are left out)."""
    defined = values[~np.isnan(values)]
    return _deviation(defined) / math.sqrt(len(defined)) if len(defined) > 1 else math.nan


def pair_mean_error(row_sums: Floats) -> float:
    """Jackknife standard error, over texts, of a mean over unordered pairs.

    `row_sums[i]` is the sum over the pairs that text i is part of.
    """
    n = len(row_sums)
    if n < 3:
        return math.nan
    total = row_sums.sum() / 2
    return left_out_error((total - row_sums) / ((n - 1) * (n - 2) / 2))


def left_out_error(without: Floats) -> float:
    """Jackknife standard error of a value, from its values without each of the texts."""
    n = len(without)
    if n < 2 or np.isnan(without).any():
        return math.nan
    return math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))


def around(
    value: float, error: float, level: float, *, texts: int = 0, unit: float = 0.0
) -> tuple[float, float]:
    """The interval at the given level: value -+ z standard errors; nan where no level is asked for.

    `texts` says that the value is a share, of so many texts. Its interval is Wilson's, for as many
    independent answers of yes or no as would have this standard error: it does not leave 0 and 1,
    and is wider on the side where there is room. A share of exactly 0 or 1 has no spread to go by;
    it is as sure as one of whole texts, which is the least sure that a share over them can be.
    `unit` says that the value is a rate, and what one occurrence adds to it: see `_rate`.
    """
    if not level or math.isnan(value) or math.isnan(error):
        return math.nan, math.nan
    if unit:
        return _rate(value, error, quantile(level), unit)
    if texts:
        # What rounding left beyond the ends is at them.
        share = min(max(value, 0.0), 1.0)
        room = share * (1 - share)
        answers = room / error**2 if room and error > NO_ERROR else float(texts)
        if not room or error > NO_ERROR:
            low, high = wilson(share * answers, answers, level)
            return min(low, share), max(high, share)
    reach = quantile(level) * error
    return value - reach, value + reach


def _rate(value: float, error: float, reach: float, unit: float) -> tuple[float, float]:
    """The score interval of a rate, as Wilson's is that of a share: its variance grows with the
    rate that is asked about, not with the one that was found.

    Few texts hold what is rare. Where by chance still fewer do, the rate is too low and its
    standard error too, so that the value and some standard errors on both sides are below the truth
    once in six or seven times. A variance is never taken as less than that of occurrences that have
    nothing to do with each other, and of no occurrence at all it is that.
    """
    each = max(error**2 / value, unit) if value > 0 else unit
    middle = value + reach**2 * each / 2
    width = reach * math.sqrt(value * each + (reach * each / 2) ** 2)
    return max(min(middle - width, value), 0.0), middle + width


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


def interval_error(value: float, ends: tuple[float, float] | None, level: float) -> float:
    """The standard error behind an interval; a share's may have been cut off at 0 or 1."""
    if ends is None:
        return math.nan
    return max(ends[1] - value, value - ends[0]) / quantile(level)


def quantile(level: float) -> float:
    """How many standard errors an interval of this level reaches."""
    return NormalDist().inv_cdf((1 + level) / 2)


def _deviation(values: Floats) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def wilson(found: float, total: float, level: float) -> tuple[float, float]:
    """The Wilson score interval of the share `found` / `total`; nan where there is nothing.

    It stays within 0 and 1, and says something of 0 in 100 and of 100 in 100 too.
    """
    if not total or not level:
        return math.nan, math.nan
    z = quantile(level)
    share, stretch = found / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / stretch
    reach = z / stretch * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    # Rounding may leave an end just beyond.
    low = 0.0 if found == 0 else max(middle - reach, 0.0)
    high = 1.0 if found == total else min(middle + reach, 1.0)
    return low, high


def mean_similarity(square: float, count: int) -> float:
    """Mean over pairs; `square` is |S|^2 of `count` unit vectors. nan with fewer than two."""
    return (square - count) / (count * (count - 1)) if count > 1 else math.nan


def clustered_error(square: float, products: Floats, squares: Floats, counts: Floats) -> float:
    """Jackknife standard error, over texts, of the mean similarity (and so of 1 minus it).

    For each text: `products`, S times the sum of its own vectors; `squares`, the squared length
    of that sum; `counts`, how many vectors it has. Texts without any are left out.
    """
    held = counts > 0
    products, squares, counts = products[held], squares[held], counts[held]
    texts, left = len(counts), counts.sum() - counts
    if texts < 2 or (left < 2).any():
        return math.nan
    return left_out_error((square - 2 * products + squares - left) / (left * (left - 1)))
