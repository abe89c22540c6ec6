"""Mann-Whitney U and the interval of a share: worked values, and what has to hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from rote.compare.exact_tests import mann_whitney
from rote.compare.intervals import wilson

numbers = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def test_exact_where_samples_are_tiny_and_nothing_is_tied() -> None:
    # Of the 10 ways to choose 2 of 5 ranks, one is as low as {1, 2} and one as high as {4, 5}.
    assert mann_whitney([1, 2], [3, 4, 5]) == pytest.approx((0, 2 / 10))
    assert mann_whitney([3, 4, 5], [1, 2]) == pytest.approx((6, 2 / 10))
    # {1, 3} has U = 1; U of at most 1, or at least 5: {1,2}, {1,3}, {3,5}, {4,5}.
    assert mann_whitney([1, 3], [2, 4, 5]) == pytest.approx((1, 4 / 10))


def test_normal_approximation_with_ties() -> None:
    # Ranks 4, 2, 4 against 1: all three pairs are won. The variance is
    # 3 * 1 / 12 * (5 - (2**3 - 2) / (4 * 3)) = 1.125, and half a pair is taken off.
    u, p = mann_whitney(np.array([4, 2, 4]), np.array([1]))
    assert u == 3
    assert p == pytest.approx(math.erfc((3 - 1.5 - 0.5) / math.sqrt(1.125) / math.sqrt(2)))


@given(numbers, numbers)
def test_u_counts_pairs(a: list[int], b: list[int]) -> None:
    u, p = mann_whitney(a, b)
    assert u == sum((x > y) + (x == y) / 2 for x in a for y in b)
    assert 0 <= p <= 1
    other, same = mann_whitney(b, a)
    assert other == len(a) * len(b) - u
    assert same == pytest.approx(p)


@given(numbers, numbers)
def test_mann_whitney_is_that_of_scipy(a: list[int], b: list[int]) -> None:
    if len({*a, *b}) == 1:
        return  # scipy divides by a variance of nothing
    theirs = mannwhitneyu(a, b, alternative="two-sided", method="auto")
    assert mann_whitney(a, b) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-12)


def test_wilson_interval() -> None:
    # z = 2 within rounding: (0.5 * 4 + 2) / 8 -+ 2 / 8 * sqrt(4 * 0.25 + 1), worked for level
    # 0.9545, where z is 2.
    low, high = wilson(2, 4, level=0.9544997361036416)
    assert low == pytest.approx(0.5 - 2 / 8 * math.sqrt(4 * 0.25 + 1))
    assert high == pytest.approx(0.5 + 2 / 8 * math.sqrt(4 * 0.25 + 1))


def test_wilson_at_the_edges() -> None:
    z2 = 1.959963984540054**2
    assert wilson(0, 10, 0.95) == pytest.approx((0, z2 / (10 + z2)))
    assert wilson(10, 10, 0.95) == pytest.approx((10 / (10 + z2), 1))
    assert all(map(math.isnan, wilson(0, 0, 0.95)))


@given(st.integers(1, 200), st.data())
def test_wilson_holds_the_share(total: int, data: st.DataObject) -> None:
    found = data.draw(st.integers(0, total))
    low, high = wilson(found, total, 0.95)
    assert 0 <= low <= found / total <= high <= 1
    # The ends solve |p - share| = z * sqrt(p (1 - p) / total).
    for end in (low, high):
        if 0 < end < 1:
            spread = 1.959963984540054 * math.sqrt(end * (1 - end) / total)
            assert abs(end - found / total) == pytest.approx(spread)
