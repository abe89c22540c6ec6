"""The mixed model: analysis of variance by hand where designs are balanced, statsmodels elsewhere,
and intervals that hold what they should."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rote.compare.mixed import MixedModel, NoFit

PROMPTS, LEVELS = 7, 4


def design_of(sources: Any, numbers: Any) -> Any:
    """An intercept and a slope for each source."""
    which = (np.array(sources)[:, None] == np.unique(sources)).astype(float)
    return np.column_stack((which, which * np.array(numbers, float)[:, None]))


def unbalanced() -> tuple[Any, list[int], list[float], list[int], list[int]]:
    """Numbers that any machine makes alike: 3 sources, 3 levels, 11 prompts and 5 raters, with
    gaps."""
    rows = [
        (source, level, prompt, (source + 2 * level + 3 * prompt) % 5)
        for source in range(3)
        for level in range(3)
        for prompt in range(11)
        if (source + 3 * level + prompt * prompt) % 7
    ]
    values = [
        2
        + s
        + 0.4 * x
        + 0.3 * s * x
        + 1.3 * math.sin(9 * p)
        + 0.8 * math.cos(5 * a)
        + 0.7 * math.sin(31 * s + 17 * x + 7 * p + 0.5)
        for s, x, p, a in rows
    ]
    sources, levels, prompts, raters = (list(column) for column in zip(*rows))
    return np.array(values), sources, [float(x) for x in levels], prompts, raters


@pytest.fixture(scope="module")
def blocks() -> Any:
    """Prompts by levels, one number each."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(PROMPTS, 1)) + 0.7 * rng.normal(size=(PROMPTS, LEVELS)) + np.arange(4)


def flat(grid: Any) -> tuple[Any, Any, list[int]]:
    """Values, levels as columns of a design, prompts."""
    prompts, levels = (number.ravel() for number in np.indices(grid.shape))
    return grid.ravel(), np.eye(grid.shape[1])[levels], prompts.tolist()


def test_blocks_without_gaps_have_the_numbers_of_an_analysis_of_variance(blocks: Any) -> None:
    values, design, prompts = flat(blocks)
    model = MixedModel(values, design, {"prompt": prompts})
    rest = blocks - blocks.mean(axis=0) - blocks.mean(axis=1, keepdims=True) + blocks.mean()
    freedom = (PROMPTS - 1) * (LEVELS - 1)
    error = (rest**2).sum() / freedom
    between = LEVELS * blocks.mean(axis=1).var(ddof=1)
    assert model.residual**2 == pytest.approx(error, rel=1e-5)
    assert model.deviations["prompt"] ** 2 == pytest.approx((between - error) / LEVELS, rel=1e-5)
    change = model.contrast(np.array([-1.0, 0, 0, 1]))
    assert change.estimate == pytest.approx((blocks[:, 3] - blocks[:, 0]).mean())
    assert change.error == pytest.approx(math.sqrt(2 * error / PROMPTS), rel=1e-5)
    assert change.freedom == pytest.approx(freedom, rel=1e-3)
    joint = model.joint(np.array([[-1.0, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]]))
    by_level = PROMPTS * blocks.mean(axis=0).var(ddof=1)
    assert joint.f == pytest.approx(by_level / error, rel=1e-5)
    assert joint.freedom == (3, pytest.approx(freedom, rel=1e-3))


def test_two_levels_are_a_paired_t_test() -> None:
    from scipy.stats import ttest_rel

    pairs = np.random.default_rng(8).normal(size=(12, 1)) + np.random.default_rng(9).normal(
        0, 0.5, (12, 2)
    )
    values, design, prompts = flat(pairs)
    found = MixedModel(values, design, {"prompt": prompts}).contrast(np.array([-1.0, 1]))
    by_hand = ttest_rel(pairs[:, 1], pairs[:, 0])
    assert found.p == pytest.approx(by_hand.pvalue, rel=1e-3)
    assert found.interval(0.95) == pytest.approx(tuple(by_hand.confidence_interval()), rel=1e-3)


def test_crossed_effects_have_the_variances_of_an_analysis_of_variance(blocks: Any) -> None:
    # Prompts and raters cross, every rater rates every prompt once; the mean is all that is fixed.
    ratings = blocks - np.arange(LEVELS) + 1.5 * np.array([0.3, -1, 0.2, 0.9])
    prompts, raters = (number.ravel().tolist() for number in np.indices(ratings.shape))
    model = MixedModel(
        ratings.ravel(), np.ones((ratings.size, 1)), {"prompt": prompts, "rater": raters}
    )
    rest = ratings - ratings.mean(axis=0) - ratings.mean(axis=1, keepdims=True) + ratings.mean()
    error = (rest**2).sum() / ((PROMPTS - 1) * (LEVELS - 1))
    assert model.residual**2 == pytest.approx(error, rel=1e-4)
    of_prompts = ratings.mean(axis=1).var(ddof=1) - error / LEVELS
    of_raters = ratings.mean(axis=0).var(ddof=1) - error / PROMPTS
    assert model.deviations["prompt"] ** 2 == pytest.approx(of_prompts, rel=1e-4)
    assert model.deviations["rater"] ** 2 == pytest.approx(of_raters, rel=1e-4)


def test_an_effect_that_is_not_there_is_0_and_leaves_least_squares() -> None:
    # Prompts that are more alike than chance would have them.
    grid = np.array([[0.0, 3, 1], [3, 0, 1.5], [1, 1, 1.8], [2, 1.9, 0]])
    values, design, prompts = flat(grid)
    model = MixedModel(values, design, {"prompt": prompts})
    assert model.deviations["prompt"] == 0
    change = model.contrast(np.array([-1.0, 1, 0]))
    pooled = grid.var(axis=0, ddof=1).mean()
    assert change.error == pytest.approx(math.sqrt(2 * pooled / 4), rel=1e-6)
    assert change.freedom == pytest.approx(9, rel=1e-3)


