"""Without a document, an index answers as one that was built without it."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import rote
from rote.annotate import annotators, store
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.progress import Silent
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import (
    add_layer,
    merge_index,
    remove_documents,
    replace_documents,
)
from rote.index.folders.manifest import read_manifest
from rote.search.trace.trace import trace
from tests.index.folders import MEMORY, assert_holds, characters, corpus, options, tree
from tests.index.test_forms import answers
from tests.kit import Heard

LAYERS = ("lower", "pos")
WORDS = "the The THE old OLD ferry Ferry was late near Near quay . , and And".split()

FERRY = "The old ferry was late again, and nobody waited on the quay for the letter."

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def drawn(seed: int, number: int = 14) -> list[Document]:
    """Texts over few words, so that much repeats; some are empty, some hold words of their own."""
    draw = random.Random(seed)
    documents = []
    for i in range(number):
        words = draw.choices(WORDS, k=draw.randint(0, 30))
        if draw.random() < 0.3:
            words.insert(0, f"own{i}")
        meta = {"author": draw.choice(["Ada", "Bo", None]), "source": "a" if i % 2 else "b"}
        meta |= {"mood": draw.random(), "list": ["ü", 1]}
        documents.append(Document(f"{i}", " ".join(words) or "\u200b", meta))
    return documents


def written(folder: Path, name: str, documents: Sequence[Document], at_once: int) -> list[Path]:
    """Files of some documents each, named by what they begin with."""
    files = []
    folder.mkdir(exist_ok=True)
    for start in range(0, len(documents), at_once):
        lines = [
            json.dumps({"id": d.id, "text": d.text, **d.meta})
            for d in documents[start : start + at_once]
        ]
        files.append(folder / f"{name}{start:02d}.jsonl")
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return files


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_index_is_to_the_last_byte_one_without_the_documents(
    tmp_path: Path, seed: int, compact: bool
) -> None:
    documents, draw = drawn(seed), random.Random(seed)
    gone = {d.id for d in draw.sample(documents, draw.randint(1, 6))}
    left = [d for d in documents if d.id not in gone]
    chosen = options(memory=2**30, layers=(*LAYERS, "word"), compact=compact)
    build_index(corpus(written(tmp_path / "all", "t", documents, 14)), tmp_path / "idx", chosen)
    build_index(corpus(written(tmp_path / "left", "t", left, 14)), tmp_path / "fresh", chosen)
    made = remove_documents(tmp_path / "idx", sorted(gone))
    assert (made.removed, made.added, made.manifest.documents) == (len(gone), 0, len(left))
    index, fresh = open_index(tmp_path / "idx"), open_index(tmp_path / "fresh")
    assert index.manifest.fingerprint == fresh.manifest.fingerprint
    assert index.manifest.words == fresh.manifest.words
    # Records hold the checksums of all columns; where they came from is told beside them.
    both = [each.manifest.segments[0].record for each in (index, fresh)]
    assert both[0] == both[1]
    assert verify_index(tmp_path / "idx") == []


@pytest.mark.parametrize("seed", range(4))
def test_over_several_segments_and_after_a_merge_too(tmp_path: Path, seed: int) -> None:
    documents, draw = drawn(seed), random.Random(seed)
    one_each = options(memory=1)
    path = tmp_path / "idx"
    build_index(corpus(written(tmp_path / "all", "t", documents, 3)), path, one_each)
    before = len(read_manifest(path).segments)
    # All of one segment, and some of others.
    gone = {"3", "4", "5", *(str(i) for i in draw.sample((6, 7, 9, 10, 12), 3))}
    left = [d for d in documents if d.id not in gone]
    remove_documents(path, gone)
    assert len(read_manifest(path).segments) == before - 1
    assert_holds(path, left, LAYERS)
    merge_index(path)
    assert_holds(path, left, LAYERS)
    whole = options(memory=2**30)
    build_index(corpus(written(tmp_path / "left", "t", left, 14)), tmp_path / "fresh", whole)
    assert answers(open_index(path)) == answers(open_index(tmp_path / "fresh"))


@pytest.mark.parametrize("seed", range(3))
def test_replaced_documents_are_those_of_the_input(tmp_path: Path, seed: int) -> None:
    documents, path = drawn(seed), tmp_path / "idx"
    build_index(corpus(written(tmp_path / "all", "t", documents, 5)), path, options())
    others = {d.id: d for d in drawn(seed + 50, 20)}
    new = [others[i] for i in ("2", "6", "7", "17")]
    files = written(tmp_path / "new", "n", new, 2)
    made = replace_documents(path, corpus(files), memory=MEMORY)
    assert (made.removed, made.added, made.manifest.documents) == (3, 4, 15)
    left = [d for d in documents if d.id not in ("2", "6", "7")]
    assert_holds(path, [*left, *new], LAYERS)
    heard, state = Heard(), tree(path)
    again = replace_documents(path, corpus(files), memory=MEMORY, reporter=heard)
    assert (again.removed, again.added) == (0, 0)
    assert "nothing to replace" in heard.lines[-1]
    assert tree(path) == state
    # Another field is another document.
    other = [replace(new[0], meta={**new[0].meta, "author": "Cy"})]
    replace_documents(path, corpus(written(tmp_path / "other", "o", other, 1)))
    assert open_index(path).document("2").meta["author"] == "Cy"
    assert verify_index(path) == []


def test_a_store_replaces_too(tmp_path: Path) -> None:
    documents, path = drawn(1), tmp_path / "idx"
    build_index(corpus(written(tmp_path / "all", "t", documents, 5)), path, options())
    new = drawn(60, 3)
    files = written(tmp_path / "new", "n", new, 2)
    store.annotate(
        corpus(files), tmp_path / "store", annotators.get("rote"), ("pos",), reporter=Silent()
    )
    replace_documents(path, store.open_store(tmp_path / "store"), memory=MEMORY)
    assert_holds(path, [*documents[3:], *new], LAYERS)


def test_layers_with_items_of_their_own_and_added_ones_stay(tmp_path: Path) -> None:
    documents, path = drawn(2), tmp_path / "idx"
    tokenizer = characters(tmp_path / "tokenizer.json")
    files = written(tmp_path / "all", "t", documents, 14)
    build_index(corpus(files), path, options(memory=2**30, layers=("lower", tokenizer)))
    add_layer(path, "shape")
    remove_documents(path, ["0", "13", "5"])
    left = [d for d in documents if d.id not in ("0", "13", "5")]
    fresh = tmp_path / "fresh"
    files = written(tmp_path / "left", "t", left, 14)
    build_index(corpus(files), fresh, options(memory=2**30, layers=("lower", tokenizer)))
    add_layer(fresh, "shape")
    assert answers(open_index(path)) == answers(open_index(fresh))
    for name in ("subwords", "word"):
        frames = [open_index(each).segments[0].positions_of(name) for each in (path, fresh)]
        assert frames[0].document_ends.tolist() == frames[1].document_ends.tolist()
    assert verify_index(path) == []


def test_what_is_removed_can_come_back_and_what_is_there_is_known(tmp_path: Path) -> None:
    documents, path = drawn(3, 6), tmp_path / "idx"
    files = written(tmp_path / "all", "t", documents, 3)
    build_index(corpus(files), path, options())
    remove_documents(path, ["1"])
    with pytest.raises(InputError, match="the index already contains a document with the id '0'"):
        add_to_index(path, corpus(files))
    made = add_to_index(path, corpus(files, on_error="skip"))
    assert made.added == 1
    assert_holds(path, [d for d in documents if d.id != "1"] + [documents[1]], LAYERS)


def test_ids_that_are_not_there_stop_it_or_are_skipped(tmp_path: Path) -> None:
    path, heard = tmp_path / "idx", Heard()
    build_index(corpus(written(tmp_path / "all", "t", drawn(4), 14)), path, options())
    state = tree(path)
    for ids in (["0", "x"], ["x", *map(str, range(100, 110))]):
        with pytest.raises(OptionError, match=r"'x'.*: nothing was removed"):
            remove_documents(path, ids)
    with pytest.raises(OptionError, match="list of the ids"):
        remove_documents(path, "0")
    assert tree(path) == state
    assert remove_documents(path, ["x"], missing="skip", reporter=heard).removed == 0
    assert tree(path) == state
    assert remove_documents(path, ["x", "0", "0"], missing="skip", reporter=heard).removed == 1
    assert heard.lines[-1] == f"{path} contains no document with the id 'x'"


def test_an_index_from_python(tmp_path: Path) -> None:
    path = tmp_path / "idx"
    index = rote.index([FERRY, "Nobody waited."], output=path)
    first = index.segments[0].documents.id(0)
    assert index.document(first).text == FERRY
    less = rote.index_remove(path, [first])
    texts = rote.open_corpus([FERRY])
    assert [len(trace(each, texts).spans) for each in (index, less)] == [1, 0]
    assert (index.count("ferry"), less.count("ferry")) == (1, 0)
    assert less.longest("The old ferry").lengths.tolist() == [0, 0, 0]
    with pytest.raises(OptionError, match=f"no document with the id '{first}'"):
        less.document(first)
    more = rote.index_replace(path, {"x": ["A ferry."]})
    assert (more.count("ferry"), more.documents_held) == (1, 2)
    every = [each for s in more.segments for each in s.documents.ids()]
    none = rote.index_remove(path, every)
    assert (none.documents_held, none.count("ferry"), none.top(1, 3).counts.tolist()) == (0, 0, [])
