from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError
from rote.core.layer import Layer
from rote.index.segments import documents as texts_module
from rote.index.segments.documents import CompressedTexts, TextsWriter
from rote.index.segments.part import LAYER, FolderTarget, MemoryTarget, open_part
from rote.index.segments.positions import CharacterSpans, CharacterSpansWriter, item_mask
from tests.examples import dear, lists, some


def odd(chance: Random) -> str:
    return "".join(some("ab \n\x00é中😀\ud800\udfff", 12)(chance))


batches = lists(some(odd, 5), 4)
Text = list[tuple[int, int]]


def texts_of(*steps: list[str] | CompressedTexts) -> CompressedTexts:
    target = MemoryTarget()
    part = target.part("some", "some", LAYER)
    writer = TextsWriter(part, "texts")
    for step in steps:
        if isinstance(step, CompressedTexts):
            writer.copy(step)
        else:
            writer.add(step)
    writer.finish()
    part.seal()
    return CompressedTexts(target.parts["some"], "texts")


def spans_of(*steps: list[Text] | CharacterSpans) -> CharacterSpans:
    target = MemoryTarget()
    part = target.part("some", "some", LAYER)
    writer = CharacterSpansWriter(part)
    for step in steps:
        if isinstance(step, CharacterSpans):
            writer.copy(step)
        else:
            layer = layer_of(step)
            writer.add(layer, item_mask(layer))
    part.seal()
    return CharacterSpans(target.parts["some"])


def layer_of(texts: list[Text]) -> Layer:
    pairs = np.array([pair for text in texts for pair in text], np.int32).reshape(-1, 2)
    ends = np.cumsum(list(map(len, texts)), dtype=np.int64)
    return Layer("word", np.zeros(len(pairs), np.int32), ("x",), pairs[:, 0], pairs[:, 1], ends)


def places(texts: list[Text]) -> list[tuple[int, int]]:
    """The slow twin: the span of every place, (0, 0) at the ends of documents."""
    return [pair for text in texts for pair in [*text, (0, 0)]]


def same(one: CharacterSpans, other: CharacterSpans) -> bool:
    columns = ((each.steps, each.anchors, *each.exceptions) for each in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(*columns))


@given(batches, st.integers(1, 9), lists(some(range(15), 2, 2), 20, 20))
def test_any_piece_of_any_text_comes_back(
    batches: list[list[str]], chunk: int, spans: list[tuple[int, int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts_module, "CHUNK", chunk)
        texts = texts_of(*batches)
    expected = [text for batch in batches for text in batch]
    assert [texts.text(i) for i in range(len(texts))] == expected
    assert [texts.length(i) for i in range(len(texts))] == list(map(len, expected))
    for (i, text), (start, stop) in zip(enumerate(expected), spans):
        assert texts.text(i, start, stop) == text[start:stop]


@given(batches, st.integers(1, 9))
def test_joined_columns_hold_the_texts_of_all(batches: list[list[str]], chunk: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(texts_module, "CHUNK", chunk)
        joined = texts_of(["begin"], *map(texts_of, batches), ["end"])
    expected = ["begin", *(text for batch in batches for text in batch), "end"]
    assert [joined.text(i) for i in range(len(joined))] == expected


def test_only_the_chunks_that_are_needed_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = texts_of(["x" * 300_000 + "here" + "y" * 300_000])
    opened = []
    plain = CompressedTexts._decompress
    monkeypatch.setattr(
        CompressedTexts, "_decompress", lambda self, c: opened.append(c) or plain(self, c)
    )
    texts = texts_of(texts)
    assert texts.text(0, 299_998, 300_006) == "xxhereyy"
    assert texts.text(0, 299_998, 300_006) == "xxhereyy"
    assert len(opened) == 1


def test_texts_outside_of_the_column_are_an_error() -> None:
    texts = texts_of(["one"])
    for i in (-1, 1):
        with pytest.raises(IndexError):
            texts.text(i)


def test_a_damaged_text_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    part = FolderTarget(tmp_path).part("some", "some", LAYER)
    writer = TextsWriter(part, "texts")
    writer.add(["one two three four five six seven"])
    writer.finish()
    part.seal()
    place = tmp_path / "some" / "texts.data"
    data = bytearray(place.read_bytes())
    data[-8] ^= 1
    place.write_bytes(bytes(data))
    texts = CompressedTexts(open_part(tmp_path / "some"), "texts")
    with pytest.raises(InputError, match=r"some: texts: a text is damaged.*rote index verify"):
        texts.text(0)


FAR = [0, 1, 126, 127, 254, 255, 256, 70_000]


def pair(chance: Random) -> tuple[int, int]:
    near = chance.random() < 2 / 3
    start = chance.randint(0, 9 if near else 2**30)
    return start, start + (chance.randint(0, 9) if near else chance.choice(FAR))


any_texts = lists(some(some(pair, 40), 6), 4)


@dear(50)
@given(any_texts)
def test_every_span_comes_back(batches: list[list[Text]]) -> None:
    spans = spans_of(*batches)
    expected = places([text for batch in batches for text in batch])
    assert len(spans) == len(expected)
    starts, ends = spans.spans(np.arange(len(spans)))
    assert list(zip(starts.tolist(), ends.tolist())) == expected
    for place in range(0, len(expected), 7):
        start, end = spans.spans(np.array([place]))
        assert (start[0], end[0]) == expected[place]


@dear(50)
@given(any_texts)
def test_copied_spans_are_those_written_at_once(batches: list[list[Text]]) -> None:
    assert same(spans_of(*map(spans_of, batches)), spans_of(*batches))
    assert same(spans_of([text for batch in batches for text in batch]), spans_of(*batches))


@given(st.integers(1, 200), st.integers(0, 200))
def test_long_documents_have_anchors_where_they_should(first: int, second: int) -> None:
    texts = [[(5 * i, 5 * i + 4) for i in range(n)] for n in (first, second)]
    spans = spans_of(texts)
    found = zip(*(column.tolist() for column in spans.spans(np.arange(len(spans)))))
    assert list(found) == places(texts)
    assert len(spans.exceptions[0]) == 0


def test_places_outside_are_an_error() -> None:
    spans = spans_of([[(0, 1)]])
    for place in (-1, 2):
        with pytest.raises(IndexError):
            spans.spans(np.array([place]))
