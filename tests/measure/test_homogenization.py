"""Homogenization: worked values, rouge-score, sacrebleu, the package."""

from __future__ import annotations

import math
import random
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from rote.core.errors import OptionError, UnknownName
from rote.core.metric import Values, Work
from rote.measure import homogenization
from rote.measure.homogenization import METRIC, Options, Rows

from .peers import diversity_homogenization
from .samples import sample_of


def rows_of(texts: list[list[str]], options: Options, threads: int = 1) -> Rows:
    sample = sample_of(texts, *METRIC.needs(options))
    return homogenization.rows(sample, options, Work(threads))


def values_of(texts: list[list[str]], take: list[int] | None = None, **settings: Any) -> Values:
    options = Options(**settings)
    chosen = np.arange(len(texts)) if take is None else np.array(take, np.int64)
    return METRIC.reduce(rows_of(texts, options), chosen, options, np.random.default_rng(0))


def words(seed: int, lengths: list[int], kinds: int = 30) -> list[list[str]]:
    rng = random.Random(seed)
    return [[f"w{int(rng.paretovariate(0.7)) % kinds}" for _ in range(k)] for k in lengths]


def test_worked_example() -> None:
    texts = [list("abcd"), list("acbd"), list("ax")]
    found = values_of(texts)
    # LCS: abcd/acbd "abd" 3, F = 6/8; abcd/ax "a" 1, F = 2/6; acbd/ax 1, F = 2/6.
    assert found["rouge_l"] == pytest.approx((6 / 8 + 2 / 6 + 2 / 6) / 3)
    # BLEU abcd -> acbd: words 4/4; no pair in common: 1/(2*3), triples 1/(4*2), fours 1/(8*1).
    first = (1 / 6 / 8 / 8) ** (1 / 4)  # the same in the other direction
    # ax as hypothesis: words 1/2, pairs 1/(2*1), no longer ones; 4 words against 2: e^(1-4/2).
    short = math.exp(-1) * math.sqrt(1 / 2 * 1 / 2)
    # ax as reference: words 1/4, pairs 1/(2*3), triples 1/(4*2), fours 1/(8*1); no penalty.
    long = (1 / 4 / 6 / 8 / 8) ** (1 / 4)
    assert found["bleu"] == pytest.approx((2 * first + 2 * short + 2 * long) / 6)


@pytest.mark.parametrize("lengths", [[3, 1, 9, 5], [150, 140, 151], [1, 1, 1, 2], [64, 300, 20]])
def test_agrees_with_other_implementations(lengths: list[int]) -> None:
    from rouge_score import rouge_scorer  # slow to import

    texts = words(sum(lengths), lengths)
    strings = [" ".join(text) for text in texts]
    found = values_of(texts)
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    rouge = [scorer.score(a, b)["rougeL"].fmeasure for a, b in combinations(strings, 2)]
    assert found["rouge_l"] == pytest.approx(np.mean(rouge), rel=1e-12)
    metric = BLEU(tokenize="none", effective_order=True)
    bleu = [metric.sentence_score(a, [b]).score / 100 for a, b in permutations(strings, 2)]
    assert found["bleu"] == pytest.approx(np.mean(bleu), rel=1e-12)


def test_package_variant_is_what_the_package_computes() -> None:
    package = diversity_homogenization()
    for texts in (
        words(1, [20, 31, 7, 12]),
        [["a", "b"], [], ["b", "c"]],
        [["a"], ["b"], ["c"]],
        [["a", "b"]] * 3,
    ):
        strings = [" ".join(text) for text in texts]
        found = values_of(texts, variant="package")
        assert list(found) == ["rouge_l"]
        expected = package.homogenization_score(strings, "rougel", verbose=False)
        assert round(found["rouge_l"], 3) == expected


def test_nothing_in_common_is_zero_unless_the_package_is_asked() -> None:
    texts = [["a"], ["b"], ["c"]]
    assert values_of(texts) == {"rouge_l": 0, "bleu": 0}
    assert values_of(texts, variant="package") == {"rouge_l": 1}


def test_standard_error_is_the_jackknife_over_texts() -> None:
    texts = words(2, [10, 14, 9, 11, 30, 2])
    options = Options()
    rows = rows_of(texts, options)
    errors = homogenization.standard_errors(rows, np.arange(6), options)
    left_out = [values_of(texts, [t for t in range(6) if t != out]) for out in range(6)]
    for name, error in errors.items():
        each = np.array([values[name] for values in left_out])
        expected = math.sqrt(5 / 6 * ((each - each.mean()) ** 2).sum())
        assert error == pytest.approx(expected, rel=1e-10)
    for few in (0, 1, 2):
        none = homogenization.standard_errors(rows, np.arange(few), options)
        assert set(none) == {"rouge_l", "bleu"}
        assert all(math.isnan(error) for error in none.values())


