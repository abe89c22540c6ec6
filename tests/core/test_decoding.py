"""The next token: against a slow version that draws from an explicit list of chances."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rote.core.decoding import choose, distribution, generator, log_softmax
from rote.core.errors import OptionError, RoteError
from rote.core.model import Decoding, Prompt

logits_drawn = st.lists(
    # Quarters, so that equal logits and equal sums are common.
    st.integers(-40, 40).map(lambda quarter: quarter / 4),
    min_size=1,
    max_size=12,
)


def chances(logits: list[float], decoding: Decoding) -> dict[int, float]:
    """How likely each token is, step by step as the settings say."""
    likeliest = max(range(len(logits)), key=lambda token: (logits[token], -token))
    if decoding.temperature == 0:
        return {likeliest: 1.0}
    largest = max(logits)
    weights = {
        token: math.exp((logit - largest) / decoding.temperature)
        for token, logit in enumerate(logits)
    }
    order = sorted(weights, key=lambda token: (-logits[token], token))
    if decoding.top_k:
        order = order[: decoding.top_k]
    total = sum(weights[token] for token in order)
    kept: dict[int, float] = {}
    reached = 0.0
    for token in order:
        if reached >= decoding.top_p:
            break
        kept[token] = weights[token] / total
        reached += kept[token]
    total = sum(kept.values())
    found = {token: share / total for token, share in kept.items()}
    if decoding.constraint:
        greedy = 1 / decoding.constraint
        found = {token: share * (1 - greedy) for token, share in found.items()}
        found[likeliest] = found.get(likeliest, 0) + greedy
    return found


class Fixed:
    """A generator that returns what it is told."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self) -> float:
        return self.numbers.pop(0)


@given(
    logits_drawn,
    st.sampled_from([0.3, 1.0, 2.0]),
    st.integers(0, 14),
    # Not a sum of the chances of two or three equal logits.
    st.sampled_from([0.13, 0.47, 0.87, 1.0]),
    st.floats(0, 1, exclude_max=True),
)
def test_what_is_drawn_lies_where_the_slow_version_has_it(
    logits: list[float], temperature: float, top_k: int, top_p: float, number: float
) -> None:
    decoding = Decoding(temperature=temperature, top_k=top_k, top_p=top_p)
    token = choose(np.array(logits), decoding, Fixed(number))  # type: ignore[arg-type]
    reached = 0.0
    expected = chances(logits, decoding)
    # Where all may be drawn they lie by number, else the likeliest come first.
    everything = not top_k and top_p == 1
    order = sorted(expected, key=lambda one: (0 if everything else -logits[one], one))
    ends = np.cumsum([expected[one] for one in order])
    if np.abs(ends - number).min() > 1e-9:  # not at a border, where the last digit decides
        reached = int(np.searchsorted(ends, number, "right"))
        assert token == order[reached]
    assert token in expected


@pytest.mark.parametrize(
    "decoding",
    [
        Decoding(temperature=1.0),
        Decoding(temperature=0.7, top_p=0.9),
        Decoding(temperature=1.3, top_k=4),
        Decoding(temperature=1.0, constraint=3),
        Decoding(temperature=0.8, top_k=5, top_p=0.8, constraint=4),
    ],
)
def test_many_draws_have_the_distribution_of_the_slow_version(decoding: Decoding) -> None:
    logits = [0.3, -1.0, 2.0, 1.9, 0.0, -0.4, 1.2, -2.5]
    random = np.random.default_rng(20)
    draws = 4_000
    counts = Counter(choose(np.array(logits), decoding, random) for _ in range(draws))
    expected = chances(logits, decoding)
    assert set(counts) == set(expected)
    order = sorted(expected)
    observed = [counts[token] for token in order]
    assert stats.chisquare(observed, [draws * expected[token] for token in order]).pvalue > 0.01


@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("cut", [{"top_p": 0.5}, {"top_p": 0.999999}, {"top_k": 700}])
def test_of_many_tokens_those_are_kept_that_sorting_them_all_keeps(
    spread: float, cut: dict[str, float]
) -> None:
    logits = np.round(spread * np.random.default_rng(0).normal(size=6_000), 1)
    decoding = Decoding(1, 0.8, **cut)
    expected = chances(logits.tolist(), decoding)
    tokens, logs = distribution(logits, decoding)
    assert tokens.tolist() == list(expected)
    assert np.exp(logs) == pytest.approx(list(expected.values()))


def test_single_precision_and_double_precision_draw_alike() -> None:
    logits = np.random.default_rng(3).normal(size=200).astype(np.float32)
    decoding = Decoding(temperature=0.7, top_p=0.95)
    for seed in range(50):
        drawn = {
            choose(kind, decoding, np.random.default_rng(seed))
            for kind in (logits, logits.astype(np.float64))
        }
        assert len(drawn) == 1


def test_log_softmax_sums_to_one_even_for_large_logits() -> None:
    logits = np.array([[1e4, 1e4 - 1, -1e4], [0, 0, 0]], np.float32)
    assert np.exp(log_softmax(logits)).sum(axis=1) == pytest.approx([1, 1], abs=1e-12)
    assert log_softmax(logits)[1] == pytest.approx([-math.log(3)] * 3)


def test_the_draws_of_a_prompt_depend_on_its_text_and_its_seed() -> None:
    first = generator(Prompt("a", 1)).random(4)
    assert (first == generator(Prompt("a", 1)).random(4)).all()
    assert (first != generator(Prompt("a", 2)).random(4)).all()
    assert (first != generator(Prompt("b", 1)).random(4)).all()
    generator(Prompt("\ud800", -3)).random()


def test_numbers_that_are_none_are_refused() -> None:
    logits = np.array([0.0, np.nan, 1.0])
    with pytest.raises(RoteError, match="float32"):
        choose(logits, Decoding(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "settings",
    [
        {"max_tokens": 0},
        {"temperature": -1},
        {"temperature": math.nan},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_k": -1},
        {"temperature": 1, "constraint": 0.5},
        {"constraint": 3},
        {"stop": ("",)},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        Decoding(**settings)  # type: ignore[arg-type]
