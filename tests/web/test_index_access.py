from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus import open_corpus
from rote.index.folders.build import add_to_index
from rote.index.folders.maintenance import merge_index
from rote.web.workspace import IndexCache, RecentAnswers
from tests.kit import PATIENCE
from tests.web.asked import made_index


def numbered(first: int, last: int) -> list[Document]:
    """Documents that hold the word `alpha` once each."""
    return [Document(f"d{i}", f"Alpha number {i} stands here.") for i in range(first, last)]


def grow(path: Path, first: int, last: int) -> None:
    add_to_index(path, open_corpus(numbered(first, last)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made_index(tmp_path / "idx", numbered(0, 5), layers=("lower",))


def test_an_index_is_opened_once_as_long_as_it_stays_the_same(path: Path) -> None:
    indexes = IndexCache()
    assert indexes.current(path) is indexes.current(path)


def test_documents_that_were_added_are_found_without_opening_the_app_anew(path: Path) -> None:
    indexes = IndexCache()
    before = indexes.current(path)
    grow(path, 5, 7)
    after = indexes.current(path)
    assert (before.index.count("alpha"), after.index.count("alpha")) == (5, 7)
    assert after.manifest.generation == before.manifest.generation + 1


def test_what_is_open_answers_as_before_after_a_merge_removed_its_files(path: Path) -> None:
    indexes = IndexCache()
    grow(path, 5, 7)
    before = indexes.current(path)
    merge_index(path)
    after = indexes.current(path)
    assert len(before.index.segments) == 2
    assert len(after.index.segments) == 1
    for opened in (before, after):
        places = opened.index.search("alpha number")
        assert [place.document for place in places] == [f"d{i}" for i in range(7)]
        assert opened.index.context(places[6], 60).after.strip() == "6 stands here."


def test_an_old_state_is_let_go_with_its_last_reader(path: Path) -> None:
    indexes = IndexCache()
    old = indexes.current(path).index
    old.count("alpha")
    held = weakref.ref(old)
    grow(path, 5, 6)
    indexes.current(path)
    assert held() is not None
    del old
    gc.collect()
    assert held() is None


def test_nobody_waits_for_a_newer_state_who_has_an_older_one(path: Path) -> None:
    indexes = IndexCache()
    old = indexes.current(path)
    grow(path, 5, 6)
    # Another request is opening it.
    with indexes._doors[path]:
        assert indexes.current(path) is old
    assert indexes.current(path) is not old


def test_every_answer_belongs_to_one_state_while_documents_are_added(path: Path) -> None:
    indexes, stop, answered = IndexCache(), threading.Event(), threading.Condition()
    seen: set[int] = set()
    wrong: list[object] = []

    def ask() -> None:
        while not stop.wait(0.002):  # the writer needs a turn too
            try:
                opened = indexes.current(path)
                index, documents = opened.index, opened.manifest.documents
                found = (
                    index.documents_held,
                    index.count("alpha"),
                    len(index.search('"alpha" "number"')),
                    index.matches('[lower="al.*"]'),
                    int(index.document_counts(["stands here"])[0]),
                )
                if set(found) != {documents}:
                    wrong.append((documents, found))
                with answered:
                    seen.add(documents)
                    answered.notify()
            except BaseException as error:
                wrong.append(error)
                with answered:
                    answered.notify()
                return

    def see(documents: int) -> None:
        """A busy machine may add all documents before a reader has its turn."""
        with answered:
            assert answered.wait_for(lambda: documents in seen or wrong, PATIENCE)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        see(5)
        for first in range(5, 17, 4):
            grow(path, first, first + 4)
            see(first + 4)
            if first == 9:
                merge_index(path)
        merge_index(path)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert seen == {5, 9, 13, 17}
    assert indexes.current(path).index.count("alpha") == 17


def test_an_index_that_is_gone_is_an_error_that_names_it(path: Path) -> None:
    indexes = IndexCache()
    indexes.current(path)
    (path / "rote-index.json").unlink()
    with pytest.raises(InputError, match="idx"):
        indexes.current(path)


def test_what_is_made_of_a_state_is_made_once(path: Path) -> None:
    opened, made = IndexCache().current(path), []
    for _ in range(3):
        assert opened.once("name", lambda: made.append(1) or len(made)) == 1


def test_of_recent_answers_those_stay_that_were_asked_for_last() -> None:
    recent, made = RecentAnswers(most=2), []

    def make(name: str) -> str:
        return recent.get(name, lambda: made.append(name) or name)

    for name in ("a", "b", "a", "c", "a", "b"):
        assert make(name) == name
    assert made == ["a", "b", "c", "b"]
