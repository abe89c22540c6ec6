"""Kernels call kernels, and several processes may compile at once."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import TypingError

from rote.core import kernel_cache
from rote.core.kernels import njit


@njit(nogil=True)
def half(x):  # type: ignore[no-untyped-def]
    if x % 2:
        raise ValueError("odd")
    return x // 2


@njit(nogil=True)
def halves(values):  # type: ignore[no-untyped-def]
    found = np.empty(len(values), np.int64)
    for k in range(len(values)):
        found[k] = half(values[k])
    return found


@njit(nogil=True)
def steps(x):  # type: ignore[no-untyped-def]
    return 0 if x == 1 else 1 + steps(3 * x + 1 if x % 2 else x // 2)


@njit(inline="always")
def twice(x):  # type: ignore[no-untyped-def]
    return x + x


@njit(nogil=True)
def sums(x, y):  # type: ignore[no-untyped-def]
    return twice(x) + twice(y)


def test_a_kernel_is_called_by_python_and_by_kernels_and_raises_for_both() -> None:
    assert halves(np.array([2, 4, 10])).tolist() == [1, 2, 5]
    assert half(6) == 3
    with pytest.raises(ValueError, match="odd"):
        halves(np.array([2, 3]))
    with pytest.raises(ValueError, match="odd"):
        half(3)
    assert halves(np.array([2, 4], np.uint8)).tolist() == [1, 2]


def test_a_kernel_may_call_itself_and_be_taken_into_another() -> None:
    assert steps(27) == 111
    assert sums(1, 2) == 6
    assert sums(0.5, 2) == 5.0
    assert sums(np.array([1, 2]), 1).tolist() == [4, 6]


def test_types_that_a_kernel_cannot_take_are_named() -> None:
    with pytest.raises(TypingError, match="No implementation of function"):
        sums("a", 1)


def started(code: str, cache: Path) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(filter(None, sys.path))
    own = {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": paths}
    return subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **own}, stdout=subprocess.PIPE
    )


def test_processes_that_compile_the_same_at_once_compile_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = "from rote.core.kernels import njit\n@njit(cache=True)\ndef double(x): return x + x\n"
    (tmp_path / "double.py").write_text(kernel)
    call = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from double import double; "
        "print([double(x) for x in (1, 2.5)], "
        "sum(double._cache_misses.values()))"
    )
    processes = [started(call, tmp_path / "cache") for _ in range(2)]
    said = [process.communicate()[0].decode().split("] ") for process in processes]
    assert {answer for answer, _ in said} == {"[2, 5.0"}
    assert sum(int(compiled) for _, compiled in said) == 2
    # Whoever comes later finds both.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    root = kernel_cache.cache_root.__wrapped__()
    monkeypatch.setattr(kernel_cache, "cache_root", lambda: root)
    monkeypatch.syspath_prepend(tmp_path)
    double = import_module("double").double
    assert [double(x) for x in (1, 2.5)] == [2, 5.0]
    assert not double._cache_misses


def test_where_nothing_can_be_locked_kernels_are_compiled_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "cache_root", lambda: tmp_path)

    @njit(cache=True)
    def triple(x):  # type: ignore[no-untyped-def]
        return 3 * x

    def refuse(*_: object) -> None:
        raise OSError("no locks available")

    monkeypatch.setattr(kernel_cache.fcntl, "flock", refuse)
    assert triple(2) == 6
    assert not list(tmp_path.rglob("*.nbi"))
