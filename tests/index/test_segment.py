from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings

from rote.core.document import Annotation, Document
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import JsonObject, as_json
from rote.corpus import Batch
from rote.index.segments import positions
from rote.index.segments.part import FolderTarget, MemoryTarget, check_part
from rote.index.segments.segment import LayerForms, SegmentRecord, open_segment, read_segment
from rote.index.segments.writers import (
    build_layer_segment,
    build_memory_segment,
    merge_segments,
    sort_layer,
    write_layer,
    write_segment,
)
from tests.examples import dear, lists, some
from tests.index.segment_twins import (
    LAYERS,
    SORTED,
    Described,
    check,
    corpora,
    described,
    in_memory,
    layer,
    on_disk,
    piece,
    pieces,
    same_column,
    same_columns,
    tag,
)


@dear(25)
@given(corpora)
def test_a_segment_says_what_the_documents_said(corpus: list[list[Described]]) -> None:
    check(in_memory(corpus), corpus)


@settings(max_examples=10)
@given(corpora)
def test_on_disk_and_in_memory_are_the_same(corpus: list[list[Described]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        segment, record = on_disk(path, corpus)
        check(segment, corpus)
        same_columns(segment, in_memory(corpus))
        assert sorted(place.name for place in path.iterdir()) == sorted(
            part.folder for part in record.parts
        )
        assert SegmentRecord.from_json(JsonObject.of(as_json(asdict(record)), "m")) == record
        assert (record.documents, record.tokens) == (len(segment.documents), segment.tokens)
        for part in record.parts:
            assert check_part(path / part.folder, part.checksum) == []
        assert open_segment(path).columns.keys() == segment.columns.keys()


@dear(25)
@given(lists(some(described, 4, 1), 3, 1))
def test_merged_segments_are_one_written_at_once(corpus: list[list[Described]]) -> None:
    target = MemoryTarget()
    record = merge_segments(target, [in_memory([batch]) for batch in corpus], LayerForms(SORTED))
    merged = read_segment("merged", target.parts.values())
    check(merged, corpus)
    same_columns(merged, in_memory(corpus))
    assert (record.documents, record.tokens) == (len(merged.documents), merged.tokens)


def some() -> list[list[Described]]:
    first = Document("one", "The cat sat.", {"author": "Ann", "source": "human"})
    second = Document("two", "", {})
    third = Document("three", "The dog.", {"author": "Bob"})
    cat = [[("The", 0, 3), ("cat", 4, 7), ("sat", 8, 11), (".", 11, 12)]]
    dog = [[("The", 0, 3), ("dog", 4, 7), (".", 7, 8)]]
    return [
        [(first, cat, [("The", 0, 3), ("Ġcat", 3, 7)]), (second, [], [])],
        [(third, dog, [("The", 0, 3)])],
    ]


def test_a_layer_is_added_afterwards(tmp_path: Path) -> None:
    segment, record = on_disk(tmp_path, some())
    shapes = [made.word.map("shape", len_of) for _, made in pieces(some())]
    added = write_layer(FolderTarget(tmp_path), segment, "shape", shapes, LayerForms(["shape"]))
    own = [made.trees["subwords"] for _, made in pieces(some())]
    more = write_layer(
        FolderTarget(tmp_path),
        segment,
        "pieces",
        own,
        LayerForms(),
        has_own_items=True,
        folder="pieces-2",
    )
    assert more.folder == "pieces-2"
    wider = open_segment(tmp_path, (*record.parts, added, more))
    assert wider.columns["shape"].vocabulary.strings() == ["", "1", "3"]
    assert wider.columns["shape"].ids.all().tolist() == [2, 2, 2, 1, 0, 0, 2, 2, 1, 0]
    assert wider.columns["shape"].suffixes is not None
    assert wider.positions_of("shape") is wider.positions_of("word")
    assert wider.positions_of("pieces").document_ends.tolist() == [2, 3, 5]
    assert wider.columns["pieces"].suffixes is None
    check(wider, some())


def len_of(word: str) -> str:
    return str(len(word))


def test_a_layer_of_other_words_is_refused(tmp_path: Path) -> None:
    segment, _ = on_disk(tmp_path, some())
    first, second = (made.word for _, made in pieces(some()))
    other = layer("word", [[("The", 0, 3)]])
    for wrong in ([first], [first, other], [first, second, second], [first, first]):
        with pytest.raises(InputError, match="does not fit the words of segment"):
            write_layer(FolderTarget(tmp_path), segment, "lemma", wrong, LayerForms())
        if wrong[-1] is not other:
            target = FolderTarget(tmp_path)
            with pytest.raises(InputError, match="does not fit the words of segment"):
                write_layer(target, segment, "lemma", wrong, LayerForms(), has_own_items=True)
    assert not (tmp_path / "lemma").exists()
    check(open_segment(tmp_path), some())


@pytest.mark.parametrize("name", ["word", "subwords"])
def test_a_layer_is_sorted_afterwards(tmp_path: Path, name: str) -> None:
    segment, record = on_disk(tmp_path, some())
    target = FolderTarget(tmp_path)
    part = sort_layer(target, segment, name, LayerForms([name]), folder=f"{name}-sorted")
    kept = [other for other in record.parts if other.name != name]
    again = open_segment(tmp_path, (*kept, part))
    at_once = build_memory_segment(pieces(some()), layers=LAYERS, sorted_layers=(*SORTED, name))
    same_column(again.columns[name], at_once.columns[name])
    assert again.positions.keys() == segment.positions.keys()


def test_a_segment_of_layers_alone() -> None:
    word = piece(some()[0])[1].word
    held = {"word": word, "lower": word.map("lower", str.lower)}
    segment = build_layer_segment(held, sorted_layers=("lower",))
    assert segment.columns["word"].suffixes is None
    assert segment.columns["lower"].vocabulary.strings() == ["", ".", "cat", "sat", "the"]
    assert segment.columns["lower"].ids.all().tolist() == [4, 2, 3, 1, 0, 0]
    assert segment.documents.ids() == ["0", "1"]
    assert segment.documents.text(0) == ""
    assert segment.documents.find("1") == 1
    only = build_layer_segment({"pos": word.map("pos", tag)}, sorted_layers=("pos",))
    assert only.columns.keys() == {"pos"}
    assert only.positions_of("pos").items == 4


def test_sentences_are_unknown_if_they_are_for_one_piece() -> None:
    made = pieces(some())
    without = layer("word", [[("a", 0, 1)]])
    other = Batch([Document("x", "a")], "file", "label", [1], [])
    segment = build_memory_segment(
        [made[0], (other, Annotation({"word": without}))], layers=(), sorted_layers=()
    )
    assert segment.positions["word"].sentence_last is None
    target = MemoryTarget()
    known = build_memory_segment(made, layers=(), sorted_layers=())
    merge_segments(target, [known, segment], LayerForms(()))
    assert read_segment("both", target.parts.values()).positions["word"].sentence_last is None


def test_another_field_can_name_the_author() -> None:
    batch = Batch([Document("x", "a", {"author": "A", "writer": [1, "B"]})], "f", "l", [1], [])
    made = Annotation({"word": layer("word", [[("a", 0, 1)]])})
    segment = build_memory_segment(
        [(batch, made)], layers=(), sorted_layers=(), author_field="writer"
    )
    assert segment.documents.author.of(0) == "1; B"


def test_annotation_that_came_with_the_input_is_not_kept_twice() -> None:
    meta = {"annotation": ["large"], "date": Path("as it reads")}
    batch = Batch([Document("x", "a", meta)], "f", "l", [1], [])
    made = Annotation({"word": layer("word", [[("a", 0, 1)]])})
    segment = build_memory_segment([(batch, made)], layers=(), sorted_layers=())
    assert segment.documents.meta(0) == {"date": "as it reads"}


def test_layers_that_do_not_align_are_refused(tmp_path: Path) -> None:
    batch, made = piece(some()[0])
    other = layer("pos", [[("X", 0, 1)], []])
    wrong = Annotation({"word": made.word, "pos": other})
    with pytest.raises(InputError, match="the layer 'pos' does not fit"):
        write_segment(FolderTarget(tmp_path), [(batch, wrong)], LayerForms(), layers=("pos",))
    assert list(tmp_path.iterdir()) == [], "nothing half-written is left"
    with pytest.raises(InputError, match="documents are missing"):
        open_segment(tmp_path)


def test_a_segment_that_grows_too_long_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "MAX_POSITIONS", 5)
    with pytest.raises(OptionError, match=r"holds at most 5 .*--memory"):
        in_memory(some())


def test_segments_with_different_layers_are_not_merged() -> None:
    one = in_memory(some())
    other = build_memory_segment(pieces(some()), layers=("lower",), sorted_layers=())
    with pytest.raises(OptionError, match="rote index add-layer"):
        merge_segments(MemoryTarget(), [one, other], LayerForms(()))


def test_parts_of_different_segments_do_not_open_together(tmp_path: Path) -> None:
    _, record = on_disk(tmp_path / "one", some())
    on_disk(tmp_path / "two", some()[:1])
    (tmp_path / "one" / "lower").rename(tmp_path / "lower")
    (tmp_path / "two" / "lower").rename(tmp_path / "one" / "lower")
    with pytest.raises(InputError, match="has changed since it was written"):
        open_segment(tmp_path / "one", record.parts)
    with pytest.raises(InputError, match="this layer does not fit"):
        open_segment(tmp_path / "one")
