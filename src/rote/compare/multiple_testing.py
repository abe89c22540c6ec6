"""Many tests as one family: corrected p-values, what they could have shown, and what is alike. By
default a step-down maximum of standardized differences (Westfall and Young 1993); Holm (1979), and
Benjamini and Hochberg (1995), are there to choose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from rote.compare.intervals import NO_ERROR, joint_units
from rote.compare.log_odds import benjamini_hochberg
from rote.compare.permutation import LEVEL, PermutedTest, holm, share_as_large
from rote.core.arrays import Floats
from rote.core.errors import OptionError
from rote.core.progress import Reporter, Silent, several

Correction = Literal["westfall-young", "holm", "bh"]
CORRECTIONS: dict[Correction, str] = {
    "westfall-young": "Westfall-Young",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
}
POWER = 0.8
"""How often the smallest detectable difference would be found."""
CONFIDENCE = 0.999
"""How sure a p-value is on which side of the level it lies, given how few permutations were made,
before a verdict rests on it."""
MAX_PERMUTATIONS = 9_999
"""Permutations at which a verdict is left open."""
MAX_DIFFERENCES, MIN_LAST = 5 * 10_000, 1_999
"""Permuted differences of all tests that are still held against an open one: with more than five of
them a verdict is left open at fewer permutations, but not below so many. A p that is open at 9,999
is between 0.043 and 0.057, at 4,999 between 0.040 and 0.061, at 1,999 between 0.035 and 0.067."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The corrected p of a test, the smallest that it could have had, and how large a difference
    has to be that it finds in four of five cases, were it the only one of its family.

    With all permutations there are, the p could be anything from `low` to `high` (`CONFIDENCE`)."""

    p: float
    floor: float
    detectable: float = field(default=math.nan, compare=False)
    low: float = field(default=math.nan, compare=False)
    high: float = field(default=math.nan, compare=False)
    permutations: int = field(default=0, compare=False)

    @property
    def tested(self) -> bool:
        """Whether a difference could have been found at all."""
        return not math.isnan(self.p) and self.floor < LEVEL

    @property
    def borderline(self) -> bool:
        """Whether other permutations might turn the verdict."""
        return self.tested and self.low < LEVEL <= self.high


UNDEFINED = Outcome(math.nan, math.nan)


def correct(
    tests: Sequence[PermutedTest], correction: Correction = "westfall-young"
) -> list[Outcome]:
    """All tests of one family, over values and pairs of sources."""
    defined = [number for number, test in enumerate(tests) if _defined(test)]
    defined_tests = [tests[number] for number in defined]
    outcomes = [UNDEFINED] * len(tests)
    if not defined_tests:
        return outcomes
    if correction == "westfall-young":
        p, low, high, floor = _step_down(defined_tests)
    else:
        p, low, high, floor = _correct_singly(defined_tests, correction)
    counts = [_drawn(test) for test in defined_tests]
    rows = zip(p, floor, _detectable(defined_tests, correction), low, high, counts)
    for number, columns in zip(defined, rows):
        outcomes[number] = Outcome(*columns)
    return outcomes


def decide(
    tests: Sequence[PermutedTest],
    correction: Correction = "westfall-young",
    most: int = MAX_PERMUTATIONS,
    reporter: Reporter | None = None,
) -> list[Outcome]:
    """As `correct`, with as many permutations as it takes to know on which side of the level each
    p is, at most so many.

    A test that is through, with all that are clearer than it, needs no more of them: in a step-down
    correction the others are not held against it.
    """
    tests, final = list(tests), correct(tests, correction)
    numbers, reached = list(range(len(tests))), 0.0

    def clearest_first(number: int) -> tuple[float, float]:
        test = tests[number]
        return final[number].p, -abs(test.observed) / _spread(test, len(test.permuted))

    while True:
        order = sorted(numbers, key=clearest_first)
        open_places = [k for k, n in enumerate(order) if final[n].borderline]
        count = max((len(tests[n].permuted) for n in numbers), default=0)
        extendable = all(tests[n].more is not None for n in numbers if final[n].borderline)
        if not open_places or not extendable:
            return final
        if correction == "westfall-young":
            through, order = order[: open_places[0]], order[open_places[0] :]
            reached = max([reached, *(final[n].p for n in through)])
        numbers = sorted(order)
        limit = min(most, max(MIN_LAST, MAX_DIFFERENCES // len(numbers)))
        if count >= limit:
            return final
        count = min(2 * count + 1, limit)
        title = f"verdicts: {several(count, 'permutation')}"
        with (reporter or Silent()).stage(title, len(numbers)) as advance:
            for n in numbers:
                tests[n] = tests[n].extended(count)
                advance(1)
        for n, outcome in zip(numbers, correct([tests[n] for n in numbers], correction)):
            final[n] = replace(outcome, p=max(outcome.p, reached), detectable=final[n].detectable)


def monte_carlo_interval(hits: Any, count: Any) -> tuple[Floats, Floats]:
    """Where a p-value may lie of which so many of `count` permutations are known to be as extreme
    (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    hits, tail = np.asarray(hits, np.float64), (1 - CONFIDENCE) / 2
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), count - hits + 1, tail), 0.0)
    high = np.where(hits < count, betaincinv(hits + 1, np.maximum(count - hits, 1), 1 - tail), 1.0)
    return low, high


