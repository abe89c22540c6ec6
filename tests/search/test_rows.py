"""Matches, counts and groups as the shell and the browser show them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rote.core.document import Document
from rote.index.answers import Occurrence
from rote.index.index import Index
from rote.search.rows import matches as arrays
from rote.search.rows.collocates import count_neighbours
from rote.search.rows.counts import (
    COUNT_COLUMNS,
    DOCUMENT,
    FREQUENT_COLUMNS,
    Groups,
    count_by_group,
    count_phrases,
    count_query,
    fields_of,
    groups_by,
    has_authors,
    list_frequent,
    split_phrases,
)
from rote.search.rows.matches import (
    COLUMNS,
    count_forms,
    find_missing,
    read_row_blocks,
    row_of,
    search_index,
    sort_matches,
)
from tests.examples import lists, some
from tests.indexes import build_index, index_texts

SORTS = ["place", "left", "left3", "right", "right2", "document", "form"]
SEGMENTS = lists(some(some(["a", "B", "b", ",", "cd", "A"], 12, 1), 4, 1), 3, 1)
QUERIES = ["[]", "a", '"b"', '"a" []', '"a|b" []{0,2}', '[word="B"]']


def joined(segments: list[list[list[str]]]) -> Index:
    """An index in memory of several segments; documents are named as they are numbered there."""
    made = [index_texts([" ".join(text) for text in texts]) for texts in segments]
    return Index([one.segments[0] for one in made], made[0].recipe, layers=made[0].layers)


# -- matches ---------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1 << 16, 2])
@given(SEGMENTS, st.sampled_from(QUERIES), st.sampled_from(SORTS))
def test_orders_and_tallies_are_those_of_a_plain_sort(
    at_once: int, segments: list[list[list[str]]], query: str, sort: Any
) -> None:
    index = joined(segments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_AT_ONCE", at_once)
        found = search_index(index, query)
        order = sort_matches(found.matches, sort)
    places = index.search(query)
    assert (found.total, found.limited) == (len(places), False)
    assert found.documents == len({(place.segment, place.number) for place in places})

    def form(place: Occurrence) -> str:
        return " ".join(index.context(place, 0).match.lower().split())

    def words(place: Occurrence) -> list[str]:
        context = index.context(place, 1000)
        nth = int(sort[-1]) if sort[-1].isdigit() else 1
        if sort.startswith("left"):
            return re.findall(r"\w+", context.before.lower())[::-1][nth - 1 : 10]
        return re.findall(r"\w+", context.after.lower())[nth - 1 : 10]

    counts = Counter(map(form, places))
    keys: dict[str, Callable[[Occurrence], Any]] = {
        "place": lambda place: 0,
        "left": words,
        "right": words,
        "left3": words,
        "right2": words,
        "document": lambda place: place.document,
        "form": lambda place: (-counts[form(place)], form(place)),
    }
    assert found.matches.places(order) == sorted(places, key=keys[sort])
    assert dict(count_forms(found.matches)) == dict(counts)
    by_document = [segment.documents.ids() for segment in index.segments]
    shown = Counter(place.document for place in places)
    rows = count_by_group(found.matches, Groups(by_document, dict.fromkeys(shown, 10)))
    assert {row["group"]: row["matches"] for row in rows} == dict(shown)


@given(SEGMENTS, st.sampled_from(QUERIES), st.integers(1, 6))
def test_a_limit_gives_the_first_matches_and_the_number_of_all(
    segments: list[list[list[str]]], query: str, limit: int
) -> None:
    index = joined(segments)
    found = search_index(index, query, limit=limit)
    assert found.matches.places(sort_matches(found.matches, "place")) == index.search(query, limit)
    assert found.total == len(index.search(query))
    holding = {(place.segment, place.number) for place in index.search(query)}
    if found.limited and query != "a":
        assert found.documents is None  # all matches would have to be looked up
    else:
        assert found.documents == len(holding)


@settings(max_examples=20)
@given(SEGMENTS, st.sampled_from(QUERIES), st.integers(0, 5), st.integers(1, 20))
def test_blocks_of_rows_are_the_rows_of_a_search(
    segments: list[list[list[str]]], query: str, around: int, limit: int
) -> None:
    index = joined(segments)
    blocks = read_row_blocks(index, index.parse(query), around, limit)
    assert [row for block in blocks for row in block] == [
        row_of(place, index.context(place, around)) for place in index.search(query, limit)
    ]


@given(
    SEGMENTS,
    st.sampled_from(QUERIES),
    st.sampled_from(["left", "right"]),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_what_is_next_and_only_some_documents_are_those_of_a_plain_count(
    segments: list[list[list[str]]], query: str, side: str, words: int, kept: int
) -> None:
    index = joined(segments)
    flags = [
        np.array([number % 4 != kept for number in range(len(segment.documents))])
        for segment in index.segments
    ]
    found = search_index(index, query, selected=flags)
    places = [place for place in index.search(query) if flags[place.segment][place.number]]
    assert found.matches.places(np.arange(len(found.matches))) == places
    assert found.documents == len({(place.segment, place.number) for place in places})
    counts: Counter[tuple[str, bool]] = Counter()
    for place in places:
        context = index.context(place, 1000)
        beside = context.after.split()[:words]
        if side == "left":
            beside = context.before.split()[-words:]
        counts[" ".join(beside).lower(), len(beside) < words] += 1
    rows = count_neighbours(found.matches, side, words)
    assert {(row["words"], row["ends"]): row["count"] for row in rows} == dict(counts)
    assert [row["count"] for row in rows] == sorted(counts.values(), reverse=True)


@given(SEGMENTS, lists(["a", "b", "cd", "x"], 5, 1))
def test_what_is_lacking_is_that_of_a_plain_search(
    segments: list[list[list[str]]], phrase: list[str]
) -> None:
    index = joined(segments)
    texts = [" ".join(text).lower().split() for texts in segments for text in texts]

    def count(part: list[str]) -> int:
        return sum(text[i : i + len(part)] == part for text in texts for i in range(len(text)))

    found = find_missing(index, " ".join(phrase))
    parts = [phrase[i:j] for i in range(len(phrase)) for j in range(i + 1, len(phrase) + 1)]
    held = [part for part in parts if count(part)]
    most = max(map(len, held), default=0)
    assert found.unknown == list(dict.fromkeys(word for word in phrase if not count([word])))
    assert {part: n for part, _, n in found.longest} == {
        " ".join(part): count(part) for part in held if len(part) == most
    }
    asked = " ".join(f'"{word}"' for word in phrase)
    if not count(phrase):
        assert [n for *_, n in find_missing(index, asked).longest] == [n for *_, n in found.longest]


def test_a_row_holds_every_column() -> None:
    index = index_texts(["One old dog sat."])
    (place,) = index.search("old dog")
    row = row_of(place, index.context(place, 4))
    assert tuple(row) == COLUMNS
    assert list(row.values()) == ["0", None, None, 1, 4, 11, "One ", "old dog", " sat"]


def test_beside_subwords_the_words_of_the_text_are_compared(tmp_path: Path) -> None:
    """Pieces in their order would be `c`, `zz`, `##ab`, ...: no order that anybody looks for."""
    texts = ["x zzab", "x c", "x Zza", "x b c", "x b, a"]
    index = build_index(texts, tmp_path / "IDX", layers=("lower", f"subwords:{pieces(tmp_path)}"))
    found = search_index(index, "x", "subwords")
    places = found.matches.places(sort_matches(found.matches, "right"))
    shown = [index.context(place, 20).after.strip() for place in places]
    assert shown == ["b, a", "b c", "c", "Zza", "zzab"]


def pieces(folder: Path) -> str:
    """A tokenizer of words, letters and pairs of letters."""
    pytest.importorskip("tokenizers")
    known = ["[UNK]", *"abcxzZ,", "zz", "Zz", "##a", "##b", "##ab"]
    model = {
        "type": "WordPiece",
        "vocab": {piece: number for number, piece in enumerate(known)},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    parts = ("truncation", "padding", "normalizer", "post_processor", "decoder")
    whole = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": model,
        **dict.fromkeys(parts),
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(whole))
    return str(path)


# -- counts ----------------------------------------------------------------------------------


@settings(max_examples=30)
@given(SEGMENTS, lists(some("abx", 3, 1), 5))
def test_phrases_are_counted_as_by_hand(
    segments: list[list[list[str]]], asked: list[list[str]]
) -> None:
    index = joined(segments)
    texts = [[word.lower() for word in text] for part in segments for text in part]
    phrases = [" ".join(words) for words in asked]
    rows = count_phrases(index, phrases, split_phrases(index, phrases, "lower"), "lower")
    assert len(rows) == len(phrases)
    for row, words in zip(rows, asked):
        assert tuple(row) == COUNT_COLUMNS
        per_text = [
            sum(text[i : i + len(words)] == words for i in range(len(text))) for text in texts
        ]
        assert (row["phrase"], row["items"]) == (" ".join(words), words)
        assert row["occurrences"] == sum(per_text)
        assert row["documents"] == sum(map(bool, per_text))
        assert row["authors"] is None  # nobody said who wrote these
        assert row["per_million"] == pytest.approx(sum(per_text) / sum(map(len, texts)) * 1e6)


def test_a_query_is_counted_and_read_back() -> None:
    row = count_query(index_texts(["a b, a c", "b a"]), '"a" []')
    assert tuple(row) == COUNT_COLUMNS
    assert (row["occurrences"], row["query"], row["layer"]) == (2, '[lower="a"] []', "lower")
    assert row["per_million"] == pytest.approx(2 / 7 * 1e6)
    assert row["documents"] is row["authors"] is row["items"] is None


@settings(max_examples=30)
@given(SEGMENTS, st.integers(1, 3), st.integers(1, 8))
def test_the_most_frequent_are_those_of_a_plain_count(
    segments: list[list[list[str]]], n: int, k: int
) -> None:
    index = joined(segments)
    texts = [[word.lower() for word in text] for part in segments for text in part]
    counts: Counter[tuple[str, ...]] = Counter()
    holding: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        grams = [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
        counts.update(grams)
        holding.update(set(grams))
    best = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
    rows = list_frequent(index, n, k)
    assert [(tuple(row["items"]), row["count"]) for row in rows] == best
    assert [row["rank"] for row in rows] == list(range(1, len(best) + 1))
    for row in rows:
        assert tuple(row) == FREQUENT_COLUMNS
        assert row["documents"] == holding[tuple(row["items"])]
        assert row["example"].lower().split() == row["items"]
        assert row["per_million"] == pytest.approx(row["count"] / sum(map(len, texts)) * 1e6)
    assert {row["example"] for row in list_frequent(index, n, k, examples=False)} <= {None}


def test_where_places_are_not_sorted_there_are_no_examples() -> None:
    (row,) = list_frequent(index_texts(["a a"]), 2, 5, "word")
    assert (row["items"], row["example"]) == (["a", "a"], None)


# -- groups ----------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Index:
    given = [("a b a", "Ada", 1901), ("b b", "Bo", 1902), ("a", "", 1901)]
    documents = [
        Document(f"d{number}", text, {"author": author, "year": year, "tags": ["x"]})
        for number, (text, author, year) in enumerate(given)
    ]
    return build_index(documents, tmp_path / "idx")


def test_matches_are_grouped_by_any_plain_field(written: Index) -> None:
    assert has_authors(written)
    assert fields_of(written) == [DOCUMENT, "author", "year"]  # a list is no plain value
    found = search_index(written, "a").matches

    def rows(field: str) -> list[tuple[Any, ...]]:
        listed = count_by_group(found, groups_by(written, field))
        return [(r["group"], r["matches"], r["documents"], r["words"]) for r in listed]

    assert rows(DOCUMENT) == [("d0", 2, 1, 3), ("d2", 1, 1, 1)]
    assert rows("author") == [("Ada", 2, 1, 3), ("", 1, 1, 1)]
    assert rows("year") == [("1901", 3, 2, 4)]
    (only,) = count_by_group(found, groups_by(written, "year"))
    assert only["per_million"] == pytest.approx(3 / 4 * 1e6)
