"""Writing to the folder of an index: errors that say what to do, and removal without halves."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rote.core.errors import InputError

REMOVED = ".removed"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Say what happened to the index when its folder cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*_FULL, *_FORBIDDEN) or _is_elsewhere(error.filename, path):
            raise
        if error.errno in _FULL:
            remedy = "Make room"
            problem = f"writing failed: {os.strerror(error.errno)} ({_free(path)} free)"
        else:
            remedy = "Make the folder writable"
            problem = f"writing failed: {os.strerror(error.errno)} ({error.filename or path})"
        raise InputError(
            f"{problem}; what the index held before is untouched",
            file=str(path),
            remedy=f"{remedy}, then run the same command again: finished work is kept",
        ) from error


def remove(folder: Path) -> None:
    """Remove a folder if it is there, in a way that never leaves half of it under its name."""
    if not folder.exists():
        return
    doomed = folder.with_name(folder.name + REMOVED)
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    shutil.rmtree(doomed)


def _is_elsewhere(file: object, path: Path) -> bool:
    """Whether an error names a file that is not the index's, such as one of the input."""
    return isinstance(file, str) and not Path(file).is_relative_to(path)


def _free(path: Path) -> str:
    free = shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    return f"{free / 1e9:,.1f} GB" if free >= 1e9 else f"{free / 1e6:,.1f} MB"
