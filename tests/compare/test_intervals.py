"""Intervals: closed forms against their slow definition, half-samples against theory."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.compare.intervals import around, half_sample_errors, mean_error, pair_mean_error


def slow_jackknife(values: list[float], statistic) -> float:  # type: ignore[no-untyped-def]
    """Leave each text out in turn: sqrt((n-1)/n * sum of squared deviations)."""
    n = len(values)
    without = [statistic(values[:i] + values[i + 1 :]) for i in range(n)]
    mean = sum(without) / n
    return math.sqrt((n - 1) / n * sum((w - mean) ** 2 for w in without))


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=12))
def test_the_error_of_a_mean_is_its_jackknife(values: list[float]) -> None:
    expected = slow_jackknife(values, lambda v: sum(v) / len(v))
    assert mean_error(np.array(values)) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.floats(-10, 10), min_size=3, max_size=9))
def test_the_error_of_a_pair_mean_is_its_jackknife(values: list[float]) -> None:
    def pair_mean(v: list[float]) -> float:
        pairs = list(itertools.combinations(v, 2))
        return sum(abs(a - b) for a, b in pairs) / len(pairs)

    matrix = np.abs(np.subtract.outer(values, values))
    expected = slow_jackknife(values, pair_mean)
    assert pair_mean_error(matrix.sum(axis=1)) == pytest.approx(expected, abs=1e-9)


def test_undefined_texts_are_left_out_of_a_mean() -> None:
    assert mean_error(np.array([1.0, math.nan, 3.0])) == pytest.approx(1.0)  # sd sqrt(2) / sqrt(2)
    assert math.isnan(mean_error(np.array([1.0, math.nan])))
    assert math.isnan(pair_mean_error(np.array([1.0, 1.0])))


@pytest.mark.parametrize("n", [40, 41])
def test_half_samples_of_a_mean_agree_with_the_formula(n: int) -> None:
    data = np.random.default_rng(1).normal(size=n)

    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"mean": float(data[take].mean())}

    errors = half_sample_errors(reduce, np.arange(n), seed=0, purpose="p")
    # 200 draws of a standard deviation: its own relative error is about 5 %.
    assert errors["mean"] == pytest.approx(mean_error(data), rel=0.2)


def test_half_samples_do_not_depend_on_the_number_of_jobs() -> None:
    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"v": float(take.sum() + rng.random())}

    one = half_sample_errors(reduce, np.arange(10), seed=3, purpose="p", jobs=1)
    two = half_sample_errors(reduce, np.arange(10), seed=3, purpose="p", jobs=2)
    other = half_sample_errors(reduce, np.arange(10), seed=4, purpose="p")
    assert one == two != other


def test_one_text_has_no_half() -> None:
    assert half_sample_errors(lambda take, rng: {"v": 1.0}, np.arange(1), seed=0, purpose="p") == {}


def test_the_interval_reaches_1_96_errors() -> None:
    low, high = around(1.0, 0.1, 0.95)
    assert (low, high) == pytest.approx((1 - 0.195996, 1 + 0.195996), abs=1e-5)
