"""The matcher of parts: its kernels beside plain twins, and what it says of texts."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import words
from rote.annotate.folded_words import FoldedWords, fold_words
from rote.search.part_matcher import MatchOptions, PartMatcher, align, holds_run

WORDS = st.lists(st.sampled_from("abcdef"), max_size=14)
TEXTS = st.lists(WORDS, min_size=1, max_size=6)


def folded(texts: list[list[str]]) -> FoldedWords:
    return fold_words(words.get("whitespace")([" ".join(text) for text in texts]))


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=7),
    st.lists(st.integers(1, 4), max_size=9),
    st.integers(0, 5),
)
def test_alignments_are_those_of_the_twin(part: list[int], window: list[int], seed: int) -> None:
    weights = np.round(np.random.default_rng(seed).uniform(0, 3, len(part)) * 8) / 8

    def heaviest_in(window: list[int]) -> float:
        def heaviest(i: int, j: int) -> float:
            if i == len(part) or j == len(window):
                return 0.0
            best = max(heaviest(i + 1, j), heaviest(i, j + 1))
            if part[i] == window[j]:
                best = max(best, float(weights[i]) + heaviest(i + 1, j + 1))
            return best

        return heaviest(0, 0)

    arrays = np.array(part, np.int32), weights, np.array(window, np.int32)
    weight, start, stop, count = align(*arrays)
    assert weight == heaviest_in(window)
    assert (count == 0) == (weight == 0) == (start == -1) == (stop == -1)
    assert stop - start + 1 >= count
    # Nothing that ends before holds as much, and nothing shorter that ends there.
    if count:
        assert heaviest_in(window[:stop]) < weight
        assert heaviest_in(window[start + 1 : stop + 1]) < weight
        assert heaviest_in(window[start : stop + 1]) == weight


def weights_twin(
    part: list[str], sample: list[list[str]], options: MatchOptions
) -> tuple[list[float], list[bool]]:
    """Bits of a part's words, and which of its seeds are common."""
    total = sum(map(len, sample)) + 1
    bits = [math.log2(total / (sum(text.count(word) for text in sample) + 1)) for word in part]
    size = options.seed_words
    seeds = [tuple(part[i : i + size]) for i in range(len(part) - size + 1)]
    held = [
        sum(any(tuple(text[i : i + size]) == seed for i in range(len(text))) for text in sample)
        for seed in seeds
    ]
    common = [count >= options.seed_count for count in held]
    if seeds and all(common):
        common = [False] * len(common)
    elif seeds:
        rare = {i + step for i, each in enumerate(common) if not each for step in range(size)}
        bits = [each if place in rare else 0.0 for place, each in enumerate(bits)]
    return bits, common


@given(TEXTS, TEXTS, st.integers(2, 4), st.integers(1, 3))
def test_weights_are_those_of_the_twin(
    parts: list[list[str]], sample: list[list[str]], seed: int, common: int
) -> None:
    options = MatchOptions(seed_words=seed, seed_count=common, min_words=3, min_bits=10)
    matcher = PartMatcher.build(folded(parts), folded(sample), options)
    least = 10 * min(1.0, math.log2(sum(map(len, sample)) + 1) / 20)
    for number, part in enumerate(parts):
        bits, frequent = weights_twin(part, sample, options)
        own = slice(int(matcher.starts[number]), int(matcher.ends[number]))
        assert matcher.weights[own].tolist() == pytest.approx(bits, abs=1e-5)
        judged = len(part) >= max(3, seed) and sum(bits) >= least and sum(bits) > 0
        if abs(sum(bits) - least) > 1e-4:
            assert matcher.judged[number] == judged
        if matcher.judged[number]:
            starts = slice(own.start, own.start + len(frequent))
            assert matcher.skipped[starts].tolist() == frequent


@given(TEXTS, TEXTS)
def test_a_text_that_is_a_part_holds_it_if_it_can_be_judged(
    parts: list[list[str]], others: list[list[str]]
) -> None:
    options = MatchOptions(min_words=4, min_bits=5, seed_count=2)
    sample = folded([*others, *parts])
    matcher = PartMatcher.build(folded(parts), sample, options)
    texts = folded(parts)
    found = matcher.find(matcher.number(texts), texts.text_ends)
    whole = {match.part for match in found if match.part == match.text and match.score == 1}
    assert whole == set(np.flatnonzero(matcher.judged).tolist())
    # Asked for one part in each text, it says the same of that one.
    only = matcher.find(matcher.number(texts), texts.text_ends, np.arange(len(parts)))
    assert only == [match for match in found if match.part == match.text]


def test_a_long_part_takes_no_more_memory_than_its_passage() -> None:
    rng = random.Random(4)
    part = [f"w{rng.randrange(3_000)}" for _ in range(6_000)]
    changed = [word if rng.random() < 0.9 else "other" for word in part]
    texts = folded([changed, part[::-1]])
    matcher = PartMatcher.build(folded([part]), folded([part]), MatchOptions())
    (match,) = matcher.find(matcher.number(texts), texts.text_ends)
    assert match.text == 0
    assert match.words == sum(a == b for a, b in zip(part, changed))


@given(*(st.lists(st.integers(0, 2), max_size=6) for _ in range(2)))
def test_a_run_is_held_if_its_words_follow_one_another(words: list[int], run: list[int]) -> None:
    expected = bool(run) and any(
        words[i : i + len(run)] == run for i in range(len(words) - len(run) + 1)
    )
    assert holds_run(np.array(words, np.int32), np.array(run, np.int32)) == expected
