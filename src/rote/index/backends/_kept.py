"""Answers of a web service kept on disk: one SQLite file for each address and index.

It lies in the user's cache folder (`ROTE_CACHE` names another) and may be deleted at any time.
Where it cannot be used, answers are asked for again every time, and that is said.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from rote.annotate.embeddings._cache import folder
from rote.core.progress import Reporter

_CHUNK = 500  # keys asked for in one statement; SQLite's limit was once 999


class Kept:
    """Answers by their question; both are bytes."""

    def __init__(self, name: str, reporter: Reporter) -> None:
        self._reporter = reporter
        self._file: sqlite3.Connection | None = None
        try:
            self._file = _open(name)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that are there."""
        found: dict[bytes, bytes] = {}
        if self._file is None:
            return found
        try:
            for start in range(0, len(keys), _CHUNK):
                some = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(some))
                query = f"select key, answer from answers where key in ({marks})"
                found.update(self._file.execute(query, some))
        except sqlite3.Error as error:
            self._give_up(error)
        return found

    def write(self, answers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep some more, at once, so that an interruption loses little."""
        if self._file is None:
            return
        try:
            with self._file:
                self._file.executemany("insert or replace into answers values (?, ?)", answers)
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.__exit__()
        self._file = None
        self._reporter.say(f"counts are not kept on disk: {_where()} cannot be used ({error})")


def _where() -> Path:
    return folder() / "counts"


def _open(name: str) -> sqlite3.Connection:
    _where().mkdir(parents=True, exist_ok=True)
    path = _where() / (re.sub(r"[^\w.-]+", "-", name).strip("-") + ".sqlite")
    file = sqlite3.connect(path, timeout=60)
    try:
        # Readers and a writer do not wait for each other, and a crash leaves the file whole.
        file.execute("pragma journal_mode = wal")
        file.execute("pragma synchronous = normal")
        file.execute("create table if not exists answers (key blob primary key, answer blob)")
    except sqlite3.Error:
        file.close()
        raise
    return file
