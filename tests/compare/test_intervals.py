"""Intervals: closed forms against their slow definition, half-samples against theory."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rote
from rote.compare.intervals import (
    ValueEstimate,
    change_level,
    deviation,
    difference_interval,
    draw_half_samples,
    interval_from_error,
    joint_units,
    mean_error,
    pair_mean_error,
    t_quantile,
    wilson,
)


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

    # 200 draws of a standard deviation: its own relative error is about 5 %.
    assert half_sample_error(reduce, np.arange(n)) == pytest.approx(mean_error(data), rel=0.2)


def half_sample_error(reduce: Any, take: Any, keys: Any = None, seed: int = 0) -> float:
    drawn = draw_half_samples(reduce, take, keyed(take if keys is None else keys), seed=seed)
    (column,) = drawn.values()
    return deviation(column)


def keyed(units: Any) -> Any:
    return np.asarray(units).astype(np.uint64)


def test_half_samples_do_not_depend_on_the_number_of_jobs() -> None:
    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"v": float(take.sum() + rng.random())}

    one, two, other = (
        draw_half_samples(reduce, np.arange(10), keyed(range(10)), seed=seed, jobs=jobs)["v"]
        for seed, jobs in ((3, 1), (3, 2), (4, 1))
    )
    assert one.tolist() == two.tolist() != other.tolist()


def test_halves_at_once_are_halves_one_by_one() -> None:
    data = np.random.default_rng(1).normal(size=21)

    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"largest": float(data[take].max())}

    def many(takes):  # type: ignore[no-untyped-def]
        return {"largest": np.array([data[take].max() for take in takes])}

    how: dict[str, Any] = {"take": np.arange(21), "keys": keyed(range(21)), "seed": 3}
    one = draw_half_samples(reduce, **how)["largest"].tolist()
    assert draw_half_samples(reduce, **how, many=many, jobs=2)["largest"].tolist() == one


@pytest.mark.parametrize("together", [False, True])
def test_a_half_holds_half_of_the_texts_or_clusters_whole_and_in_order(together: bool) -> None:
    take = np.random.default_rng(2).permutation(40)[:21]
    clusters = take // 3 if together else take
    found: list[tuple[int, ...]] = []

    def reduce(half, rng):  # type: ignore[no-untyped-def]
        found.append(tuple(half.tolist()))
        kinds = {clusters[take == text].item() for text in half}
        assert len(kinds) == len(set(clusters)) // 2
        assert half.tolist() == sorted(text for text, kind in zip(take, clusters) if kind in kinds)
        return {"v": 1.0}

    draw_half_samples(reduce, take, keyed(clusters), seed=0)
    assert len(set(found)) > 30


def test_every_half_is_as_likely() -> None:
    counts: dict[tuple[int, ...], int] = {}

    def reduce(half, rng):  # type: ignore[no-untyped-def]
        counts[tuple(half.tolist())] = counts.get(tuple(half.tolist()), 0) + 1
        return {"v": 1.0}

    for seed in range(50):
        draw_half_samples(reduce, np.arange(6), keyed(range(6)), seed=seed)
    assert len(counts) == 20
    # 10,000 draws, 500 of each half expected, with a standard deviation of 22.
    assert all(400 < count < 600 for count in counts.values())


def test_halves_of_sources_that_share_keys_go_together() -> None:
    # Texts 0 to 39 and 40 to 79 answer the same 40 prompts, which differ much.
    rng = np.random.default_rng(5)
    prompts = rng.normal(scale=10, size=40)
    data = np.concatenate((prompts, prompts + 1 + 0.1 * rng.normal(size=40)))

    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"mean": float(data[take].mean())}

    def drawn(take: Any, keys: Any) -> Any:
        return draw_half_samples(reduce, take, keyed(keys), seed=1)["mean"]

    one, other = drawn(np.arange(40), range(40)), drawn(np.arange(40, 80), range(40))
    error = deviation(other - one)
    assert error == pytest.approx(mean_error(data[40:] - data[:40]), rel=0.2)
    alone = drawn(np.arange(40, 80), range(40, 80))
    unpaired = math.hypot(mean_error(data[:40]), mean_error(data[40:]))
    assert deviation(alone - one) == pytest.approx(unpaired, rel=0.25)


@pytest.mark.parametrize("units", [2, 3, 5, 10, 30, 400])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_interval_reaches_students_t(units: int, level: float) -> None:
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(level, units) == pytest.approx(stats.t.ppf((1 + level) / 2, units - 1))
    found = interval_from_error(1.0, 0.1, level, units)
    assert found == pytest.approx(stats.t.interval(level, units - 1, loc=1.0, scale=0.1))


def test_the_interval_of_many_units_reaches_1_96_errors() -> None:
    low, high = interval_from_error(1.0, 0.1, 0.95, math.inf)
    assert (low, high) == pytest.approx((1 - 0.195996, 1 + 0.195996), abs=1e-5)
    assert all(map(math.isnan, interval_from_error(1.0, 0.1, 0.95, 1)))


@pytest.mark.parametrize("texts", [5, 10, 30])
@pytest.mark.parametrize("share", [False, True])
def test_intervals_of_few_texts_hold_what_they_promise(texts: int, share: bool) -> None:
    """1.96 standard errors held 88 % with 5 texts, 92 with 10, 94 with 30."""
    rng, held = np.random.default_rng(9), 0
    for _ in range(1_500):
        column = rng.normal(0.5, 0.05, texts)
        value, error = float(column.mean()), mean_error(column)
        low, high = interval_from_error(value, error, 0.95, texts, share=share)
        held += low <= 0.5 <= high
    # 1,500 samples: a standard error of 0.6 points.
    assert 0.93 <= held / 1_500 <= 0.97


@pytest.mark.parametrize("sizes", [(5, 5), (5, 40), (40, 40)])
@pytest.mark.parametrize("paired", [False, True])
def test_intervals_of_differences_hold_what_they_promise(
    sizes: tuple[int, int], paired: bool
) -> None:
    rng, held = np.random.default_rng(10), 0
    if paired and sizes[0] != sizes[1]:
        return
    for _ in range(700):
        one, other = (rng.normal(0, 1, n) for n in sizes)
        if paired:
            prompts = rng.normal(0, 5, sizes[0])
            one, other = one + prompts, other + prompts
            low, high = interval_from_error(
                float((one - other).mean()), mean_error(one - other), 0.95, sizes[0]
            )
        else:
            values = float(one.mean()), float(other.mean())
            first, second = (
                ValueEstimate(v, interval_from_error(v, mean_error(x), 0.95, len(x)), len(x))
                for v, x in zip(values, (one, other))
            )
            low, high = difference_interval(first, second, 0.95, paired=False)
        held += low <= 0 <= high
    assert 0.925 <= held / 700 <= 0.975


def test_the_interval_of_a_difference_is_welchs_of_means_and_newcombes_of_shares() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    one, other = rng.normal(2, 3, 9), rng.normal(0, 1, 25)
    values = float(one.mean()), float(other.mean())
    own, theirs = (
        ValueEstimate(v, interval_from_error(v, mean_error(x), 0.9, len(x)), len(x))
        for v, x in zip(values, (one, other))
    )
    welch = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.9)
    found = difference_interval(own, theirs, 0.9, paired=False)
    assert found == pytest.approx((welch.low, welch.high))
    # Newcombe (1998), method 10, example (a): 56 of 70 and 48 of 80.
    halves = rng.multivariate_normal([0.8, 0.6], [[1, 0.6], [0.6, 1]], 200).T
    own = ValueEstimate(0.8, wilson(56, 70, 0.95), 70, halves[0], counted=True)
    theirs = ValueEstimate(0.6, wilson(48, 80, 0.95), 80, halves[1], counted=True)
    found = difference_interval(own, theirs, 0.95, paired=False)
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)
    # Of shares that go together, as those of paired texts do, less is left to chance.
    narrow = difference_interval(own, theirs, 0.95, paired=True)
    assert found[0] < narrow[0] < 0.2 < narrow[1] < found[1]


def test_units_of_a_sum_are_those_of_what_varies() -> None:
    assert joint_units([1.0, 1.0], [10, 10]) == 19
    assert joint_units([1.0, 1e-9], [10, 90]) == pytest.approx(10)
    assert joint_units([0.0, 0.0], [10, 90]) == 10
    assert joint_units([1.0, 1.0], [math.inf, math.inf]) == math.inf
    assert joint_units([1.0, 1.0], [1, 90]) == 1


@pytest.mark.parametrize("holding", [0.01, 0.15, 3.0])
@pytest.mark.parametrize("alike", [1e9, 1.0])
def test_intervals_of_rates_hold_what_few_texts_have(holding: float, alike: float) -> None:
    # So many occurrences in a text on average, by themselves or (alike = 1) in bursts.
    rng, texts, held = np.random.default_rng(8), 30, []
    for _ in range(600):
        words = rng.integers(200, 600, texts)
        rates = holding / 400 * rng.gamma(alike, 1 / alike, texts)
        column = 1000 * rng.poisson(rates * words) / words
        value, error, unit = float(column.mean()), mean_error(column), 1000 / words.sum()
        ends = [interval_from_error(value, error, 0.95, texts, unit=one) for one in (unit, 0.0)]
        held.append([low <= holding / 0.4 <= high for low, high in ends])
        assert 0 <= ends[0][0] <= value <= ends[0][1]
    by_score, by_error = np.mean(held, axis=0)
    assert 0.93 <= by_score <= 0.99
    if holding <= 0.05:
        assert by_error < 0.8


def test_no_level_gives_no_interval() -> None:
    assert all(map(math.isnan, interval_from_error(0.5, 0.1, 0, 9)))
    assert all(map(math.isnan, interval_from_error(0.5, 0.1, 0, 9, share=True)))
    assert all(map(math.isnan, interval_from_error(0.5, math.nan, 0.9, 9, share=True)))
    assert all(map(math.isnan, wilson(3, 9, 0)))


@given(
    st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1 - 1e-6)),
    st.one_of(st.just(0.0), st.floats(1e-6, 2)),
    st.floats(0.5, 0.999),
    st.integers(2, 500),
)
@example(1e-06, 0.6207279443426408, 0.968704927635506, 5)
def test_a_share_and_its_interval_stay_between_0_and_1(
    share: float, error: float, level: float, texts: int
) -> None:
    low, high = interval_from_error(share, error, level, texts, share=True)
    # Without any spread the ends are the share itself.
    assert 0 <= low <= share <= high <= 1
    if share in (0, 1):
        assert high - low > 0


@given(st.integers(0, 60), st.integers(1, 60), st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_an_interval_of_another_level_is_the_one_that_would_have_been_made(
    found: int, more: int, was: float, level: float
) -> None:
    for right in (found, more):
        total = found + more
        for units in (math.inf, 12):
            made = wilson(right, total, was, units)
            ends = change_level(right / total, made, was, level, units, share=True)
            assert ends == pytest.approx(wilson(right, total, level, units), abs=1e-6)
    normal = change_level(3.0, interval_from_error(3.0, 0.2, was, 7), was, level, 7)
    assert normal == pytest.approx(interval_from_error(3.0, 0.2, level, 7))


def test_an_interval_of_another_level_stays_lop_sided_and_a_share_within_its_bounds() -> None:
    low, high = change_level(2.0, (1.0, 4.0), 0.5, 0.9, 9)
    assert (high - 2) / (2 - low) == pytest.approx(2)
    assert change_level(0.7, (0.4, 1.0), 0.5, 0.99, 9, share=True) == (0, 1)


def test_a_share_of_independent_texts_is_wilsons() -> None:
    column = np.repeat([1.0, 0.0], [37, 3])
    error = math.sqrt(37 / 40 * 3 / 40 / 40)
    found = interval_from_error(37 / 40, error, 0.95, math.inf, share=True)
    assert found == pytest.approx(wilson(37, 40, 0.95))
    # The jackknife divides by one less: as 39 texts; and its error is an estimate: Student's t.
    found = interval_from_error(37 / 40, mean_error(column), 0.95, 40, share=True)
    assert found == pytest.approx(wilson(39 * 37 / 40, 39, 0.95, 40))
    assert interval_from_error(1.0, 0.0, 0.95, 40, share=True) == wilson(40, 40, 0.95)


@pytest.mark.parametrize(
    ("share", "concentration", "least"),
    [
        # Of yes and no; 1.96 standard errors on both sides hold 83 % of the first.
        *((0.97, None, 0.94), (0.9, None, 0.94), (0.5, None, 0.94)),
        # Of texts with a share each: the more they differ, the less 60 of them show of it.
        *((0.95, 20.0, 0.92), (0.4, 4.0, 0.92), (0.98, 4.0, 0.88)),
    ],
)
def test_intervals_of_shares_cover_near_the_ceiling_too(
    share: float, concentration: float | None, least: float
) -> None:
    rng, texts, samples = np.random.default_rng(5), 60, 600
    covered = []
    for _ in range(samples):
        if concentration is None:
            column = (rng.random(texts) < share).astype(float)
        else:
            column = rng.beta(share * concentration, (1 - share) * concentration, texts)
        value, error = float(column.mean()), mean_error(column)
        low, high = interval_from_error(value, error, 0.95, texts, share=True)
        covered.append(low <= share <= high)
    # 600 samples: a standard error of 0.9 points.
    assert least <= np.mean(covered) <= 0.985


def test_texts_that_answer_one_prompt_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    # Prompts differ more than their answers: what texts say is what prompts say, thrice.
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", 60)  # an error varies by 9 %
    rng = np.random.default_rng(3)
    prompts = np.repeat(np.arange(40), 3)
    errors, alone, means = [], [], []
    for seed in range(40):
        values = rng.normal(size=40)[prompts] + 0.3 * rng.normal(size=120)
        order = rng.permutation(120)

        def reduce(take: Any, _: Any, values: Any = values) -> dict[str, float]:
            return {"mean": float(values[take].mean())}

        errors.append(half_sample_error(reduce, order, prompts[order], seed))
        alone.append(half_sample_error(reduce, order, order, seed))
        means.append(values.mean())
    true = math.sqrt((1 + 0.09 / 3) / 40)
    assert np.mean(errors) == pytest.approx(true, rel=0.05)
    assert np.mean(alone) < 0.65 * true
    assert np.std(means) == pytest.approx(true, rel=0.3)


def test_a_source_with_several_texts_of_a_prompt_has_intervals_over_prompts() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {"text": " ".join(f"w{n}" for n in rng.integers(0, 9 + prompt, 60)), "doc_id": str(prompt)}
        for prompt in range(24)
    ]
    twice = [
        rote.Document(f"{n} {k}", row["text"], row) for n, row in enumerate(rows) for k in "ab"
    ]
    once = [document for document in twice if document.id.endswith("a")]
    single = [rote.Document(document.id, document.text, {}) for document in twice]

    def width(texts: list[rote.Document]) -> float:
        (source,) = rote.lexical(texts, matched=False).by_source.values()
        low, high = source.intervals["mtld"]
        return high - low

    # The second copy of every text adds nothing.
    assert width(twice) == pytest.approx(width(once), rel=0.15)
    assert width(single) == pytest.approx(width(once) / math.sqrt(2), rel=0.05)
    found = rote.lexical(twice, matched=False).interval
    assert found is not None
    assert "drawn as whole doc_ids where a source has several texts of one" in found.method
