"""Krippendorff's alpha against the package krippendorff, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rote.studies.judge_agreement import LEVELS, Level, alpha, alpha_interval


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
    said = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
            [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
        ]
    )
    found = [round(alpha(said, level), 3) for level in LEVELS]
    assert found == [0.743, 0.815, 0.849]


def test_nothing_to_tell_apart_is_undefined() -> None:
    assert math.isnan(alpha(np.ones((2, 5)), "nominal"))
    assert math.isnan(alpha(np.array([[1.0, math.nan], [math.nan, 2.0]]), "interval"))


@pytest.mark.parametrize("level", LEVELS)
def test_the_interval_leaves_out_one_document_at_a_time(level: Level) -> None:
    krippendorff, stats = (pytest.importorskip(name) for name in ("krippendorff", "scipy.stats"))
    random = np.random.default_rng(4)
    documents = random.permutation(np.repeat(np.arange(12), 4))
    said = (random.integers(0, 5, 48) + random.integers(0, 2, (3, 48))) / 6
    said[random.random(said.shape) < 0.2] = np.nan
    found = krippendorff.alpha(said, level_of_measurement=level)
    without = np.array(
        [
            krippendorff.alpha(said[:, documents != one], level_of_measurement=level)
            for one in range(12)
        ]
    )
    error = np.sqrt(11 / 12 * ((without - without.mean()) ** 2).sum())
    low, high = found + np.array([-1, 1]) * stats.t.ppf(0.95, 11) * error
    assert alpha_interval(said, level, 0.9, documents) == pytest.approx((low, min(high, 1)))


@pytest.mark.parametrize("documents", [30, 8])
def test_the_interval_covers_what_it_estimates(documents: int) -> None:
    """Judges who agree to a known degree, on four summaries of each document that are much alike:
    of 100 samples about 95 % of the intervals hold the alpha of a sample so large that it is as
    good as the truth. Over summaries 68 and 60 % of 40 hold it."""
    random = np.random.default_rng(0)

    def draw(documents: int) -> tuple[np.ndarray, np.ndarray]:
        numbers = np.repeat(np.arange(documents), 4)
        # Both what is to be seen and what a judge sees in it are of the document.
        truth = random.normal(size=documents)[numbers] + random.normal(scale=0.3, size=len(numbers))
        view = random.normal(scale=0.8, size=(3, documents))[:, numbers]
        return np.round(4 * (truth + view)) / 4, numbers

    truth = alpha(draw(20_000)[0], "interval")
    samples, held, alone = [draw(documents) for _ in range(100)], 0, 0
    for said, numbers in samples:
        low, high = alpha_interval(said, "interval", 0.95, numbers)
        held += low <= truth <= high
    for said, numbers in samples[:40]:
        low, high = alpha_interval(said, "interval", 0.95, np.arange(len(numbers)))
        alone += low <= truth <= high
    assert 0.88 <= held / 100 <= 1
    assert alone / 40 < 0.8
