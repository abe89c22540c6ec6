"""Association and dispersion: values worked out by hand, and scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from rote.search.rows.collocates import (
    collocation,
    deviation,
    juilland,
    likelihood_p,
    log_likelihood,
    log_ratio,
)


@pytest.mark.parametrize("table", [(10, 3, 100, 90), (0, 7, 50, 60), (5, 5, 40, 40), (1, 9, 10, 9)])
def test_log_likelihood_is_scipys(table: tuple[int, int, int, int]) -> None:
    a, b, c, d = table
    cells = [[a, c - a], [b, d - b]]
    expected = chi2_contingency(cells, correction=False, lambda_="log-likelihood")
    found = float(log_likelihood(a, b, c, d))
    assert abs(found) == pytest.approx(expected.statistic)
    assert (found < 0) == (a / c < b / d)
    assert float(likelihood_p(found)) == pytest.approx(float(chi2.sf(abs(found), 1)))
    assert float(likelihood_p(found)) == pytest.approx(expected.pvalue)


def test_log_ratio_by_hand() -> None:
    assert float(log_ratio(8, 2, 100, 100)) == pytest.approx(2)
    assert float(log_ratio(4, 0, 100, 100)) == pytest.approx(3)  # 4 against a half
    assert float(log_ratio(0, 0, 100, 200)) == pytest.approx(1)
    assert np.isnan(log_ratio(3, 0, 100, 0))


def test_dispersion_by_hand() -> None:
    # Gries (2008): five parts of 9, 10, 10, 10 and 11 words of 50; the word 1, 2, 3, 4, 5 times.
    sizes, counts = [9, 10, 10, 10, 11], [1, 2, 3, 4, 5]
    shares = [abs(c / 15 - s / 50) for c, s in zip(counts, sizes)]
    assert deviation(counts, sizes) == pytest.approx(sum(shares) / 2)
    assert deviation([2, 2, 2], [5, 5, 5]) == 0
    assert deviation([3, 0, 0], [5, 5, 5]) == pytest.approx(2 / 3)
    assert math.isnan(deviation([0, 0], [5, 5]))
    # D of 1, 2, 3 in equal parts: mean 2, sd sqrt(2/3), V = sd / 2, D = 1 - V / sqrt 2.
    assert juilland([1, 2, 3], [10, 10, 10]) == pytest.approx(
        1 - math.sqrt(2 / 3) / 2 / math.sqrt(2)
    )
    assert juilland([4, 4], [7, 7]) == 1
    assert juilland([9, 0, 0], [5, 5, 5]) == pytest.approx(0)
    assert math.isnan(juilland([1], [5]))


def test_collocation_by_hand() -> None:
    found = collocation(8, 100, 40, 10_000)
    assert found["expected"] == pytest.approx(0.4)
    assert found["pmi"] == pytest.approx(math.log2(20))
    assert found["t"] == pytest.approx(7.6 / math.sqrt(8))
    assert found["log_dice"] == pytest.approx(14 + math.log2(16 / 140))
    cells = np.array([[8, 92], [32, 9_868]])
    expected = chi2_contingency(cells, correction=False, lambda_="log-likelihood").statistic
    assert found["g2"] == pytest.approx(expected)
