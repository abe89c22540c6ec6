"""How sure a value is: half-samples of texts, or the jackknife where a formula exists.

A text drawn twice looks like repetition, so texts are never drawn with replacement. The
similarities of all ordered pairs of n unit vectors with the sum S add up to |S|^2 - n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from rote.compare.resampling import Keys, ReduceMany, draw_group_values, draw_values, scramble
from rote.core.arrays import Array, Floats
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

HALF_SAMPLES = 200
NO_ERROR = 1e-12
"""Standard errors below that are rounding."""


def draw_half_samples(
    reduce: Callable[[Take, np.random.Generator], Values],
    take: Take,
    keys: Keys,
    *,
    seed: int,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
    many: ReduceMany | None = None,
    count: int | None = None,
) -> dict[str, Floats]:
    """Each value of 200 half-samples, whose standard deviation is the standard error of the value
    (the delete-half jackknife).

    For an odd number n of units, of which m are drawn, they are brought closer to their mean, by
    sqrt(m / (n - m)). Texts of one key are drawn or left out together, and draws of two sources go
    together where their texts have the same keys, so that a difference is paired. `many` takes the
    place of `reduce`, and many groups at once. `count`: the first so many draws alone.
    """
    ascending = np.argsort(take)
    texts = take[ascending]
    units, number = np.unique(keys[ascending], return_inverse=True)
    half = len(units) // 2
    if half < 1:
        return {}

    def drawn(rng: np.random.Generator) -> Take:
        salt = rng.integers(0, 2**64, dtype=np.uint64)
        chosen = np.zeros(len(units), np.bool_)
        chosen[np.argpartition(scramble(units, salt), half - 1)[:half]] = True
        return texts[chosen[number]]

    # One purpose for all sources: a draw has the same salt for each.
    how: dict[str, Any] = {"numbers": range(count or HALF_SAMPLES), "seed": seed, "jobs": jobs}
    how["purpose"] = "interval"
    if many is None:
        table = draw_values(lambda rng: reduce(drawn(rng), rng), **how, advance=advance)
    else:
        (table,) = draw_group_values(many, lambda rng: [drawn(rng)], **how, advance=advance)
    scale = math.sqrt(half / (len(units) - half))
    means = {name: column.mean() for name, column in table.items()}
    return {name: means[name] + scale * (table[name] - means[name]) for name in table}


def calibrated_error(quick: Floats, exact: Floats) -> float:
    """The standard deviation that values have over half-samples, from that of a stand-in, and from
    the values themselves of the first of these half-samples.

    A value moves with its stand-in, and somewhat by itself: the variance is that of the part that
    the stand-in predicts, over all half-samples, and that of the rest.
    """
    known = quick[: len(exact)]
    if not deviation(known) > NO_ERROR:
        return deviation(exact)
    slope = float(np.cov(known, exact)[0, 1]) / deviation(known) ** 2
    rest = exact - exact.mean() - slope * (known - known.mean())
    variance = (slope * deviation(quick)) ** 2 + float((rest**2).sum()) / (len(exact) - 2)
    return math.sqrt(variance)


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    value: float
    ends: tuple[float, float]
    """Of its interval."""
    units: float
    """How many independent texts, or clusters of them, it rests on."""
    halves: Floats | None = None
    """Its half-samples, drawn by the keys of units: those of two sources can be paired."""
    counted: bool = False
    """Whether it is a count of texts, whose interval is Wilson's."""
    clustered: bool = False

    def error(self, level: float) -> float:
        if self.halves is not None and not self.counted:
            return deviation(self.halves)
        return interval_error(self.value, self.ends, level, self.units)

    def on(self, scale: Callable[[Any], Any]) -> ValueEstimate:
        """On another scale, such as the logarithm."""
        low, high = scale(np.array(self.ends)).tolist()
        halves = None if self.halves is None else scale(self.halves)
        return replace(self, value=float(scale(self.value)), ends=(low, high), halves=halves)


