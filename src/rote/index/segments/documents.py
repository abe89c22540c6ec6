"""The documents of a segment: ids, texts, metadata, authors and sources.

A document's number is its index in the segment. An id is found by its hash, which is the same in
every process, and then compared with the id itself, so that a collision cannot mislead.

All texts are one row of characters, cut into chunks, each compressed by itself, with a checksum.
Showing forty characters around a match thus costs one chunk, not a novel, and merging segments
copies chunks without opening them. Metadata is stored the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.json_reader import parse_json
from rote.corpus import hash_id, hash_of
from rote.index.columns.layer_column import Vocabulary, decode_string
from rote.index.columns.packed_array import Bytes
from rote.index.segments.part import RESTORE, PartWriter, SegmentPart, release_pages

AUTHOR = "author"
SOURCE = "source"


@dataclass(frozen=True, slots=True)
class Labels:
    """What one field says of each document: a number, 0 where it says nothing."""

    numbers: NDArray[np.int32]
    vocabulary: Vocabulary

    def of(self, document: int) -> str | None:
        number = int(self.numbers[document])
        return self.vocabulary[number] if number else None


class Documents:
    def __init__(self, part: SegmentPart) -> None:
        self.texts = CompressedTexts(part, "texts")
        self.metas = CompressedTexts(part, "meta")
        self.author = _read_labels(part, AUTHOR)
        self.source = _read_labels(part, SOURCE)
        self.raw_ids: tuple[Bytes, NDArray[np.int64]] = part["ids.data"], part["ids.ends"]
        """All ids in one row, and where each ends."""
        self.hashes: tuple[NDArray[np.uint64], NDArray[np.int32]] = (
            part["hashes"],
            part["hashes.documents"],
        )
        """The sorted hashes of the ids, and whose they are."""

    def __len__(self) -> int:
        return len(self.raw_ids[1])

    def id(self, i: int) -> str:
        if not 0 <= i < len(self):
            raise IndexError(f"{i} of {len(self)}")
        data, ends = self.raw_ids
        return decode_string(data[int(ends[i - 1]) if i else 0 : int(ends[i])].tobytes())

    def ids(self) -> list[str]:
        return [self.id(i) for i in range(len(self))]

    def find(self, identity: str) -> int | None:
        """The number of the document with this id, the first if there are several."""
        wanted, (hashes, numbers) = hash_of(identity), self.hashes
        at = int(np.searchsorted(hashes, np.uint64(wanted)))
        while at < len(self) and int(hashes[at]) == wanted:
            number = int(numbers[at])
            if self.id(number) == identity:
                return number
            at += 1
        return None

    def text(self, i: int, start: int = 0, stop: int | None = None) -> str:
        return self.texts.text(i, start, stop)

    def meta(self, i: int) -> dict[str, Any]:
        try:
            meta = parse_json(self.metas.text(i))
            if isinstance(meta, dict):
                return meta
        except InputError:
            pass
        problem = f"the metadata of the document '{self.id(i)}' is damaged"
        raise InputError(problem, file=self.metas.where, remedy=RESTORE)

    def document(self, i: int) -> Document:
        """The document as it went in, but for annotation that came with it."""
        return Document(self.id(i), self.text(i), self.meta(i))

    def holds(self, document: Document) -> bool:
        i = self.find(document.id)
        if i is None or self.text(i) != document.text:
            return False
        return self.metas.text(i) == _dump_meta(document.meta)


class DocumentsWriter:
    """Appends documents, or those of another segment, to the part `documents`."""

    def __init__(self, part: PartWriter, author_field: str = AUTHOR) -> None:
        self._part = part
        self._author_field = author_field
        self._texts, self._metas = TextsWriter(part, "texts"), TextsWriter(part, "meta")
        self._id_data = part.column("ids.data", "uint8")
        self._id_ends = part.column("ids.ends", "int64")
        self._authors, self._sources = _LabelsWriter(), _LabelsWriter()
        self._hashes: list[NDArray[np.uint64]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._documents = self._id_bytes = 0

    def __len__(self) -> int:
        return self._documents

    def add(self, documents: Sequence[Document]) -> None:
        self._texts.add(document.text for document in documents)
        self._metas.add(_dump_meta(document.meta) for document in documents)
        self._authors.add(_label_of(d.meta.get(self._author_field)) for d in documents)
        self._sources.add(_label_of(d.meta.get(SOURCE)) for d in documents)
        ids = [document.id.encode("utf-8", "surrogatepass") for document in documents]
        self._add_ids(
            np.frombuffer(b"".join(ids), np.uint8),
            np.cumsum(list(map(len, ids)), dtype=np.int64),
            np.array(list(map(hash_id, ids)), np.uint64),
            np.arange(len(ids)),
        )

    def copy(self, other: Documents) -> None:
        self._texts.copy(other.texts)
        self._metas.copy(other.metas)
        self._authors.copy(other.author)
        self._sources.copy(other.source)
        self._add_ids(*other.raw_ids, *other.hashes)

    def _add_ids(
        self,
        data: Bytes,
        ends: NDArray[np.int64],
        hashes: NDArray[np.uint64],
        numbers: NDArray[Any],
    ) -> None:
        self._id_data(data)
        self._id_ends(ends + self._id_bytes)
        self._hashes.append(hashes)
        self._numbers.append(numbers.astype(np.int64) + self._documents)
        self._id_bytes += len(data)
        self._documents += len(ends)

    def finish(self) -> None:
        self._texts.finish()
        self._metas.finish()
        self._authors.write(self._part, AUTHOR)
        self._sources.write(self._part, SOURCE)
        hashes = np.concatenate([np.empty(0, np.uint64), *self._hashes])
        numbers = np.concatenate([np.empty(0, np.int64), *self._numbers])
        order = np.lexsort((numbers, hashes))
        self._part.column("hashes", "uint64")(hashes[order])
        self._part.column("hashes.documents", "int32")(numbers[order])


class _LabelsWriter:
    """Numbers values in order of appearance, and by their strings in the end."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {"": 0}
        self._numbers: list[NDArray[np.int32]] = []

    def add(self, values: Iterable[str]) -> None:
        numbers_of = self._seen
        numbers = [numbers_of.setdefault(value, len(numbers_of)) for value in values]
        self._numbers.append(np.array(numbers, np.int32))

    def copy(self, other: Labels) -> None:
        self.add(other.vocabulary.strings())
        self._numbers[-1] = self._numbers[-1][other.numbers]

    def write(self, part: PartWriter, name: str) -> None:
        ordered = sorted(self._seen)  # the empty string, which says nothing, is the first
        table = np.empty(len(ordered), np.int32)
        table[[self._seen[value] for value in ordered]] = np.arange(len(ordered))
        append = part.column(name, "int32")
        for numbers in self._numbers:
            append(table[numbers])
        write_vocabulary(part, f"{name}.vocabulary", Vocabulary.of(ordered[1:]))


