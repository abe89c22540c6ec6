"""Layers keep items, spans and vocabularies aligned."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from rote.core.layer import Layer, concatenate, number
from tests.examples import drawn, some

WORDS = some(some(["a", "B", "b", "Ab", "ß"], 6), 5)


def layer_of(texts: list[list[str]]) -> Layer:
    vocabulary, ids = number(word for text in texts for word in text)
    starts, ends = [], []
    for text in texts:
        at = 0
        for word in text:
            starts.append(at)
            ends.append(at + len(word))
            at += len(word) + 1
    return Layer(
        "word",
        ids,
        vocabulary,
        np.array(starts, np.int32),
        np.array(ends, np.int32),
        np.cumsum([len(text) for text in texts], dtype=np.int64),
    )


def test_items_and_spans_of_one_text() -> None:
    layer = layer_of([["the", "cat"], [], ["the"]])
    assert len(layer) == 3
    assert [layer.items(t) for t in range(3)] == [["the", "cat"], [], ["the"]]
    assert layer.spans(0) == [(0, 3), (4, 7)]
    assert layer.vocabulary == ("the", "cat")


@given(drawn(WORDS))
def test_a_mapped_layer_is_the_function_of_every_item(texts: list[list[str]]) -> None:
    lower = layer_of(texts).map("lower", str.lower)
    assert [lower.items(t) for t in range(len(texts))] == [[w.lower() for w in t] for t in texts]
    assert len(set(lower.vocabulary)) == len(lower.vocabulary)


@given(drawn(some(WORDS, 4, least=1)))
def test_joined_layers_hold_the_texts_of_all(parts: list[list[list[str]]]) -> None:
    joined = concatenate([layer_of(part) for part in parts])
    whole = layer_of([text for part in parts for text in part])
    assert joined.vocabulary == whole.vocabulary
    for name in ("ids", "starts", "ends", "text_ends"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name))