@dataclass(frozen=True, slots=True)
class Margin:
    """How large a difference may be and still count as none: a share of the reference's value, or
    in units of the value."""

    size: float
    share: bool

    @classmethod
    def of(cls, text: str) -> Margin:
        """From `5%` or `0.02`."""
        try:
            size = float(text.strip().removesuffix("%"))
        except ValueError:
            size = math.nan
        if not 0 < size < math.inf:
            raise OptionError(
                "a margin is a percentage of the reference's value, such as 5%, or a number above "
                f"0 in the value's units, not '{text}'"
            )
        share = text.strip().endswith("%")
        return cls(size / 100 if share else size, share)

    def at(self, reference: float) -> float:
        return self.size * abs(reference) if self.share else self.size


def adjust_p_values(p: Sequence[float], correction: Correction) -> list[float]:
    """p-values that come without draws: by Holm, unless it is Benjamini and Hochberg."""
    if correction == "bh":
        return [float(value) for value in benjamini_hochberg(np.array(p, np.float64))]
    return holm(p)


def min_p_factor(correction: Correction, tests: int) -> int:
    """How many times as large as the smallest p a corrected one is at least."""
    return tests if correction == "holm" else 1


def equivalence_p(
    difference: float, margin: float, errors: Sequence[float], sizes: Sequence[int]
) -> float:
    """Two one-sided tests (Schuirmann 1987): is the difference within the margin on both sides?

    `errors` are the standard errors of the two values and `sizes` their numbers of texts, which
    give the degrees of freedom (Welch 1947). The larger of the two p-values.
    """
    error = math.hypot(*errors)
    if not error > NO_ERROR or not margin > 0 or math.isnan(difference) or min(sizes) < 2:
        return math.nan
    from scipy.special import stdtr

    freedom = joint_units(errors, sizes) - 1
    return float(stdtr(freedom, (abs(difference) - margin) / error))


def _defined(test: PermutedTest) -> bool:
    return not math.isnan(test.observed) and not bool(np.isnan(test.permuted).all())


Columns = tuple[list[float], list[float], list[float], list[float]]
"""Of each test: the corrected p, its lowest and highest, and the smallest that it could have."""


def _correct_singly(tests: Sequence[PermutedTest], correction: Correction) -> Columns:
    least = [max(test.least, 1 / (1 + _drawn(test))) for test in tests]
    p = [max(test.p, floor) for test, floor in zip(tests, least)]
    drawn = np.array([_drawn(test) for test in tests])
    hits = np.array([test.p for test in tests]) * (drawn + 1) - 1
    ends = monte_carlo_interval(hits, drawn)
    low, high = (adjust_p_values(column.tolist(), correction) for column in ends)
    return adjust_p_values(p, correction), low, high, adjust_p_values(least, correction)


