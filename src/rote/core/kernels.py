"""`njit` for rote's kernels: numba's, with the cache that `compiling` describes.

Kernel files import it from here, never from numba (a test sees to it).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numba import njit
from numba.core import caching

from rote.core.compiling import kernel_folder, source_digest

__all__ = ["lean", "njit", "part"]

_LEAN: dict[str, Any] = {"_nrt": False}
_INSIDE: dict[str, Any] = {**_LEAN, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
# A kernel that allocates nothing and counts no references to arrays. numba counts one for every
# row that is cut out of an array, which takes longer than adding a row to another.
lean = njit(cache=True, nogil=True, **_LEAN)
# A part of such kernels, called by them alone and compiled into them: to pass on an array is to
# pass on seven numbers.
part = njit(cache=True, nogil=True, forceinline=True, **_INSIDE)


class _Locator:
    """Tells numba where a kernel of rote is cached, and which source a cached one belongs to."""

    def __init__(self, function: Any, file: str) -> None:
        self._source = Path(file).resolve()
        self._line = function.__code__.co_firstlineno
        self._folder = kernel_folder(self._source)

    @classmethod
    def from_function(cls, function: Any, file: str) -> _Locator | None:
        # Other packages' functions are none of our business.
        return cls(function, file) if function.__module__.split(".")[0] == "rote" else None

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return source_digest(self._source)

    def get_disambiguator(self) -> str:
        return str(self._line)


def _install() -> None:
    classes = caching.CacheImpl._locator_classes
    if not any(c.__name__ == "_Locator" for c in classes):
        classes.insert(0, _Locator)


_install()