def write_vocabulary(part: PartWriter, name: str, vocabulary: Vocabulary) -> None:
    part.column(f"{name}.data", "uint8")(vocabulary.data)
    part.column(f"{name}.ends", "int64")(vocabulary.ends)


def read_vocabulary(part: SegmentPart, name: str) -> Vocabulary:
    return Vocabulary(part[f"{name}.data"], part[f"{name}.ends"])


def _read_labels(part: SegmentPart, name: str) -> Labels:
    return Labels(part[name], read_vocabulary(part, f"{name}.vocabulary"))


def _label_of(value: Any) -> str:
    """A field's value as a name; the empty string for none.

    Tables write NaN where a field is empty, and a record of its own is no name.
    """
    if value is None or value != value or isinstance(value, Mapping):
        return ""
    if isinstance(value, (list, tuple)):
        return "; ".join(filter(None, map(_label_of, value)))
    return value if isinstance(value, str) else str(value)


def _dump_meta(meta: Mapping[str, Any]) -> str:
    # Annotation that came with the input is in the layers now.
    fields = {key: value for key, value in meta.items() if key != "annotation"}
    # What JSON has no word for (dates from Parquet files) is kept as people read it.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"), default=str)


CHUNK = 1 << 16
"""Characters of a chunk; only the last of a column, or of what was merged into it, has fewer."""
_COMPRESSION_LEVEL = 3
_MAX_CHARACTER_BYTES = 4  # of a character
_CACHED_CHUNKS = 32
_COPY_AT_ONCE = 1 << 24


