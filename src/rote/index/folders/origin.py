"""Which documents went into a segment: the part `origin`, which only writers read.

It lets a command that was interrupted, or is run twice, recognize what is done already, and
gives the fingerprint of all documents without reading a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus import digest
from rote.index.folders.manifest import ORIGIN, Listed
from rote.index.segments.part import DOCUMENTS, RESTORE, PartRecord, describe, open_part
from rote.index.segments.segment import SegmentRecord
from rote.index.segments.target import Target

_DIGEST, _CONTENT, _KEY = 16, 12, 16


@dataclass(frozen=True, slots=True)
class Origin:
    """The pieces of a segment by their content, and its documents by their hashes.

    `key` stands for the settings that the segment was made with; `places` is the length of its
    longest stream; `digests` holds one row for each document in order.
    """

    key: str
    contents: tuple[str, ...]
    words: int
    places: int
    digests: NDArray[np.uint8]

    @property
    def documents(self) -> int:
        return len(self.digests)


def digests_of(documents: Iterable[Document]) -> NDArray[np.uint8]:
    """One row for each document."""
    return np.frombuffer(b"".join(map(digest, documents)), np.uint8).reshape(-1, _DIGEST)


def joined(origins: Sequence[Origin], key: str) -> Origin:
    """The origin of a segment that holds the documents of several."""
    return Origin(
        key=key,
        contents=tuple(content for origin in origins for content in origin.contents),
        words=sum(origin.words for origin in origins),
        places=sum(origin.places for origin in origins),
        digests=np.concatenate([origin.digests for origin in origins]),
    )


def write_origin(target: Target, origin: Origin) -> PartRecord:
    """Write the part; the last one of a segment."""
    part = target.part(ORIGIN, ORIGIN, DOCUMENTS)
    columns: dict[str, tuple[str, NDArray[Any]]] = {
        "key": ("uint8", _bytes(origin.key)),
        "contents": ("uint8", _bytes("".join(origin.contents))),
        "size": ("int64", np.array([origin.words, origin.places], np.int64)),
        "digests": ("uint8", origin.digests.reshape(-1)),
    }
    for name, (kind, values) in columns.items():
        part.column(name, kind)(values)
    return part.seal()


def read_origin(folder: Path, expected: str | None = None) -> Origin:
    """Map the part of a segment's folder."""
    part = open_part(folder / ORIGIN, expected)
    try:
        words, places = part["size"].tolist()
        contents = part["contents"].reshape(-1, _CONTENT)
        digests = part["digests"].reshape(-1, _DIGEST)
    except ValueError as error:
        problem = f"what it says of the documents makes no sense ({error})"
        raise InputError(problem, file=str(folder / ORIGIN), remedy=RESTORE) from None
    return Origin(
        key=part["key"].tobytes().hex(),
        contents=tuple(row.tobytes().hex() for row in contents),
        words=words,
        places=places,
        digests=digests,
    )


def sealed_segment(folder: Path) -> tuple[Listed, Origin]:
    """A whole segment as a manifest lists it; the same whether it was made now or found."""
    origin = read_origin(folder)
    places = (place for place in folder.iterdir() if place.is_dir())
    parts = sorted(place.name for place in places if place.name != ORIGIN)
    record = SegmentRecord(
        documents=origin.documents,
        tokens=origin.words,
        places=origin.words + origin.documents,
        parts=tuple(describe(folder / name) for name in parts),
    )
    return Listed(folder.name, record, describe(folder / ORIGIN)), origin


def key_of(*settings: object) -> str:
    """One short name for everything that changes a segment beside its documents."""
    return blake2b(repr(settings).encode(), digest_size=_KEY).hexdigest()


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(bytes.fromhex(text), np.uint8)
