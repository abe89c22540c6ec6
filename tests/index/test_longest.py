"""The longest match at every place against plain string search, also where all repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import ItemStream, pack
from rote.index.counts.longest_match import LONG, longest_matches
from rote.index.counts.lookup import SEARCHES, Lookup
from tests.examples import dear, lists
from tests.index import coded, twins


def longest_twin(column: LayerColumn, text: list[int]) -> list[tuple[int, int]]:
    """Length and count of the longest match at each place."""
    corpus = coded.letters(column.ids.all().tolist())
    # What is no item must not be found, not even a document's end.
    asked = coded.letters([number if number > 0 else -1 for number in text])
    found, length = [], 0
    for i in range(len(asked)):
        length = max(0, length - 1)
        while i + length < len(asked) and asked[i : i + length + 1] in corpus:
            length += 1
        found.append((length, coded.occurrences(corpus, asked[i : i + length]) if length else 0))
    return found


def check(column: LayerColumn, text: list[int]) -> None:
    lookup = Lookup(column)
    lengths, low, high = longest_matches(lookup, np.array(text, np.int32))
    assert (lengths.dtype, low.dtype, high.dtype) == (np.int32, np.int64, np.int64)
    assert list(zip(lengths.tolist(), (high - low).tolist())) == longest_twin(column, text)
    for i, length in enumerate(lengths.tolist()):
        if length:
            assert (low[i], high[i]) == lookup.range(text[i : i + length])
        else:
            assert low[i] == high[i] == 0


@given(coded.columns, lists(coded.numbers, 40))
def test_random_texts(column: LayerColumn, text: list[int]) -> None:
    check(column, text)


@given(coded.documents, lists("abcd", 12))
def test_matches_are_those_of_windows(texts: list[list[str]], asked: list[str]) -> None:
    column = twins.column(texts)
    ids = np.array([column.vocabulary.find(item) for item in asked], np.int32)
    lengths, low, high = longest_matches(Lookup(column), ids)
    found = list(zip(lengths.tolist(), (high - low).tolist()))
    assert found == twins.longest(texts, asked)


@given(
    coded.columns,
    lists(coded.numbers, 30, 1),
    st.sampled_from([SEARCHES - 1, SEARCHES, SEARCHES + 1, 3 * SEARCHES + 5]),
)
def test_a_text_longer_than_the_searches_in_step(
    column: LayerColumn, part: list[int], size: int
) -> None:
    check(column, (part * size)[:size])


# One to three items that go round and round, then others.
stretches = st.lists(
    st.tuples(st.text("ab", min_size=1, max_size=3), st.integers(1, 2 * LONG)), max_size=3
).map(lambda pairs: [item for part, times in pairs for item in part * times])


@dear(20)
@given(st.lists(stretches, max_size=3), stretches, st.booleans())
@example([["a"] * 400], ["a"] * 300, True)
@example([["a"] * 300, ["b"] + ["a"] * 200], ["a"] * 400, False)
@example([["a", "b"] * 150] * 3, ["b", "a"] * 140, True)
def test_all_repeats(texts: list[list[str]], asked: list[str], uneven: bool) -> None:
    column = coded.column(texts, 4, uneven=uneven)
    for held in (column, twins.as_chain(column)):
        check(held, [column.vocabulary.find(item) for item in asked])


@dear(10)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_copies_of_a_long_stretch(seed: int, copies: int) -> None:
    rng = np.random.default_rng(seed)
    stretch = rng.integers(0, 3, 4 * LONG + SEARCHES)
    texts = []
    for _ in range(copies):
        copy = stretch.copy()
        copy[rng.integers(0, len(copy), 2)] = rng.integers(0, 3)
        texts.append(["abc"[i] for i in copy])
    column = twins.column(texts, 7)
    asked = (stretch + 1).tolist()
    for held in (column, twins.as_chain(column)):
        check(held, asked + asked[LONG:] + [-1] + asked[: 2 * LONG])


def test_an_item_of_the_vocabulary_that_the_column_does_not_hold() -> None:
    column = twins.column([["a", "d"], ["b", "d", "d"], ["c"]])
    ids = column.ids.all()
    ids = np.where(ids == 3, 0, ids)
    for table_bits in (1, 2, 3, 6):
        suffixes = twins.suffixes(ids, 5, table_bits)
        ends = np.flatnonzero(ids == 0)
        kept = replace(column, ids=ItemStream(pack(ids, 3)), suffixes=suffixes, document_ends=ends)
        check(kept, [3, 1, 4, 3, 4, 4, 3, 3, 2])
