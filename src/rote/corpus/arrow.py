"""Arrow files (.arrow), and data sets saved by Hugging Face datasets; batch by batch.

Where the batches of an Arrow IPC stream lie, so that each can be read alone.
A stream is a schema message, then dictionaries and record batches, each message
with its length in front. Only the few numbers that tell kind, length and rows are
read here; a batch with the schema before it is a stream of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject, read_json
from rote.corpus._linewise import empty, sampled
from rote.corpus._shard import (
    SHARD_BYTES,
    Fields,
    Numbered,
    Origin,
    Part,
    ReadOptions,
    Shard,
    failed,
)
from rote.corpus._streams import unreadable
from rote.corpus.parquet import CELL, Unreadable, reading, text_bytes

_CONTINUES = b"\xff\xff\xff\xff"
_FILE_MAGIC = b"ARROW1"
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3


@dataclass(frozen=True, slots=True)
class StreamSpans:
    """Spans of a file that make up a stream: schema, dictionaries and some batches."""

    spans: tuple[tuple[int, int], ...]
    rows: int
    size: int

    def read(self, raw: BinaryIO) -> bytes:
        parts = []
        for start, end in self.spans:
            raw.seek(start)
            parts.append(raw.read(end - start))
        return b"".join([*parts, _CONTINUES, bytes(4)])


def pieces(path: Path, target: int, file: str) -> Iterator[StreamSpans]:
    """Runs of record batches of about `target` bytes."""
    try:
        with open(path, "rb") as raw:
            yield from _pieces(raw, target, path, file)
    except OSError as error:
        raise unreadable(file, error) from None


def _pieces(raw: BinaryIO, target: int, path: Path, file: str) -> Iterator[StreamSpans]:
    length = path.stat().st_size
    # The file format is the stream between a magic word and a footer.
    start = 8 if raw.read(6) == _FILE_MAGIC else 0
    shared: list[tuple[int, int]] = []
    batches: list[tuple[int, int]] = []
    rows = reported = 0
    while start < length:
        raw.seek(start)
        try:
            kind, count, end = _message(raw, start, length)
        except _Damaged as error:
            if batches:
                yield StreamSpans((*shared, *batches), rows, start - reported)
            raise _unusable(path, file, str(error)) from None
        if end == start:
            break
        if kind == _BATCH:
            batches.append((start, end))
            rows += count
            if end - batches[0][0] >= target:
                yield StreamSpans((*shared, *batches), rows, end - reported)
                batches, rows, reported = [], 0, end
        elif kind in (_SCHEMA, _DICTIONARY):
            if batches:  # a dictionary that changes under way does not hold for those before it
                yield StreamSpans((*shared, *batches), rows, start - reported)
                batches, rows, reported = [], 0, start
            shared.append((start, end))
        start = end
    if batches or length > reported:
        yield StreamSpans((*shared, *batches), rows, length - reported)


def _message(raw: BinaryIO, start: int, length: int) -> tuple[int, int, int]:
    """Kind, number of rows and end of the message at `start`; its own start at the end of all."""
    head = raw.read(8)
    if len(head) < 8 or head[:4] != _CONTINUES:
        raise _Damaged("it is cut short" if len(head) < 8 else "no message where one should begin")
    (size,) = struct.unpack("<i", head[4:])
    if size == 0:
        return 0, 0, start
    if not 0 < size <= length - start - 8:
        raise _Damaged("it is cut short")
    data = raw.read(size)
    try:
        table = _FlatTable(data, struct.unpack_from("<I", data)[0])
        kind, body = table.number(1, "<B"), table.number(3, "<q")
        rows = table.table(2).number(0, "<q") if kind == _BATCH else 0
    except struct.error:
        raise _Damaged("it is cut short") from None
    end = start + 8 + size + body
    if body < 0 or rows < 0 or end > length:
        raise _Damaged("it is cut short")
    return kind, rows, end


class _Damaged(Exception):
    """A message that is not whole."""


class _FlatTable:
    """A flatbuffers table: numbers by their place in the schema of Arrow messages."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._slots = at - struct.unpack_from("<i", data, at)[0]
        self._count = (struct.unpack_from("<H", data, self._slots)[0] - 4) // 2

    def number(self, slot: int, layout: str) -> int:
        place = self._place(slot)
        return int(struct.unpack_from(layout, self._data, place)[0]) if place else 0

    def table(self, slot: int) -> _FlatTable:
        place = self._place(slot)
        return _FlatTable(self._data, place + struct.unpack_from("<I", self._data, place)[0])

    def pairs(self, slot: int) -> Iterator[tuple[int, ...]]:
        """A list of structures of two numbers."""
        if not (place := self._place(slot)):
            return
        start = place + struct.unpack_from("<I", self._data, place)[0]
        (count,) = struct.unpack_from("<I", self._data, start)
        end = start + 4 + count * struct.calcsize("<qq")
        if end > len(self._data):
            raise _Damaged("it is cut short")
        yield from struct.iter_unpack("<qq", self._data[start + 4 : end])

    def has(self, slot: int) -> bool:
        return self._place(slot) > 0

    def _place(self, slot: int) -> int:
        if slot >= self._count:
            return 0
        offset = int(struct.unpack_from("<H", self._data, self._slots + 4 + 2 * slot)[0])
        return self._at + offset if offset else 0


