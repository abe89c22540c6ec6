"""`njit` for rote's kernels: numba's, with the cache that `compiling` describes.

Kernel files import it from here, never from numba (a test sees to it).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba.core.compiler_lock import global_compiler_lock

from rote.core.compiling import built_folder, built_for, kernel_folder, locked, source_digest

__all__ = ["aside", "lean", "njit", "part"]

# Without types, or with such as its own code takes no notice of.
_caching: Any = import_module("numba.core.caching")
_Dispatcher: Any = import_module("numba.core.registry").CPUDispatcher
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """As numba's: compile a function for the types that it is called with, when it is called."""
    given = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True, **options}

    def made(function: Any) -> _Kernel:
        kernel = _Kernel(function, targetoptions=given)
        if cache:
            kernel.enable_caching()
        return kernel

    return made if function is None else made(function)


if TYPE_CHECKING:
    from numba import njit
else:
    njit = _njit


class _Kernel(_Dispatcher):  # type: ignore[misc]
    """A kernel whose machine code is cached, and compiled by one process at a time."""

    _alone = False

    def enable_caching(self) -> None:
        self._cache = _Cache(self.py_func)

    @property
    def lock(self) -> Path:
        """The file that is locked by whoever compiles it."""
        return Path(self._cache.cache_path) / f"{self._cache._impl.filename_base}.lock"

    def compile(self, sig: Any) -> Any:
        if self._alone or self._cache.cache_path is None:
            return super().compile(sig)
        # Whoever comes second, in this process or another, finds it in the cache.
        with global_compiler_lock, locked(self.lock) as alone, _no_collecting():
            if not alone:
                self._cache.disable()  # two could write at once
            self._alone = True
            try:
                return super().compile(sig)
            finally:
                self._alone = False


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

    def _load_overload(self, types: Any, context: Any) -> Any:
        """A kernel for these types: the user's, or the one that came with the package."""
        found = super()._load_overload(types, context)
        target = None if found is not None else built_for()
        if target is None:
            return found
        where = self._impl.locator
        files = _caching.IndexDataCacheFile(
            str(built_folder(where._source)), self._impl.filename_base, where.get_source_stamp()
        )
        _, _, code = self._index_key(types, context.codegen())
        data = files.load((types, target, code))
        return None if data is None else self._impl.rebuild(context, data)


_LEAN: dict[str, Any] = {"_nrt": False}
# A kernel that allocates nothing and counts no references to arrays. numba counts one for every
# row that is cut out of an array, which takes longer than adding a row to another.
lean = njit(cache=True, nogil=True, **_LEAN)
# A part of such kernels, called by them alone and compiled into them: to pass on an array is to
# pass on seven numbers.
part = njit(cache=True, nogil=True, forceinline=True, **_LEAN, **_INNER)
# A part that is large and seldom called, or called at many places: code of its own, so that it is
# compiled once.
aside = njit(cache=True, nogil=True, **_LEAN, **_INNER)
