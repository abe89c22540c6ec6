"""What goes into an index: ids, fields, authors, nothing at all, and input that is refused."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from rote.annotate import annotators, store
from rote.core.document import Document
from rote.core.errors import InputError, OptionError
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.index.factory import open_index
from rote.index.folders.build import add_to_index, build_index
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import add_layer, merge_index
from rote.index.folders.manifest import read_manifest
from rote.index.folders.source import estimate_build
from rote.run import get
from tests.index.folders import MEMORY, assert_holds, corpus, options, tree, write_files
from tests.kit import Heard, write_jsonl

LAYERS = ("lower", "pos")


pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def test_ids_that_are_there_are_refused_or_skipped(tmp_path: Path, files: list[Path]) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files[:3]), path, options())
    before = tree(path)
    mixed = tmp_path / "mixed.jsonl"
    lines = [{"id": "new", "text": "A new text."}, {"id": "1-1", "text": "Another ferry."}]
    write_jsonl(mixed, lines)
    with pytest.raises(
        InputError, match=r"mixed.jsonl, line 2.* already contains .* id '1-1'.*--on-error"
    ):
        add_to_index(path, corpus([mixed]))
    assert tree(path) == before
    written = add_to_index(path, corpus([mixed], "skip"))
    assert (written.added, len(written.problems)) == (1, 1)
    kept = [document for document in corpus([mixed]) if document.id == "new"]
    assert_holds(path, [*corpus(files[:3]), *kept], LAYERS)
    # Again: nothing is new.
    before = tree(path)
    again = add_to_index(path, corpus([mixed], "skip"))
    assert (again.added, len(again.problems)) == (0, 2)
    assert tree(path) == before


def test_an_id_is_held_once_whichever_file_it_is_in(tmp_path: Path, files: list[Path]) -> None:
    again = write_jsonl(tmp_path / "again.jsonl", [{"id": "1-1", "text": "Another ferry."}])
    both, path = [*files[:3], again], tmp_path / "idx"
    place = r"again.jsonl, line 1, field 'id': the input already contains .* id '1-1'"
    with pytest.raises(InputError, match=rf"{place}.*--id-field.*--on-error skip"):
        build_index(corpus(both), tmp_path / "refused", options())
    written = build_index(corpus(both, "skip"), path, options())
    assert (written.added, len(written.problems)) == (9, 1)
    assert_holds(path, list(corpus(files[:3])), LAYERS)
    before = tree(path)
    assert build_index(corpus(both, "skip"), path, options()).added == 0
    assert tree(path) == before
    # The segments that the refused run had sealed count as well.
    with pytest.raises(InputError, match=place):
        build_index(corpus(both), tmp_path / "refused", options())
    made, _ = store.annotate(
        corpus(both), tmp_path / "s", annotators.get(), ("pos",), jobs=1, reporter=Silent()
    )
    for _ in range(2):
        with pytest.raises(InputError, match=r"already contains .* id '1-1'.*rote annotate"):
            build_index(made, tmp_path / "stored", options(memory=1))
    more = write_files(tmp_path / "in", 7, 8)
    write_jsonl(again, [{"id": "7-2", "text": "Another ferry."}])
    with pytest.raises(InputError, match=r"the input already contains .* id '7-2'"):
        add_to_index(path, corpus([*more, again]))
    assert read_manifest(path) == written.manifest


def test_an_index_that_holds_more_is_not_the_one_asked_for(
    tmp_path: Path, files: list[Path]
) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files[:3]), path, options())
    before = tree(path)
    for asked in (files[:2], files[1:3], [files[1], files[0], files[2]]):
        with pytest.raises(OptionError, match=r"contains more than this input.*another folder"):
            build_index(corpus(asked), path, options())
    assert tree(path) == before
    add_to_index(path, corpus(files[3:5]), memory=MEMORY)
    merge_index(path)
    with pytest.raises(OptionError, match="contains more than this input"):
        build_index(corpus(files[:3]), path, options())
    assert build_index(corpus(files[:5]), path, options()).added == 0


def test_authors_that_are_none_are_not_counted(tmp_path: Path) -> None:
    given = [float("nan"), "", {"name": "Ada"}, None, [], ["Ada", "", None, "Bo"], "Ada"]
    documents = [
        Document(str(i), "A text.", {"author": author, "x": 1}) for i, author in enumerate(given)
    ]
    build_index(open_corpus(documents), tmp_path / "idx", options())
    held = open_index(tmp_path / "idx").segments[0].documents
    assert [held.author.of(i) for i in range(len(given))] == [*[None] * 5, "Ada; Bo", "Ada"]


def test_fields_that_json_cannot_hold(tmp_path: Path) -> None:
    meta = {"day": date(2020, 2, 1), "mixed": {1: "a", "b": (1, 2)}, "n": np.int64(3)}
    build_index(open_corpus([Document("a", "A text.", meta)]), tmp_path / "idx", options())
    assert open_index(tmp_path / "idx").segments[0].documents.meta(0) == {
        "day": "2020-02-01",
        "mixed": {"1": "a", "b": [1, 2]},
        "n": 3,
    }
    with pytest.raises(InputError, match="field 'x': document 'b' holds a object, which cannot"):
        build_index(
            open_corpus([Document("b", "A text.", {"x": object()})]), tmp_path / "b", options()
        )


def test_an_empty_index_can_be_used(tmp_path: Path, files: list[Path]) -> None:
    (tmp_path / "none.jsonl").write_text("")
    path, heard = tmp_path / "idx", Heard()
    build_index(corpus([tmp_path / "none.jsonl"], "skip"), path, options())
    merge_index(path, reporter=heard)
    assert "nothing to merge" in heard.lines[0]
    add_layer(path, "lemma")
    assert verify_index(path) == []
    add_to_index(path, corpus(files))
    assert_holds(path, list(corpus(files)), ("lower", "pos", "lemma"))


@pytest.mark.parametrize("jobs", [0, -1])
def test_work_needs_a_core(tmp_path: Path, files: list[Path], jobs: int) -> None:
    path = tmp_path / "idx"
    build_index(corpus(files[:1]), path, options())
    for change in (
        lambda: build_index(corpus(files), tmp_path / "new", options(jobs=jobs)),
        lambda: add_to_index(path, corpus(files), jobs=jobs),
        lambda: merge_index(path, threads=jobs),
        lambda: add_layer(path, "lemma", jobs=jobs),
        lambda: estimate_build(corpus(files), options(jobs=jobs)),
        lambda: get(jobs=jobs).map(str, [1]),
    ):
        with pytest.raises(OptionError, match=f"jobs must be at least 1, not {jobs}"):
            change()
    assert not (tmp_path / "new").exists()


def test_changed_fields_are_changed_content(tmp_path: Path) -> None:
    for author in ("Ada", "Bo"):
        record = {"id": author, "text": "The ferry was late.", "author": author}
        (tmp_path / "one.jsonl").write_text(json.dumps(record | {"id": "same"}))
        path = tmp_path / author
        build_index(open_corpus(tmp_path / "one.jsonl"), path, options())
        assert open_index(path).segments[0].documents.author.of(0) == author