def _step_down(tests: Sequence[PermutedTest]) -> Columns:
    """Each test is held against the largest of those that are not larger than it.

    Only as many draws are used as every test has: differences of one draw belong together. Labels
    of one pair of sources are exchanged without regard to another pair; tests of pairs that share a
    source go together, and taking them as independent is cautious (Sidak 1967). An undefined
    permuted difference is none at all, smaller than any other.
    """
    count = min(len(test.permuted) for test in tests)
    spreads = np.array([_spread(test, count) for test in tests])
    observed = np.array([abs(test.observed) for test in tests]) / spreads
    order = np.argsort(-observed, kind="stable")
    permuted = _standardized(tests, spreads.tolist(), count)[order]
    largest = np.maximum.accumulate(permuted[::-1], axis=0)[::-1]
    # An undefined difference of the test itself is not held against it.
    defined = [test.permuted[~np.isnan(test.permuted)] for test in tests]
    alone = [share_as_large(column, t.observed) for column, t in zip(defined, tests)]
    least = np.array([max(test.least, 1 / (count + 1)) for test in tests])

    def stepped(p: Floats) -> Floats:
        unsorted = np.empty(len(tests))
        unsorted[order] = np.maximum.accumulate(p)
        return unsorted

    # As in `share_as_large`: equal up to rounding is equal.
    hits = (largest >= observed[order, None] - 1e-9).sum(axis=1)
    low, high = map(stepped, monte_carlo_interval(hits, count))
    p = np.maximum(np.maximum(stepped((1 + hits) / (count + 1)), alone), least)
    return p.tolist(), low.tolist(), high.tolist(), least.tolist()


def _drawn(test: PermutedTest) -> int:
    return int(np.count_nonzero(~np.isnan(test.permuted)))


def _standardized(tests: Sequence[PermutedTest], spreads: Sequence[float], count: int) -> Floats:
    sizes = np.array([np.abs(test.permuted[:count]) for test in tests], np.float64)
    sizes /= np.array(spreads)[:, None]
    sizes[np.isnan(sizes)] = -1.0
    return sizes


def _spread(test: PermutedTest, count: int) -> float:
    """The root mean square of a test's differences, the observed one among them.

    Where all are 0 up to rounding, nothing is divided.
    """
    spread = _root_mean_square(np.append(test.permuted[:count], test.observed))
    return spread if spread > 1e-12 else 1.0


def _root_mean_square(numbers: Floats) -> float:
    squares = numbers**2
    mean = float(squares.mean())
    return math.sqrt(float(np.nanmean(squares)) if math.isnan(mean) else mean)


# What could have been shown


def _detectable(tests: Sequence[PermutedTest], correction: Correction) -> list[float]:
    """The difference that would be found with probability `POWER`, were there no other.

    The permuted differences say how far values vary when labels mean nothing, within doc_ids. The
    observed one has to be beyond what the corrected level leaves of them, `limit` standard errors,
    and is so in four of five cases if the true one is 0.84 standard errors farther out. A
    difference also widens the permuted ones: with d of it, their variance has d² `widening` more.
    """
    errors = [_root_mean_square(test.permuted) for test in tests]
    beyond = NormalDist().inv_cdf(POWER)
    count = min(len(test.permuted) for test in tests)
    drawn = _standardized(tests, [error or 1.0 for error in errors], count)
    if correction == "westfall-young":
        limits = [_critical_value(drawn.max(axis=0), LEVEL)] * len(tests)
    else:
        limits = [_critical_value(column, LEVEL / len(tests)) for column in drawn]
    return [
        test.unit * error * _solve_detectable(limit, beyond, test.widening)
        if error > 1e-12
        else math.nan
        for error, limit, test in zip(errors, limits, tests)
    ]


def _solve_detectable(limit: float, beyond: float, widening: float) -> float:
    """d = limit sqrt(1 + widening d²) + beyond; nan where so few texts can show none."""
    room = 1 - limit**2 * widening
    if room <= 0:
        return math.nan
    return (beyond + math.sqrt(beyond**2 + room * (limit**2 - beyond**2))) / room


def _critical_value(drawn: Floats, level: float) -> float:
    """How many standard errors a difference needs for a p below the level.

    Fewer draws than that takes have no such difference (the test is none, or others have to help
    it as with Benjamini and Hochberg): that of a normal distribution then.
    """
    place = math.ceil(level * (len(drawn) + 1) - 1e-9) - 1
    if place < 1:
        return NormalDist().inv_cdf(1 - level / 2)
    return float(np.partition(drawn, -place)[-place])