@pytest.mark.parametrize("variant", ["exact", "package"])
def test_pairs_scored_when_asked_for_are_the_pairs_kept(
    variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [*words(3, [12] * 70), [], ["w1"]]
    options = Options(variant=variant)
    kept = rows_of(texts, options)
    monkeypatch.setattr(homogenization, "KEPT_TEXTS", 10)
    asked = rows_of(texts, options)
    assert kept.resamplable
    assert not asked.resamplable
    rng = np.random.default_rng(0)
    for take in (np.arange(72), np.array([0, 5, 70, 71]), np.arange(40, 72)):
        assert METRIC.reduce(asked, take, options, rng) == pytest.approx(
            METRIC.reduce(kept, take, options, rng), rel=1e-12
        )
        assert homogenization.standard_errors(asked, take, options) == pytest.approx(
            homogenization.standard_errors(kept, take, options), rel=1e-9
        )
    assert len(asked.scored) == 3


@pytest.mark.parametrize("settings", [{}, {"variant": "package"}, {"max_texts": 5}])
def test_many_groups_at_once_are_the_groups_one_by_one(settings: dict[str, Any]) -> None:
    options = Options(**settings)
    texts = [*words(11, [12, 30, 7, 9] * 5), [], ["alone"], ["apart"]]
    rows = rows_of(texts, options)
    takes = [np.arange(23), np.arange(0, 23, 2), np.array([20, 21]), np.array([21, 22])]
    takes += [np.array([3]), np.empty(0, np.int64)]
    rng = np.random.default_rng(0)
    found = homogenization.many(rows, takes, {"rouge_l", "bleu"}, options)
    for group, take in enumerate(takes):
        one = METRIC.reduce(rows, take, options, rng)
        assert {name: column[group] for name, column in found.items()} == pytest.approx(
            one, rel=1e-12, nan_ok=True
        )
    assert set(homogenization.many(rows, takes, {"rouge_l"}, options)) == {"rouge_l"}


def test_only_pairs_that_meet_in_a_group_are_scored() -> None:
    options = Options()
    sample = sample_of(words(12, [10] * 12), *METRIC.needs(options))
    groups = {source: np.arange(12)[n::3] for n, source in enumerate("abc")}
    every = homogenization.rows(sample, options, Work())
    some = homogenization.rows(sample, options, Work(groups=groups, reference="b"))
    rng = np.random.default_rng(0)
    for take in (groups["a"], np.array([0, 1, 3, 4]), np.array([1, 2, 5, 7])):
        assert METRIC.reduce(some, take, options, rng) == METRIC.reduce(every, take, options, rng)
    with pytest.raises(ValueError, match="several sources"):
        METRIC.reduce(some, np.array([0, 2]), options, rng)


@pytest.mark.parametrize("limit", [10, 1000])
def test_threads_change_nothing(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homogenization, "KEPT_TEXTS", limit)
    texts = words(4, [15] * 200)
    options = Options()
    found = [
        METRIC.reduce(rows_of(texts, options, threads), np.arange(200), options, None)  # type: ignore[arg-type]
        for threads in (1, 3)
    ]
    assert found[0] == found[1]


def test_large_groups_are_sampled_and_say_so() -> None:
    texts = words(5, [9] * 40)
    options = Options(max_texts=10)
    rows = rows_of(texts, options)
    rng = np.random.default_rng(0)
    found = METRIC.reduce(rows, np.arange(40), options, rng)
    assert found == METRIC.reduce(rows, np.arange(40), options, rng)
    assert found != METRIC.reduce(rows, np.arange(40), Options(), rng)
    assert homogenization.notes(rows, np.arange(40), options) == [
        "all pairs of 10 texts drawn at random from 40 (max_texts)"
    ]
    assert homogenization.notes(rows, np.arange(10), options) == []


def test_empty_texts_are_left_out() -> None:
    texts = words(6, [8, 9, 10])
    with_empty = [texts[0], [], texts[1], texts[2], []]
    assert values_of(with_empty) == pytest.approx(values_of(texts))
    options = Options()
    assert homogenization.notes(rows_of(with_empty, options), np.arange(5), options) == [
        "left out: 2 of 5 texts without words"
    ]


@pytest.mark.parametrize("texts", [[], [["a", "b"]], [["a"], []]])
def test_fewer_than_two_texts_is_undefined(texts: list[list[str]]) -> None:
    assert all(math.isnan(value) for value in values_of(texts).values())
    options = Options()
    notes = homogenization.notes(rows_of(texts, options), np.arange(len(texts)), options)
    assert "fewer than two texts: no pairs to compare" in notes


def test_senseless_options_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'rouge_l'"):
        Options(scores=("rouge-l",))
    for wrong in ({"scores": ()}, {"scores": ("bleu",), "variant": "package"}, {"max_texts": 1}):
        with pytest.raises(OptionError):
            Options(**wrong)