# What statsmodels 0.15.0's MixedLM finds for `unbalanced`: fixed effects, their errors, deviations
# of prompts (and raters), of residuals.
OF_PROMPTS = (
    [2.0960151, 3.1280808, 4.0136061, 0.4466867, 0.5608246, 1.0617813],
    [0.3877783, 0.3694292, 0.3719354, 0.2047733, 0.1869124, 0.1765535],
    [0.9618652],
    0.8281091,
)
OF_BOTH = (
    [2.1864203, 3.1215889, 4.0580549, 0.2455303, 0.6014809, 1.0200446],
    [0.4374961, 0.4304893, 0.4314611, 0.1359386, 0.1225097, 0.1153103],
    [0.9040764, 0.6658797],
    0.5393336,
)


@pytest.mark.parametrize(("crossed", "theirs"), [(False, OF_PROMPTS), (True, OF_BOTH)])
def test_gaps_and_crossed_effects_are_those_of_statsmodels(
    crossed: bool, theirs: tuple[Any, ...]
) -> None:
    values, sources, numbers, prompts, raters = unbalanced()
    random = {"prompt": prompts, **({"rater": raters} if crossed else {})}
    model = MixedModel(values, design_of(sources, numbers), random)
    effects, errors, deviations, residual = theirs
    assert model.effects == pytest.approx(effects, rel=1e-4, abs=1e-5)
    assert np.sqrt(np.diag(model.covariance)) == pytest.approx(errors, rel=2e-3)
    # The covariance once more, as the textbook has it: (X' V^-1 X)^-1.
    shared = [(np.array(own)[:, None] == np.array(own)) for own in random.values()]
    whole = model.residual**2 * np.eye(len(values))
    whole += sum(sd**2 * own for sd, own in zip(model.deviations.values(), shared))
    design = design_of(sources, numbers)
    inverse = np.linalg.inv(design.T @ np.linalg.solve(whole, design))
    assert model.covariance == pytest.approx(inverse, rel=1e-8, abs=1e-10)
    assert list(model.deviations.values()) == pytest.approx(deviations, rel=2e-3)
    assert model.residual == pytest.approx(residual, rel=1e-3)


def test_the_numbers_of_statsmodels_are_its_own() -> None:
    api = pytest.importorskip("statsmodels.api")
    values, sources, numbers, prompts, _ = unbalanced()
    found = api.MixedLM(values, design_of(sources, numbers), groups=np.array(prompts)).fit()
    assert found.fe_params == pytest.approx(OF_PROMPTS[0], rel=1e-5)
    assert found.bse_fe == pytest.approx(OF_PROMPTS[1], rel=1e-3)


def test_intervals_are_those_of_prompts_and_hold_what_is_true() -> None:
    """Few prompts, which also answer differently from level to level. In so balanced a design the
    interval is Student's t for the differences of the prompts, which holds exactly what it says:
    normal quantiles would hold 93.5 %, and a model without that effect 88."""
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(11)
    prompts, levels, again = (n.ravel() for n in np.indices((8, 2, 3)))
    random = {
        "prompt": prompts.tolist(),
        "prompt:level": list(zip(prompts.tolist(), levels.tolist())),
    }
    design, times = np.eye(2)[levels], 30
    held = compared = 0
    for _ in range(times):
        values = 0.5 * levels + rng.normal(size=8)[prompts]
        values += 0.8 * rng.normal(size=(8, 2))[prompts, levels] + rng.normal(size=len(again))
        model = MixedModel(values, design, random)
        low, high = model.contrast(np.array([-1.0, 1])).interval(0.95)
        held += low <= 0.5 <= high
        if all(model.deviations.values()):  # else what is left is pooled
            means = values.reshape(8, 2, 3).mean(axis=2)
            exact = ttest_1samp(means[:, 1] - means[:, 0], 0).confidence_interval(0.95)
            assert (low, high) == pytest.approx(tuple(exact), rel=1e-3)
            compared += 1
    assert compared > times / 2
    assert held / times >= 0.86


def test_what_cannot_be_fitted_is_refused() -> None:
    values, sources, numbers, prompts, _ = unbalanced()
    design = design_of(sources, numbers)
    with pytest.raises(NoFit, match="prompt has a single level"):
        MixedModel(values, design, {"prompt": [1] * len(values)})
    with pytest.raises(NoFit, match="one level per text"):
        MixedModel(values, design, {"prompt": range(len(values))})
    with pytest.raises(NoFit, match="do not vary"):
        MixedModel(np.ones(len(values)), design, {"prompt": prompts})
    with pytest.raises(NoFit, match="too few texts"):
        MixedModel(values, np.column_stack((design, design[:, 0])), {"prompt": prompts})
    with pytest.raises(NoFit, match="no residual variance is left"):
        MixedModel(np.array(prompts) * 1.7, np.ones((len(values), 1)), {"prompt": prompts})


def test_a_search_that_does_not_end_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    values, sources, numbers, prompts, _ = unbalanced()

    noise = np.random.default_rng(1)
    monkeypatch.setattr(MixedModel, "_deviance", lambda self, ratios: noise.random())
    with pytest.raises(NoFit, match="did not converge"):
        MixedModel(values, design_of(sources, numbers), {"prompt": prompts})
