"""Kernels are cached by what they are made of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rote.core import compiling

SOURCE = Path(compiling.__file__).resolve().parent.parent


def test_a_file_is_locked_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    with compiling.locked(path) as first, compiling.locked(path, wait=False) as second:
        assert (first, second) == (True, False)
    with compiling.locked(path, wait=False) as third:
        assert third
    (tmp_path / "file").touch()
    with compiling.locked(tmp_path / "file" / "lock") as fourth:
        assert not fourth


def test_every_kernel_file_uses_the_cache_that_knows_what_it_imports() -> None:
    numba_njit = re.compile(r"^\s*(from numba import .*\bn?jit\b|@numba\.|@jit)", re.M)
    kernels = {path for path in SOURCE.rglob("*.py") if "@njit" in path.read_text()}
    assert len(kernels) > 40
    wrong = [str(path) for path in SOURCE.rglob("*.py") if numba_njit.search(path.read_text())]
    assert wrong == [str(SOURCE / "core" / "kernels.py")]


def test_a_change_in_a_file_that_a_kernel_imports_compiles_it_again(tmp_path: Path) -> None:
    """numba alone watches only the kernel's own file: it would go on with the old constant."""
    package = tmp_path / "rote"
    (package / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (package / name).touch()
    for name in ("kernels", "quick_numba", "compiling", "cache", "progress"):
        (package / "core" / f"{name}.py").write_text((SOURCE / "core" / f"{name}.py").read_text())
    (package / "first.py").write_text(
        "from rote.core.kernels import njit\nfrom rote.second import (\n    twice,\n)\n\n\n"
        "@njit(cache=True)\ndef answer(x):\n    return twice(x) + 1\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ""}
    call = "import sys; sys.path.insert(0, sys.argv[1]); import rote.first as f; print(f.answer(5))"
    said = []
    for factor in (2, 2, 3):
        (package / "second.py").write_text(
            "from rote.core.kernels import njit\n\n\n"
            f"@njit(cache=True)\ndef twice(x):\n    return {factor} * x\n"
        )
        command = [sys.executable, "-B", "-c", call, str(tmp_path)]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.append(int(run.stdout))
    assert said == [11, 11, 16]
    folders = {path.parent.name for path in (tmp_path / "cache").rglob("first*.nbi")}
    assert len(folders) == 2  # the second call found the first one's


def test_a_home_that_cannot_be_written_to_still_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    root = compiling._cache_root.__wrapped__()
    monkeypatch.setattr(compiling, "_cache_root", lambda: root)
    assert not compiling.cache_lasts()
    assert root.is_dir()
    assert root.stat().st_mode & 0o077 == 0
