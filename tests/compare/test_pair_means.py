"""Means over pairs against plain loops over pairs, and how often the interval is right."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rote.compare.intervals import clustered_error, interval_from_error, mean_similarity

Floats = NDArray[np.float64]


def unit_vectors(rng: np.random.Generator, count: int) -> Floats:
    vectors = rng.normal(size=(count, 3)) + 0.5
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def mean_twin(vectors: Floats) -> float:
    pairs = [float(a @ b) for a, b in combinations(vectors, 2)]
    return sum(pairs) / len(pairs) if pairs else math.nan


def error_of(texts: list[Floats]) -> float:
    sums = np.array([text.sum(axis=0) for text in texts]).reshape(len(texts), 3)
    total = sums.sum(axis=0)
    counts = np.array([len(text) for text in texts], np.float64)
    return clustered_error(float(total @ total), sums @ total, (sums**2).sum(axis=1), counts)


@given(st.integers(0, 12), st.integers(0, 99))
def test_the_mean_over_pairs_needs_no_pairs(count: int, seed: int) -> None:
    vectors = unit_vectors(np.random.default_rng(seed), count)
    total = vectors.sum(axis=0)
    found = mean_similarity(float(total @ total), count)
    assert found == pytest.approx(mean_twin(vectors), nan_ok=True)


@given(st.lists(st.integers(0, 4), max_size=6), st.integers(0, 99))
def test_the_error_is_that_of_leaving_out_one_text_at_a_time(counts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [unit_vectors(rng, count) for count in counts]
    held = [text for text in texts if len(text)]
    without = [
        mean_twin(np.concatenate([other for other in held if other is not text]))
        for text in held
        if len(held) > 1
    ]
    expected = math.nan
    if without and not any(map(math.isnan, without)):
        share = (len(held) - 1) / len(held)
        expected = math.sqrt(share * sum((w - np.mean(without)) ** 2 for w in without))
    assert error_of(texts) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_two_texts_at_a_right_angle_by_hand() -> None:
    """Each text holds two equal vectors: of six pairs, the two within a text have similarity 1."""
    along, across = np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    texts = [np.array([along, along]), np.array([across, across])]
    total = np.concatenate(texts).sum(axis=0)
    assert mean_similarity(float(total @ total), 4) == pytest.approx(2 / 6)
    # Without either text the other two are equal: 1 both times.
    assert error_of(texts) == 0.0
    assert math.isnan(error_of(texts[:1]))
    assert math.isnan(error_of([texts[0], texts[1][:1]]))


def covered(texts: int, sentences: int, spread: float, samples: int = 400) -> tuple[float, float]:
    """Share of 95 % intervals that hold the mean over all samples: ours, and the one from the
    spread of the pairs as if they were independent. `spread`: how far texts are apart."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(samples):
        own = rng.normal(size=(texts, 1, 3)) * spread + 1.0
        vectors = own + rng.normal(size=(texts, sentences, 3))
        vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
        flat = vectors.reshape(-1, 3)
        pairs = (flat @ flat.T)[np.triu_indices(len(flat), 1)]
        naive = float(pairs.std(ddof=1)) / math.sqrt(len(pairs))
        found.append((float(pairs.mean()), error_of(list(vectors)), naive))
    values, errors, naives = np.array(found).T
    target = values.mean()

    def share(reaches: Floats) -> float:
        intervals = [interval_from_error(v, e, 0.95, texts) for v, e in zip(values, reaches)]
        return float(np.mean([low <= target <= high for low, high in intervals]))

    return share(errors), share(naives)


def test_the_jackknife_covers_what_independent_pairs_do_not() -> None:
    ours, pairs = covered(texts=40, sentences=8, spread=0.7)
    # 400 samples: the share has a standard error of 1 point. Measured: 0.945 and 0.093.
    assert 0.90 <= ours <= 0.98
    assert pairs < 0.3
