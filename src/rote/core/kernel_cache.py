"""Where compiled kernels are cached, and which of them are there.

numba compiles a kernel again when its own file changes, but not when a kernel or a constant that
it takes from another file does. So each file's kernels lie in a folder that is named by a digest of
the file and of all it imports from rote: an update never goes on computing with old code. The
folder is in the user's cache (`ROTE_CACHE`, or `NUMBA_CACHE_DIR` for kernels alone), so that a new
environment need not compile again.

A package that was built with kernels (`hatch_build.py`) holds a folder of the same form, with the
processor that they were compiled for. They are taken where the user's folder has none and this
processor has all that the other one has.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from rote.core import cache as user_cache
from rote.core.json_reader import read_json

ROOT = Path(__file__).resolve().parent.parent.parent  # the folder that holds the package
BUILT = ROOT / "rote" / "compiled" / "rote"
"""Where a package keeps the kernels that it came with."""
TARGET = "target.json"
"""What they were compiled for, beside them."""
COMPILING: list[str] = []
"""The kernel that this process is compiling now, for its progress bars."""
_IMPORT = re.compile(r"^from (rote[\w.]*) import (?:\(([^)]*)\)|(.*))|^import (rote[\w.]*)", re.M)


def kernel_folder(source: Path) -> Path:
    """Where the kernels of one file are cached."""
    return _folder_in(cache_root(), source)


def built_folder(source: Path) -> Path:
    """Where those are that came with the package."""
    return _folder_in(_numba_folder(BUILT), source)


def _folder_in(root: Path, source: Path) -> Path:
    return root / f"{source.stem}-{source_digest(source)[:20]}"


@cache
def built_for() -> tuple[str, str, str] | None:
    """The system, processor and features that the package's kernels were compiled for, as numba
    names them. None where it has none, this processor lacks a feature, or ROTE_KERNELS is `later`.
    """
    if os.environ.get("ROTE_KERNELS") == "later":
        return None
    try:
        system, processor, features, *_ = read_json(_numba_folder(BUILT) / TARGET)
    except FileNotFoundError:
        return None
    import llvmlite.binding as llvm

    here = llvm.get_host_cpu_features()
    wanted = [feature[1:] for feature in features.split(",") if feature.startswith("+")]
    fits = system == llvm.get_process_triple() and all(here.get(feature) for feature in wanted)
    return (system, processor, features) if fits else None


@contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[bool]:
    """Whether this is the only process that has the file locked while this lasts: not if another
    one has it and there is no waiting, nor where nothing can be locked. The system unlocks it when
    whoever has it ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError:
        yield False
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            yield False
        else:
            yield True


@cache
def source_digest(source: Path) -> str:
    """A digest of a file and of every file of rote that it imports, at first or second hand."""
    digest = hashlib.sha256()
    for path in sorted(_closure(source)):
        digest.update(f"{os.path.relpath(path, ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _closure(source: Path) -> set[Path]:
    closure, waiting = {source}, [source]
    while waiting:
        new = _imports(waiting.pop()) - closure
        closure |= new
        waiting += new
    return closure


@cache
def _imports(source: Path) -> frozenset[Path]:
    """The files of rote that a file imports at its top."""
    modules: set[str] = set()
    for package, many, single, plain in _IMPORT.findall(source.read_text(encoding="utf-8")):
        modules.add(package or plain)
        modules |= {f"{package}.{name}" for name in re.findall(r"\w+", many or single)}
    if source.name == "kernels.py":
        modules.discard("rote.core.kernel_cache")  # finds the cache, and changes no kernel
    return frozenset(path for path in map(source_of, modules) if path.is_file())


@cache
def source_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


@cache
def cache_root() -> Path:
    """A folder of this user's that can be written to."""
    root = _wanted_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=root).close()
    except OSError:
        # No home, or one that is read-only: compiled anew by every process, but right.
        folder = Path(tempfile.mkdtemp(prefix="rote-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder
    return root


def _wanted_root() -> Path:
    return _numba_folder(
        Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache.folder() / "kernels") / "rote"
    )


def _numba_folder(root: Path) -> Path:
    return root / f"numba-{version('numba')}"
