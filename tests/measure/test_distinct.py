"""Different answers to a prompt: worked values, a plain twin, partitions of all kinds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import rote
from rote.core.document import Document
from rote.core.errors import InputError, OptionError

FAST: dict[str, Any] = {"by": "source", "permutations": 0}


def answered(prompts: Sequence[Sequence[tuple[str, Any, Any]]], source: str = "a") -> list[Any]:
    """Texts with a class and a quality."""
    return [
        Document(
            f"{source}{n}-{place}",
            text,
            {"source": source, "doc_id": f"p{n}", "kind": kind, "score": score},
        )
        for n, answers in enumerate(prompts)
        for place, (text, kind, score) in enumerate(answers)
    ]


WORKED = [
    [("a cat", 0, 5), ("a cat sat", 0, 9), ("a dog", 1, 4), ("a cow", 2, 2)],
    [("one", "x", 10), ("one", "x", 10), ("one", "x", 10), ("one", "x", 10)],
]


def test_a_worked_example() -> None:
    found = rote.distinct(
        answered(WORKED), **FAST, partition="kind", quality="score", patience=0.5
    ).by_source["a"]
    assert found.values["distinct"] == (3 + 1) / 2
    # Weights 1, 1/2, 1/4, 1/8 over 15/8; the second cat and the further ones are nothing new.
    first, second = (5 + 4 / 4 + 2 / 8) / (15 / 8), 10 / (15 / 8)
    assert found.values["utility"] == pytest.approx((first + second) / 2)
    error = abs(first - second) / 2
    reach = 12.706204736432095 * error  # t of two prompts
    middle = (first + second) / 2
    assert found.intervals["utility"] == pytest.approx((middle - reach, middle + reach))


def test_the_first_k_answers_and_prompts_that_have_them() -> None:
    texts = answered([*WORKED, [("one", 0, 1), ("two", 1, 1)]])
    found = rote.distinct(texts, **FAST, partition="kind").by_source["a"]
    assert found.values["distinct"] == 2
    assert any("1 of 3 prompts with fewer" in note for note in found.notes)
    assert rote.distinct(texts, **FAST, partition="kind", k=2).by_source["a"].values[
        "distinct"
    ] == pytest.approx((1 + 1 + 2) / 3)


def plain(texts: Sequence[str], least: float) -> int:
    """Answers that are like none that was new before, by ROUGE-L."""
    from .test_sameness import plain_rouge

    new: list[list[str]] = []
    for text in texts:
        words = text.split()
        if not any(plain_rouge(words, other) > least for other in new):
            new.append(words)
    return len(new)


@pytest.mark.parametrize("least", [0.3, 0.5, 0.8])
def test_by_likeness_it_is_its_plain_twin(least: float) -> None:
    rng = np.random.default_rng(int(least * 10))
    prompts = [[(" ".join(rng.choice(list("abcdef"), 5)), 0, 0) for _ in range(6)] for _ in "12345"]
    found = rote.distinct(answered(prompts), **FAST, above=least).by_source["a"]
    expected = [plain([text for text, _, _ in own], least) for own in prompts]
    assert found.values["distinct"] == pytest.approx(np.mean(expected))


def test_short_answers_are_the_same_only_if_they_are() -> None:
    prompts = [[("yes", 0, 0), ("Yes", 0, 0), ("no", 0, 0), ("yes", 0, 0)]]
    assert rote.distinct(answered(prompts), **FAST, like="runs").by_source["a"].values == {
        "distinct": 2.0
    }


def test_prompts_are_counted_by_their_different_answers() -> None:
    rows = rote.distinct(answered(WORKED), **FAST, partition="kind").tables["prompts"]
    assert [(row["distinct"], row["prompts"]) for row in rows] == [(1, 1), (2, 0), (3, 1), (4, 0)]


def test_a_source_that_repeats_itself_is_found() -> None:
    varied = [[(f"w{n} {m} {n * m}", m, 0) for m in range(5)] for n in range(20)]
    alike = [[(f"w{n}", 0, 0) for m in range(5)] for n in range(20)]
    found = rote.distinct(
        [*answered(varied, "varied"), *answered(alike, "alike")],
        by="source",
        reference="varied",
        permutations=199,
        partition="kind",
    )
    assert found.comparisons[0]["p_corrected"] < 0.05
    assert found.comparisons[0]["difference"] == -4


def test_under_the_null_the_test_is_at_its_level() -> None:
    rng = np.random.default_rng(4)
    below = 0
    for _ in range(60):
        both = []
        for source in "ab":
            own = [[("word", int(rng.integers(0, 4)), 0) for _ in range(4)] for _ in range(8)]
            both += answered(own, source)
        result = rote.distinct(
            both,
            by="source",
            reference="a",
            partition="kind",
            permutations=19,
            interval=0,
            matched=False,
        )
        below += result.comparisons[0]["p"] <= 0.1
    assert below <= 13  # of 60 at 0.1: more happen in one of 300 such tests


def test_what_is_wrong_is_said() -> None:
    one = [[("a", 0, 1)], [("b", 0, 1)]]
    with pytest.raises(OptionError, match="no doc_id has two texts"):
        rote.distinct(answered(one), **FAST)
    bad = [[("a", 0, "good"), ("b", 1, "2")]]
    with pytest.raises(InputError, match="good"):
        rote.distinct(answered(bad), **FAST, quality="score", partition="kind")
    with pytest.raises(OptionError, match="patience"):
        rote.distinct(answered(WORKED), **FAST, patience=1.5)
    bare = [Document(str(n), text, {"source": "a"}) for n, text in enumerate(("x y", "x y", "z"))]
    found = rote.distinct(bare, **FAST).by_source["a"]
    assert found.values["distinct"] == 2
    assert not math.isnan(found.values["distinct"])
    assert any("no doc_id" in note for note in found.notes)
