"""Self-repetition: worked values, the package, what has to hold."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from rote.core.errors import OptionError
from rote.core.metric import Work
from rote.measure import self_repetition
from rote.measure.self_repetition import METRIC, Options

from .peers import diversity_file
from .samples import everything, sample_of


def value_of(texts: list[list[str]], take: list[int] | None = None, **settings: Any) -> float:
    options = Options(**settings)
    sample = sample_of(texts, *METRIC.needs(options))
    rows = METRIC.rows(sample, options, Work())
    chosen = everything(sample) if take is None else np.array(take, np.int64)
    found = METRIC.reduce(rows, chosen, options, np.random.default_rng(0))
    return found["self_repetition"]


def words(seed: int, lengths: list[int]) -> list[list[str]]:
    rng = random.Random(seed)
    return [[rng.choice("abc") for _ in range(length)] for length in lengths]


def test_worked_example() -> None:
    texts = [list("abab"), list("abc"), list("cab"), ["a"]]
    # n = 2. abab: {ab, ba}; abc: {ab, bc}; cab: {ca, ab}; ab occurs in 3 texts, the rest in one.
    # Each of the three sums (3 - 1) + 0 = 2: ln 3. "a" has no pair of words.
    assert value_of(texts, n=2) == pytest.approx(math.log(3))
    # The package counts it as ln 1 = 0.
    assert value_of(texts, n=2, variant="package") == pytest.approx(3 * math.log(3) / 4)
    # n = 1: a in 4 texts, b in 3, c in 2. abab: 3 + 2; abc and cab: 3 + 2 + 1; a: 3.
    expected = (math.log(6) + 2 * math.log(7) + math.log(4)) / 4
    assert value_of(texts, n=1) == pytest.approx(expected)


def test_package_variant_is_what_the_package_computes() -> None:
    package = diversity_file("self_repetition")
    texts = words(1, [30, 4, 3, 0, 12, 25, 40])
    strings = [" ".join(text) for text in texts]
    for n in (1, 3, 4, 6):
        expected = package.self_repetition_score(strings, n=n, verbose=False)
        assert value_of(texts, n=n, variant="package") == pytest.approx(expected, rel=1e-12)


def test_a_group_has_the_value_of_its_texts_alone() -> None:
    texts = words(2, [20] * 10)
    take = [0, 3, 4, 9]
    assert value_of(texts, take) == pytest.approx(value_of([texts[t] for t in take]))


@pytest.mark.parametrize("texts", [[], [[]], [["a", "b", "c"]]])
def test_no_ngram_is_undefined(texts: list[list[str]]) -> None:
    assert math.isnan(value_of(texts))


def test_short_texts_are_named() -> None:
    texts = [list("abcd"), ["a"], []]
    for variant, done in (("exact", "left out"), ("package", "counted as 0")):
        options = Options(variant=variant)  # type: ignore[arg-type]
        sample = sample_of(texts, *METRIC.needs(options))
        rows = METRIC.rows(sample, options, Work())
        found = self_repetition.notes(rows, everything(sample), options)
        assert found == [f"{done}: 2 of 3 texts with fewer than 4 words"]
        assert self_repetition.notes(rows, np.array([0]), options) == []


def test_senseless_options_are_refused() -> None:
    with pytest.raises(OptionError):
        Options(n=0)


@pytest.mark.parametrize("variant", ["exact", "package"])
def test_many_groups_have_the_value_of_each(variant: str) -> None:
    texts = words(4, [0, 1, 2, 3, 4, 9, 30, 50, 50, 80, 3, 0, 12])
    options = Options(variant=variant, n=3)
    rows = METRIC.rows(sample_of(texts, *METRIC.needs(options)), options, Work())
    rng = np.random.default_rng(2)
    takes = [np.flatnonzero(rng.random(len(texts)) < rng.random()) for _ in range(140)]
    takes += [np.array(take, np.int64) for take in ([], [0], [1, 2], [8])]
    found = self_repetition.many(rows, takes, ["self_repetition"], options)
    each = [METRIC.reduce(rows, take, options, rng)["self_repetition"] for take in takes]
    assert found["self_repetition"].tolist() == pytest.approx(each, rel=1e-12, nan_ok=True)
