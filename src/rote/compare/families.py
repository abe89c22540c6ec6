"""Many tests as one family: corrected p-values, what they could have shown, and what is alike.

The tests of a panel are every value of every source. By default the values of one source are
corrected by a step-down maximum of their standardized differences (Westfall and Young 1993), the
sources by a factor as Holm's; Holm (1979), and Benjamini and Hochberg (1995), over all tests are
there to choose. docs/comparing.md says why the first holds the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

import numpy as np

from rote.compare.intervals import NO_ERROR, joint_units
from rote.compare.log_odds import benjamini_hochberg
from rote.compare.permutation import LEVEL, PermutedTest, as_large, holm, over_sources
from rote.core.array_types import Floats
from rote.core.errors import OptionError

Correction = Literal["westfall-young", "holm", "bh"]
CORRECTIONS: dict[Correction, str] = {
    "westfall-young": "Westfall-Young",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
}
POWER = 0.8
"""How often the smallest detectable difference would be found."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The corrected p of a test, the smallest that it could have had, and how large a difference
    has to be that it finds in four of five cases, were it the only one of its family."""

    p: float
    floor: float
    detectable: float = field(default=math.nan, compare=False)

    @property
    def tested(self) -> bool:
        """Whether a difference could have been found at all."""
        return not math.isnan(self.p) and self.floor < LEVEL


def correct(
    tests: Sequence[PermutedTest], correction: Correction = "westfall-young"
) -> list[Outcome]:
    """All tests of one family, over the values of each source and over the sources."""
    defined = [number for number, test in enumerate(tests) if _defined(test)]
    own = [tests[number] for number in defined]
    p, floor = _stepped(own) if correction == "westfall-young" else _alone(own, correction)
    found = [Outcome(math.nan, math.nan)] * len(tests)
    for number, outcome in zip(defined, map(Outcome, p, floor, _detectable(own, correction))):
        found[number] = outcome
    return found


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
                f"a margin is a share of the reference's value, such as 5%, or a number above 0 in "
                f"units of the value, not '{text}'"
            )
        share = text.strip().endswith("%")
        return cls(size / 100 if share else size, share)

    def at(self, reference: float) -> float:
        return self.size * abs(reference) if self.share else self.size


def adjusted(p: Sequence[float], correction: Correction) -> list[float]:
    """p-values that come without draws: by Holm, unless it is Benjamini and Hochberg."""
    if correction == "bh":
        return [float(one) for one in benjamini_hochberg(np.array(p, np.float64))]
    return holm(p)


def times(correction: Correction, tests: int, sources: int) -> int:
    """How many times as large as the smallest p a corrected one is at least."""
    return {"westfall-young": sources, "holm": tests, "bh": 1}[correction]


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


def _alone(
    tests: Sequence[PermutedTest], correction: Correction
) -> tuple[list[float], list[float]]:
    """Every test by itself, then all of them by Holm or by Benjamini and Hochberg."""
    least = [max(test.least, 1 / (1 + _drawn(test))) for test in tests]
    p = [max(test.p, floor) for test, floor in zip(tests, least)]
    return adjusted(p, correction), adjusted(least, correction)


def _stepped(tests: Sequence[PermutedTest]) -> tuple[list[float], list[float]]:
    """Only as many draws are used as every test has: differences of one draw belong together."""
    count, sources = _count(tests), [test.source for test in tests]
    p, least = np.full(len(tests), np.nan), np.full(len(tests), np.nan)
    for source in dict.fromkeys(sources):
        own = [number for number, name in enumerate(sources) if name == source]
        least[own] = [max(tests[number].least, 1 / (count + 1)) for number in own]
        p[own] = np.maximum(_step_down([tests[number] for number in own], count), least[own])
    return over_sources(p, sources), over_sources(least, sources)


def _count(tests: Sequence[PermutedTest]) -> int:
    return min((len(test.permuted) for test in tests), default=0)


def _drawn(test: PermutedTest) -> int:
    return int(np.count_nonzero(~np.isnan(test.permuted)))


def _step_down(tests: Sequence[PermutedTest], count: int) -> Floats:
    """The values of one source: each is held against the largest of those not larger than it.

    An undefined permuted difference is none at all, smaller than any other.
    """
    spreads = [_spread(test, count) for test in tests]
    observed = np.array([abs(test.observed) / spread for test, spread in zip(tests, spreads)])
    permuted = _standardized(tests, spreads, count)
    order = np.argsort(-observed, kind="stable")
    largest = np.maximum.accumulate(permuted[order][::-1], axis=0)[::-1]
    # As in `as_large`: equal up to rounding is equal.
    at_least = largest >= observed[order, None] - 1e-9
    stepped = np.maximum.accumulate((1 + at_least.sum(axis=1)) / (count + 1))
    found = np.empty(len(tests))
    found[order] = stepped
    alone = [as_large(test.permuted[~np.isnan(test.permuted)], test.observed) for test in tests]
    return np.maximum(found, alone)


def _standardized(tests: Sequence[PermutedTest], spreads: Sequence[float], count: int) -> Floats:
    found = np.array([np.abs(test.permuted[:count]) for test in tests], np.float64)
    found /= np.array(spreads)[:, None]
    found[np.isnan(found)] = -1.0
    return found


def _spread(test: PermutedTest, count: int) -> float:
    """The root mean square of a test's differences, the observed one among them.

    Where all are 0 up to rounding, nothing is divided.
    """
    spread = _root_mean_square(np.append(test.permuted[:count], test.observed))
    return spread if spread > 1e-12 else 1.0


def _root_mean_square(numbers: Floats) -> float:
    """Of what is defined."""
    squares = numbers**2
    mean = float(squares.mean())
    return math.sqrt(float(np.nanmean(squares)) if math.isnan(mean) else mean)


# What could have been shown


def _detectable(tests: Sequence[PermutedTest], correction: Correction) -> list[float]:
    """The difference that would be found with probability `POWER`, were there no other.

    The permuted differences say how far values vary when labels mean nothing, doc_ids heeded. The
    observed one has to be beyond what the corrected level leaves of them, `limit` standard errors,
    and is so in four of five cases if the true one is 0.84 standard errors farther out. A
    difference also widens the permuted ones: with d of it, their variance has d² `widening` more.
    """
    if not tests:
        return []
    errors = [_root_mean_square(test.permuted) for test in tests]
    sources = [test.source for test in tests]
    level = LEVEL / times(
        "holm" if correction == "bh" else correction, len(tests), len(set(sources))
    )
    beyond = NormalDist().inv_cdf(POWER)
    limits = np.empty(len(tests))
    for source in dict.fromkeys(sources):
        own = [number for number, name in enumerate(sources) if name == source]
        count = _count(tests if correction == "westfall-young" else [tests[n] for n in own])
        drawn = _standardized([tests[n] for n in own], [errors[n] or 1.0 for n in own], count)
        if correction == "westfall-young":
            limits[own] = _critical(drawn.max(axis=0), level)
        else:
            limits[own] = [_critical(column, level) for column in drawn]
    return [
        error * _solved(limit, beyond, test.widening) if error > 1e-12 else math.nan
        for error, limit, test in zip(errors, limits.tolist(), tests)
    ]


def _solved(limit: float, beyond: float, widening: float) -> float:
    """d = limit sqrt(1 + widening d²) + beyond; nan where so few texts can show none."""
    room = 1 - limit**2 * widening
    if room <= 0:
        return math.nan
    return (beyond + math.sqrt(beyond**2 + room * (limit**2 - beyond**2))) / room


def _critical(drawn: Floats, level: float) -> float:
    """How many standard errors a difference needs for a p below the level.

    Fewer draws than that takes have no such difference (the test is none, or others have to help
    it as with Benjamini and Hochberg): that of a normal distribution then.
    """
    place = math.ceil(level * (len(drawn) + 1) - 1e-9) - 1
    if place < 1:
        return NormalDist().inv_cdf(1 - level / 2)
    return float(np.partition(drawn, -place)[-place])
