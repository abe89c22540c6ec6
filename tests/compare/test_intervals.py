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
    around,
    at_level,
    half_sample_errors,
    mean_error,
    pair_mean_error,
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


def test_halves_at_once_are_halves_one_by_one() -> None:
    data = np.random.default_rng(1).normal(size=21)

    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"largest": float(data[take].max())}

    def many(takes):  # type: ignore[no-untyped-def]
        return {"largest": np.array([data[take].max() for take in takes])}

    one = half_sample_errors(reduce, np.arange(21), seed=3, purpose="p")
    assert half_sample_errors(reduce, np.arange(21), seed=3, purpose="p", many=many, jobs=2) == one


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

    given = {"clusters": clusters} if together else {}
    half_sample_errors(reduce, take, seed=0, purpose="p", **given)
    assert len(set(found)) > 30


def test_one_text_has_no_half() -> None:
    assert half_sample_errors(lambda take, rng: {"v": 1.0}, np.arange(1), seed=0, purpose="p") == {}


def test_the_interval_reaches_1_96_errors() -> None:
    low, high = around(1.0, 0.1, 0.95)
    assert (low, high) == pytest.approx((1 - 0.195996, 1 + 0.195996), abs=1e-5)


@pytest.mark.parametrize("holding", [0.01, 0.05, 0.15, 0.5, 3.0])
@pytest.mark.parametrize("alike", [1e9, 1.0])
def test_intervals_of_rates_hold_what_few_texts_have(holding: float, alike: float) -> None:
    # So many occurrences in a text on average, by themselves or (alike = 1) in bursts.
    rng, texts, held = np.random.default_rng(8), 30, []
    for _ in range(2_000):
        words = rng.integers(200, 600, texts)
        rates = holding / 400 * rng.gamma(alike, 1 / alike, texts)
        column = 1000 * rng.poisson(rates * words) / words
        value, error, unit = float(column.mean()), mean_error(column), 1000 / words.sum()
        ends = [around(value, error, 0.95, unit=one) for one in (unit, 0.0)]
        held.append([low <= holding / 0.4 <= high for low, high in ends])
        assert 0 <= ends[0][0] <= value <= ends[0][1]
    by_score, by_error = np.mean(held, axis=0)
    assert 0.93 <= by_score <= 0.99
    if holding <= 0.05:
        assert by_error < 0.8


def test_no_level_gives_no_interval() -> None:
    assert all(map(math.isnan, around(0.5, 0.1, 0)))
    assert all(map(math.isnan, around(0.5, 0.1, 0, texts=9)))
    assert all(map(math.isnan, around(0.5, math.nan, 0.9, texts=9)))
    assert all(map(math.isnan, wilson(3, 9, 0)))


@given(
    st.one_of(st.sampled_from([0.0, 1.0]), st.floats(1e-6, 1 - 1e-6)),
    st.one_of(st.just(0.0), st.floats(1e-6, 2)),
    st.floats(0.5, 0.999),
    st.integers(1, 500),
)
@example(1e-06, 0.6207279443426408, 0.968704927635506, 5)
def test_a_share_and_its_interval_stay_between_0_and_1(
    share: float, error: float, level: float, texts: int
) -> None:
    low, high = around(share, error, level, texts=texts)
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
        ends = at_level(right / total, wilson(right, total, was), was, level, share=True)
        assert ends == pytest.approx(wilson(right, total, level), abs=1e-6)
    normal = at_level(3.0, around(3.0, 0.2, was), was, level)
    assert normal == pytest.approx(around(3.0, 0.2, level))


def test_an_interval_of_another_level_stays_lop_sided_and_a_share_within_its_bounds() -> None:
    low, high = at_level(2.0, (1.0, 4.0), 0.5, 0.9)
    assert (high - 2) / (2 - low) == pytest.approx(2)
    assert at_level(0.7, (0.4, 1.0), 0.5, 0.99, share=True) == (0, 1)


def test_a_share_of_independent_texts_is_wilsons() -> None:
    column = np.repeat([1.0, 0.0], [37, 3])
    error = math.sqrt(37 / 40 * 3 / 40 / 40)
    assert around(37 / 40, error, 0.95, texts=40) == pytest.approx(wilson(37, 40, 0.95))
    # The jackknife divides by one less: as 39 texts.
    found = around(37 / 40, mean_error(column), 0.95, texts=40)
    assert found == pytest.approx(wilson(39 * 37 / 40, 39, 0.95))
    assert around(1.0, 0.0, 0.95, texts=40) == wilson(40, 40, 0.95)


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
    rng, texts, samples = np.random.default_rng(5), 60, 2_000
    covered = []
    for _ in range(samples):
        if concentration is None:
            column = (rng.random(texts) < share).astype(float)
        else:
            column = rng.beta(share * concentration, (1 - share) * concentration, texts)
        low, high = around(float(column.mean()), mean_error(column), 0.95, texts=texts)
        covered.append(low <= share <= high)
    # 2,000 samples: a standard error of half a point.
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
        how: dict[str, Any] = {"seed": seed, "purpose": "x"}

        def reduce(take: Any, _: Any, values: Any = values) -> dict[str, float]:
            return {"mean": float(values[take].mean())}

        errors.append(half_sample_errors(reduce, order, **how, clusters=prompts[order])["mean"])
        alone.append(half_sample_errors(reduce, order, **how)["mean"])
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
        (source,) = rote.lexical(texts, matched=False).sources.values()
        low, high = source.intervals["mtld"]
        return high - low

    # The second copy of every text adds nothing.
    assert width(twice) == pytest.approx(width(once), rel=0.15)
    assert width(single) == pytest.approx(width(once) / math.sqrt(2), rel=0.05)
    found = rote.lexical(twice, matched=False).interval
    assert found is not None
    assert "of whole doc_ids where a source has several texts of one" in found.method
