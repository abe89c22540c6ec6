"""What was expensive to find out, kept on disk: a SQLite file of keys and values.

It lies in the user's cache folder (`ROTE_CACHE` names another), may be deleted at any time, and
several processes may use it at once. Where it cannot be used, everything is found out again, and
that is said.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

from rote.core.progress import Reporter

_CHUNK = 500  # keys asked for in one statement; SQLite's limit was once 999
_READABLE = 80  # characters of a name that its file shows
_OWNER = 16  # bytes in front of every key


def folder() -> Path:
    """Where rote keeps what can be made again."""
    if chosen := os.environ.get("ROTE_CACHE"):
        return Path(chosen)
    return user_folder()


def user_folder() -> Path:
    """The folder that the system has for what can be made again."""
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "rote"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "rote" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "rote"


class DiskCache:
    """Values by their keys, both bytes: those of `what` (vectors, counts) under one `name`.

    A hash of the whole name stands in the file's name and in front of every key: `llama3:8b` and
    `llama3-8b`, or two names that differ in capitals, are never taken for each other.
    """

    def __init__(self, what: str, name: str, reporter: Reporter) -> None:
        self._what, self._reporter = what, reporter
        self._owner = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_OWNER).digest()
        self._file: sqlite3.Connection | None = None
        try:
            # Of the name its end, which says most, as far as any file system can hold it.
            readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[-_READABLE:].strip("-.")
            self._file = _open(folder() / what, f"{readable}-{self._owner.hex()}")
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def __enter__(self) -> DiskCache:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        entries: dict[bytes, bytes] = {}
        if self._file is None:
            return entries
        try:
            for start in range(0, len(keys), _CHUNK):
                some = [self._owner + key for key in keys[start : start + _CHUNK]]
                marks = ",".join("?" * len(some))
                query = f"select key, value from kept where key in ({marks})"
                entries |= {key[_OWNER:]: value for key, value in self._file.execute(query, some)}
        except sqlite3.Error as error:
            self._give_up(error)
        return entries

    def write(self, values: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep some more, at once, so that an interruption loses little."""
        if self._file is None:
            return
        try:
            with self._file:
                owned = ((self._owner + key, value) for key, value in values)
                self._file.executemany("insert or replace into kept values (?, ?)", owned)
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.__exit__()
        self._file = None
        where = folder() / self._what
        self._reporter.say(f"{self._what} are not stored on disk: {where} cannot be used ({error})")


def _open(where: Path, name: str) -> sqlite3.Connection:
    path = where / f"{name}.sqlite"
    for place in (where, path):
        if place.is_symlink():  # SQLite would write to whatever it leads to
            raise OSError(f"{place} is a link")
    where.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path, timeout=60)
    try:
        # Readers and a writer do not wait for each other, and a crash leaves the file whole.
        file.execute("pragma journal_mode = wal")
        file.execute("pragma synchronous = normal")
        file.execute("create table if not exists kept (key blob primary key, value blob)")
    except sqlite3.Error:
        file.close()
        raise
    return file
