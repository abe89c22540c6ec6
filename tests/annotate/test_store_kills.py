"""Killed at any moment, the same command makes the store that an undisturbed run makes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rote.annotate import annotators, store
from rote.core.errors import InputError, OptionError
from rote.core.locked_folder import locked
from rote.core.progress import Silent
from rote.corpus import open_corpus
from tests.index.folders import tree, write_files
from tests.killing import calls_of, kill_at, restore, states_at


def annotate(files: list[Path], path: Path, jobs: int = 1) -> store.Store:
    annotator = annotators.get("rote")
    corpus = open_corpus(files)
    return store.annotate(corpus, path, annotator, ("pos",), jobs=jobs, reporter=Silent())[0]


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are killed here, not machines: the kernel keeps what was written."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


class Work:
    """Annotating some files into a folder that is new, or holds the store of other files."""

    def __init__(self, home: Path, first: bool) -> None:
        self.files = write_files(home / "in", 0, 5)
        self.path, self.before, after = home / "s", home / "before", home / "after"
        self.first = first
        if not first:
            annotate(write_files(home / "in", 3, 8), self.before)
        annotate(self.files, after)
        self.expected = tree(after)

    def begin(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if not self.first:
            shutil.copytree(self.before, self.path)

    def run(self) -> store.Store:
        return annotate(self.files, self.path)

    def check(self) -> None:
        """After a kill the store is whole or none; the command again makes the right one."""
        if store.is_store(self.path):
            held = [batch for batch, _ in store.open_store(self.path).pieces()]
            assert sum(len(batch.documents) for batch in held) == 15
        else:
            with pytest.raises(InputError, match="no finished store"):
                store.open_store(self.path)
        done = pieces(self.path)
        self.run()
        assert tree(self.path) == self.expected
        now = pieces(self.path)
        assert {name: done[name] for name in done if name in now}.items() <= now.items()


def pieces(path: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of every piece."""
    places = ((place, place.stat()) for place in path.glob("0*.npz.zst"))
    return {place.name: (about.st_ino, about.st_mtime_ns) for place, about in places}


@pytest.fixture(params=[True, False], ids=["new", "again"])
def work(request: pytest.FixtureRequest, tmp_path: Path) -> Work:
    return Work(tmp_path, request.param)


def test_killed_before_any_call_it_goes_on(work: Work, tmp_path: Path) -> None:
    work.begin()
    names = calls_of(work.run, tmp_path / "calls")
    assert names.count("replace") == 6  # five pieces and the manifest
    last = len(names) - 1 - names[::-1].index("replace")  # the manifest
    work.begin()
    kill_at(last, work.run)
    work.check()
    # What kills elsewhere would leave is noted in one run.
    work.begin()
    for state in states_at(range(len(names)), work.run, work.path, tmp_path / "states"):
        restore(state, work.path)
        work.check()


@pytest.mark.parametrize("half", ["manifest", "piece"])
def test_a_half_written_file_does_not_stand_in_the_way(half: str, tmp_path: Path) -> None:
    """What a kill leaves between the first and the last byte of a file."""
    work = Work(tmp_path, first=False)
    work.begin()
    name = store.MANIFEST if half == "manifest" else next(iter(work.expected))
    work.path.mkdir(exist_ok=True)
    (work.path / f".{name}.0123abcd").write_bytes(b"half")
    work.check()


def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    files, path = write_files(tmp_path / "in", 0, 2), tmp_path / "s"
    path.mkdir()
    with (
        locked(path, "rote annotate"),
        pytest.raises(OptionError, match=rf"is being written by pid {os.getpid()}"),
    ):
        annotate(files, path)
    annotate(files, path)
