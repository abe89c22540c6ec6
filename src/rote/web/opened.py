"""What the app was started with: indexes and files, each under a name; nothing else is read.

A page names an index or a file by its key, never by a path, so that no request can reach a path
that was not given at the start or uploaded since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rote.core.errors import UnknownName
from rote.web.kept.uploads import uploaded

LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Opened:
    """Indexes and files by key, where the app keeps its own things, and its limits."""

    indexes: Mapping[str, Path]
    files: Mapping[str, Path]
    store: Path
    """Folder of the history (SQLite), of jobs and of uploads."""
    jobs: int = 1
    """Cores that one piece of work may use."""
    upload_limit: int = 64 * 2**20
    """Bytes of one request."""
    hosts: Sequence[str] = LOCAL
    """Names by which a browser may call the app; "*": by any."""
    token: str | None = None
    """Asked for where the app listens to other machines."""
    at_once: int = 2
    """Pieces of long work that run side by side; others wait."""
    first: bool = False
    """Whether an empty history begins with the first file: so it is with the bundled texts."""

    def index(self, key: str) -> Path:
        if key not in self.indexes:
            raise UnknownName("index", key, self.indexes)
        return self.indexes[key]

    def file(self, key: str) -> Path:
        if key in self.files:
            return self.files[key]
        known = self.all_files()
        if key not in known:
            raise UnknownName("file", key, known)
        return known[key]

    def all_files(self) -> dict[str, Path]:
        """Those of the start, then those that were uploaded."""
        return {**self.files, **uploaded(self.store)}
