"""What one group of texts says more often than another: the log-odds ratio with an informative
Dirichlet prior (Monroe, Colaresi and Quinn 2008, Fightin' Words).

z is that of independent occurrences. A text that repeats itself makes it too large, and so does
looking only where much is to be found, so z has no p-value here. Texts are permuted between the
groups instead, and all that leads to z is done again each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rote.core.arrays import Array, Flags, Floats
from rote.core.kernels import lean
from rote.run import side_by_side

Numbers = Array

# Weight of the prior, as a share of the smaller group. z shrinks with it (by 9 % here, by 29 % if
# the prior weighs as much as the group), but under a lighter one, what a group lacks gets so large
# a variance that 100 against 0 is less certain than 97 against 3. In groups of equal size that ends
# where log(1 + 2 / share) <= 2 (1 + share): at a fifth.
PRIOR_SHARE = 0.2
_LEVEL = 0.05
# So many z of permuted groups are held, 128 MB; beyond that each run is computed again.
_MAX_STORED = 16_000_000


@dataclass(frozen=True, slots=True)
class LogOdds:
    """For each thing: `delta` above 0 where group a has it more often, and `z`, its certainty."""

    delta: Floats
    z: Floats


def pooled_prior(
    counts_a: Numbers, counts_b: Numbers, totals: tuple[int, int]
) -> tuple[Floats, float]:
    """Pseudo-counts and their total: a fifth of the smaller group, spread as in both together.

    A thing that occurs in neither group has none, and so no log-odds.
    """
    weight = PRIOR_SHARE * min(totals)
    share = weight / sum(totals) if sum(totals) else 0.0
    return np.asarray(share * (counts_a + counts_b), np.float64), weight


def log_odds(
    counts_a: Numbers,
    counts_b: Numbers,
    prior: Numbers,
    *,
    totals: tuple[int, int],
    prior_total: float,
) -> LogOdds:
    """Log-odds ratio and z of each thing in group a against group b.

    `totals` and `prior_total` are over all things, also those that are not asked about. Without
    any pseudo-count a thing that a group lacks (or a group that holds nothing else) has no
    log-odds: nan.
    """
    a, b, pseudo = (np.ascontiguousarray(n, np.float64) for n in (counts_a, counts_b, prior))
    delta, z = np.empty(len(a)), np.empty(len(a))
    _fill_log_odds(a, b, pseudo, *(float(total + prior_total) for total in totals), delta, z)
    return LogOdds(delta, z)


@lean
def _fill_log_odds(
    counts_a: Array,
    counts_b: Array,
    prior: Array,
    total_a: float,
    total_b: float,
    delta: Array,
    z: Array,
) -> None:
    """Totals are those of counts and pseudo-counts."""
    for number in range(len(prior)):
        a, b = counts_a[number] + prior[number], counts_b[number] + prior[number]
        rest_a, rest_b = total_a - a, total_b - b
        delta[number] = z[number] = np.nan
        if a > 0 and b > 0 and rest_a > 0 and rest_b > 0:
            delta[number] = np.log(a / rest_a * (rest_b / b))
            z[number] = delta[number] / np.sqrt(1.0 / a + 1.0 / b)


def frequent_enough(counts_a: Numbers, counts_b: Numbers, totals: tuple[int, int]) -> Flags:
    """Which things are frequent enough to be tested: if one group had them all, it would show.

    The others could only make the correction for many tests harder on the rest (Tarone 1990).
    This looks at the sum of both counts alone, so it favours no difference.
    """
    both = counts_a + counts_b
    prior, prior_total = pooled_prior(counts_a, counts_b, totals)
    none = np.zeros_like(both)
    frequent = np.zeros(len(both), np.bool_)
    for counts, rest in ((both, none), (none, both)):
        z = log_odds(counts, rest, prior, totals=totals, prior_total=prior_total).z
        frequent |= two_sided_p(z) <= _LEVEL
    return frequent


def contrast(counts_a: Numbers, counts_b: Numbers, totals: tuple[int, int]) -> LogOdds:
    prior, prior_total = pooled_prior(counts_a, counts_b, totals)
    return log_odds(counts_a, counts_b, prior, totals=totals, prior_total=prior_total)


@dataclass(frozen=True, slots=True)
class PermutedExcess:
    """How far each thing's z stands out from those of permuted groups.

    `expected` is the mean of its permuted z, and `excess` how many of their standard deviations
    its own z lies above it; `largest` is the largest excess of anything in each permuted run.
    """

    expected: Floats
    excess: Floats
    largest: Floats

    def p(self, largest: Floats | None = None) -> Floats:
        """How often a permuted run has anything that stands out as far as each thing does.

        Family-wise: where labels mean nothing, one run in twenty has any p of 0.05 or less.
        `largest` may be that of a larger family.
        """
        runs = np.sort(self.largest if largest is None else largest)
        if not len(runs):
            return np.full(len(self.excess), np.nan)
        # Equal up to rounding counts as equal.
        as_far = len(runs) - np.searchsorted(runs, self.excess - 1e-9)
        return np.asarray((1 + as_far) / (1 + len(runs)), np.float64)


def permuted_excess(
    z_of: Callable[[int], Floats], permutations: int, *, two_sided: bool = False, jobs: int = 1
) -> PermutedExcess:
    """`z_of(0)` are the observed z, `z_of(1)` to `z_of(permutations)` those of permuted groups.

    Every run is held against all others in the same way, so that under permuted labels none of
    them is likelier than another to stand out most. A thing whose z moves far with the labels,
    since it occurs in few texts, has to go further to stand out, and so has one whose z is large
    whoever the texts belong to. z is in units of the standard error of independent occurrences:
    less than one of these is never taken for its spread.

    Each run is needed twice: where all are too many to be held, it is asked for twice. Runs are
    computed side by side, a few ahead of those that are added up.
    """

    def in_order(function: Callable[[Any], Any], of: Sequence[Any]) -> Iterator[Any]:
        for first in range(0, len(of), 4 * jobs):
            yield from side_by_side(function, of[first : first + 4 * jobs], jobs)

    def gap_of(run: int) -> Floats:
        return _defined(z_of(run)) - observed

    observed = _defined(z_of(0))
    if not permutations:
        unknown = np.full(len(observed), np.nan)
        return PermutedExcess(unknown, unknown, np.empty(0))
    sums, squares = np.zeros(len(observed)), np.zeros(len(observed))
    runs = range(1, permutations + 1)
    stored: list[Floats] = []
    for gap in in_order(gap_of, runs):
        if permutations * len(observed) <= _MAX_STORED:
            stored.append(gap)
        sums += gap
        squares += gap * gap

    def excess(gap: Floats | float) -> Floats:
        """How far a run stands out from all others, seen from the observed one."""
        mean = (sums - gap) / permutations
        variance = (squares - gap * gap) / permutations - mean * mean
        standardized = (gap - mean) / np.sqrt(np.maximum(variance, 1.0))
        return np.abs(standardized) if two_sided else standardized

    def largest(of: Floats | int) -> float:
        return float(excess(gap_of(of) if isinstance(of, int) else of).max(initial=-np.inf))

    runs_again = list(in_order(largest, stored or runs))
    return PermutedExcess(observed + sums / permutations, excess(0.0), np.array(runs_again))


def _defined(z: Floats) -> Floats:
    """What occurs in neither group is as frequent in one as in the other."""
    return np.nan_to_num(z, nan=0.0)


def two_sided_p(z: Numbers) -> Floats:
    """How often a normal variable lies at least as far from 0."""
    from scipy.special import erfc

    return np.asarray(erfc(np.abs(np.asarray(z, np.float64)) / np.sqrt(2.0)), np.float64)


def benjamini_hochberg(p: Numbers) -> Floats:
    """p-values corrected for many tests: listing all below q, a share q of them is false.

    Benjamini and Hochberg (1995). Undefined p-values stay undefined and do not count.
    """
    corrected = np.array(p, np.float64)
    (defined,) = np.nonzero(~np.isnan(corrected))
    order = defined[np.argsort(corrected[defined])]
    # The k-th smallest of m is m / k times as large, and none larger than one behind it.
    scaled = corrected[order] * (len(order) / np.arange(1, len(order) + 1))
    corrected[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return corrected
