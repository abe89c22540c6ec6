"""A part of a segment: named columns, in a folder or in memory, never changed once whole.

On disk a part is a folder of plain files, one for each column, and `part.json`, written last,
which says of each file what it holds, its size and its checksum. So a folder without
`part.json` is the rest of an interrupted run, and one with it is whole. Files are mapped, not
read; nothing in them is code.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.files import open_regular, read_regular
from rote.core.json_reader import JsonObject, parse_json
from rote.core.progress import Advance
from rote.index.columns.chain import EVERY
from rote.index.columns.packed import MOST_BITS, Packed, packed_size

FORMAT = 2
READ = (1, FORMAT)
"""Formats that can be read: in the first one no layer follows from another, and a table of
sorted suffixes is not packed."""
SEAL = "part.json"
# The kinds of parts.
DOCUMENTS = "documents"
LAYER = "layer"
# What a column may hold; anything else in a part.json is damage.
TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64")
PACKED = "packed"
RESTORE = "`rote index verify` names all damage; restore a copy, or build the index again"

_SIZES = ("bits", "length")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_READ_AT_ONCE = 1 << 22
# A mapping costs a file handle and a page; small columns are read instead.
_SMALL = 1 << 14


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One column's file: `type` is a number type or "packed", then with bits and length."""

    type: str
    bytes: int
    checksum: str
    bits: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What a manifest keeps of a part; `checksum` is that of its part.json."""

    folder: str
    name: str
    kind: str
    bytes: int
    checksum: str

    @classmethod
    def from_json(cls, held: JsonObject) -> PartRecord:
        folder, size = name_in(held, "folder"), held.count("bytes")
        return cls(folder, held.text("name"), held.text("kind"), size, held.text("checksum"))


@dataclass(frozen=True, slots=True)
class Part:
    """The columns of one part; all arrays are read-only."""

    name: str
    kind: str
    arrays: Mapping[str, NDArray[Any]]
    packed: Mapping[str, Packed] = field(default_factory=dict)
    where: str = "memory"

    def __getitem__(self, column: str) -> Any:
        """A plain column; a part without it was not made by this format."""
        return _column(self.arrays, column, self.where)

    def numbers(self, column: str) -> Packed:
        """A packed column."""
        found: Packed = _column(self.packed, column, self.where)
        return found


def valid_name(name: str) -> bool:
    """Whether a name can stand for a file or folder everywhere."""
    return _NAME.fullmatch(name) is not None


def name_in(held: JsonObject, field: str) -> str:
    """The name of a folder or column in a file of the index, which must not lead out of it."""
    if not valid_name(name := held.text(field)):
        raise held.error(field, f"is {name!r}, which can name neither file nor folder")
    return name


def checksum(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def is_whole(folder: Path) -> bool:
    """Whether the folder holds a part that was written to its end."""
    return os.path.isfile(folder / SEAL)


def open_part(folder: Path, expected: str | None = None) -> Part:
    """Map a part; every file must be there with its size, and part.json as expected."""
    name, kind, files = _read_seal(folder, expected)
    arrays: dict[str, NDArray[Any]] = {}
    packed: dict[str, Packed] = {}
    for file, record in files.items():
        place = f"{folder}/{file}"
        problem = _size_problem(place, record)
        if problem:
            raise InputError(problem, file=place, remedy=RESTORE)
        data = _map(place, record)
        if record.type == PACKED:
            packed[file] = Packed(data, record.bits, record.length)
        else:
            arrays[file] = data
    return Part(name, kind, arrays, packed, str(folder))


def let_go(array: NDArray[Any]) -> None:
    """Give the memory of a mapped column back once it was read through; it stays readable.

    The system would do so by itself when it is short, but until then it counts as ours.
    """
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, memoryview):
        base = base.obj
    if isinstance(base, mmap):
        base.madvise(MADV_DONTNEED)


def describe(folder: Path) -> PartRecord:
    """The record of a whole part, from its part.json."""
    name, kind, files = _read_seal(folder, None)
    size = sum(record.bytes for record in files.values())
    return PartRecord(folder.name, name, kind, size, checksum(read_regular(folder / SEAL)))


def stream_length(folder: Path, record: PartRecord) -> int:
    """How long the row of numbers of a layer is, at most; nothing is mapped for it."""
    files = _read_seal(folder, record.checksum)[2] if record.kind == LAYER else {}
    if "chain.ranks" in files:
        return files["chain.ranks"].length * EVERY
    return files["ids"].length if "ids" in files else 0


def check_part(
    folder: Path, expected: str | None = None, advance: Advance = lambda amount: None
) -> list[str]:
    """Read every byte and compare the checksums: one line for each problem."""
    try:
        files = _read_seal(folder, expected)[2]
    except InputError as error:
        return [error.diagnosis]
    problems = []
    for file, record in files.items():
        place = f"{folder}/{file}"
        problem = _size_problem(place, record)
        try:
            if not problem and _digest(place, advance) != record.checksum:
                problem = "the content has changed since it was written"
        except OSError as error:
            problem = f"a file of the index cannot be read ({error.strerror})"
        if problem:
            problems.append(f"{place}: {problem}")
    return problems


def _digest(place: str, advance: Advance) -> str:
    digest = blake2b(digest_size=16)
    with open_regular(place) as file:
        while data := file.read(_READ_AT_ONCE):
            digest.update(data)
            advance(len(data))
    return digest.hexdigest()


def _read_seal(folder: Path, expected: str | None) -> tuple[str, str, dict[str, FileRecord]]:
    place = folder / SEAL
    try:
        data = read_regular(place)
    except OSError as error:
        problem = f"a part of the index cannot be read ({error.strerror})"
        raise InputError(problem, file=str(place), remedy=RESTORE) from None
    if expected is not None and checksum(data) != expected:
        problem = "the description of this part has changed since it was written"
        raise InputError(problem, file=str(place), remedy=RESTORE)
    held = JsonObject.of(
        parse_json(data, str(place), remedy=RESTORE, strict=True), str(place), remedy=RESTORE
    )
    if held.get("format") not in READ:
        known = " and ".join(map(str, READ))
        raise InputError(
            f"this part has format {held.get('format')}, this version of rote reads {known}",
            file=str(place),
            remedy="Build the index again, or use the version that made it",
        )
    if (kind := held.text("kind")) not in (DOCUMENTS, LAYER):
        raise held.error("kind", f"is {kind!r}, not {DOCUMENTS!r} or {LAYER!r}")
    files = held.object("files")
    records = {name: _record(files, name) for name in files.values}
    return name_in(held, "name"), kind, records


def _record(files: JsonObject, name: str) -> FileRecord:
    """A file's name stays within the folder, and its size follows from what it holds."""
    if not valid_name(name) or name == SEAL:
        raise files.error(name, "is no name of a column")
    held = files.object(name)
    sizes = {field: held.count(field) if field in held.values else 0 for field in _SIZES}
    record = FileRecord(held.text("type"), held.count("bytes"), held.text("checksum"), **sizes)
    if record.type == PACKED:
        known = 1 <= record.bits <= MOST_BITS
        fits = known and record.bytes == packed_size(record.length, record.bits)
    else:
        known = record.type in TYPES
        fits = known and record.bytes % np.dtype(record.type).itemsize == 0
    if not known:
        said = f"is {record.type!r} with {record.bits} bits, which no column has"
        raise held.error("type", said)
    if not fits:
        raise held.error("bytes", f"is {record.bytes}, which does not fit {record.type!r}")
    return record


