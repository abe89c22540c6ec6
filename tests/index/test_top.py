"""The most frequent n-grams, against counting them one by one."""

from __future__ import annotations

import dataclasses
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.errors import OptionError
from rote.index.columns.layer_column import LayerColumn, Vocabulary
from rote.index.columns.packed_array import ItemStream, bits_for, pack
from rote.index.counts import frequent_ngrams as top
from rote.index.counts.frequent_ngrams import (
    count_by_order,
    count_by_sorting,
    count_in_table,
    find_frequent,
)
from tests.examples import lists, some
from tests.index import twins
from tests.indexes import index_texts

Gram = tuple[str, ...]


def short_text(chance: Random) -> list[str]:
    way = chance.randrange(3)
    if way < 2:
        return some(("ab", "abcdefg")[way], 12)(chance)
    # What repeats with a period, so that long n-grams are frequent too.
    return some("abc", 10)(chance) * 4


short_texts = lists(short_text, 6)
lengths = st.integers(1, 12)


def twin(
    texts: twins.Texts, n: int, least: int = 1, most: int | None = None
) -> list[tuple[Gram, int]]:
    """All in order, cut behind the last that ties with number `most`."""
    ordered = sorted(twins.tallies(texts, n).items(), key=lambda pair: (-pair[1], pair[0]))
    if most == 0:
        return []
    if most is not None and most < len(ordered):
        least = max(least, ordered[most - 1][1])
    return [(gram, count) for gram, count in ordered if count >= least]


def shown(column: LayerColumn, n: int, found: top.Counted) -> list[tuple[Gram, int]]:
    """Places as the n-grams that stand there; each must be the first place of its n-gram."""
    grams, ids = [], column.ids.all().tolist()
    for place, count in zip(*(array.tolist() for array in found), strict=True):
        numbers = ids[place : place + n]
        earlier = [ids[i : i + n] for i in range(place)]
        assert numbers not in earlier
        grams.append((tuple(column.vocabulary[number] for number in numbers), count))
    return grams


def without_suffixes(texts: twins.Texts) -> LayerColumn:
    """For longer texts: the twin that sorts suffixes is slow."""
    vocabulary = Vocabulary.of(sorted({item for text in texts for item in text}))
    ids = twins.stream(texts, vocabulary)
    ends = twins.read_only(np.flatnonzero(ids == 0).astype(np.int64))
    packed = ItemStream(pack(ids, bits_for(len(vocabulary) - 1)))
    return LayerColumn("lower", packed, vocabulary, None, ends)


@given(short_texts, lengths, st.integers(1, 4), st.none() | st.integers(0, 20))
def test_all_ways_equal_counting_one_by_one(
    texts: twins.Texts, n: int, least: int, most: int | None
) -> None:
    column = twins.column(texts)
    expected = twin(texts, n, least, most)
    found = find_frequent(column, n, least=least, most=most)
    assert shown(column, n, found) == expected
    if most != 0 and column.items:
        assert column.suffixes
        assert shown(column, n, count_by_order(column, column.suffixes, n, least, most)) == expected
        if n * column.ids.bits <= top._TABLE_BITS:
            assert shown(column, n, count_in_table(column, n, least, most)) == expected
        if n * column.ids.bits <= top.KEY_BITS:
            by_sorting = count_by_sorting(column, n, least, most, room=1000)
            assert shown(column, n, by_sorting) == expected


@given(short_texts, st.integers(1, 8), st.none() | st.integers(1, 20), st.integers(0, 60))
def test_keys_sorted_in_several_rounds_give_the_same(
    texts: twins.Texts, n: int, most: int | None, room: int
) -> None:
    column = twins.column(texts)
    if column.items:
        found = count_by_sorting(column, n, 1, most, room=room)
        assert shown(column, n, found) == twin(texts, n, 1, most)


@settings(max_examples=8)
@given(st.integers(0, 2**32), st.integers(1, 3), st.none() | st.integers(1, 9000))
def test_more_windows_than_are_read_at_a_time(seed: int, n: int, most: int | None) -> None:
    numbers = np.random.default_rng(seed).zipf(1.1, 9000) % 8191
    texts = [[f"{number:04}" for number in numbers]]
    column, expected = without_suffixes(texts), twin(texts, n, 1, most)
    for room in (5000, 10**6):
        places, counts = count_by_sorting(column, n, 1, most, room=room)
        grams = [tuple(texts[0][place : place + n]) for place in places.tolist()]
        assert list(zip(grams, counts.tolist(), strict=True)) == expected


def test_ties_with_the_last_all_belong_to_the_most_frequent() -> None:
    texts = ["a a a b b c c d".split(), "e".split()]
    column = twins.column(texts)
    for ways in (column, dataclasses.replace(column, suffixes=None)):
        found = shown(ways, 1, find_frequent(ways, 1, most=2))
        assert found == [(("a",), 3), (("b",), 2), (("c",), 2)]
        assert len(find_frequent(ways, 1, most=4)[0]) == 5
        assert len(find_frequent(ways, 1, least=2, most=4)[0]) == 3


def test_counts_beyond_those_that_are_tallied_one_by_one() -> None:
    items = ["a"] * 1500 + ["b"] * 1400 + ["c"] * 1400 + ["d"] * 1300 + ["e"] * 5
    texts = [np.random.default_rng(1).permutation(items).tolist()]
    (column,) = index_texts([" ".join(texts[0])], ("word",)).columns("word")
    for most in (1, 2, 3, 4, 5):
        assert column.suffixes
        found = count_by_order(column, column.suffixes, 1, 1, most)
        assert shown(column, 1, found) == twin(texts, 1, 1, most)


@pytest.mark.parametrize("most", [None, 5, 300, 2000])
def test_more_ngrams_than_are_read_off_at_a_time(most: int | None) -> None:
    numbers = np.random.default_rng(1).integers(0, 1900, (120, 30)).tolist()
    texts = [[f"{number:04}" for number in row] for row in numbers] * 2
    column = twins.column(texts)
    for n in (1, 2):
        assert column.suffixes
        places, counts = count_by_order(column, column.suffixes, n, 1, most)
        grams = [
            tuple(column.vocabulary[column.ids[place + i]] for i in range(n))
            for place in places.tolist()
        ]
        assert list(zip(grams, counts.tolist(), strict=True)) == twin(texts, n, 1, most)


def test_numbers_that_fill_all_64_bits() -> None:
    items = [f"{i:03}" for i in range(255)]
    texts = [items, items[240:], items[:9] * 2]
    column = dataclasses.replace(twins.column(texts), suffixes=None)
    assert column.ids.bits * 8 == 64
    for room in (20, 1000):
        found = count_by_sorting(column, 8, 1, None, room=room)
        assert shown(column, 8, found) == twin(texts, 8)


def test_long_ngrams_need_sorted_suffixes() -> None:
    column = dataclasses.replace(twins.column([["a", "b"] * 40]), suffixes=None)
    assert len(find_frequent(column, 32)[0]) == 2
    with pytest.raises(OptionError, match="rote index add-layer INDEX lower"):
        find_frequent(column, 33)


@pytest.mark.parametrize("texts", [[], [[]], [[], ["a"], []]])
def test_nothing_to_count(texts: list[list[str]]) -> None:
    places, counts = find_frequent(twins.column(texts), 2)
    assert len(places) == len(counts) == 0
    assert places.dtype == counts.dtype == np.int64
