"""The kernels that are compiled when rote is installed (`hatch_build.py`), in a checkout too.

`kernels.txt` names them with the types of their arguments, a line each: first those of the demo,
which `python -m rote.core.precompile demo` compiles alone, and among each those that take long
before the others. What is not there is compiled at its first use, and added to a list that the
environment names: `ROTE_KERNELS=later ROTE_KERNEL_LIST=src/rote/core/kernels.txt rote COMMAND ...`
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

from rote.core.json_reader import parse_json
from rote.core.kernel_cache import BUILT, TARGET, cache_root, kernel_folder, source_of

LIST = Path(__file__).with_name("kernels.txt")
_ANYWHERE = ("generic", "x86-64")  # names that imply no features


def read_list(demo: bool = False) -> list[str]:
    """The lines of the list: a kernel, and the types of its arguments as JSON."""
    of_demo, others = LIST.read_text(encoding="utf-8").split("# The demo needs no more.\n")
    return of_demo.splitlines() + ([] if demo else others.splitlines())


def find_kernel(line: str) -> tuple[Any, tuple[Any, ...]]:
    """The kernel of a line, and its types."""
    place, _, types = line.partition(" ")
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name), read_types(parse_json(types))


def compile_kernel(line: str) -> None:
    """Compile one, or wait for the process that compiles it."""
    kernel, types = find_kernel(line)
    kernel.compile(types)


def add_to_list(kernel: Any, types: Sequence[Any], path: Path) -> None:
    """Add a kernel that Python calls to a list, if it is not there."""
    function = kernel.py_func
    line = f"{function.__module__}.{function.__name__} {json.dumps(write_types(types))}\n"
    if line not in path.read_text(encoding="utf-8").splitlines(keepends=True):
        with path.open("a", encoding="utf-8") as file:
            file.write(line)


def build(lines: Sequence[str]) -> None:
    """Compile kernels on all cores where NUMBA_CACHE_DIR says, and say what for. Those of an
    earlier build stay if nothing they are made of changed."""
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    _clear(root, _target(), read_list())
    workers = min(os.cpu_count() or 1, 8)  # the longest kernel takes an eighth of all
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compile_kernel, lines))


def _clear(root: Path, target: str, lines: Sequence[str]) -> None:
    """Leave the kernels that can be used again, and the target that they are compiled for."""
    stamp = root / TARGET
    used = {kernel_folder(source_of(line.split()[0].rpartition(".")[0])) for line in lines}
    if not stamp.is_file() or stamp.read_text() != target:
        used = set()
    for path in {*root.parent.iterdir(), *root.iterdir()} - used - {root}:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    # Before the kernels: a second build, which joins in, leaves what the first has compiled.
    stamp.write_text(target)


def _target() -> str:
    """The system, processor, features and Python that kernels are compiled for, as JSON."""
    registry: Any = import_module("numba.core.registry")
    target = registry.cpu_target.target_context.codegen().magic_tuple()
    llvm: Any = import_module("llvmlite.binding")
    if not target[2] and target[1] not in (*_ANYWHERE, llvm.get_host_cpu_name()):
        raise SystemExit(f"NUMBA_CPU_FEATURES has to name the features of {target[1]}")
    return json.dumps([*target, sys.implementation.cache_tag])


def write_types(types: Sequence[Any]) -> list[Any]:
    """The types of some arguments as JSON: `uint8`, `uint8[1Cr]`, a list for a tuple."""
    return [_write_type(kind) for kind in types]


def _write_type(kind: Any) -> Any:
    types: Any = import_module("numba.types")
    if isinstance(kind, types.Array):
        read_only = "" if kind.mutable else "r"
        return f"{kind.dtype}[{kind.ndim}{kind.layout}{read_only}]"
    if isinstance(kind, types.BaseNamedTuple):
        made_by = kind.instance_class
        return {f"{made_by.__module__}.{made_by.__qualname__}": write_types(kind.types)}
    if isinstance(kind, types.BaseTuple):
        return write_types(kind.types)
    return str(kind)


def read_types(types: Sequence[Any]) -> tuple[Any, ...]:
    """What `write_types` wrote."""
    return tuple(map(_read_type, types))


def _read_type(description: Any) -> Any:
    types: Any = import_module("numba.types")
    if isinstance(description, list):
        return types.BaseTuple.from_types(read_types(description))
    if isinstance(description, dict):
        ((name, fields),) = description.items()
        module, _, made_by = name.rpartition(".")
        tuple_class = getattr(import_module(module), made_by)
        return types.BaseTuple.from_types(read_types(fields), tuple_class)
    name, _, shape = description.partition("[")
    kind = types.boolean if name == "bool" else getattr(types, name)
    if not shape:
        return kind
    return types.Array(kind, int(shape[0]), shape[1], readonly="r" in shape)


if __name__ == "__main__":
    os.environ["NUMBA_CACHE_DIR"] = str(BUILT.parent)
    build(read_list(demo=sys.argv[1:] == ["demo"]))