def difference_interval(
    first: ValueEstimate, second: ValueEstimate, level: float, *, paired: bool
) -> tuple[float, float]:
    """The interval of the first value less the second: of paired half-samples where both answer the
    same (`paired`); else, and of counts, from their own intervals (Newcombe 1998; Zou and Donner
    2008): each side of it from the sides that lead there, so it is wider where there is room, and
    degrees of freedom as Welch's.

    >>> a, b = ValueEstimate(3.0, (2.0, 4.0), 9), ValueEstimate(1.0, (0.0, 2.0), 9)
    >>> difference_interval(a, b, 0.95, paired=False)
    (0.6998..., 3.3001...)
    """
    difference = first.value - second.value
    if paired and not first.counted and (error := paired_error(first, second)) > 0:
        return interval_from_error(difference, error, level, min(first.units, second.units))
    correlation = _correlation(first, second) if paired and first.counted else 0.0
    # Wilson's intervals of counts know no degrees of freedom.
    units = [math.inf if e.counted and not e.clustered else e.units for e in (first, second)]

    def reach(first_side: float, second_side: float) -> float:
        errors = [side / t_quantile(level, n) for side, n in zip((first_side, second_side), units)]
        shared = 2 * correlation * errors[0] * errors[1] if correlation else 0.0
        error = math.sqrt(max(errors[0] ** 2 + errors[1] ** 2 - shared, 0.0))
        return t_quantile(level, joint_units(errors, units)) * error

    below = reach(first.value - first.ends[0], second.ends[1] - second.value)
    above = reach(first.ends[1] - first.value, second.value - second.ends[0])
    return difference - below, difference + above


def ratio_interval(
    first: ValueEstimate, second: ValueEstimate, level: float, *, paired: bool
) -> tuple[float, float]:
    """The interval of the difference as a share of the second value, both above 0: worked out on
    the logarithm."""

    def log(numbers: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(numbers)

    logs = [estimate.on(log) for estimate in (first, second)]
    low, high = np.expm1(difference_interval(logs[0], logs[1], level, paired=paired)).tolist()
    return low, high


def text_deviation(first: ValueEstimate, second: ValueEstimate, level: float) -> float:
    """The standard deviation of what single texts, or clusters of them, contribute to two values:
    a difference divided by it is a standardized effect, as Cohen's d is for means.

    >>> a, b = ValueEstimate(3.0, (2.0, 4.0), 9), ValueEstimate(1.0, (0.0, 2.0), 9)
    >>> text_deviation(a, b, 0.95)
    1.3009...
    """
    variances = [estimate.error(level) ** 2 * estimate.units for estimate in (first, second)]
    return math.sqrt(sum(variances) / 2)


def paired_error(first: ValueEstimate, second: ValueEstimate) -> float:
    """The standard error of a difference between paired values; nan where it is not known."""
    if first.halves is None or second.halves is None:
        return math.nan
    known = np.isfinite(first.halves).all() and np.isfinite(second.halves).all()
    return deviation(first.halves - second.halves) if known else math.nan


def _correlation(first: ValueEstimate, second: ValueEstimate) -> float:
    """Of two values that answer the same doc_ids; 0 where it is not known."""
    if first.halves is None or second.halves is None:
        return 0.0
    halves = first.halves, second.halves
    varying = all(deviation(column) > NO_ERROR for column in halves)
    return float(np.corrcoef(*halves)[0, 1]) if varying else 0.0


def mean(values: Floats) -> float:
    """Over what is defined; nan where nothing is."""
    defined = values[~np.isnan(values)]
    # As `mean` does it, which takes longer to begin than to add up few texts.
    return float(defined.sum() / len(defined)) if len(defined) else math.nan


def shares(counts: Array, totals: Array) -> Floats:
    """So many of so many, one by one; nan where there is nothing."""
    undefined = np.full(np.broadcast_shapes(counts.shape, totals.shape), np.nan)
    return np.asarray(np.divide(counts, totals, out=undefined, where=totals > 0), np.float64)


def mean_error(values: Floats) -> float:
    """Jackknife standard error of a mean over texts (nan entries are left out)."""
    defined = values[~np.isnan(values)]
    return deviation(defined) / math.sqrt(len(defined)) if len(defined) > 1 else math.nan


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


def interval_from_error(
    value: float,
    error: float,
    level: float,
    units: float,
    *,
    share: bool = False,
    unit: float = 0.0,
) -> tuple[float, float]:
    """The interval at the given level: value -+ t standard errors; nan where no level is asked for.

    The error comes from so many independent `units` (texts, or clusters of them), which give
    Student's t its degrees of freedom. The interval of a `share` is Wilson's, for as many
    independent answers of yes or no as would have this standard error: it does not leave 0 and 1,
    and is wider on the side where there is room. A share of exactly 0 or 1 has no spread to go by;
    it is as sure as one of whole units, which is the least sure that a share over them can be.
    `unit` says that the value is a rate, and what one occurrence adds to it: see `_rate_interval`.

    >>> interval_from_error(1.0, 0.1, 0.95, units=5)
    (0.7223..., 1.2776...)
    """
    if not level or math.isnan(value) or math.isnan(error):
        return math.nan, math.nan
    reach = t_quantile(level, units)
    if unit:
        return _rate_interval(value, error, reach, unit)
    if share:
        # What rounding left beyond the ends is at them.
        share_value = min(max(value, 0.0), 1.0)
        room = share_value * (1 - share_value)
        if not room:
            return wilson(share_value * units, units, level)
        if error > NO_ERROR:
            answers = room / error**2
            low, high = wilson(share_value * answers, answers, level, units)
            return min(low, share_value), max(high, share_value)
    return value - reach * error, value + reach * error


def _rate_interval(value: float, error: float, reach: float, unit: float) -> tuple[float, float]:
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


def change_level(
    value: float,
    ends: tuple[float, float],
    was: float,
    level: float,
    units: float,
    *,
    share: bool = False,
) -> tuple[float, float]:
    """An interval of the level `was`, from so many independent units, at another level.

    That of a share by Wilson's formula, from whose farther end follows how many answers there were;
    elsewhere each side is stretched, so that what reaches farther on one side still does.
    """
    far = max(ends, key=lambda end: abs(end - value))
    if share and 0 < far < 1 and far != value:
        answers = t_quantile(was, units) ** 2 * far * (1 - far) / (far - value) ** 2
        return wilson(value * answers, answers, level, units)
    stretch = t_quantile(level, units) / t_quantile(was, units)
    low, high = (value + stretch * (end - value) for end in ends)
    return (max(low, 0.0), min(high, 1.0)) if share else (low, high)


def interval_error(
    value: float, ends: tuple[float, float] | None, level: float, units: float
) -> float:
    """The standard error behind an interval; a share's may have been cut off at 0 or 1."""
    if ends is None:
        return math.nan
    return max(ends[1] - value, value - ends[0]) / t_quantile(level, units)


@cache
def t_quantile(level: float, units: float) -> float:
    """How many standard errors an interval of this level reaches: Student's t, with as many degrees
    of freedom as there are independent units less one; nan where there are fewer than two.

    >>> t_quantile(0.95, 5), t_quantile(0.95, math.inf)
    (2.7764451051977934, 1.9599639845400536)
    """
    if math.isinf(units):
        return NormalDist().inv_cdf((1 + level) / 2)
    if units < 2:
        return math.nan
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, (1 + level) / 2))


