"""The indexes that pages ask: opened once, shared by all requests, opened anew when they grow.

An index is mapped as its manifest was when it was opened, so a request sees one state from first
to last, whatever is added, merged or removed meanwhile: what is mapped stays readable. A look at
the manifest's time and inode tells whether there is a newer state. While one request opens it the
others go on with the old one, and the old one is let go with its last reader.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from rote.index.factory import open_index
from rote.index.folders.manifest import MANIFEST, Manifest, read_manifest
from rote.index.index import Index

T = TypeVar("T")
Stamp = tuple[int, int, int]
RECENT = 32
"""Answers that took a while and are kept: a reload, or another view of the same, is at once."""


class Recent:
    """Answers by what was asked; of too many the one goes that was not asked for longest."""

    def __init__(self, most: int = RECENT) -> None:
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def get(self, asked: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if asked in self._held:
                self._held.move_to_end(asked)
                found: T = self._held[asked]
                return found
        # Not under the lock: others need not wait. The same may be made twice, and is the same.
        made = make()
        with self._lock:
            self._held[asked] = made
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return made


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """An index as one manifest describes it."""

    index: Index
    manifest: Manifest
    recent: Recent = field(default_factory=Recent)
    """Answers that depend on what was asked; those of this state go with it."""
    _made: dict[Any, Any] = field(default_factory=dict)
    _making: dict[Any, Lock] = field(default_factory=dict)

    def once(self, name: Any, make: Callable[[], T]) -> T:
        """What this state of the index needs once; who comes meanwhile waits for it."""
        # Setting a default is one step, so that all get the same lock.
        with self._making.setdefault(name, Lock()):
            if name not in self._made:
                self._made[name] = make()
            found: T = self._made[name]
        return found

    def about(self, key: str) -> dict[str, Any]:
        """What JSON says of the index that was asked."""
        told = ("generation", "signature", "documents", "words")
        return {"index": key, **{name: getattr(self.manifest, name) for name in told}}


class Indexes:
    """The opened indexes by path."""

    def __init__(self) -> None:
        self._held: dict[Path, tuple[Stamp, OpenIndex]] = {}
        self._doors: dict[Path, Lock] = {}
        self._lock = Lock()

    def current(self, path: Path) -> OpenIndex:
        """The index as it is now, or as it was a moment ago while another request opens it."""
        stamp, held = _stamp(path), self._held.get(path)
        if held and held[0] == stamp:
            return held[1]
        with self._lock:
            door = self._doors.setdefault(path, Lock())
        # Whoever has something to read need not wait for something newer.
        if not door.acquire(blocking=held is None):
            assert held is not None
            return held[1]
        try:
            stamp, held = _stamp(path), self._held.get(path)
            if held and held[0] == stamp:
                return held[1]
            index = open_index(path)
            assert index.manifest is not None
            opened = OpenIndex(index, index.manifest)
            self._held[path] = stamp, opened
            return opened
        finally:
            door.release()


def _stamp(path: Path) -> Stamp:
    """Of the manifest's file: another one whenever it was replaced."""
    try:
        found = os.stat(path / MANIFEST)
    except OSError:
        read_manifest(path)  # says what is wrong
        raise
    return found.st_mtime_ns, found.st_ino, found.st_size
