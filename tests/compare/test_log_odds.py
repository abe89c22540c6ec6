"""Log-odds with an informative prior: worked by hand, and against plain Python."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from rote.compare.log_odds import (
    LogOdds,
    benjamini_hochberg,
    contrast,
    frequent_enough,
    log_odds,
    permuted_excess,
    pooled_prior,
    two_sided_p,
)

pairs = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=20)


def pooled(a: list[int], b: list[int], totals: tuple[int, int]) -> LogOdds:
    ours, theirs = np.array(a, np.int64), np.array(b, np.int64)
    prior, prior_total = pooled_prior(ours, theirs, totals)
    return log_odds(ours, theirs, prior, totals=totals, prior_total=prior_total)


def twin(a: int, b: int, totals: tuple[int, int]) -> tuple[float, float]:
    """One thing, as the paper writes it."""
    weight = 0.2 * min(totals)
    prior = weight * (a + b) / sum(totals)
    omega_a = (a + prior) / (totals[0] + weight - a - prior)
    omega_b = (b + prior) / (totals[1] + weight - b - prior)
    delta = math.log(omega_a) - math.log(omega_b)
    return delta, delta / math.sqrt(1 / (a + prior) + 1 / (b + prior))


def test_by_hand() -> None:
    # The prior weighs 20 of 100; this thing has 10 of 200, so 1 pseudo-count.
    # Odds: 9 to 111 and 3 to 117; variance 1/9 + 1/3 = 4/9.
    found = pooled([8], [2], (100, 100))
    assert found.delta[0] == pytest.approx(math.log((9 / 111) / (3 / 117)))
    assert found.delta[0] == pytest.approx(1.151256, abs=1e-6)
    assert found.z[0] == pytest.approx(1.5 * 1.151256, abs=1e-5)


def test_an_explicit_prior_by_hand() -> None:
    # 4 + 1 to 10 + 5 - 5, and 1 + 1 to 10 + 5 - 2.
    found = log_odds(
        np.array([4]), np.array([1]), np.array([1.0]), totals=(10, 10), prior_total=5.0
    )
    assert found.delta[0] == pytest.approx(math.log((5 / 10) / (2 / 13)))
    assert found.z[0] == pytest.approx(found.delta[0] / math.sqrt(1 / 5 + 1 / 2))


@given(pairs, st.integers(1, 500), st.integers(1, 500))
def test_like_plain_python(counts: list[tuple[int, int]], more_a: int, more_b: int) -> None:
    a, b = [pair[0] for pair in counts], [pair[1] for pair in counts]
    totals = (sum(a) + more_a, sum(b) + more_b)
    found = pooled(a, b, totals)
    for number, (x, y) in enumerate(counts):
        if x + y:
            assert (found.delta[number], found.z[number]) == pytest.approx(twin(x, y, totals))
        else:
            assert math.isnan(found.delta[number])
            assert math.isnan(found.z[number])


@given(pairs)
def test_exchanging_the_groups_changes_the_sign(counts: list[tuple[int, int]]) -> None:
    a, b = [pair[0] for pair in counts], [pair[1] for pair in counts]
    totals = (sum(a) + 7, sum(b) + 90)
    there, back = pooled(a, b, totals), pooled(b, a, totals[::-1])
    np.testing.assert_allclose(there.z, -back.z, atol=1e-12)


@pytest.mark.parametrize("count", [1, 5, 20, 100, 1000])
def test_the_more_one_sided_the_more_certain(count: int) -> None:
    splits = np.arange(count + 1)
    z = pooled(splits.tolist(), (count - splits).tolist(), (10**6, 10**6)).z
    assert (np.diff(z) > 0).all()


def test_a_group_that_holds_nothing_has_no_log_odds() -> None:
    assert np.isnan(pooled([3], [0], (10, 0)).delta).all()
    assert np.isnan(pooled([3], [0], (10, 0)).z).all()
    assert np.isnan(pooled([0], [0], (0, 0)).z).all()


def test_a_group_that_holds_nothing_else_has_no_log_odds() -> None:
    found = log_odds(np.array([5]), np.array([2]), np.zeros(1), totals=(5, 9), prior_total=0.0)
    assert np.isnan(found.z).all()


def test_rare_things_are_not_tested() -> None:
    # All in one of two equal groups: log(1 + 2 / 0.2) * sqrt(count * 0.1 * 1.1 / 1.2) >= 1.96
    # from a count of 8 on, as long as the rest is large.
    both = np.arange(12)
    found = frequent_enough(both, np.zeros(12, np.int64), (10**7, 10**7))
    assert found.tolist() == [count >= 8 for count in range(12)]
    # How the sum is divided makes no difference.
    assert np.array_equal(found, frequent_enough(both // 2, both - both // 2, (10**7, 10**7)))


def test_p_of_known_quantiles() -> None:
    p = two_sided_p(np.array([0.0, 1.959964, -2.575829, np.nan]))
    assert p[:3] == pytest.approx([1.0, 0.05, 0.01], abs=1e-6)
    assert math.isnan(p[3])


def test_correction_by_hand() -> None:
    # Sorted 0.005 * 4, 0.01 * 4/2, 0.03 * 4/3, 0.04 * 4/4.
    assert benjamini_hochberg(np.array([0.04, 0.01, 0.03, 0.005])) == pytest.approx(
        [0.04, 0.02, 0.04, 0.02]
    )
    assert benjamini_hochberg(np.array([0.9, 0.8])) == pytest.approx([0.9, 0.9])
    corrected = benjamini_hochberg(np.array([0.01, math.nan]))
    assert corrected[0] == 0.01
    assert math.isnan(corrected[1])
    assert len(benjamini_hochberg(np.array([]))) == 0
    many = np.random.default_rng(0).random(200).round(2)
    assert benjamini_hochberg(many).tolist() == false_discovery_control(many).tolist()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_correction_like_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(benjamini_hochberg(np.array(p)), false_discovery_control(p))


def test_how_far_a_thing_stands_out_by_hand() -> None:
    # Permuted z: 1 and 5 (mean 3, spread 2), 0 and 0 (spread taken as 1), nan counts as 0.
    runs = [np.array([7.0, 2.0, np.nan]), np.array([1.0, 0.0, 4.0]), np.array([5.0, 0.0, -4.0])]
    found = permuted_excess(lambda run: runs[run], 2)
    assert found.expected.tolist() == [3.0, 0.0, 0.0]
    assert found.excess.tolist() == [2.0, 2.0, 0.0]
    # Run 1 against 7 and 5, 2 and 0, 0 and -4; run 2 against 7 and 1, 2 and 0, 0 and 4.
    assert found.largest.tolist() == [3.0, 1 / 3]
    assert found.p().tolist() == [2 / 3, 2 / 3, 1.0]
    assert found.p(np.array([1.0, 1.0])).tolist() == [1 / 3, 1 / 3, 1.0]
    both = permuted_excess(lambda run: runs[run], 2, two_sided=True)
    assert both.largest.tolist() == [5.0, 3.0]


def test_without_permutations_nothing_is_certain() -> None:
    found = permuted_excess(lambda run: np.array([9.0]), 0)
    assert np.isnan(found.p()).all()
    assert np.isnan(found.excess).all()


def test_things_that_cluster_in_texts_hold_their_level() -> None:
    """Texts of one kind, whose things come in bunches, cut in two: z is far too large, p is not."""
    rng = np.random.default_rng(11)

    def cut_in_two(counts: NDArray[np.int64], run: int) -> NDArray[np.float64]:
        own = np.random.default_rng(run).permutation(30) < 15
        sides = counts[own].sum(0), counts[~own].sum(0)
        return contrast(*sides, (int(sides[0].sum()), int(sides[1].sum()))).z

    wrong = by_z = 0
    for _ in range(60):
        z = partial(cut_in_two, rng.negative_binomial(0.3, 0.1, (30, 12)))
        wrong += bool((permuted_excess(z, 19).p() <= 0.05).any())
        by_z += bool((benjamini_hochberg(two_sided_p(z(0))) <= 0.05).any())
    assert by_z > 40
    assert wrong <= 8  # 60 / 20 = 3; more than 8 in one of 300
