"""Vectors kept on disk: one SQLite file per model, a row per text.

The key is a hash of the text; the file's name comes from the embedder's signature, so
vectors of different models or versions never meet. Several processes may use the file
at once. It lies in the user's cache folder (`ROTE_CACHE` names another), and may be
deleted at any time; a file that cannot be used is done without, and that is said.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rote.annotate.embeddings._batches import Batched, Batches, Flags, Vectors, collect
from rote.core.progress import Reporter

_CHUNK = 500  # rows asked for in one statement; SQLite's limit was once 999


def folder() -> Path:
    """Where rote keeps what can be made again."""
    if named := os.environ.get("ROTE_CACHE"):
        return Path(named)
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "rote"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "rote" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "rote"


@dataclass(frozen=True, slots=True)
class Cached:
    """An embedder that embeds only what it has not embedded before."""

    embedder: Batched

    @property
    def name(self) -> str:
        return self.embedder.name

    @property
    def signature(self) -> str:
        return self.embedder.signature

    @property
    def dimensions(self) -> int:
        return self.embedder.dimensions

    @property
    def english(self) -> bool:
        return self.embedder.english

    def check(self) -> None:
        self.embedder.check()

    def cut(self, texts: Sequence[str]) -> Flags:
        return self.embedder.cut(texts)

    def __call__(self, texts: Sequence[str], reporter: Reporter | None = None) -> Vectors:
        return collect(self, texts, reporter)

    def batches(self, texts: Sequence[str], reporter: Reporter) -> Batches:
        places: dict[bytes, list[int]] = {}
        for place, text in enumerate(texts):
            places.setdefault(_key(text), []).append(place)
        with _Store(self.signature, reporter) as store:
            known = store.read(list(places), self.dimensions)
            for key, vector in known.items():
                yield places[key], vector[None]
            missing = [key for key in places if key not in known]
            if not missing:
                return
            wanted = [texts[places[key][0]] for key in missing]
            for numbers, vectors in self.embedder.batches(wanted, reporter):
                store.write([missing[number] for number in numbers], vectors)
                for number, vector in zip(numbers, vectors):
                    yield places[missing[number]], vector[None]


class _Store:
    """The file of one model; without it, if it cannot be used, everything is new."""

    def __init__(self, signature: str, reporter: Reporter) -> None:
        self._reporter = reporter
        self._file: sqlite3.Connection | None = None
        try:
            self._file = _open(signature)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def __enter__(self) -> _Store:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def _give_up(self, error: Exception) -> None:
        self.__exit__()
        self._file = None
        where = folder() / "embeddings"
        self._reporter.say(f"vectors are not kept on disk: {where} cannot be used ({error})")

    def read(self, keys: Sequence[bytes], dimensions: int) -> dict[bytes, Vectors]:
        """The vectors that are there."""
        found: dict[bytes, Vectors] = {}
        if self._file is None:
            return found
        try:
            for start in range(0, len(keys), _CHUNK):
                some = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(some))
                query = f"select key, vector from vectors where key in ({marks})"
                for key, data in self._file.execute(query, some):
                    found[key] = np.frombuffer(data, "<f4")
        except sqlite3.Error as error:
            self._give_up(error)
        return {key: vector for key, vector in found.items() if len(vector) == dimensions}

    def write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Keep some more, at once, so that an interruption loses little."""
        if self._file is None:
            return
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(keys, vectors)]
        try:
            with self._file:
                self._file.executemany("insert or replace into vectors values (?, ?)", rows)
        except sqlite3.Error as error:
            self._give_up(error)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).digest()


def _open(signature: str) -> sqlite3.Connection:
    where = folder() / "embeddings"
    where.mkdir(parents=True, exist_ok=True)
    path = where / (re.sub(r"[^\w.-]+", "-", signature) + ".sqlite")
    file = sqlite3.connect(path, timeout=60)
    try:
        # Readers and a writer do not wait for each other, and a crash leaves the file whole.
        file.execute("pragma journal_mode = wal")
        file.execute("pragma synchronous = normal")
        file.execute("create table if not exists vectors (key blob primary key, vector blob)")
    except sqlite3.Error:
        file.close()
        raise
    return file
