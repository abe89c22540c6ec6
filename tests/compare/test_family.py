"""All tests of a panel as one family: a slow twin, floors by hand, the level under the null."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

from rote.compare.multiple_testing import (
    MAX_DIFFERENCES,
    MAX_PERMUTATIONS,
    MIN_LAST,
    Outcome,
    correct,
    decide,
    monte_carlo_interval,
)
from rote.compare.permutation import LEVEL, PermutedTest, holm, least_p
from rote.core.result import Result
from rote.core.signature import Signature
from rote.measure.driver.multiple_testing import correct_results
from tests.examples import dear, drawn, some

Array = np.ndarray


def slow_family(tests: list[PermutedTest]) -> list[float]:
    """Reject one by one: always the smallest p of what is left, until all are through."""
    count = min(len(test.permuted) for test in tests)

    def standardized(test: PermutedTest) -> tuple[float, list[float]]:
        every = [*test.permuted[:count], test.observed]
        defined = [value**2 for value in every if not math.isnan(value)]
        spread = math.sqrt(sum(defined) / len(defined))
        spread = spread if spread > 1e-12 else 1.0
        drawn = [-1.0 if math.isnan(x) else abs(x) / spread for x in test.permuted[:count]]
        return abs(test.observed) / spread, drawn

    def alone(test: PermutedTest) -> float:
        drawn = [abs(x) for x in test.permuted if not math.isnan(x)]
        size = abs(test.observed)
        as_large = sum(x >= size - 1e-12 * max(1.0, size) for x in drawn)
        return max((1 + as_large) / (1 + len(drawn)), 1 / (count + 1), test.least)

    # The largest first, each against the largest of what is left.
    found, left, so_far = {}, list(range(len(tests))), 0.0
    while left:
        top = max(left, key=lambda n: (standardized(tests[n])[0], -n))
        size = standardized(tests[top])[0]
        drawn = [max(standardized(tests[n])[1][draw] for n in left) for draw in range(count)]
        so_far = max(so_far, (1 + sum(x >= size - 1e-9 for x in drawn)) / (count + 1))
        found[top] = max(so_far, alone(tests[top]))
        left.remove(top)
    return [found[n] for n in range(len(tests))]


def any_test(chance: random.Random) -> PermutedTest:
    """Some differences are equal, some undefined."""

    def number() -> float:
        return float(chance.randint(-4, 4)) if chance.random() < 0.5 else chance.uniform(-3, 3)

    count = chance.randint(5, 7)
    permuted = [number() if chance.random() < 0.7 else math.nan for _ in range(count)]
    least = chance.choice([0.0, 0.3])
    return PermutedTest(chance.choice("abc"), number(), np.array([*permuted, 0.5]), least)


@dear(50)
@given(drawn(some(any_test, 5, least=1)))
def test_the_family_is_corrected_as_by_the_slow_twin(tests: list[PermutedTest]) -> None:
    assert [out.p for out in correct(tests)] == pytest.approx(slow_family(tests))


def test_independent_tests_are_corrected_as_by_sidak() -> None:
    rng = np.random.default_rng(0)
    tests = [PermutedTest(s, x, rng.normal(size=19_999)) for s, x in zip("abcd", (3, 0.1, 2.2, 1))]
    alone = [correct([test])[0].p for test in tests]
    by_size = sorted(range(4), key=lambda n: alone[n])
    sidak = {n: 1 - (1 - alone[n]) ** (4 - place) for place, n in enumerate(by_size)}
    for n, outcome in enumerate(correct(tests)):
        assert outcome.p == pytest.approx(sidak[n], abs=0.015)


def test_an_undefined_test_stays_so_and_counts_for_nothing() -> None:
    sure = PermutedTest("a", 9.0, np.arange(99) / 100)
    undefined = PermutedTest("b", math.nan, np.arange(99) / 100)
    never = PermutedTest("c", 1.0, np.full(99, math.nan))
    first, *others = correct([sure, undefined, never])
    assert first == Outcome(0.01, 0.01)
    assert first.tested
    for outcome in others:
        assert math.isnan(outcome.p)
        assert not outcome.tested


def test_the_floor_counts_draws_and_labelings() -> None:
    few = [PermutedTest(source, 9.0, np.linspace(-1, 1, 19)) for source in "abc"]
    for outcome in correct(few):
        # 19 permutations: nothing can be found, whatever there is.
        assert outcome == Outcome(1 / 20, 1 / 20)
        assert not outcome.tested
    draws = np.linspace(-1, 1, 59)
    assert all(out.tested for out in correct([PermutedTest(s, 9.0, draws) for s in "abc"]))
    (few_ways,) = correct([PermutedTest("a", 9.0, draws, least=0.1)])
    assert few_ways == Outcome(0.1, 0.1)


def test_nothing_is_below_its_floor() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        tests = [
            PermutedTest(str(rng.integers(3)), rng.normal() * 9, rng.normal(size=19), least)
            for least in rng.random(6) / 5
        ]
        assert all(out.p >= out.floor > 0 for out in correct(tests))


def test_the_least_p_counts_labelings_by_hand() -> None:
    nothing = np.full(8, -1)
    three, other, four = np.arange(3), np.arange(3, 6), np.arange(3, 7)
    assert least_p(three, other, nothing) == pytest.approx(2 / 20)  # 6 over 3, each with its twin
    assert least_p(three, four, nothing) == pytest.approx(1 / 35)  # 7 over 3
    pairs = np.array([0, 1, 2, 0, 1, 2, 3, 4])
    assert least_p(three, other, pairs) == pytest.approx(2 / 2**3)
    # Two pairs, and 1 against 2 texts whose prompts the other group has not.
    assert least_p(three, four, np.array([0, 1, 5, 0, 1, 6, 7])) == pytest.approx(1 / (2 * 2 * 3))
    assert least_p(np.arange(400), np.arange(400, 900), np.full(900, -1)) < 1e-9


def test_a_value_that_few_texts_hold_has_few_differences_and_may_not_be_tested() -> None:
    # One text of twelve holds it: it is with one group or with the other, and that is all.
    tied = PermutedTest.of("a", 0.1, np.resize([-0.1, 0.1], 99), 0.0)
    assert tied.least == 1
    assert not correct([tied])[0].tested
    # Three draws of a hundred, the observed one among them, are as far: the middle is not 0.
    some = PermutedTest.of("a", 0.9, np.append(np.linspace(-0.5, 0.5, 97), [0.9, -0.9]), 0.0)
    assert (some.least, some.p) == pytest.approx((0.01, 0.03))
    assert correct([some, tied])[0].tested
    (result,) = correct_results(
        [
            (
                _compared("few", "all"),
                {("a", "human", "few", "p"): tied, ("a", "human", "all", "p"): some},
            )
        ]
    )
    assert [row["tested"] for row in result.comparisons] == [False, True]
    assert any(
        "human: few: what is counted occurs in too few texts" in note for note in result.notes
    )


def _compared(*values: str) -> Result:
    rows = [
        {"source": "a", "reference": "human", "value": v, "p": 0.5, "permutations": 99}
        for v in values
    ]
    signature = Signature.of({"measure": "made"})
    return Result("made", signature, ("source",), "human", None, {}, comparisons=rows)


# The level, by simulation. Texts are vectors of values; a source's value is the mean of its texts.

SOURCES, VALUES, TEXTS, DRAWS = 4, 4, 10, 199


def one_study(rng: np.random.Generator, effects: Array) -> list[PermutedTest]:
    """Every source against one reference; the values of a text go together (correlation 0.5)."""
    shape = (SOURCES + 1, TEXTS, VALUES)
    texts = rng.normal(size=shape) + rng.normal(size=(*shape[:2], 1))
    texts[1:] += effects[:, None, :]
    tests = []
    for source in range(SOURCES):
        pooled = np.concatenate((texts[1 + source], texts[0]))
        orders = rng.permuted(np.tile(np.arange(2 * TEXTS), (DRAWS, 1)), axis=1)
        own, total = pooled[orders[:, :TEXTS]].sum(axis=1), pooled.sum(axis=0)
        drawn = (2 * own - total) / TEXTS
        seen = texts[1 + source].mean(axis=0) - texts[0].mean(axis=0)
        tests += [PermutedTest(str(source), float(seen[v]), drawn[:, v]) for v in range(VALUES)]
    return tests


def false_alarms(
    effects: Array, corrected: Callable[[list[PermutedTest]], list[float]], studies: int
) -> float:
    """Share of studies with at least one p below the level where there is no effect."""
    rng = np.random.default_rng(7)
    nothing = (effects == 0).ravel()
    hits = 0
    for _ in range(studies):
        p = np.array(corrected(one_study(rng, effects)))
        hits += bool((p[nothing] < LEVEL).any())
    return hits / studies


def as_one_family(tests: list[PermutedTest]) -> list[float]:
    return [out.p for out in correct(tests)]


def value_by_value(tests: list[PermutedTest]) -> list[float]:
    """What was done before: Holm over the sources of each value, nothing over the values."""
    alone = np.array([correct([test])[0].p for test in tests]).reshape(SOURCES, VALUES)
    return np.array([holm(list(column)) for column in alone.T]).T.ravel().tolist()


NOTHING = np.zeros((SOURCES, VALUES))
ONE = NOTHING.copy()
ONE[0, 0] = 4.0
# Every source differs in all values but one, and that one is another for each: the hardest case.
ALL_BUT_ONE = np.where(np.eye(SOURCES, VALUES, dtype=bool), 0.0, 6.0)


@pytest.mark.parametrize("effects", [NOTHING, ONE, ALL_BUT_ONE])
def test_a_false_alarm_anywhere_in_a_panel_is_no_more_frequent_than_the_level(
    effects: Array,
) -> None:
    # 300 studies: the share has a standard error of 1.3 points.
    assert false_alarms(effects, as_one_family, 300) <= LEVEL + 0.03


def test_holm_value_by_value_would_not_hold_it() -> None:
    """So many studies as in the test above would find it out by far."""
    for effects in (NOTHING, ALL_BUT_ONE):
        assert false_alarms(effects, value_by_value, 100) > LEVEL + 0.056


def test_a_clear_difference_is_found_in_spite_of_the_others() -> None:
    rng = np.random.default_rng(3)
    found = [correct(one_study(rng, ONE))[0].p < LEVEL for _ in range(100)]
    assert np.mean(found) > 0.95


# As many permutations as a verdict needs


def endless(observed: float, seed: int, first: int = 199) -> PermutedTest:
    """A test whose permuted differences are normal, as many of them as are asked for."""

    def more(numbers: range) -> Array:
        every = np.random.default_rng(seed).normal(size=MAX_PERMUTATIONS)
        return every[numbers.start : numbers.stop]

    return PermutedTest.of("a", observed, more(range(first)), 0.0, more=more)


@pytest.mark.parametrize(("hits", "count"), [(0, 199), (10, 199), (199, 199), (3, 9_999)])
def test_the_interval_of_a_p_value_is_that_of_clopper_and_pearson(hits: int, count: int) -> None:
    from scipy.stats import binomtest

    low, high = monte_carlo_interval(np.array([hits]), count)
    exact = binomtest(hits, count).proportion_ci(0.999, method="exact")
    assert (low[0], high[0]) == pytest.approx((exact.low, exact.high))


def test_clear_tests_are_decided_at_once_and_close_ones_take_more() -> None:
    clear, none = decide([endless(5.0, 1), endless(0.3, 2)])
    assert (clear.permutations, none.permutations) == (199, 199)
    assert (clear.p < LEVEL <= none.p, clear.borderline, none.borderline) == (True, False, False)
    (close,) = decide([endless(2.2, 3)])
    assert 199 < close.permutations < MAX_PERMUTATIONS
    assert not close.borderline


def test_what_stays_open_is_borderline_and_no_seed_turns_a_verdict() -> None:
    critical = 1.96
    found = [decide([endless(critical, seed), endless(4.0, 100 + seed)]) for seed in range(5)]
    for close, clear in found:
        assert close.borderline
        assert close.permutations == MAX_PERMUTATIONS
        assert not clear.borderline
        assert clear.permutations == 199
    for observed in (1.5, 1.8, 2.1, 2.4):
        verdicts = {
            "borderline" if out.borderline else out.p < LEVEL
            for seed in range(10)
            for out in decide([endless(observed, seed)])
        }
        assert not {True, False} <= verdicts


def test_a_test_without_more_draws_stays_as_it_is() -> None:
    (close,) = decide([PermutedTest("a", 1.96, np.random.default_rng(1).normal(size=199))])
    assert close.permutations == 199
    assert close.borderline


@pytest.mark.parametrize("effects", [NOTHING, ALL_BUT_ONE])
def test_decided_p_values_are_those_of_all_permutations(effects: Array) -> None:
    """Tests that are through are left out of what follows: nothing else may change by that."""
    rng = np.random.default_rng(4)
    for _ in range(5):
        studied = one_study(rng, effects)
        of = (PermutedTest.of(t.source, t.observed, t.permuted, 0.0) for t in studied)
        whole = correct(list(of))
        short = [
            PermutedTest.of(
                test.source,
                test.observed,
                test.permuted[:49],
                0.0,
                more=lambda numbers, test=test: test.permuted[numbers.start : numbers.stop],
            )
            for test in studied
        ]
        for one, other in zip(decide(short, most=DRAWS), whole):
            if one.permutations == DRAWS:
                assert one.p == pytest.approx(other.p)
            assert (one.p < LEVEL) == (other.p < LEVEL) or one.borderline or other.borderline


def test_many_undecided_tests_stop_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held against an open test costs permutations too: there is a limit to all of them."""
    # One draw in twenty is as large as the observed difference: never clear.
    draws = np.where(
        np.arange(MAX_PERMUTATIONS) % 20 == 10,
        3.0 + np.arange(MAX_PERMUTATIONS) / MAX_PERMUTATIONS,
        0.1,
    )

    def most_permutations(count: int) -> int:
        test = PermutedTest.of(
            "same", 2.0, draws[:199], 0.0, more=lambda n: draws[n.start : n.stop]
        )
        return max(outcome.permutations for outcome in decide([test] * count))

    assert most_permutations(5) == MAX_PERMUTATIONS
    assert most_permutations(20) == MAX_DIFFERENCES // 20
    assert most_permutations(60) == MIN_LAST
    monkeypatch.setattr("rote.compare.multiple_testing.MIN_LAST", 500)
    assert most_permutations(60) == MAX_DIFFERENCES // 60