def _size_problem(place: str, record: FileRecord) -> str:
    try:
        size = os.stat(place).st_size
    except OSError as error:
        return f"a file of the index cannot be read ({error.strerror})"
    if size != record.bytes:
        return f"the file has {size} bytes, and was written with {record.bytes}"
    return ""


def _map(place: str, record: FileRecord) -> NDArray[Any]:
    kind = np.dtype(np.uint8 if record.type == PACKED else record.type).newbyteorder("<")
    data: Any
    try:
        with open_regular(place) as file:
            if record.bytes <= _SMALL:
                data = file.read(record.bytes)
            elif sys.version_info >= (3, 13):
                # Without a handle of its own for each mapping, of which there may be few.
                data = mmap(file.fileno(), record.bytes, access=ACCESS_READ, trackfd=False)
            else:
                data = mmap(file.fileno(), record.bytes, access=ACCESS_READ)
    except OSError as error:
        raise InputError(
            f"a file of the index cannot be read ({error.strerror})",
            file=place,
            remedy="Merge the index's segments: `rote index merge`"
            if error.errno in (errno.EMFILE, errno.ENFILE)
            else RESTORE,
        ) from None
    return np.frombuffer(data, kind)


def _column(columns: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in columns:
        raise InputError(f"the column {name} is missing", file=where, remedy=RESTORE)
    return columns[name]