def joint_units(errors: Sequence[float], units: Sequence[float]) -> float:
    """On how many independent units a sum rests whose parts have these errors and units (Welch
    1947, Satterthwaite 1946); as many as of one part, where that part alone varies.

    >>> joint_units([1.0, 1.0], [5, 5]), joint_units([1.0, 0.0], [5, 90])
    (9.0, 5.0)
    """
    total = sum(error**2 for error in errors)
    varying = [(error, size) for error, size in zip(errors, units) if error]
    if not 0 < total < math.inf or any(size < 2 for _, size in varying):
        return min(units)
    parts = sum(error**4 / (size - 1) for error, size in varying)
    return 1 + total**2 / parts if parts else math.inf


def deviation(values: Floats) -> float:
    """The standard deviation; nan of a single value, and where one is not finite."""
    known = len(values) > 1 and bool(np.isfinite(values).all())
    return float(np.std(values, ddof=1)) if known else math.nan


def wilson(
    count: float, total: float, level: float, units: float = math.inf
) -> tuple[float, float]:
    """The Wilson score interval of the share `count` / `total`; nan where there is nothing.

    It stays within 0 and 1, and says something of 0 in 100 and of 100 in 100 too. `units`: how many
    independent ones the total was estimated from, if it is not a count.
    """
    if not total or not level:
        return math.nan, math.nan
    z = t_quantile(level, units)
    share, stretch = count / total, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / stretch
    reach = z / stretch * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    # Rounding may leave an end just beyond.
    low = 0.0 if count == 0 else max(middle - reach, 0.0)
    high = 1.0 if count == total else min(middle + reach, 1.0)
    return low, high


def mean_similarity(square: float, count: int) -> float:
    """Mean over pairs; `square` is |S|^2 of `count` unit vectors. nan with fewer than two."""
    return (square - count) / (count * (count - 1)) if count > 1 else math.nan


def similarity_without(square: float, products: Floats, squares: Floats, counts: Floats) -> Floats:
    """The mean similarity without each text in turn; nan for texts that have no vectors.

    For each text: `products`, S times the sum of its own vectors; `squares`, the squared length
    of that sum; `counts`, how many vectors it has.
    """
    remaining = counts.sum() - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (square - 2 * products + squares - remaining) / (remaining * (remaining - 1))
    return np.where((counts > 0) & (remaining > 1), without, math.nan)


def clustered_error(square: float, products: Floats, squares: Floats, counts: Floats) -> float:
    """Jackknife standard error, over texts, of the mean similarity (and so of 1 minus it)."""
    return left_out_error(similarity_without(square, products, squares, counts)[counts > 0])
