"""Coefficients, intervals and exact tests, against scipy and against all orders one by one."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from rote.compare.correlation import (
    DRAWS,
    bonett_wright_interval,
    correlate_columns,
    fisher_interval,
    pearson,
    smallest_p,
    spearman,
)
from tests.examples import Maker, drawn, each, some

X = np.array([1.0, 2, 3, 4, 5])
Y = np.array([2.0, 1, 4, 3, 5])


def columns_of(least: int, most: int) -> Maker:
    """Two columns of numbers, of which some are equal."""

    def number(chance: random.Random) -> float:
        return round(chance.choice([chance.uniform(-1e3, 1e3), chance.randint(-2, 2)]), 2)

    return lambda chance: np.array(some(each(number, number), most, least)(chance), np.float64)


COLUMNS = drawn(columns_of(3, 6))


def block(*columns: object) -> np.ndarray:
    """One facet: sources x columns."""
    return np.array(columns, np.float64).T[None]


def orders_as_strong(block: np.ndarray) -> float:
    """The slow twin: every order of the sources of the first column, in all facets at once."""
    centred = block - block.mean(axis=1, keepdims=True)
    x, y = centred[..., 0], centred[..., 1]
    orders = list(itertools.permutations(range(block.shape[1])))
    size = math.sqrt((x**2).sum() * (y**2).sum())
    found = [abs((x[:, list(order)] * y).sum()) / size for order in orders]
    observed = abs((x * y).sum()) / size
    return sum(value >= observed - 1e-9 for value in found) / len(orders)


def test_a_rank_correlation_worked_out_by_hand() -> None:
    # The ranks differ by 1, -1, 1, -1, 0: rho = 1 - 6 * 4 / (5 * 24).
    assert spearman(X, Y) == pytest.approx(0.8)
    assert pearson(X, Y) == pytest.approx(0.8)


@given(COLUMNS)
def test_coefficients_are_those_of_scipy(columns: np.ndarray) -> None:
    x, y = columns.T
    if np.ptp(x) < 0.1 or np.ptp(y) < 0.1:
        return
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


@given(COLUMNS)
def test_p_values_are_shares_of_all_orders(columns: np.ndarray) -> None:
    if np.ptp(columns[:, 0]) < 0.1 or np.ptp(columns[:, 1]) < 0.1:
        return
    found = correlate_columns(columns[None], level=0.95, seed=0)[0]
    assert found.exact
    assert found.pearson.p == pytest.approx(orders_as_strong(columns[None]), abs=1e-12)
    ranked = stats.rankdata(columns, axis=0)[None]
    assert found.spearman.p == pytest.approx(orders_as_strong(ranked), abs=1e-12)


def test_whole_sources_are_exchanged_in_all_facets_at_once() -> None:
    rng = np.random.default_rng(5)
    facets = rng.normal(size=(3, 5, 2))
    found = correlate_columns(facets, level=0.95, seed=0)[0]
    assert found.sources == 5
    assert found.pearson.p == pytest.approx(orders_as_strong(facets))


def test_a_source_that_stands_in_two_facets_is_still_one_source() -> None:
    once = correlate_columns(block(X, Y), level=0.95, seed=0)[0]
    twice = correlate_columns(
        np.concatenate((block(X, Y), block(X + 7, Y - 7))), level=0.95, seed=0
    )[0]
    assert twice.pearson.estimate == pytest.approx(once.pearson.estimate)
    assert twice.pearson.p == pytest.approx(once.pearson.p)
    assert twice.pearson.low == pytest.approx(once.pearson.low)


def test_many_sources_are_drawn_and_come_close_to_the_exact_p_value() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12))
    found = correlate_columns(block(x, y), level=0.95, seed=0)[0]
    assert not found.exact
    # For normal numbers the t test is exact.
    assert found.pearson.p == pytest.approx(stats.pearsonr(x, y).pvalue, abs=0.02)
    assert found.pearson.p == correlate_columns(block(x, y), level=0.95, seed=0)[0].pearson.p
    assert smallest_p(12) == 1 / (DRAWS + 1)
    assert smallest_p(5) == 1 / 120


def test_fishers_interval_is_that_of_scipy() -> None:
    found = stats.pearsonr(X, Y).confidence_interval(0.9)
    assert fisher_interval(0.8, 5, 0.9) == pytest.approx((found.low, found.high))
    # atanh 0.5 = 0.5493, 1.95996 / sqrt 9 = 0.6533: tanh of -0.1040 and 1.2026.
    assert fisher_interval(0.5, 12, 0.95) == pytest.approx((-0.1036, 0.8345), abs=1e-4)


def test_the_interval_of_spearman_is_wider_by_its_standard_error() -> None:
    # sqrt((1 + 0.5^2 / 2) / 9) = 0.35355, times 1.95996 = 0.69295.
    expected = math.tanh(math.atanh(0.5) - 0.69295), math.tanh(math.atanh(0.5) + 0.69295)
    assert bonett_wright_interval(0.5, 12, 0.95) == pytest.approx(expected, abs=1e-5)


def test_a_perfect_correlation_and_three_sources_have_no_interval() -> None:
    perfect = correlate_columns(block(X, 2 * X), level=0.95, seed=0)[0]
    assert perfect.pearson.estimate == pytest.approx(1)
    assert math.isnan(perfect.pearson.low)
    assert perfect.reason == "a perfect correlation has no interval (Pearson, Spearman)"
    three = correlate_columns(block(X[:3], Y[:3]), level=0.95, seed=0)[0]
    assert three.pearson.estimate == pytest.approx(pearson(X[:3], Y[:3]))
    assert math.isnan(three.spearman.low)
    assert three.reason == "3 sources: an interval needs 4"


def test_two_sources_and_constants_have_no_correlation_and_a_reason() -> None:
    few = correlate_columns(block(X[:2], Y[:2]), level=0.95, seed=0)[0]
    assert math.isnan(few.pearson.estimate)
    assert few.reason == "2 sources with both: a correlation needs 3"
    same = np.full(5, 0.1 + 0.2)
    same[2] = 0.3
    for columns, which in (((X, same), "second"), ((same, X), "first")):
        found = correlate_columns(block(*columns), level=0.95, seed=0)[0]
        assert math.isnan(found.pearson.estimate)
        assert math.isnan(found.spearman.estimate)
        assert found.reason == f"the {which} is the same in all sources"


def test_a_source_that_lacks_a_column_is_left_out_of_its_pairs_alone() -> None:
    z = np.array([3.0, 1, math.nan, 5, 4])
    found = {(p.a, p.b): p for p in correlate_columns(block(X, Y, z), level=0.95, seed=0)}
    kept = [0, 1, 3, 4]
    assert found[0, 1].sources == 5
    assert found[0, 2].sources == 4
    assert found[0, 2].pearson.estimate == pytest.approx(pearson(X[kept], z[kept]))
    assert found[1, 2].pearson.p == pytest.approx(orders_as_strong(block(Y[kept], z[kept])))
    assert found[0, 2].weakest_without in kept


@given(drawn(columns_of(6, 6)))
def test_the_weakest_correlation_leaves_out_the_source_that_holds_it_up(
    columns: np.ndarray,
) -> None:
    if np.ptp(columns[:, 0]) < 0.1 or np.ptp(columns[:, 1]) < 0.1:
        return
    found = correlate_columns(columns[None], level=0.95, seed=0)[0]
    sign = 1 if found.pearson.estimate > 0 else -1
    left = [pearson(*np.delete(columns, place, axis=0).T) for place in range(6)]
    if any(map(math.isnan, left)):
        assert math.isnan(found.weakest)
    else:
        assert sign * found.weakest == pytest.approx(min(sign * r for r in left))


def test_one_source_far_off_makes_a_correlation_that_goes_with_it() -> None:
    x = np.array([1.0, 2, 3, 4, 50])
    y = np.array([2.0, 4, 1, 3, 60])
    found = correlate_columns(block(x, y), level=0.95, seed=0)[0]
    assert found.pearson.estimate > 0.99
    assert found.weakest == pytest.approx(0, abs=1e-9)
    assert found.weakest_without == 4


@pytest.mark.parametrize(("n", "r"), [(6, 0.0), (8, 0.6), (12, 0.8)])
def test_intervals_hold_the_true_correlation_as_often_as_they_say(n: int, r: float) -> None:
    rng = np.random.default_rng(n)
    draws = 400
    x = rng.normal(size=(draws, n))
    y = r * x + math.sqrt(1 - r * r) * rng.normal(size=(draws, n))
    true_rho = 6 / math.pi * math.asin(r / 2)
    held = held_rho = 0
    for a, b in zip(x, y):
        low, high = fisher_interval(pearson(a, b), n, 0.95)
        held += low <= r <= high
        rho = spearman(a, b)
        low, high = bonett_wright_interval(rho, n, 0.95)
        # A perfect order has no interval; it counts as a failure here.
        held_rho += low <= true_rho <= high
    assert 0.92 <= held / draws <= 0.98
    assert 0.88 <= held_rho / draws <= 0.99
