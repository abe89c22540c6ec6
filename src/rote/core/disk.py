"""Errors of the disk while a folder of rote's (index, store) is written, in words that help."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rote.core.errors import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def clear_errors(path: Path, what: str) -> Iterator[None]:
    """Say what became of it (`what`: the index) when its folder cannot be written."""
    try:
        yield
    except OSError as error:
        ours = error.errno in (*_FULL, *_FORBIDDEN) or error.filename is not None
        if error.errno is None or not ours or _is_elsewhere(error.filename, path):
            raise
        problem = f"writing failed: {os.strerror(error.errno)} ({error.filename or path})"
        remedy = "Put that right"
        if error.errno in _FULL:
            remedy = "Make room"
            problem = f"writing failed: {os.strerror(error.errno)} ({_free(path)} free)"
        elif error.errno in _FORBIDDEN:
            remedy = "Make the folder writable"
        raise InputError(
            f"{problem}; what {what} held before is untouched",
            file=str(path),
            remedy=f"{remedy}, then run the same command again: finished work is kept",
        ) from error


def _is_elsewhere(file: object, path: Path) -> bool:
    """Whether an error names a file that is not in the folder, such as one of the input."""
    # Some errors name the file in full where the folder was named from the working folder.
    return isinstance(file, str) and not Path(file).absolute().is_relative_to(path.absolute())


def _free(path: Path) -> str:
    free = shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    return f"{free / 1e9:,.1f} GB" if free >= 1e9 else f"{free / 1e6:,.1f} MB"
