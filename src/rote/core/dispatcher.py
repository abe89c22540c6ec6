"""Kernels as numba makes them, with the cache that `kernel_cache` describes. `kernels` imports this
file when the first kernel is called: to import numba takes most of a second."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

from rote.core.kernel_cache import (
    COMPILING,
    built_folder,
    built_for,
    kernel_folder,
    locked,
    source_digest,
)

# Without types, or with such as its own code takes no notice of.
_caching: Any = import_module("numba.core.caching")
_Dispatcher: Any = import_module("numba.core.registry").CPUDispatcher


def make_dispatcher(function: Any, cache: bool, options: dict[str, Any]) -> Any:
    """What compiles a function for the types that it is called with, when it is called."""
    settings = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, **options}
    dispatcher = CachedDispatcher(function, targetoptions=settings)
    if cache:
        dispatcher.enable_caching()
    return dispatcher


class CachedDispatcher(_Dispatcher):  # type: ignore[misc]
    """A kernel whose machine code is cached, and compiled by one process at a time."""

    _alone = False

    def enable_caching(self) -> None:
        self._cache = _Cache(self.py_func)

    @property
    def lock(self) -> Path:
        """The file that is locked by whoever compiles it."""
        return Path(self._cache.cache_path) / f"{self._cache._impl.filename_base}.lock"

    def is_cached(self, types: Any) -> bool:
        """Whether there is nothing to compile for these types."""
        places = self._cache.places(types, self.targetctx.codegen())
        return any(key in files._load_index() for files, key in places)

    def _compile_for_args(self, *args: Any, **keywords: Any) -> Any:
        """What numba calls when Python, not another kernel, calls this one with new types."""
        if path := os.environ.get("ROTE_KERNEL_LIST"):
            from rote.core.precompile import add_to_list

            add_to_list(self, [self.typeof_pyval(value) for value in args], Path(path))
        return super()._compile_for_args(*args, **keywords)

    def compile(self, sig: Any) -> Any:
        if self._alone or self._cache.cache_path is None:
            return super().compile(sig)
        cached = self.is_cached(sig)
        # Whoever comes second, in this process or another, finds it in the cache.
        with global_compiler_lock, locked(self.lock) as alone, _no_collecting():
            if not alone:
                self._cache.disable()  # two could write at once
            self._alone = True
            COMPILING.extend([] if cached else [self.py_func.__name__])
            try:
                return super().compile(sig)
            finally:
                self._alone = False
                COMPILING.clear()


@contextmanager
def _no_collecting() -> Iterator[None]:
    """A compiler makes very many objects and hardly any garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Locator:
    """Tells numba where a kernel of rote is cached, and which source a cached one belongs to."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file  # numba names it in warnings
        self._source = Path(file).resolve()
        self._line = function.__code__.co_firstlineno
        self._folder = kernel_folder(self._source)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator:
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return source_digest(self._source)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Files(_caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _Cache(_caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _Files

    def places(self, types: Any, codegen: Any) -> Iterator[tuple[Any, Any]]:
        """Where a kernel for these types may be: the user's files, then those of the package."""
        key = self._index_key(types, codegen)
        yield self._cache_file, key
        if (target := built_for()) is not None:
            where = self._impl.locator
            folder, base = str(built_folder(where._source)), self._impl.filename_base
            files = _caching.IndexDataCacheFile(folder, base, where.get_source_stamp())
            yield files, (types, target, key[2])

    def _load_overload(self, types: Any, context: Any) -> Any:
        for files, key in self.places(types, context.codegen()) if self._enabled else ():
            if (data := files.load(key)) is not None:
                return self._impl.rebuild(context, data)
        return None
