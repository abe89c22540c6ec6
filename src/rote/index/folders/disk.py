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
            f"{problem}; what the index held before is untouched",
            file=str(path),
            remedy=f"{remedy}, then run the same command again: finished work is kept",
        ) from error


def remove(folder: Path) -> None:
    """Remove a folder if it is there, in a way that never leaves half of it under its name.

    Files are not touched: the index keeps none where its folders are, so they are somebody's.
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    doomed = folder.with_name(folder.name + REMOVED)
    shutil.rmtree(doomed, ignore_errors=True)
    folder.rename(doomed)
    shutil.rmtree(doomed)


def _is_elsewhere(file: object, path: Path) -> bool:
    """Whether an error names a file that is not the index's, such as one of the input."""
    # Some errors name the file in full where the index was named from the working folder.
    return isinstance(file, str) and not Path(file).absolute().is_relative_to(path.absolute())


def _free(path: Path) -> str:
    free = shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free
    return f"{free / 1e9:,.1f} GB" if free >= 1e9 else f"{free / 1e6:,.1f} MB"