class CompressedTexts:
    """Strings by number, or a piece of one.

    Chunk c holds the characters from `firsts[c]` on and lies compressed at
    `data[offsets[c]:offsets[c + 1]]`; string i ends before character `ends[i]` of the row.
    """

    def __init__(self, part: SegmentPart, name: str) -> None:
        self.where = f"{part.where}: {name}"
        self.data: Bytes = part[f"{name}.data"]
        self.offsets: NDArray[np.int64] = part[f"{name}.offsets"]
        self.firsts: NDArray[np.int64] = part[f"{name}.firsts"]
        self.ends: NDArray[np.int64] = part[f"{name}.ends"]
        self._chunk = lru_cache(_CACHED_CHUNKS)(self._decompress)

    def __len__(self) -> int:
        return len(self.ends)

    def length(self, i: int) -> int:
        return int(self.ends[i]) - self._begin(i)

    def text(self, i: int, start: int = 0, stop: int | None = None) -> str:
        """The characters from start to stop of string i; what lies outside of it is left out."""
        if not 0 <= i < len(self):
            raise IndexError(f"{i} of {len(self)}")
        begin, end = self._begin(i), int(self.ends[i])
        low = begin + max(0, start)
        high = end if stop is None else min(end, begin + stop)
        if low >= high:
            return ""
        first = int(np.searchsorted(self.firsts, low, side="right")) - 1
        pieces = []
        for chunk in range(first, len(self.firsts) - 1):
            origin = int(self.firsts[chunk])
            if origin >= high:
                break
            pieces.append(self._chunk(chunk)[max(0, low - origin) : high - origin])
        return "".join(pieces)

    def _begin(self, i: int) -> int:
        return int(self.ends[i - 1]) if i else 0

    def _decompress(self, chunk: int) -> str:
        compressed = self.data[int(self.offsets[chunk]) : int(self.offsets[chunk + 1])]
        characters = int(self.firsts[chunk + 1] - self.firsts[chunk])
        try:
            # Known beforehand, and never more than is due: a few bytes may stand for gigabytes.
            if (
                not 0
                <= zstandard.frame_content_size(compressed.data)
                <= _MAX_CHARACTER_BYTES * characters
            ):
                raise ValueError("it exceeds the maximum size")
            plain = zstandard.ZstdDecompressor().decompress(compressed.data)
            text = plain.decode("utf-8", "surrogatepass")
            if len(text) != characters:
                raise ValueError("its length has changed")
            return text
        except (zstandard.ZstdError, ValueError) as error:
            problem = f"a text is damaged ({error})"
            raise InputError(problem, file=self.where, remedy=RESTORE) from None


class TextsWriter:
    """Appends strings, or all strings of another column, to a column of texts."""

    def __init__(self, part: PartWriter, name: str) -> None:
        self._data = part.column(f"{name}.data", "uint8")
        self._offsets = part.column(f"{name}.offsets", "int64")
        self._firsts = part.column(f"{name}.firsts", "int64")
        self._ends = part.column(f"{name}.ends", "int64")
        self._compressor = zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL, write_checksum=True)
        self._waiting: list[str] = []
        self._waiting_characters = 0
        self._characters = 0  # before those that wait
        self._bytes = 0
        self._mark()

    def add(self, strings: Iterable[str]) -> None:
        ends = []
        for string in strings:
            self._waiting.append(string)
            self._waiting_characters += len(string)
            ends.append(self._characters + self._waiting_characters)
            if self._waiting_characters >= CHUNK:
                self._compress(CHUNK)
        self._ends(np.array(ends, np.int64))

    def copy(self, other: CompressedTexts) -> None:
        """Append another column: its chunks as they are."""
        self._compress(1)
        for start in range(0, len(other.data), _COPY_AT_ONCE):
            self._data(other.data[start : start + _COPY_AT_ONCE])
        release_pages(other.data)
        self._offsets(other.offsets[1:] + self._bytes)
        self._firsts(other.firsts[1:] + self._characters)
        self._ends(other.ends + self._characters)
        self._bytes += len(other.data)
        self._characters += int(other.firsts[-1])

    def finish(self) -> None:
        self._compress(1)

    def _compress(self, least: int) -> None:
        """Write chunks while at least this many characters wait."""
        row = "".join(self._waiting)
        at = 0
        while len(row) - at >= least:
            piece = row[at : at + CHUNK]
            data = self._compressor.compress(piece.encode("utf-8", "surrogatepass"))
            self._data(np.frombuffer(data, np.uint8))
            at += len(piece)
            self._characters += len(piece)
            self._bytes += len(data)
            self._mark()
        self._waiting = [row[at:]]
        self._waiting_characters = len(row) - at

    def _mark(self) -> None:
        self._offsets(np.array([self._bytes], np.int64))
        self._firsts(np.array([self._characters], np.int64))
