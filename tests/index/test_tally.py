"""Documents and authors of ranges and of n-grams, against going through the documents."""

from __future__ import annotations

import dataclasses
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import bits_for, pack
from rote.index.counts import document_counts as tally_module
from rote.index.counts.document_counts import (
    count_by_group,
    count_documents,
    count_groups,
    document_table,
    find_documents,
    first_positions,
)
from rote.index.counts.frequent_ngrams import find_frequent
from tests.examples import drawn, lists, some
from tests.index import twins


def short_text(chance: Random) -> list[str]:
    return some(chance.choice(["ab", "abcdefg"]), chance.choice([12, 12, 0]))(chance)


short_texts = some(short_text, 12, 1)


def grouped_ranges(chance: Random) -> tuple[LayerColumn, np.ndarray, np.ndarray, np.ndarray, int]:
    """A column, ranges of its order, a group for each document, and how many groups there are."""
    texts = short_texts(chance)
    column = twins.column(texts)
    places = range(column.items + 1)
    pairs = [sorted(pair) for pair in some(some(places, 2, 2), 6)(chance)]
    low, high = np.array(pairs, np.int64).reshape(-1, 2).T
    groups = chance.choice([1, 3, 1000])
    of = chance.choices(range(-1, groups), k=len(texts))
    return column, low, high, np.array(of, np.int32), groups


def by_hand(column: LayerColumn, low: int, high: int, groups: np.ndarray) -> Counter[int]:
    assert column.suffixes
    found: Counter[int] = Counter()
    for place in column.suffixes.order.all()[low:high].tolist():
        document = sum(end < place for end in column.document_ends.tolist())
        if groups[document] >= 0:
            found[int(groups[document])] += 1
    return found


@given(drawn(grouped_ranges))
def test_groups_of_ranges(
    case: tuple[LayerColumn, np.ndarray, np.ndarray, np.ndarray, int],
) -> None:
    column, low, high, of, groups = case
    expected = [by_hand(column, *pair, of) for pair in zip(low, high, strict=True)]
    assert count_groups(column, low, high, of, groups).tolist() == [
        len(found) for found in expected
    ]
    table = document_table(column.document_ends)
    assert count_groups(column, low, high, of, groups, table).tolist() == list(map(len, expected))
    for i, found in enumerate(expected):
        names, occurrences = count_by_group(column, int(low[i]), int(high[i]), of, groups, table)
        assert names.dtype == np.int32
        assert occurrences.dtype == np.int64
        assert list(zip(names.tolist(), occurrences.tolist(), strict=True)) == sorted(found.items())


@given(lists([*range(41), *[0] * 41], 60, 1))
@example([0] * 50 + [1000])
@example([1000] + [0] * 50)
def test_documents_of_places(lengths: list[int]) -> None:
    ends = np.cumsum(np.array(lengths, np.int64) + 1) - 1
    places = np.arange(ends[-1] + 1)
    expected = [i for i, length in enumerate(lengths) for _ in range(length + 1)]
    found = find_documents(document_table(ends), places[::-1])
    assert found[::-1].tolist() == expected


def test_no_documents() -> None:
    column = twins.column([])
    none = np.empty(0, np.int64)
    assert len(find_documents(document_table(column.document_ends), none)) == 0
    assert len(count_groups(column, none, none, none.astype(np.int32), 0)) == 0
    assert len(count_by_group(column, 0, 0, none.astype(np.int32), 0)[0]) == 0
    assert len(count_documents(column, none, 3)) == 0
    assert len(first_positions(column, 0, 0)) == 0


def check_documents_with(texts: list[list[str]], n: int) -> None:
    column = twins.column(texts)
    places, _ = find_frequent(column, n)
    ids = column.ids.all().tolist()
    grams = [
        tuple(column.vocabulary[number] for number in ids[place : place + n])
        for place in places.tolist()
    ]
    held = [set(twins.windows(text, n)) for text in texts]
    for take in (slice(None), slice(None, None, 3)):
        expected = [sum(gram in windows for windows in held) for gram in grams[take]]
        assert count_documents(column, places[take], n).tolist() == expected


@given(drawn(short_texts), st.integers(1, 12))
# More than 64 bits, and windows that come back in one document and in others.
@example([["a", "b"] * 40, ["a", "b"] * 34, ["b"] * 70, list("abcdefg") * 6], 33)
@example([list("abcdefg") * 12] * 2 + [list("gfedcba") * 9], 30)
def test_documents_that_hold_each_ngram(texts: list[list[str]], n: int) -> None:
    check_documents_with(texts, n)


def test_ngrams_with_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    # To the base 1 digits only add up, so all orders of the same items have one hash; to the
    # base 0 only the last item counts.
    for base in (0, 1):
        monkeypatch.setattr(tally_module, "_BASE", base)
        check_documents_with([list("abcdefg") * 6, list("bacdefg") * 6 + list("abcdefg") * 4], 23)


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.data())
def test_first_places_of_a_range(seed: int, data: st.DataObject) -> None:
    length = 300_000
    order = np.random.default_rng(seed).permutation(length)
    column = twins.column([["a"]])
    assert column.suffixes
    suffixes = dataclasses.replace(column.suffixes, order=pack(order, bits_for(length)))
    column = dataclasses.replace(column, suffixes=suffixes)
    low, high = sorted(data.draw(st.tuples(*2 * [st.integers(0, length)])))
    expected = np.sort(order[low:high])
    assert np.array_equal(first_positions(column, low, high), expected)
    limits = st.sampled_from([0, 1, 10, 1 << 17, (1 << 17) + 1]) | st.integers(0, length)
    limit = data.draw(limits)
    assert np.array_equal(first_positions(column, low, high, limit), expected[:limit])
