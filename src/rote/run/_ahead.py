"""Kernels that a command will need, compiled by other processes while it is at work.

numba compiles one kernel at a time, in the process that calls it. `kernels.json` lists the kernels
of every command in the order in which they are called, with the types of their arguments. At the
first use of a command, other processes go through its list from the end and fill the cache, while
this one begins at the front; where they meet, everything is compiled. A list that is out of date
makes the first use slower and nothing else. `benchmarks/first_call.py --record` writes it.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from rote.core.compiling import (
    ROOT,
    TARGET,
    cache_lasts,
    cache_root,
    compiled_kernels,
    kernel_folder,
    locked,
    source_of,
)
from rote.core.json_reader import read_json
from rote.core.progress import Reporter, several
from rote.run import cores

LISTS = Path(__file__).with_name("kernels.json")
HELP = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from rote.run import _ahead; _ahead.help()"
"""What a helper runs: not `-m`, since it has to find this very package."""
EVERY = "every command"
_MOST_HELPERS = 3
_ANYWHERE = ("generic", "x86-64")  # names that imply no features
_FEW = 3  # are compiled before a helper has started

Listed = tuple[str, str, int]
"""A kernel that a command calls: its module, its name, and which of its lists of types."""
_helpers: list[subprocess.Popen[bytes]] = []
_awaited: list[Listed] = []


def compile_ahead(reporter: Reporter, command: str) -> None:
    """Have the kernels of a command compiled, if they are not, and say so."""
    missing = _missing(kernels_of(command))
    if not missing or set(missing) <= set(_awaited):
        return
    _awaited[:] = missing
    reporter.say(f"first use: compiling {several(len(missing), 'kernel')}, once")
    # An application that Python is a part of is no `python`: it would be started once more.
    if len(missing) <= _FEW or not cache_lasts() or "python" not in Path(sys.executable or "").name:
        return
    call = [sys.executable, "-c", HELP, str(os.getpid()), command]
    for _ in range(min(cores() - 1, _MOST_HELPERS) - len(_helpers)):
        null = subprocess.DEVNULL
        _helpers.append(subprocess.Popen(call, stdin=null, stdout=null, stderr=null))
        atexit.register(_end, _helpers[-1])


def _end(helper: subprocess.Popen[bytes]) -> None:
    """Nobody waits for it any more: what it has not finished is compiled when it is needed."""
    helper.kill()
    helper.wait()


def how_far() -> str:
    """What is still being compiled, in words; empty when nothing is."""
    left = _missing(_awaited) if _awaited else []
    if not left:
        _awaited.clear()
        return ""
    return f"compiling, once: {several(len(left), 'kernel')} left"


def help() -> None:
    """Compile the kernels of the command that the arguments name, the last one first."""
    parent, command = sys.argv[1:]
    for one in reversed(_missing(kernels_of(command))):
        if os.getppid() != int(parent):
            return  # nobody waits any more
        with locked(_kernel(one).lock, wait=False) as free:
            pass  # if not, somebody is at it
        if free:
            _compile(one)


def load_compiled() -> None:
    """Load every kernel of the cache, for processes that are forked from this one."""
    listed = kernels_of(EVERY)
    for one in sorted({*listed} - {*_missing(listed)}):
        _compile(one)


def _kernel(one: Listed) -> Any:
    module, name, _ = one
    return getattr(import_module(module), name)


def _compile(one: Listed) -> None:
    _kernel(one).compile(read_types(types_of(one)))


def build(command: str = EVERY) -> None:
    """Compile all kernels on all cores, for a package that carries them, where NUMBA_CACHE_DIR
    says, and say what for. Those of an earlier build stay if nothing they are made of changed."""
    registry: Any = import_module("numba.core.registry")
    target = registry.cpu_target.target_context.codegen().magic_tuple()
    llvm: Any = import_module("llvmlite.binding")
    if not target[2] and target[1] not in (*_ANYWHERE, llvm.get_host_cpu_name()):
        raise SystemExit(f"NUMBA_CPU_FEATURES has to name the features of {target[1]}")
    lists = hashlib.sha256(LISTS.read_bytes()).hexdigest()
    made_for = json.dumps([*target, sys.implementation.cache_tag, lists])
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    stamp = root / TARGET
    used = {kernel_folder(source_of(module)) for module, *_ in kernels_of(command)}
    if not stamp.is_file() or stamp.read_text() != made_for:
        used = set()
    for one in {*root.parent.iterdir(), *root.iterdir()} - used - {root}:
        shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()
    call = [sys.executable, "-c", HELP, str(os.getpid()), command]
    helpers = [subprocess.Popen(call) for _ in range(cores())]
    failed = sum(helper.wait() != 0 for helper in helpers)
    left = len(_missing(kernels_of(command)))
    if failed or left:
        raise SystemExit(
            f"{failed} of {len(helpers)} compilers failed, {several(left, 'kernel')} left"
        )
    stamp.write_text(made_for)


def kernels_of(command: str) -> list[Listed]:
    """The kernels of a command in the order in which it calls them; none where none are listed."""
    found = []
    lists = _lists()["commands"]
    if command == EVERY:
        return list(dict.fromkeys(one for name in lists for one in kernels_of(name)))
    for line in lists.get(command, ()):
        place, _, number = line.partition(" ")
        module, _, name = place.rpartition(".")
        found.append((module, name, int(number or 0)))
    return found


def types_of(one: Listed) -> list[Any]:
    """The types that a kernel is called with, as they are written."""
    module, name, number = one
    found: list[Any] = _lists()["kernels"][f"{module}.{name}"][number]
    return found


def _missing(listed: Sequence[Listed]) -> list[Listed]:
    """Those that are not in the cache. A kernel that is there for as many types as are listed
    counts as compiled, whatever these types are."""
    modules = {module for module, *_ in listed if source_of(module).is_file()}
    there = Counter((module, name) for module in modules for name in compiled_kernels(module))
    left = []
    for one in listed:
        if there[one[:2]]:
            there[one[:2]] -= 1
        elif one[0] in modules:
            left.append(one)
    return left


@cache
def _lists() -> dict[str, Any]:
    found: dict[str, Any] = read_json(LISTS)
    return found


def written_types(types: Sequence[Any]) -> list[Any]:
    """The types of some arguments as JSON: `uint8`, `uint8[1Cr]`, a list for a tuple."""
    return [_written(one) for one in types]


def _written(kind: Any) -> Any:
    types: Any = import_module("numba.types")
    if isinstance(kind, types.Array):
        read_only = "" if kind.mutable else "r"
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{read_only}]"
    if isinstance(kind, types.BaseNamedTuple):
        made_by = kind.instance_class
        return {f"{made_by.__module__}.{made_by.__qualname__}": written_types(kind.types)}
    if isinstance(kind, types.BaseTuple):
        return written_types(kind.types)
    return str(kind)


def read_types(written: Sequence[Any]) -> tuple[Any, ...]:
    """What `written_types` wrote."""
    return tuple(map(_read, written))


def _read(written: Any) -> Any:
    types: Any = import_module("numba.types")
    if isinstance(written, list):
        return types.BaseTuple.from_types(read_types(written))
    if isinstance(written, dict):
        ((name, held),) = written.items()
        module, _, made_by = name.rpartition(".")
        made = getattr(import_module(module), made_by)
        return types.BaseTuple.from_types(read_types(held), made)
    name, _, shape = written.partition("[")
    kind = types.boolean if name == "bool" else getattr(types, name)
    if not shape:
        return kind
    return types.Array(kind, int(shape[0]), shape[1], readonly="r" in shape)
