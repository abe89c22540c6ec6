"""The app's own file: one SQLite database in the store, for jobs and for history.

Every call opens it anew, which takes far less than a millisecond, so that threads, the processes
that do the long work, and several apps on one store need not know of each other.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rote.core.errors import OptionError, UnknownName
from rote.core.locked_folder import refuse_links

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
_WORDS = ("No space left on device", "Disk quota exceeded", "disk is full")
_MIN_FREE = 2**20
"""Bytes with which nothing can be done."""


def disk_full_message(error: BaseException, folders: Sequence[Path]) -> str:
    """What to tell the user, "" if something else went wrong; `folders` are those written to."""
    short = [folder for folder in folders if _free_bytes(folder) < _MIN_FREE]
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    if not any(_is_disk_full(cause, bool(short)) for cause in causes):
        return ""
    columns = [Path(c.filename).parent for c in causes if isinstance(c, OSError) and c.filename]
    where = " or ".join(str(folder) for folder in (columns or short or folders)[:2])
    return (
        f"the disk is full: no space left in {where}. Free some space, then try again; earlier "
        "data are intact"
    )


def _is_disk_full(error: BaseException, short: bool) -> bool:
    if isinstance(error, OSError) and error.errno in _NUMBERS:
        return True
    # SQLite calls it so too when it cannot make the small files beside its own.
    unclear = isinstance(error, sqlite3.Error) and "disk I/O error" in str(error)
    return (unclear and short) or any(words in str(error) for words in _WORDS)


def _free_bytes(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return _MIN_FREE


FILE = "rote.sqlite"
_OWN_FILES = (
    *(f"{FILE}{ending}" for ending in ("", "-wal", "-shm", "-journal")),
    *"servers uploads traced indexes made".split(),
)
"""What the app writes to, or removes things from."""
MAX_OFFSET = 10**12
"""Page of a list, or place in it, that may be asked for: SQLite counts to 2**63 only."""
_TABLES = """
create table if not exists jobs (
  id text primary key, kind text, title text, settings text, files text, indexes text, key text,
  state text, progress text, remarks text, error text, result text,
  made text, started text, ended text, server text, cleared integer not null default 0
);
create index if not exists jobs_by_key on jobs (key, state);
create table if not exists results (
  id text primary key, title text, kind text, made text, settings text, files text,
  signatures text, sources text, address text, form text, data blob
);
create table if not exists texts (
  result text, place integer, source text, id text, words integer, excerpt text, numbers text,
  file text not null default ''
);
create table if not exists sections (result text primary key, maker text, data blob);
create index if not exists texts_by_result on texts (result, place, source);
"""
_ADDED_COLUMNS = (
    ("texts", "file", "text not null default ''"),
    ("jobs", "cleared", "integer not null default 0"),
)
"""Columns that earlier versions did not have."""


class NotStored(UnknownName):
    """What an address names is not in this store."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(kind, name, ())

    def __str__(self) -> str:
        return f"there is no {self.kind} '{self.name}' here: it was deleted, or is in another store"


@contextmanager
def open_database(store: Path) -> Iterator[sqlite3.Connection]:
    """One transaction: what is written inside is there as a whole, or not at all."""
    file = sqlite3.connect(store / FILE, timeout=60)
    file.row_factory = sqlite3.Row
    try:
        with file:
            yield file
    finally:
        file.close()


def insert_rows(file: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the same columns; one with the same id takes the place of the old one."""
    values = list(rows)
    if values:
        names, marks = ", ".join(values[0]), ", ".join(f":{name}" for name in values[0])
        file.executemany(f"insert or replace into {table} ({names}) values ({marks})", values)


def prepare_store(store: Path) -> None:
    try:
        make_private_folder(store)
        refuse_links(store / name for name in _OWN_FILES)
        # SQLite gives the files beside it the same rights.
        os.close(os.open(store / FILE, os.O_RDWR | os.O_CREAT, 0o600))
        with open_database(store) as file:
            # Readers and a writer do not wait for each other, and a crash leaves the file whole.
            file.execute("pragma journal_mode = wal")
            file.executescript(_TABLES)
            for table, column, kind in _ADDED_COLUMNS:
                known = {row["name"] for row in file.execute(f"pragma table_info({table})")}
                if column not in known:  # made by an earlier version
                    file.execute(f"alter table {table} add column {column} {kind}")
    except (OSError, sqlite3.Error) as error:
        why = disk_full_message(error, (store,)) or error
        raise OptionError(
            f"the store {store} cannot be used ({why}): name another folder with --store"
        ) from None


def hold_open(store: Path) -> sqlite3.Connection:
    """As long as this is open, SQLite keeps the small files beside its own, without which nothing
    can be read; on a full disk they could not be made."""
    file = sqlite3.connect(store / FILE, timeout=60, check_same_thread=False)
    file.execute("select count(*) from jobs").fetchone()
    return file


def make_private_folder(path: Path) -> Path:
    """A folder for texts, made so that nobody else on this machine can look into it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def to_storable(text: str) -> str:
    """The text as SQLite can keep it: half a surrogate pair has no UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def current_time() -> str:
    """The time as it is kept: ISO 8601, UTC, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
