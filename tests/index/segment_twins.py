"""Random described documents, segments made of them, and a slow twin of all that one says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from rote.core.document import Annotation, Document
from rote.core.layer import Layer, number
from rote.corpus import Batch
from rote.index.columns.layer_column import LayerColumn
from rote.index.segments.part import FolderTarget
from rote.index.segments.segment import LayerForms, Segment, SegmentRecord, open_segment
from rote.index.segments.writers import build_memory_segment, write_segment
from tests.examples import Maker, lists, some
from tests.index import twins

LAYERS = ("lower", "pos", "subwords")
SORTED = ("lower", "pos")
LONG = "w" * 70_000

# A document as the tests see it: what it is, and its (item, start, end) in two frames.
Spanned = tuple[str, int, int]
Described = tuple[Document, list[list[Spanned]], list[Spanned]]
Piece = tuple[Batch, Annotation]

WORDS = ["a", "A", "the", "The", "é", "😀", "\ud800", "中", LONG]
SUBWORDS = ["Ġa", "##b", "ã", "\udfff", "<s>"]
LENGTHS = [0, 1, 2, 3, 254, 255, 256, 70_000]
IDS = ["one", "two", "three", "\ud83d", "", "x" * 300]
TEXTS = ["", "A text.", "😀 \ud800 é", "\x00", "long " * 14_000]
FIELDS: dict[str, list[Any]] = {
    "author": ["Ann", "Bob", ["Ann", "Bob"], 7, None, "", [], "é"],
    "source": ["human", "model", 3.5],
    "note": ["x", "\ud800", {"deep": [1, None, True]}],
}


def spanned(items: Sequence[str]) -> Maker:
    def make(chance: Random) -> Spanned:
        start = chance.randint(0, chance.choice([300, 2**30]))
        return chance.choice(items), start, start + chance.choice(LENGTHS)

    return make


def described(chance: Random) -> Described:
    meta = {name: chance.choice(held) for name, held in FIELDS.items() if chance.random() < 0.5}
    sentences = some(some(spanned(WORDS), 6, 1), 3)(chance)
    own = some(spanned(SUBWORDS), 8)(chance)
    return Document(chance.choice(IDS), chance.choice(TEXTS), meta), sentences, own


corpora = lists(some(described, 4), 3)


def layer(name: str, texts: Sequence[Sequence[Spanned]], sentence_ends: Any = None) -> Layer:
    flat = [item for text in texts for item in text]
    vocabulary, ids = number(["unused", *(item for item, _, _ in flat)])
    return Layer(
        name=name,
        ids=ids[1:],
        vocabulary=vocabulary,
        starts=np.array([start for _, start, _ in flat], np.int32),
        ends=np.array([end for _, _, end in flat], np.int32),
        text_ends=np.cumsum(list(map(len, texts)), dtype=np.int64),
        sentence_ends=sentence_ends,
    )


def joined(sentences: Sequence[Sequence[Spanned]]) -> list[Spanned]:
    return [item for sentence in sentences for item in sentence]


def tag(word: str) -> str:
    return "X" if word.lower() == word else "Y"


def piece(batch: Sequence[Described]) -> Piece:
    sentence_ends = np.cumsum(
        [len(sentence) for _, sentences, _ in batch for sentence in sentences], dtype=np.int64
    )
    word = layer("word", [joined(sentences) for _, sentences, _ in batch], sentence_ends)
    pos = word.map("pos", tag)
    trees = {"subwords": layer("subwords", [own for _, _, own in batch])}
    held = [document for document, _, _ in batch]
    made = Annotation({"word": word, "pos": pos}, None, trees)
    return Batch(held, "file", "label", list(range(len(held))), []), made


def pieces(corpus: Sequence[Sequence[Described]]) -> list[Piece]:
    return [piece(batch) for batch in corpus]


def in_memory(corpus: Sequence[Sequence[Described]]) -> Segment:
    return build_memory_segment(pieces(corpus), layers=LAYERS, sorted_layers=SORTED)


def on_disk(path: Path, corpus: Sequence[Sequence[Described]]) -> tuple[Segment, SegmentRecord]:
    record = write_segment(
        FolderTarget(path), iter(pieces(corpus)), LayerForms(SORTED), layers=LAYERS
    )
    return open_segment(path, record.parts), record


def author(meta: Any) -> str | None:
    value = meta.get("author")
    if isinstance(value, list):
        value = "; ".join(value)
    return str(value) if value not in (None, "") else None


def check(segment: Segment, corpus: Sequence[Sequence[Described]]) -> None:
    """The slow twin: everything a segment says, from the documents as they were."""
    batch = [each for held in corpus for each in held]
    found = segment.documents
    assert len(found) == len(batch)
    ids = [document.id for document, _, _ in batch]
    for i, (document, _, _) in enumerate(batch):
        assert found.id(i) == document.id
        assert found.text(i) == document.text
        assert found.text(i, 2, 9) == document.text[2:9]
        assert found.meta(i) == document.meta
        assert found.author.of(i) == author(document.meta)
        source = document.meta.get("source")
        assert found.source.of(i) == (None if source is None else str(source))
        assert found.find(document.id) == ids.index(document.id)
    assert found.find("of nobody") is None
    texts = [joined(sentences) for _, sentences, _ in batch]
    lasts = [
        [i == len(sentence) - 1 for sentence in sentences for i in range(len(sentence))] + [False]
        for _, sentences, _ in batch
    ]
    assert segment.tokens == sum(map(len, texts))
    assert segment.places == segment.tokens + len(texts)
    last = segment.positions["word"].sentence_last
    assert last is not None
    assert last.all().tolist() == [int(bit) for text in lasts for bit in text]
    check_layer(segment, "word", texts)
    check_layer(segment, "lower", [[(w.lower(), s, e) for w, s, e in text] for text in texts])
    check_layer(segment, "pos", [[(tag(w), s, e) for w, s, e in text] for text in texts])
    if "subwords" in segment.positions:
        check_layer(segment, "subwords", [own for _, _, own in batch])
        assert segment.positions["subwords"].sentence_last is None or not batch


def check_layer(segment: Segment, name: str, texts: Sequence[Sequence[Spanned]]) -> None:
    column, frame = segment.columns[name], segment.positions_of(name)
    strings = sorted({item for text in texts for item, _, _ in text})
    assert column.name == name
    assert column.vocabulary.strings() == ["", *strings]
    items = [[item for item, _, _ in text] for text in texts]
    stream = twins.stream(items, column.vocabulary)
    assert column.ids.all().tolist() == stream.tolist()
    assert column.document_ends.tolist() == np.flatnonzero(stream == 0).tolist()
    assert frame.document_ends is column.document_ends
    places = np.arange(len(frame))
    spans = [(start, end) for text in texts for _, start, end in [*text, ("", 0, 0)]]
    assert list(zip(*(part.tolist() for part in frame.spans.spans(places)))) == spans
    expected = [d for d, text in enumerate(texts) for _ in range(len(text) + 1)]
    assert frame.document_of(places).tolist() == expected
    assert [frame.start_of(d) for d in range(len(texts))] == [
        expected.index(d) for d in range(len(texts))
    ]
    assert (column.suffixes is not None) == (name in SORTED)
    if column.suffixes is not None:
        numbers = stream.tolist()
        order = column.suffixes.order.all().tolist()
        suffixes = [numbers[p : numbers.index(0, p)] for p in order]
        assert sorted(order) == [p for p, n in enumerate(numbers) if n]
        assert suffixes == sorted(suffixes)


def same_columns(one: Segment, other: Segment) -> None:
    assert list(one.columns) == list(other.columns)
    for name in one.columns:
        same_column(one.columns[name], other.columns[name])
        a, b = one.positions_of(name), other.positions_of(name)
        assert same_packed(a.sentence_last, b.sentence_last)
        assert np.array_equal(a.spans.steps, b.spans.steps)
        assert np.array_equal(a.spans.anchors, b.spans.anchors)
        assert all(map(np.array_equal, a.spans.exceptions, b.spans.exceptions))
    x, y = one.documents, other.documents
    for first, second in ((x.author, y.author), (x.source, y.source)):
        assert np.array_equal(first.numbers, second.numbers)
        assert first.vocabulary.strings() == second.vocabulary.strings()
    assert all(map(np.array_equal, x.hashes, y.hashes))


def same_column(one: LayerColumn, other: LayerColumn) -> None:
    assert same_packed(one.ids.packed, other.ids.packed)
    assert np.array_equal(one.ids.table, other.ids.table)
    assert one.vocabulary.strings() == other.vocabulary.strings()
    assert np.array_equal(one.document_ends, other.document_ends)
    assert (one.suffixes is None) == (other.suffixes is None)
    if one.suffixes and other.suffixes:
        assert same_packed(one.suffixes.order, other.suffixes.order)
        assert np.array_equal(one.suffixes.lengths, other.suffixes.lengths)
        assert same_packed(one.suffixes.table, other.suffixes.table)


def same_packed(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return one.bits == other.bits and np.array_equal(one.data, other.data)
