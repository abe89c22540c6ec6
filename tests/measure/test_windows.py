"""Numbered n-grams against plain Python: counts, templates, occurrences, places."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.layer import Layer
from rote.core.ngrams import ONCE
from rote.core.sample import Take
from rote.measure import _template_windows as windows_module
from rote.measure._template_windows import Windows, windows, windows_by_length
from tests.examples import drawn
from tests.measure.samples import layer_of
from tests.measure.strategies import Texts, texts_and_take

Gram = tuple[str, ...]
WORDS = ["d", "b", "é", "a"]

lengths = st.integers(1, 4)
tops = st.integers(1, 5)
least = st.integers(1, 3)
seeds = drawn(lambda chance: chance)


@pytest.fixture(params=[1, 50], ids=["few candidates", "many candidates"], autouse=True)
def candidates(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few: what is frequent in all groups does not settle most of them."""
    monkeypatch.setattr(windows_module, "_CANDIDATES", request.param)


def spelled(texts: Texts) -> list[list[str]]:
    return [[WORDS[word] for word in text] for text in texts]


def grams(text: Sequence[str], n: int) -> list[Gram]:
    return [tuple(text[start : start + n]) for start in range(len(text) - n + 1)]


def counted(texts: Sequence[Sequence[str]], take: Sequence[int], n: int) -> Counter[Gram]:
    return Counter(gram for text in take for gram in grams(texts[text], n))


def made(texts: Texts, n: int, singles: bool) -> tuple[list[list[str]], Layer, Windows]:
    words = spelled(texts)
    layer = layer_of(words)
    return words, layer, windows(layer, n, singles=singles)


def taken(take: Sequence[int]) -> Take:
    return np.array(take, np.int64)


@given(texts_and_take(), lengths, st.booleans())
def test_numbers_follow_the_items_and_leave_out_only_single_ones(
    case: tuple[Texts, list[int]], n: int, singles: bool
) -> None:
    texts, layer, found = made(case[0], n, singles)
    everywhere = counted(texts, range(len(texts)), n)
    listed = sorted(gram for gram, count in everywhere.items() if singles or count > 1)
    assert found.grams(layer, np.arange(len(found.counts))) == listed
    assert found.counts.tolist() == [everywhere[gram] for gram in listed]
    for text in range(len(texts)):
        numbers = found.numbers[layer.slice(text)].tolist()
        windows_here = grams(texts[text], n)
        assert [None if number == ONCE else listed[number] for number in numbers] == [
            gram if singles or everywhere[gram] > 1 else None for gram in windows_here
        ] + [None] * (len(numbers) - len(windows_here))


@given(texts_and_take(), lengths, tops, least)
def test_templates_are_the_most_frequent_ties_by_the_items(
    case: tuple[Texts, list[int]], n: int, top: int, min_count: int
) -> None:
    texts, layer, found = made(case[0], n, min_count < 2)
    chosen = found.templates(taken(case[1]), top, min_count)
    counts = counted(texts, case[1], n)
    ranked = sorted(
        (gram for gram, count in counts.items() if count >= min_count),
        key=lambda gram: (-counts[gram], gram),
    )
    assert found.grams(layer, chosen) == ranked[:top]


@given(texts_and_take(), lengths, st.booleans(), seeds)
def test_occurrences_and_places_of_any_n_grams(
    case: tuple[Texts, list[int]], n: int, singles: bool, chance: random.Random
) -> None:
    texts, layer, found = made(case[0], n, singles)
    numbers = range(len(found.counts))
    chosen = chance.sample(numbers, chance.randint(0, len(numbers)))
    names = found.grams(layer, taken(chosen))
    held = [[gram for gram in grams(texts[text], n) if gram in names] for text in case[1]]
    occurrences, different = found.every.occurrences(taken(case[1]), taken(chosen))
    assert occurrences.tolist() == [len(here) for here in held]
    assert different.tolist() == [len(set(here)) for here in held]
    places, which = found.places(layer, taken(case[1]), taken(chosen))
    assert [(int(place), names[rank]) for place, rank in zip(places, which)] == [
        (int(layer.text_starts[text]) + start, gram)
        for text in case[1]
        for start, gram in enumerate(grams(texts[text], n))
        if gram in names
    ]


@given(texts_and_take(), lengths, tops, least)
def test_groups_counted_together_are_those_counted_alone(
    case: tuple[Texts, list[int]], n: int, top: int, min_count: int
) -> None:
    texts, layer, found = made(case[0], n, min_count < 2)
    takes = [taken(case[1]), taken(case[1][::2]), np.arange(len(texts)), taken([])]
    together = found.of_groups(takes, top, min_count)
    for own, take in zip(together.tolist(), takes):
        occurrences, different = found.every.occurrences(
            take, found.templates(take, top, min_count)
        )
        assert own == [np.count_nonzero(occurrences), occurrences.sum(), different.sum()]
    chosen = np.arange(len(found.counts))[::2]
    of_chosen = found.listing(layer, chosen).counts(takes[0])
    assert np.array_equal(of_chosen, found.tally(layer, takes[0])[0][chosen])


@given(texts_and_take(), lengths, st.booleans())
def test_counts_and_texts_of_a_group(case: tuple[Texts, list[int]], n: int, singles: bool) -> None:
    texts, layer, found = made(case[0], n, singles)
    names = found.grams(layer, np.arange(len(found.counts)))
    counts = counted(texts, case[1], n)
    tallied, in_texts = found.tally(layer, taken(case[1]))
    assert tallied.tolist() == [counts[gram] for gram in names]
    assert in_texts.tolist() == [
        sum(gram in grams(texts[text], n) for text in case[1]) for gram in names
    ]


@given(texts_and_take(), st.sets(lengths), st.booleans())
def test_several_lengths_at_once_are_the_same(
    case: tuple[Texts, list[int]], several: set[int], singles: bool
) -> None:
    layer = layer_of(spelled(case[0]))
    found = list(windows_by_length(layer, list(several), singles=singles))
    assert [one.n for one in found] == sorted(several)
    for one in found:
        alone = windows(layer, one.n, singles=singles)
        for name in ("numbers", "counts", "first"):
            assert np.array_equal(getattr(one, name), getattr(alone, name))


def test_what_is_rare_overall_can_be_a_template_of_one_source() -> None:
    common = [["x", "y"]] * 9 + [["y", "x"]] * 8
    layer = layer_of([*common, ["p", "q"], ["p", "q"]])
    found = windows(layer, 2, singles=False)
    own = found.templates(taken([17, 18]), 1, 2)
    assert found.grams(layer, own) == [("p", "q")]


def test_long_n_grams_of_many_words_keep_the_order_of_their_items() -> None:
    # More bits than one key holds: 12 items out of 100 words.
    words = [f"{number:02}" for number in range(99, -1, -1)]
    layer = layer_of([words, words])
    found = windows(layer, 12, singles=False)
    chosen = found.templates(np.arange(2), 3, 2)
    assert [gram[0] for gram in found.grams(layer, chosen)] == ["11", "12", "13"]
