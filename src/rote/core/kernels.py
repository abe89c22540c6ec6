"""`njit` for rote's kernels: numba's, with the cache that `kernel_cache` describes.

Kernel files import it from here, never from numba (a test sees to it). numba is imported when the
first kernel is called, so that the help of a command does not wait for it.
"""

from __future__ import annotations

from functools import update_wrapper
from threading import RLock
from typing import TYPE_CHECKING, Any

__all__ = ["aside", "lean", "njit", "part"]

_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_LOCK = RLock()


class Kernel:
    """A function that numba compiles when it is called; to numba's eyes what numba makes of it."""

    def __init__(self, function: Any, cache: bool, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._call: Any = None
        self._making = function, cache, options

    def dispatcher(self) -> Any:
        with _LOCK:
            if self._call is None:
                from rote.core.dispatcher import make_dispatcher

                self._call = make_dispatcher(*self._making)
        return self._call

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return (self._call or self.dispatcher())(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        # Kernels that call this one ask for its type, tests for the function itself.
        return getattr(self.dispatcher(), name)


def _njit(function: Any = None, *, cache: bool = False, **options: Any) -> Any:
    """As numba's: compile a function for the types that it is called with, when it is called."""
    if function is None:
        return lambda function: Kernel(function, cache, options)
    return Kernel(function, cache, options)


if TYPE_CHECKING:
    from numba import njit
else:
    njit = _njit


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
