"""The kernels of a command are compiled ahead, and the first use says that it compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from rote.core import compiling
from rote.core.progress import Silent
from rote.run import _ahead
from tests.cli.calls import commands

RECORD = "write the lists again: python benchmarks/first_call.py --record"


@pytest.fixture(autouse=True)
def _no_kernels_of_the_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None came with this package, whether or not it was built with some."""
    monkeypatch.setenv("ROTE_KERNELS", "later")
    compiling.built_for.cache_clear()
    yield
    compiling.built_for.cache_clear()


class Listener(Silent):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def say(self, line: str) -> None:
        self.heard.append(line)


def test_the_lists_are_of_commands_and_of_kernels_that_take_so_many_arguments() -> None:
    lists = _ahead._lists()
    called = {name.removesuffix(" (compact)") for name in lists["commands"]}
    assert called <= set(commands()), RECORD
    named = {one for command in lists["commands"] for one in _ahead.kernels_of(command)}
    numbered = {
        (*name.rpartition(".")[::2], number)
        for name, calls in lists["kernels"].items()
        for number in range(len(calls))
    }
    assert len(named) > 90
    assert named == numbered, RECORD
    for name, calls in lists["kernels"].items():
        module, _, kernel = name.rpartition(".")
        function = getattr(import_module(module), kernel, None)
        assert function is not None, f"{name} is gone: {RECORD}"
        sizes = {len(_ahead.read_types(types)) for types in calls}
        assert sizes == {len(signature(function.py_func).parameters)}, f"{name}: {RECORD}"


def test_types_are_read_as_they_were_written() -> None:
    for calls in _ahead._lists()["kernels"].values():
        for types in calls:
            assert _ahead.written_types(_ahead.read_types(types)) == types


def test_only_kernels_that_are_not_compiled_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "cache_root", lambda: tmp_path)  # of this process alone
    monkeypatch.setattr(_ahead, "_awaited", [])
    listener = Listener()
    _ahead.compile_ahead(listener, "self-repetition")
    _ahead.compile_ahead(listener, "no such command")
    _ahead.compile_ahead(listener, "self-repetition")  # said already
    kernels = _ahead.kernels_of("self-repetition")
    total = len(kernels)
    assert listener.heard == [f"first use: compiling {total} kernels, once"]
    assert _ahead.how_far() == f"compiling, once: {total} kernels left"
    tag = f"py{sys.version_info.major}{sys.version_info.minor}"
    for left, (module, name, number) in zip(reversed(range(total)), kernels, strict=True):
        source = compiling.source_of(module)
        folder = compiling.kernel_folder(source)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{source.stem}.{name}-12.{tag}.{number + 1}.nbc").touch()
        assert f"{left} kernel" in _ahead.how_far() or not left
    assert _ahead.how_far() == ""
    _ahead.compile_ahead(listener, "self-repetition")
    assert len(listener.heard) == 1


def test_a_helper_compiles_what_a_command_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "cache_root", compiling._wanted_root)
    assert compiling.cache_lasts()
    needed = _ahead._missing(_ahead.kernels_of("index info"))
    assert needed
    helper = [sys.executable, "-c", _ahead.HELP]
    subprocess.run([*helper, "1", "index info"], check=True)  # its parent is another one
    assert _ahead._missing(needed) == needed
    subprocess.run([*helper, str(os.getpid()), "index info"], check=True)
    assert not _ahead._missing(needed)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a package's kernels are compiled to."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "cache_root", compiling._wanted_root)
    monkeypatch.setattr(_ahead, "cache_root", compiling._wanted_root)
    return tmp_path


def test_a_package_is_built_with_kernels_and_says_what_for(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiling.built_for() is None
    _ahead.build("index info")
    monkeypatch.setattr(compiling, "BUILT", built / "rote")
    monkeypatch.delenv("ROTE_KERNELS")
    compiling.built_for.cache_clear()
    codegen = import_module("numba.core.registry").cpu_target.target_context.codegen()
    assert compiling.built_for() == codegen.magic_tuple()
    monkeypatch.setattr(compiling, "cache_root", lambda: built / "another user's")
    assert not _ahead._missing(_ahead.kernels_of("index info"))


def test_a_package_that_is_built_again_compiles_only_what_changed(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ahead, "HELP", "")
    monkeypatch.setattr(_ahead, "_missing", lambda listed: [])
    source = compiling.source_of(_ahead.kernels_of("index info")[0][0])
    root, kept = compiling._wanted_root(), compiling.kernel_folder(source)
    others = (root / f"{source.stem}-of-another-digest", root.parent / "numba-0.1")
    stamp = root / compiling.TARGET
    _ahead.build("index info")
    target = stamp.read_text()
    for was, stays in ((target, True), ('["another processor"]', False), (None, False)):
        for folder in (kept, *others):
            folder.mkdir(parents=True, exist_ok=True)
        (root.parent / "no folder").touch()
        stamp.unlink()
        if was:
            stamp.write_text(was)
        _ahead.build("index info")
        assert stamp.read_text() == target
        assert kept.exists() == stays
        assert [*root.parent.iterdir()] == [root]
        assert not any(folder.exists() for folder in others)


def test_every_kernel_is_compiled_once_however_many_commands_call_it() -> None:
    listed = _ahead.kernels_of(_ahead.EVERY)
    assert len(listed) == len(set(listed)) == sum(map(len, _ahead._lists()["kernels"].values()))
