"""Exact tests of paired numbers, against scipy and against every choice of signs."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rote.compare.exact_tests import sign_test, wilcoxon_exact


def every_sign(differences: list[float]) -> float:
    """The slow twin: each difference up or down, all ways."""
    kept = [d for d in differences if d]
    ranks = stats.rankdata([abs(d) for d in kept])
    total = sum(ranks)
    observed = abs(sum(r for r, d in zip(ranks, kept) if d > 0) - total / 2)
    choices = list(itertools.product((0, 1), repeat=len(kept)))
    found = (abs(sum(r * up for r, up in zip(ranks, ups)) - total / 2) for ups in choices)
    return sum(value >= observed - 1e-9 for value in found) / len(choices)


def test_five_of_five_up_is_one_in_sixteen() -> None:
    assert sign_test([1, 2, 3, 4, 5]) == pytest.approx(2 / 32)
    assert wilcoxon_exact([1, 2, 3, 4, 5]) == pytest.approx(2 / 32)
    assert sign_test([1, -1]) == 1.0
    assert sign_test([1, 1, 1, -2, 0]) == pytest.approx(2 * (1 + 4) / 16)


def test_wilcoxon_is_that_of_scipy_without_ties() -> None:
    differences = [0.3, -0.1, 0.7, 1.2, -0.5, 0.9, 2.0]
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert wilcoxon_exact(differences) == pytest.approx(expected)


@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=7))
def test_wilcoxon_is_exact_with_ties_and_zeros(differences: list[float]) -> None:
    found = wilcoxon_exact(differences)
    if not any(differences):
        assert math.isnan(found)
        assert math.isnan(sign_test(differences))
    else:
        assert found == pytest.approx(every_sign(differences))
        up, down = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
        assert sign_test(differences) == pytest.approx(stats.binomtest(up, up + down).pvalue)
