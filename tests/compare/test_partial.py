"""Spearman's partial correlation: its value, what each item adds to it, and its level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from rote.compare.correlation import partial_estimate


def residuals(x: np.ndarray, given: list[np.ndarray]) -> np.ndarray:
    """What a regression of the ranks of x on those of the others leaves."""
    design = np.column_stack([np.ones(len(x)), *map(rankdata, given)])
    ranks = rankdata(x)
    return ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]


def slow(x: np.ndarray, y: np.ndarray, given: list[np.ndarray]) -> float:
    return float(np.corrcoef(residuals(x, given), residuals(y, given))[0, 1])


@pytest.mark.parametrize("controls", [1, 3])
@pytest.mark.parametrize("ties", [False, True])
def test_it_is_the_correlation_of_residuals_and_its_error_the_jackknifes(
    controls: int, ties: bool
) -> None:
    rng = np.random.default_rng(3)
    given = [rng.normal(size=80) for _ in range(controls)]
    x = given[0] + rng.normal(size=80)
    y = x + given[0] + rng.normal(size=80)
    if ties:
        x, y = np.round(x), np.round(y)
    found = partial_estimate(x, y, given, np.arange(80))
    assert found.value == pytest.approx(slow(x, y, given))
    every = np.arange(80)
    left_out = np.array([slow(x[m], y[m], [g[m] for g in given]) for m in every != every[:, None]])
    jackknife = math.sqrt(79 / 80 * float(((left_out - left_out.mean()) ** 2).sum()))
    assert found.error == pytest.approx(jackknife, rel=0.1)
    tiled = [np.tile(g, 2) for g in given]
    twice = partial_estimate(np.tile(x, 2), np.tile(y, 2), tiled, np.tile(every, 2))
    assert twice.value == pytest.approx(found.value)
    assert twice.error == pytest.approx(found.error, rel=0.05)


def test_what_is_not_defined_takes_no_part_and_what_follows_from_others_has_no_value() -> None:
    rng = np.random.default_rng(4)
    x, y, z = rng.normal(size=(3, 30))
    whole = partial_estimate(x[:29], y[:29], [z[:29]], np.arange(29))
    lacking = np.append(x[:29], np.nan)
    assert partial_estimate(lacking, y, [z], np.arange(30)).value == pytest.approx(whole.value)
    assert math.isnan(partial_estimate(x, y, [x], np.arange(30)).value)
    assert math.isnan(partial_estimate(x, y, [np.ones(30)], np.arange(30)).value)
    assert math.isnan(partial_estimate(x[:3], y[:3], [z[:3]], np.arange(3)).value)


@pytest.mark.parametrize("twins", [1, 2])
def test_its_interval_holds_0_at_the_level_where_the_controls_explain_all(twins: int) -> None:
    rng, runs, held = np.random.default_rng(5), 200, 0
    clusters = np.repeat(np.arange(60), twins)

    def drawn() -> np.ndarray:
        return rng.normal(size=60)[clusters] + 0.5 * rng.normal(size=60 * twins)

    for _ in range(runs):
        given = [drawn() for _ in range(2)]
        x, y = given[0] + given[1] + drawn(), given[0] + drawn()
        low, high = partial_estimate(x, y, given, clusters).interval(0.95)
        held += low <= 0 <= high
    assert 0.9 <= held / runs <= 0.99
