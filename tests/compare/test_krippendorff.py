"""Krippendorff's alpha against the package krippendorff, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rote.compare.agreement import LEVELS, Level, alpha, alpha_interval


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_that_of_the_package(level: Level) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    random = np.random.default_rng(3)
    for judges, units, values, gaps in ((2, 12, 2, 0.0), (3, 30, 5, 0.3), (5, 80, 9, 0.6)):
        for _ in range(20):
            truth = random.integers(0, values, units)
            noise = random.integers(0, values, (judges, units))
            said = np.where(random.random((judges, units)) < 0.6, truth, noise).astype(float)
            said[random.random((judges, units)) < gaps] = np.nan
            expected = krippendorff.alpha(said, level_of_measurement=level)
            assert alpha(said, level) == pytest.approx(expected, abs=1e-12)


def test_alpha_of_a_published_example() -> None:
    """Krippendorff (2011), four observers, twelve units with gaps."""
    gap = math.nan
    said = np.array([
        [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap], [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
        [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap], [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
    ])  # fmt: skip
    found = [round(alpha(said, level), 3) for level in LEVELS]
    assert found == [0.743, 0.815, 0.849]


def test_nothing_to_tell_apart_is_undefined() -> None:
    assert math.isnan(alpha(np.ones((2, 5)), "nominal"))
    assert math.isnan(alpha(np.array([[1.0, math.nan], [math.nan, 2.0]]), "interval"))


def test_the_interval_covers_what_it_estimates() -> None:
    """Judges who agree to a known degree: of 200 samples about 95 % of the intervals hold the
    alpha of a sample so large that it is as good as the truth."""
    random = np.random.default_rng(0)

    def draw(units: int) -> np.ndarray:
        truth = random.normal(size=units)
        return np.round(truth + random.normal(scale=0.8, size=(3, units)))

    truth = alpha(draw(40_000), "interval")
    held = 0
    for _ in range(200):
        low, high = alpha_interval(draw(60), "interval", 0.95)
        held += low <= truth <= high
    assert 0.89 <= held / 200 <= 0.99
