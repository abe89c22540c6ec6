"""A full disk, said so that it helps: which folder has no room left, and what to do."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
_WORDS = ("No space left on device", "Disk quota exceeded", "disk is full")
_LITTLE = 2**20
"""Bytes with which nothing can be done."""


def full_disk(error: BaseException, folders: Sequence[Path]) -> str:
    """What to tell the user; empty if something else went wrong.

    `folders` are those that are written to, for errors that name none.
    """
    short = [folder for folder in folders if _room(folder) < _LITTLE]
    causes = list(_causes(error))
    if not any(_says_so(one, bool(short)) for one in causes):
        return ""
    named = [
        Path(one.filename).parent for one in causes if isinstance(one, OSError) and one.filename
    ]
    where = " or ".join(str(folder) for folder in (named or short or folders)[:2])
    return (
        f"the disk is full: there is no room left in {where}. Make room on that disk, then try "
        "again; what was kept before is whole"
    )


def _says_so(error: BaseException, short: bool) -> bool:
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return True
    # SQLite calls it so too when it cannot make the small files beside its own.
    unclear = isinstance(error, sqlite3.Error) and "disk I/O error" in str(error)
    return (unclear and short) or any(words in str(error) for words in _WORDS)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _room(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _LITTLE