def unpacked(part: Part, most: int) -> int:
    """Bytes that the values of a file take; beyond `most`, not all of them are counted. What is
    behind damage is not read, and not counted."""
    size = 0
    with suppress(InputError):
        for file, _ in _files_of(part):
            for piece in pieces(file, SHARD_BYTES, part.origin.file):
                size += _size_of(file, piece, most - size)
                if size > most:
                    return size
    return size


def _size_of(path: Path, piece: StreamSpans, most: int) -> int:
    import polars as pl

    with open(path, "rb") as raw:
        try:
            size = sum(_body_size(raw, start, end) for start, end in piece.spans)
        except (_Damaged, struct.error):
            return most + 1  # what cannot be judged is not read
        if size > most:
            return size
        data = piece.read(raw)
    # Rows may point at one text, in a dictionary or not.
    with suppress(Unreadable), reading():
        frame = pl.read_ipc_stream(BytesIO(data))
        size += text_bytes(frame.lazy(), frame.schema)
    return size


def _body_size(raw: BinaryIO, start: int, end: int) -> int:
    """Bytes of the buffers of a message when they are decompressed, and of its values."""
    raw.seek(start + 4)
    (size,) = struct.unpack("<i", raw.read(4))
    data = raw.read(size)
    table = _FlatTable(data, struct.unpack_from("<I", data)[0])
    kind = table.number(1, "<B")
    if kind not in (_DICTIONARY, _BATCH):
        return 0
    batch = table.table(2) if kind == _BATCH else table.table(2).table(1)
    total = sum(CELL * max(0, length) for length, _ in batch.pairs(1))
    for at, length in batch.pairs(2):
        if batch.has(3) and length >= CELL:
            if not 0 <= at < end - start:
                raise _Damaged("it is cut short")
            # A compressed buffer begins with its length; -1 is one that is not.
            raw.seek(start + 8 + size + at)
            (declared_size,) = struct.unpack("<q", raw.read(CELL))
            length = max(length, declared_size)
        total += max(0, length)
    return total


def _unusable(path: Path, file: str, why: str) -> InputError:
    return InputError(
        f"{path.name} is not a complete Arrow file: {why}",
        file=file,
        remedy="Copy or download it again; --on-error skip uses the batches before the damage",
    )


SUFFIXES = (".arrow",)
NEEDS_SEEKING = True  # a compressed one is unpacked to a temporary file first


def inspect(part: Part, options: ReadOptions) -> Fields:
    try:
        file, _ = _files_of(part)[0]
        piece = next(pieces(file, 1, part.origin.file))
    except (InputError, StopIteration):  # reported when it is read
        return sampled((), options, part.origin)
    return sampled(_rows(file, piece, None, 1, part.origin), options, part.origin)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    """A shard for each run of record batches; rows are numbered through all files of a set."""
    origin, first = part.origin, 1
    try:
        for file, split in _files_of(part):
            for piece in pieces(file, SHARD_BYTES, origin.file):
                records = partial(_rows, file, piece, split, first, origin)
                yield Shard(origin, fields, options, piece.size, records, refers=True)
                first += piece.rows
        if first == 1:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error), refers=True)


def _files_of(part: Part) -> Sequence[tuple[Path, str | None]]:
    """The files of a data set in order, each with its split where there are splits."""
    folder: Path = part.where
    if not folder.is_dir():
        return [(folder, None)]
    splits = _splits(folder, part.origin.file)
    if splits is None:
        files: list[tuple[Path, str | None]] = [(f, None) for f in sorted(folder.glob("*.arrow"))]
    else:
        files = [(f, name) for name in splits for f in sorted((folder / name).glob("*.arrow"))]
    if not files:
        raise part.origin.error(
            "the saved data set contains no .arrow files", remedy="Save it again with save_to_disk"
        )
    return files


def _splits(folder: Path, file: str) -> list[str] | None:
    place, remedy = folder / "dataset_dict.json", "Save the data set again with save_to_disk"
    try:
        document = JsonObject.of(read_json(place, remedy=remedy), str(place), remedy=remedy)
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"dataset_dict.json cannot be read ({error.strerror})"
        raise InputError(problem, file=file, remedy=remedy) from None
    splits = document.texts("splits")
    document.check_names(splits, "splits")
    return list(splits)


def _rows(
    path: Path, piece: StreamSpans, split: str | None, first: int, origin: Origin
) -> Iterator[Numbered]:
    import polars as pl

    try:
        with open(path, "rb") as raw:
            data = piece.read(raw)
        with reading():
            frame = pl.read_ipc_stream(BytesIO(data))
    except (Unreadable, OSError) as error:
        remedy = "Copy or download it again"
        problem = f"a batch of {path.name} cannot be read ({error})"
        yield first, origin.error(problem, first, remedy=remedy)
        return
    for number, record in enumerate(frame.iter_rows(named=True), first):
        if split is not None:
            record.setdefault("split", split)
        yield number, record
