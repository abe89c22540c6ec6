"""Kernels are compiled when rote is installed, and a list names them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rote.core import kernel_cache, precompile
from rote.core.dispatcher import make_dispatcher
from rote.core.kernels import njit

SHORT = "rote.index.columns.packed_array._read"


@pytest.fixture(autouse=True)
def _no_kernels_of_the_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """None came with this package, whether or not it was built with some."""
    monkeypatch.setenv("ROTE_KERNELS", "later")
    kernel_cache.built_for.cache_clear()
    yield
    kernel_cache.built_for.cache_clear()


def test_the_list_is_of_kernels_that_take_so_many_arguments() -> None:
    lines = precompile.read_list()
    assert len(lines) == len(set(lines)) > 90
    for line in lines:
        kernel, types = precompile.find_kernel(line)
        place, _, written = line.partition(" ")
        assert len(types) == len(signature(kernel.py_func).parameters), f"write anew: {place}"
        assert precompile.json.dumps(precompile.write_types(types)) == written


def test_kernels_are_compiled_with_what_a_build_apart_requires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("hatchling")
    root = Path(__file__).resolve().parents[2]
    monkeypatch.syspath_prepend(root)
    hatch_build = import_module("hatch_build")
    calls = []
    monkeypatch.setattr(hatch_build.subprocess, "run", lambda call, **how: calls.append(how))
    monkeypatch.setenv("PYTHONPATH", "/build/site")
    monkeypatch.delenv("ROTE_KERNELS")
    hook = SimpleNamespace(root=root, app=SimpleNamespace(display_info=print))
    hatch_build.CompileKernels.initialize(hook, "standard", {"artifacts": []})
    assert calls[0]["env"]["PYTHONPATH"] == f"{root / 'src'}{os.pathsep}/build/site"


@njit(cache=True)
def triple(x):  # type: ignore[no-untyped-def]
    return 3 * x


@njit(cache=True)
def ninefold(x):  # type: ignore[no-untyped-def]
    return triple(triple(x))


def test_what_python_calls_is_added_to_the_list_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kernels.txt"
    path.write_text("another []\n")
    monkeypatch.setenv("ROTE_KERNEL_LIST", str(path))
    monkeypatch.setattr(kernel_cache, "cache_root", lambda: tmp_path)
    for value in (2, np.arange(2)):
        assert np.all(ninefold(value) == 9 * value)
    precompile.add_to_list(ninefold, ninefold.signatures[0], path)
    name = f"{__name__}.ninefold"
    assert path.read_text() == f'another []\n{name} ["int64"]\n{name} ["int64[1C]"]\n'
    kernel, types = precompile.find_kernel(path.read_text().splitlines()[1])
    assert kernel is ninefold
    assert types in ninefold.signatures


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a package's kernels are compiled to."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for module in (kernel_cache, precompile):
        monkeypatch.setattr(module, "cache_root", kernel_cache._wanted_root)
    return tmp_path


def test_a_package_is_built_with_kernels_and_says_what_for(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel_cache.built_for() is None
    lines = [line for line in precompile.read_list() if line.startswith(f"{SHORT} ")]
    precompile.build(lines)
    monkeypatch.setattr(kernel_cache, "BUILT", built / "rote")
    monkeypatch.delenv("ROTE_KERNELS")
    kernel_cache.built_for.cache_clear()
    codegen = import_module("numba.core.registry").cpu_target.target_context.codegen()
    assert kernel_cache.built_for() == codegen.magic_tuple()
    monkeypatch.setattr(kernel_cache, "cache_root", lambda: built / "another user's")
    function, types = precompile.find_kernel(lines[0])
    kernel = make_dispatcher(function.py_func, True, {"nogil": True})
    assert kernel.is_cached(types)
    assert not kernel.is_cached(())
    kernel.compile(types)
    assert not kernel._cache_misses


def test_a_package_that_is_built_again_compiles_only_what_changed(built: Path) -> None:
    source = kernel_cache.source_of(SHORT.rpartition(".")[0])
    root, kept = kernel_cache._wanted_root(), kernel_cache.kernel_folder(source)
    others = (root / f"{source.stem}-of-another-digest", root.parent / "numba-0.1")
    stamp = root / kernel_cache.TARGET
    precompile.build([])
    target = stamp.read_text()
    for was, stays in ((target, True), ('["another processor"]', False), (None, False)):
        for folder in (kept, *others):
            folder.mkdir(parents=True, exist_ok=True)
        (root.parent / "no folder").touch()
        stamp.unlink()
        if was:
            stamp.write_text(was)
        precompile._clear(root, target, [f"{SHORT} []"])
        assert stamp.read_text() == target
        assert kept.exists() == stays
        assert [*root.parent.iterdir()] == [root]
        assert not any(folder.exists() for folder in others)
