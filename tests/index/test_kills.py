"""Killed at any moment, or on a full disk: the index is the old one or the new one."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from rote.core.errors import InputError
from rote.core.locked_folder import os_error_messages
from rote.index.factory import open_index
from rote.index.folders.build import build_index
from rote.index.folders.folder import verify_index
from rote.index.folders.maintenance import add_layer, replace_documents
from rote.index.folders.manifest import is_index
from tests.index.folders import MEMORY, corpus, options, tree, words, write_files
from tests.killing import (
    State,
    calls_of,
    fork,
    hook,
    kill_at,
    kill_once,
    restore,
    state_of,
    states_at,
    status,
)
from tests.kit import write_jsonl


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Processes are killed here, not machines: the kernel keeps what was written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


class Work:
    """One command on one index: the state before it, and the state after it undisturbed."""

    def __init__(self, home: Path, name: str) -> None:
        files = write_files(home / "in", 0, 4)
        plain = options(layers=("lower",))
        lower = options(layers=("lower", "meaning:static"))
        changed = home / "changed.jsonl"
        texts = {"0-1": "The ferry sank.", "3-2": "Nobody sang.", "9-9": "A new letter."}
        write_jsonl(changed, ({"id": i, "text": texts[i]} for i in texts))
        self.path, before, after = home / "idx", home / "before", home / "after"
        self.run: Callable[[Path], Any] = {
            "build": lambda path: build_index(corpus(files), path, lower),
            "add-meanings": lambda path: add_layer(path, "meaning:static"),
            "replace": lambda path: replace_documents(path, corpus([changed]), memory=MEMORY),
        }[name]
        if name != "build":
            made_with = plain if name == "add-meanings" else lower
            build_index(corpus(files), before, made_with)
            shutil.copytree(before, after)
        self.run(after)
        assert verify_index(after) == []
        self.expected = tree(after)
        self.states = [words(open_index(path)) for path in (before, after)[name == "build" :]]
        self.first = name == "build"
        self.before: State = {} if self.first else state_of(before)
        self.begin()
        self.calls = calls_of(lambda: self.run(self.path), home / "calls")

    def begin(self) -> None:
        if self.first:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            restore(self.before, self.path)

    def check(self) -> None:
        """After a kill the index is one of the two; the command again makes it the new one."""
        if self.first and not is_index(self.path):
            with pytest.raises(InputError, match="this is no index"):
                open_index(self.path)
        else:
            assert words(open_index(self.path)) in self.states
        sealed = _sealed(self.path)
        self.run(self.path)
        assert tree(self.path) == self.expected  # which is whole
        now = _sealed(self.path)
        # What was finished was not made again.
        assert sealed.keys() & now.keys() == {
            name for name in sealed if now.get(name) == sealed[name]
        }


def _sealed(path: Path) -> dict[str, tuple[int, int]]:
    """Inode and time of every part of every whole segment."""
    found = {}
    for place in glob("segments/*/*/part.json", root_dir=path):
        if not place.split("/")[1].endswith((".partial", ".removed")):
            about = os.stat(path / place)
            found[place] = (about.st_ino, about.st_mtime_ns)
    return found


# One that begins an index, one that adds a layer, and one that adds and removes segments: what
# `add` and `merge` do is a part of that, and all end in the same call.
_COMMANDS = ["build", "add-meanings", "replace"]


@pytest.fixture(params=_COMMANDS, scope="module")
def work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Work:
    return Work(tmp_path_factory.mktemp(request.param), request.param)


def test_killed_before_any_call_it_is_the_old_or_the_new_index(work: Work, tmp_path: Path) -> None:
    names = work.calls
    renamed = {i for i, name in enumerate(names) if name == "rename"}
    # The manifest is the last file that is replaced before the clearing up.
    replaced = [i for i, name in enumerate(names) if name == "replace"]
    decisive = renamed | {i + 1 for i in renamed} | set(replaced[-3:])
    decisive |= {i + 1 for i in replaced[-2:]} | {0, len(names) - 1}
    work.begin()
    kill_at(replaced[-1], lambda: work.run(work.path))
    work.check()
    # What kills elsewhere would leave is noted in one run.
    changing = [i for i, name in enumerate(names) if name not in ("fsync", "open")]
    points = decisive & set(range(len(names))) | set(changing[:: max(1, len(changing) // 5)])
    work.begin()
    for state in states_at(points, lambda: work.run(work.path), work.path, tmp_path / "states"):
        restore(state, work.path)
        work.check()


def test_killed_with_workers_it_goes_on(tmp_path: Path) -> None:
    files = write_files(tmp_path / "in", 0, 40)
    path, lower = tmp_path / "idx", options(layers=("lower",))
    build_index(corpus(files), tmp_path / "after", lower)
    two = options(layers=("lower",), jobs=2)
    kill_once(lambda: _sealed(path), lambda: build_index(corpus(files), path, two))
    sealed = _sealed(path)
    assert sealed
    build_index(corpus(files), path, lower)
    assert tree(path) == tree(tmp_path / "after")
    assert sealed.items() <= _sealed(path).items()


def test_an_interrupted_build_of_other_texts_does_no_harm(tmp_path: Path) -> None:
    work = Work(tmp_path, "build")
    renames = [i for i, name in enumerate(work.calls) if name == "rename"]
    other = [*write_files(tmp_path / "in", 0, 1), *write_files(tmp_path / "in", 7, 9)]
    build_index(corpus(other), tmp_path / "other", options(layers=("lower",)))

    work.begin()
    kill_at(renames[-1], lambda: work.run(work.path))
    assert _sealed(work.path)
    build_index(corpus(other), work.path, options(layers=("lower",)))
    assert tree(work.path) == tree(tmp_path / "other")


@pytest.mark.parametrize("work", ["replace"], indirect=True)
def test_a_full_disk_is_said_and_leaves_the_old_index(work: Work) -> None:
    writes = [i for i, name in enumerate(work.calls) if name == "fsync"]

    def attempt(disturb: Callable[[], None]) -> None:
        work.begin()
        old = tree(work.path)

        def action() -> None:
            disturb()
            with pytest.raises(InputError) as caught:
                work.run(work.path)
            said = str(caught.value)
            assert str(work.path) in said
            assert "unchanged" in said
            assert "B free" in said
            assert not list(work.path.glob("segments/*.partial"))
            assert old.items() <= tree(work.path).items()

        assert status(fork(action)) == 0
        work.check()

    def full_at(point: int) -> Callable[[], None]:
        def refuse(number: int, name: str) -> None:
            if number >= point and name == "fsync":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return lambda: hook(refuse)

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))

    attempt(full_at(writes[len(writes) // 2]))
    attempt(full_at(writes[-2]))
    attempt(small_files)


def test_a_folder_that_cannot_be_written_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_files(tmp_path / "in", 0, 1)

    def refuse(source: object, target: object) -> None:
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS), str(source))

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", refuse)
        with pytest.raises(InputError, match=r"Read-only file system .* folder writable"):
            build_index(corpus(files), tmp_path / "idx", options())
    # Trouble elsewhere is not taken for trouble with the index.
    with pytest.raises(PermissionError), os_error_messages(tmp_path / "idx", "the index"):
        raise PermissionError(errno.EACCES, "no", str(files[0]))
