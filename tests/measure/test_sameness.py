"""Sameness between sources: worked values, plain twins, homogenization on the diagonal, scipy."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage

import rote
from rote.core.document import Document
from rote.core.errors import OptionError, UnknownName
from rote.core.ngrams import number_ngrams
from rote.measure._likeness import TextPairs, rouge_pairs, run_pairs, set_means
from rote.measure.sameness import by_set, estimate, leaves, left_out, tree
from tests.examples import drawn, some

from .strategies import columns

WORDS = "heron water letter clock uncle rain cellar train coast orange lamp loaf".split()
FAST: dict[str, Any] = {"by": "source", "permutations": 0}


def plain_rouge(a: Sequence[Any], b: Sequence[Any]) -> float:
    table = np.zeros((len(a) + 1, len(b) + 1), int)
    for i, j in product(range(len(a)), range(len(b))):
        same = table[i, j] + 1 if a[i] == b[j] else max(table[i, j + 1], table[i + 1, j])
        table[i + 1, j + 1] = same
    return 2 * table[-1, -1] / (len(a) + len(b)) if len(a) and len(b) else math.nan


def plain_runs(a: Sequence[Any], b: Sequence[Any], n: int) -> float:
    if min(len(a), len(b)) < n:
        return math.nan
    covered = 0
    for own, other in ((a, b), (b, a)):
        theirs = {tuple(other[i : i + n]) for i in range(len(other) - n + 1)}
        places = [i for i in range(len(own) - n + 1) if tuple(own[i : i + n]) in theirs]
        covered += len({i + step for i in places for step in range(n)})
    return covered / (len(a) + len(b))


@given(drawn(some(some(range(4), 14), 6, least=2)), st.integers(2, 4))
def test_kernels_are_their_plain_twins(texts: list[list[int]], n: int) -> None:
    ids, starts, ends = columns(texts)
    pairs = list(combinations(range(len(texts)), 2))
    first, second = (np.array(column, np.int64) for column in zip(*pairs))
    found = rouge_pairs(ids, starts, ends, 4, first, second)
    assert found == pytest.approx([plain_rouge(texts[a], texts[b]) for a, b in pairs], nan_ok=True)
    *_, (_, numbers, kinds, _) = number_ngrams(ids, starts, ends, 4, n)
    found = run_pairs(numbers, starts, ends, n, kinds, first, second)
    plain = [plain_runs(texts[a], texts[b], n) for a, b in pairs]
    assert found == pytest.approx(plain, nan_ok=True)


def means_by_hand(pairs: TextPairs, scores: Sequence[float], held: Sequence[int]) -> list[float]:
    found = []
    for kind in (1, 2):
        by_set_: dict[int, list[float]] = {}
        for one, two, number, score in zip(pairs.first, pairs.second, pairs.sets, scores):
            if held[one] + held[two] == kind and not math.isnan(score):
                by_set_.setdefault(int(number), []).append(score)
        means = [float(np.mean(own)) for own in by_set_.values()]
        found.append(float(np.mean(means)) if means else math.nan)
    return found


def some_pairs(seed: int, texts: int = 12, sets: int = 4) -> tuple[TextPairs, Any]:
    rng = np.random.default_rng(seed)
    number = np.sort(rng.integers(0, sets, texts))
    found = [(a, b) for a, b in combinations(range(texts), 2) if number[a] == number[b]]
    first, second = (np.array(column, np.int64) for column in zip(*found))
    scores = rng.random(len(found))
    scores[rng.random(len(found)) < 0.1] = np.nan
    return TextPairs(first, second, number[first]), scores


@pytest.mark.parametrize("seed", range(5))
def test_means_of_many_groups(seed: int) -> None:
    pairs, scores = some_pairs(seed)
    held = np.random.default_rng(seed).integers(0, 2, (12, 7)).astype(np.uint8)
    found = set_means(pairs.first, pairs.second, pairs.sets, scores, held)
    for group in range(7):
        expected = means_by_hand(pairs, scores.tolist(), held[:, group].tolist())
        assert found[:, group] == pytest.approx(expected, nan_ok=True)


def test_errors_are_jackknives() -> None:
    pairs, scores = some_pairs(1)
    every = np.ones(len(pairs), bool)
    found = estimate(pairs, scores, every)
    means = [np.nanmean(scores[pairs.sets == number]) for number in np.unique(pairs.sets)]
    assert found.value == pytest.approx(np.mean(means))
    assert found.error == pytest.approx(np.std(means, ddof=1) / math.sqrt(len(means)))
    known = ~np.isnan(scores)
    values, one, two = scores[known], pairs.first[known], pairs.second[known]
    units = np.union1d(one, two)
    without = [values[(one != unit) & (two != unit)].mean() for unit in units]
    spread = (len(units) - 1) / len(units) * np.sum((without - np.mean(without)) ** 2)
    assert left_out(values, one, two) == pytest.approx(math.sqrt(spread))


def records(per_prompt: Mapping[str, int], prompts: int = 6, *, doc_id: bool = True) -> list[Any]:
    rng = np.random.default_rng(3)
    found = []
    for prompt in range(prompts):
        own = list(rng.permutation(WORDS)[:6])
        for source, count in per_prompt.items():
            for number in range(count):
                words = [*own[: 3 + number], *rng.choice(WORDS, 4 + prompt)]
                meta: dict[str, Any] = {"source": source}
                if doc_id:
                    meta["doc_id"] = f"p{prompt}"
                found.append(Document(f"{source}-{prompt}-{number}", " ".join(words), meta))
    return found


def test_a_source_with_itself_is_homogenization() -> None:
    texts = records({"a": 3, "b": 2, "c": 4})
    scores = {"scores": ("rouge_l",)}
    found = rote.sameness(texts, **FAST, **scores)
    within = rote.homogenization(texts, **FAST, **scores, within="doc_id")
    cells = {row["source"]: row for row in found.tables["pairs"] if row["source"] == row["other"]}
    for source, one in within.by_source.items():
        value, ends = one.values["rouge_l"], one.intervals["rouge_l"]
        assert found.by_source[source].values["rouge_l_own"] == pytest.approx(value)
        assert found.by_source[source].intervals["rouge_l_own"] == pytest.approx(ends)
        assert cells[source]["likeness"] == pytest.approx(value)
    together = records({"a": 3, "b": 2}, doc_id=False)
    found = rote.sameness(together, **FAST, **scores)
    whole = rote.homogenization(together, **FAST, **scores)
    for source, one in whole.by_source.items():
        value, ends = one.values["rouge_l"], one.intervals["rouge_l"]
        assert found.by_source[source].values["rouge_l_own"] == pytest.approx(value)
        assert found.by_source[source].intervals["rouge_l_own"] == pytest.approx(ends)
        assert any("no doc_id" in note for note in found.by_source[source].notes)


def answers() -> list[Document]:
    """Two prompts; what a and b share is counted below."""
    told = {
        ("a", 1): "one two three four five six",
        ("b", 1): "one two three four five seven",
        ("a", 2): "red blue red green",
        ("b", 2): "red green",
        ("c", 1): "nothing of all that",
    }
    return [Document(f"{s}{n}", text, {"source": s, "doc_id": n}) for (s, n), text in told.items()]


def test_a_worked_example() -> None:
    found = rote.sameness(answers(), **FAST, scores=("rouge_l", "runs"), run=2, above=0.7)
    cells = {(row["score"], row["source"], row["other"]): row for row in found.tables["pairs"]}
    # ROUGE-L: 2 * 5 / 12 and 2 * 2 / 6; words in shared runs of two: 10 of 12, and 4 of 6.
    row = cells["rouge_l", "a", "b"]
    assert row["likeness"] == pytest.approx((10 / 12 + 4 / 6) / 2)
    assert (row["prompts"], row["pairs"], row["above"]) == (2, 2, 0.5)
    # "red blue red green" holds "red green"; so 2 of its words and 2 of the other lie in it.
    assert cells["runs", "a", "b"]["likeness"] == pytest.approx((10 / 12 + 4 / 6) / 2)
    assert cells["rouge_l", "a", "c"]["likeness"] == 0
    assert math.isnan(cells["rouge_l", "a", "a"]["likeness"])
    # a with all others: prompt 1 has b and c, prompt 2 has b.
    assert found.by_source["a"].values["rouge_l"] == pytest.approx((10 / 12 / 2 + 4 / 6) / 2)
    first = rote.sameness(answers(), **FAST, scores=("rouge_l",), words=2)
    cells = {(row["source"], row["other"]): row for row in first.tables["pairs"]}
    assert cells["a", "b"]["likeness"] == pytest.approx((1 + 2 * 1 / 4) / 2)


def test_chance_is_pairs_of_other_prompts() -> None:
    texts = records({"a": 1, "b": 1}, prompts=3)
    found = rote.sameness(texts, **FAST, scores=("rouge_l",))
    row = next(row for row in found.tables["pairs"] if (row["source"], row["other"]) == ("a", "b"))
    told = {(one.meta["source"], one.meta["doc_id"]): one.text.split() for one in texts}
    # Three prompts in a ring: all pairs of different prompts, once each.
    others = [
        plain_rouge(one, two)
        for (source, prompt), one in told.items()
        for (other, another), two in told.items()
        if source == "a" and other == "b" and prompt != another
    ]
    assert row["chance"] == pytest.approx(np.mean(others))


def test_the_tree_is_scipys_and_follows_the_prompts() -> None:
    rng = np.random.default_rng(0)
    means = rng.random((30, 4, 4))
    alike = np.triu(means.mean(axis=0), 1)
    links = tree(means, seed=1)
    expected = linkage(1 - alike[np.triu_indices(4, 1)], "average")
    assert [link.likeness for link in links] == pytest.approx((1 - expected[:, 2]).tolist())
    assert sorted(leaves(links, 4)) == [0, 1, 2, 3]
    assert all(0 <= link.support <= 1 for link in links)
    assert links[-1].support == 1  # all sources together are always a branch
    means[:, 0, 1] = 5.0
    assert tree(means, seed=1)[0].support == 1
    means[:, 0, 1] = np.nan
    assert tree(means, seed=1) == []


def test_by_set_is_the_mean_of_the_pairs_of_two_sources() -> None:
    pairs, scores = some_pairs(2)
    source = np.random.default_rng(2).integers(0, 3, 12)
    own, other = source[pairs.first], source[pairs.second]
    found = by_set(pairs, scores, own, other, 3)
    for place, number in enumerate(np.unique(pairs.sets[~np.isnan(scores)])):
        for a, b in ((0, 1), (1, 1), (0, 2)):
            both = {(x, y) for x, y in ((a, b), (b, a))}
            chosen = [
                score
                for s, x, y, score in zip(pairs.sets, own, other, scores)
                if s == number and (x, y) in both and not math.isnan(score)
            ]
            expected = np.mean(chosen) if chosen else math.nan
            assert found[place, a, b] == pytest.approx(expected, nan_ok=True)


def test_a_copy_of_a_source_is_found_against_the_reference() -> None:
    texts = records({"a": 1, "b": 1, "c": 1}, prompts=40)
    own = {one.meta["doc_id"]: one.text for one in texts if one.meta["source"] == "a"}
    copied = [
        Document(one.id, own[one.meta["doc_id"]], one.meta) if one.meta["source"] == "c" else one
        for one in texts
    ]
    found = rote.sameness(copied, by="source", reference="b", scores=("rouge_l",), permutations=199)
    assert found.by_source["c"].values["rouge_l"] > found.by_source["b"].values["rouge_l"]
    p = {(row["source"], row["value"]): row["p_corrected"] for row in found.comparisons}
    assert p["c", "rouge_l"] < 0.05


def test_intervals_over_prompts_hold_their_level() -> None:
    """Prompts with likenesses of their own, two answers each: the mean over prompts is known."""
    rng = np.random.default_rng(8)
    held, draws, prompts = 0, 400, 30
    first = np.arange(0, 2 * prompts, 2)
    pairs = TextPairs(first, first + 1, np.arange(prompts))
    for _ in range(draws):
        scores = rng.beta(2, 5, prompts) * rng.beta(5, 2, prompts)
        found = estimate(pairs, scores, np.ones(prompts, bool))
        held += abs(found.value - 2 / 7 * 5 / 7) < 1.96 * found.error
    assert 0.91 < held / draws < 0.98


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(UnknownName, match="rouge"):
        rote.sameness(answers(), scores=("rogue",))
    with pytest.raises(OptionError, match="scores"):
        rote.sameness(answers(), scores=())
    found = rote.sameness([one for one in answers() if one.meta["source"] == "a"], **FAST)
    assert any("no other source" in note for note in found.by_source["a"].notes)
    many = records({"a": 5, "b": 2})
    found = rote.sameness(many, **FAST, scores=("rouge_l",), max_texts=2)
    assert any("18 texts above 2 per prompt" in note for note in found.by_source["a"].notes)
