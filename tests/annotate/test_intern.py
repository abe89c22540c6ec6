"""The shared kernels against slow twins: interning, and characters to bytes and back."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate.words._batch import bytes_of, characters_of, encode_texts, intern
from tests.examples import drawn

texts = st.lists(st.text(st.one_of(st.characters(), st.sampled_from("aé中👍\ud800"))), max_size=5)


def slow_intern(data: bytes, spans: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    seen: dict[bytes, int] = {}
    first = []
    ids = []
    for item, (start, end) in enumerate(spans):
        word = data[start:end]
        if word not in seen:
            seen[word] = len(seen)
            first.append(item)
        ids.append(seen[word])
    return ids, first


def check(data: bytes, spans: list[tuple[int, int]]) -> None:
    pairs = np.array(spans, np.int64).reshape(-1, 2)
    starts, ends = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    ids, first = intern(np.frombuffer(data, np.uint8), starts, ends)
    assert (ids.tolist(), first.tolist()) == slow_intern(data, spans)


def data_and_spans(chance: random.Random) -> tuple[bytes, list[tuple[int, int]]]:
    """Of few bytes, or of any."""
    size, kinds = chance.randint(1, 30), chance.choice([2, 256])
    data = bytes(chance.randrange(kinds) for _ in range(size))
    places = [
        (chance.randint(0, size), chance.randint(0, size)) for _ in range(chance.randrange(20))
    ]
    return data, [(min(both), max(both)) for both in places]


@given(drawn(data_and_spans))
def test_interning_agrees_with_its_twin(made: tuple[bytes, list[tuple[int, int]]]) -> None:
    check(*made)


def test_interning_agrees_when_the_table_grows() -> None:
    # Some 40,000 distinct words: the table doubles several times.
    rng = np.random.default_rng(7)
    data = rng.integers(0, 8, 200_000, np.uint8).tobytes()
    starts = rng.integers(0, len(data) - 9, 50_000)
    check(data, [(int(a), int(a) + int(n)) for a, n in zip(starts, rng.integers(0, 9, 50_000))])


def width(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@given(texts)
def test_characters_and_bytes_translate_both_ways(texts: list[str]) -> None:
    of = encode_texts(texts)
    # Every character is an item.
    characters = np.array([k for text in texts for k in range(len(text))], np.int64)
    base = np.repeat(of.first, [len(text) for text in texts])
    starts = bytes_of(of.data, base + characters)
    ends = bytes_of(of.data, base + characters + 1)
    expected = [
        int(begin) + width(text[:k])
        for text, begin in zip(texts, of.begins)
        for k in range(len(text))
    ]
    assert starts.tolist() == expected
    text_ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    first, last = characters_of(of.data, of.begins, starts, ends, text_ends)
    assert np.array_equal(first, characters)
    assert np.array_equal(last, characters + 1)


@given(texts)
def test_a_batch_knows_where_its_texts_stand(texts: list[str]) -> None:
    of = encode_texts(texts)
    data = of.data.tobytes()
    for number, text in enumerate(texts):
        begin, stop = of.begins[number], of.stops[number]
        assert data[begin:stop].decode("utf-8", "surrogatepass") == text
        assert (data[begin - 1], data[stop]) == (0, 0)
