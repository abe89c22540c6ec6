"""Kernels are cached by what they are made of."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rote.core import kernel_cache

SOURCE = Path(kernel_cache.__file__).resolve().parent.parent


def test_a_file_is_locked_by_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    with kernel_cache.locked(path) as first, kernel_cache.locked(path, wait=False) as second:
        assert (first, second) == (True, False)
    with kernel_cache.locked(path, wait=False) as third:
        assert third
    (tmp_path / "file").touch()
    with kernel_cache.locked(tmp_path / "file" / "lock") as fourth:
        assert not fourth


def test_every_kernel_file_uses_the_cache_that_knows_what_it_imports() -> None:
    numba_njit = re.compile(r"^\s*(from numba import .*\bn?jit\b|@numba\.|@jit)", re.M)
    kernels = {path for path in SOURCE.rglob("*.py") if "@njit" in path.read_text()}
    assert len(kernels) > 40
    wrong = [str(path) for path in SOURCE.rglob("*.py") if numba_njit.search(path.read_text())]
    assert wrong == [str(SOURCE / "core" / "kernels.py")]


def test_a_change_in_a_file_that_a_kernel_imports_compiles_it_again(tmp_path: Path) -> None:
    """numba alone watches only the kernel's own file: it would go on with the old constant. Nor is
    a kernel taken that came with the package, if it was made of something else or for a processor
    that has what this one has not."""
    package = tmp_path / "rote"
    (package / "core").mkdir(parents=True)
    for name in ("__init__.py", "core/__init__.py"):
        (package / name).touch()
    needed = ("kernels", "dispatcher", "kernel_cache", "cache", "progress")
    for name in (*needed, "json_reader", "files", "errors", "distribution"):
        (package / "core" / f"{name}.py").write_text((SOURCE / "core" / f"{name}.py").read_text())
    (package / "first.py").write_text(
        "from rote.core.kernels import njit\nfrom rote.second import (\n    twice,\n)\n\n\n"
        "@njit(cache=True)\ndef answer(x):\n    return twice(x) + 1\n"
    )
    second, command = package / "second.py", [sys.executable, "-B", "-c", _FORKS, str(tmp_path)]
    second.touch()
    environment = {**os.environ, "PYTHONPATH": "", "ROTE_KERNELS": ""}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as forks:

        def run(factor: int, cache: str) -> tuple[int, int, list[str]]:
            """Of a new process: the answer, how many versions of the kernel the cache then holds,
            and the processor."""
            second.write_text(
                "from rote.core.kernels import njit\n\n\n"
                f"@njit(cache=True)\ndef twice(x):\n    return {factor} * x\n"
            )
            assert forks.stdin is not None
            assert forks.stdout is not None
            print(tmp_path / cache, file=forks.stdin, flush=True)
            answer, processor = json.loads(forks.stdout.readline())
            versions = len({path.parent for path in (tmp_path / cache).rglob("first*.nbi")})
            return answer, versions, processor

        for factor, answer, versions in ((2, 11, 1), (2, 11, 1), (3, 16, 2)):
            *said, processor = run(factor, "cache")
            assert said == [answer, versions]
        (built,) = (tmp_path / "cache" / "rote").iterdir()
        (package / "compiled").mkdir()
        (tmp_path / "cache" / "rote").rename(package / "compiled" / "rote")
        made_for = package / "compiled" / "rote" / built.name / "target.json"
        made_for.write_text(json.dumps(processor))
        assert run(3, "other")[:2] == (16, 0)
        assert run(4, "other")[:2] == (21, 1)
        made_for.write_text(json.dumps([*processor[:2], f"{processor[2]},+wings"]))
        assert run(3, "third")[:2] == (16, 1)


# To start takes long: once for all processes, which have imported no kernel when they begin.
_FORKS = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import numba.core.registry, rote.core.kernels
for line in sys.stdin:
    if os.fork() == 0:
        os.environ["NUMBA_CACHE_DIR"] = line.strip()
        import rote.first
        context = numba.core.registry.cpu_target.target_context
        print(json.dumps([rote.first.answer(5), context.codegen().magic_tuple()]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""


def test_a_home_that_cannot_be_written_to_still_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    root = kernel_cache.cache_root.__wrapped__()
    monkeypatch.setattr(kernel_cache, "cache_root", lambda: root)
    assert root != kernel_cache._wanted_root()
    assert root.is_dir()
    assert root.stat().st_mode & 0o077 == 0
    # Whoever made a folder of its own takes it away.
    made = "from rote.core.kernel_cache import cache_root; print(cache_root().is_dir())"
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    assert subprocess.check_output([sys.executable, "-c", made], env=env) == b"True\n"
    assert os.listdir(tmp_path) == ["file"]


def test_the_cache_folder_that_a_user_names_holds_the_kernels_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "named"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert kernel_cache.cache_root.__wrapped__().is_relative_to(tmp_path / "named")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))
    assert kernel_cache.cache_root.__wrapped__().is_relative_to(tmp_path / "kernels")
