"""A first look at a file of texts: what its records hold, and how it begins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rote.core.document import Document
from rote.core.errors import RoteError

if TYPE_CHECKING:
    from rote.corpus import Batch


from hashlib import blake2b

_LOOKED_AT, _CHARACTERS = 2_000, 5_000_000
"""Records, or characters of them, that are looked at."""
_FEW = 12
_SHOWN = 3
_LONG = 400
_WHOLE = 64 * 2**20
"""Bytes up to which a file is known by its content; beyond, by name, size and time."""


@dataclass(frozen=True, slots=True)
class Glimpse:
    """Of the first records alone: a large file is not read for this."""

    texts: tuple[tuple[str, str], ...] = ()
    """Ids and beginnings of the first texts."""
    fields: tuple[str, ...] = ()
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The values of fields that tell sources apart: those with few of them."""
    problem: str = ""

    def of(self, field: str) -> tuple[str, ...]:
        return dict(self.values).get(field, ())


def glimpse(path: Path) -> Glimpse:
    """A file that cannot be read has a problem, and the page can still be shown."""
    try:
        return _look(path, fingerprint(path))
    except (RoteError, OSError) as error:
        return Glimpse(problem=str(error))


def documents(path: Path) -> Iterator[Document]:
    """The texts of a file, a folder, an annotated store, or a bundled example."""
    return (document for batch in batches(path) for document in batch.documents)


def batches(path: Path) -> Iterator[Batch]:
    """The same, with the file that they occur in: an id is unique within its file only."""
    from rote.annotate.store import is_store, open_store
    from rote.corpus import open_corpus

    if is_store(path):
        return (batch for batch, _ in open_store(path).pieces())
    return (shard.read() for shard in open_corpus([path]).shards())


def file_name(file: str, given: Mapping[str, Path | str]) -> str:
    """How a file that was read is called here: by the key of what was given, and by the place
    inside, if that was a folder; never by its path alone."""
    for key, path in given.items():
        if file == str(path):
            return key
        if file.startswith(f"{path}{os.sep}"):
            return f"{key}/{file[len(str(path)) + 1 :]}"
    return Path(file).name


@lru_cache(maxsize=256)
def _look(path: Path, version: str) -> Glimpse:
    found: dict[str, dict[str, None]] = {}
    first: list[tuple[str, str]] = []
    left = _CHARACTERS
    for document in islice(documents(path), _LOOKED_AT):
        left -= len(document.text)
        if len(first) < _SHOWN:
            first.append((document.id, " ".join(document.text[:_LONG].split())))
        for name, value in document.meta.items():
            seen = found.setdefault(name, {})
            if len(seen) <= _FEW and isinstance(value, (str, int, float)):
                seen[str(value)] = None
        if left < 0:
            break
    few = tuple((n, tuple(v)) for n, v in found.items() if 1 < len(v) <= _FEW)
    return Glimpse(tuple(first), tuple(found), few)


def fingerprint(path: Path) -> str:
    """Of a file, a folder, or a name such as `bible:kjv`."""
    if path.is_file():
        return _of_file(path)
    if path.is_dir():
        held = sorted(one for one in path.rglob("*") if one.is_file() and one.name != "lock")
        return hashed(*(f"{one.relative_to(path)} {_stamp(one)}" for one in held))
    from rote.core.distribution import version

    return hashed(str(path), version())


def hashed(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _of_file(path: Path) -> str:
    stamp = _stamp(path)
    return _content(path, stamp) if path.stat().st_size <= _WHOLE else hashed(str(path), stamp)


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}"


@lru_cache(maxsize=256)
def _content(path: Path, stamp: str) -> str:
    return blake2b(path.read_bytes(), digest_size=10).hexdigest()
