"""A first look at a file of texts: what its records hold, and how it begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from rote.core.document import Document
from rote.core.errors import RoteError
from rote.web.reading.fingerprints import fingerprint

_LOOKED_AT, _CHARACTERS = 2_000, 5_000_000
"""Records, or characters of them, that are looked at."""
_FEW = 12
_SHOWN = 3
_LONG = 400


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
    from rote.annotate.store import is_store, open_store
    from rote.corpus import open_corpus

    if is_store(path):
        for batch, _ in open_store(path).pieces():
            yield from batch.documents
    else:
        yield from open_corpus([path])


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
