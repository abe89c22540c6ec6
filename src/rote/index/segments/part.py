"""A part of a segment: named columns, in a folder or in memory, never changed once sealed.

On disk a part is a folder of plain files, one for each column, and `part.json`, written last,
which says of each file what it holds, its size and its checksum. So a folder without
`part.json` is the rest of an interrupted run. Files are mapped, not read; nothing in them is code.

A `Target` is where parts are written: a folder, or memory. It gives parts, whose columns grow piece
by piece, and scratch columns for what has to be read again before it can take its final form
(numbers of items before the vocabulary is sorted).
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.core.files import open_regular, read_regular, write_atomically
from rote.core.json_reader import JsonObject, parse_json
from rote.core.progress import Advance
from rote.index.columns.compressed_suffix_array import SAMPLE_STEP
from rote.index.columns.packed_array import MAX_BITS, Bytes, PackedArray, pack_chunks, packed_size

FORMAT = 2
READABLE = (1, FORMAT)
"""Formats that can be read: in the first one no layer follows from another, and a table of
sorted suffixes is not packed."""
SEAL = "part.json"
# The kinds of parts.
DOCUMENTS = "documents"
LAYER = "layer"
MEANINGS = "meanings"
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
    def from_json(cls, json_object: JsonObject) -> PartRecord:
        folder, size = read_name(json_object, "folder"), json_object.count("bytes")
        name, kind, checksum = map(json_object.text, ("name", "kind", "checksum"))
        return cls(folder, name, kind, size, checksum)


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """The columns of one part; all arrays are read-only."""

    name: str
    kind: str
    arrays: Mapping[str, NDArray[Any]]
    packed: Mapping[str, PackedArray] = field(default_factory=dict)
    where: str = "memory"

    def __getitem__(self, column: str) -> Any:
        """A plain column; a part without it was not made by this format."""
        return _get_column(self.arrays, column, self.where)

    def numbers(self, column: str) -> PackedArray:
        packed: PackedArray = _get_column(self.packed, column, self.where)
        return packed


def is_valid_name(name: str) -> bool:
    """Whether a name can stand for a file or folder everywhere."""
    return _NAME.fullmatch(name) is not None


def read_name(json_object: JsonObject, field: str) -> str:
    """The name of a folder or column in a file of the index, which must not lead out of it."""
    if not is_valid_name(name := json_object.text(field)):
        raise json_object.error(
            field, f"is {name!r}, which is not a valid name of a file or folder"
        )
    return name


def checksum(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def is_sealed(folder: Path) -> bool:
    """Whether the folder holds a part that was written to its end."""
    return os.path.isfile(folder / SEAL)


def open_part(folder: Path, expected: str | None = None) -> SegmentPart:
    """Map a part; every file must be there with its size, and part.json as expected."""
    name, kind, files = _read_seal(folder, expected)
    arrays: dict[str, NDArray[Any]] = {}
    packed: dict[str, PackedArray] = {}
    for file, record in files.items():
        place = f"{folder}/{file}"
        problem = _size_problem(place, record)
        if problem:
            raise InputError(problem, file=place, remedy=RESTORE)
        data = _map_file(place, record)
        if record.type == PACKED:
            packed[file] = PackedArray(data, record.bits, record.length)
        else:
            arrays[file] = data
    return SegmentPart(name, kind, arrays, packed, str(folder))


def release_pages(array: NDArray[Any]) -> None:
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


def describe_part(folder: Path) -> PartRecord:
    """The record of a whole part, from its part.json."""
    name, kind, files = _read_seal(folder, None)
    size = sum(record.bytes for record in files.values())
    return PartRecord(folder.name, name, kind, size, checksum(read_regular(folder / SEAL)))


def stream_length(folder: Path, record: PartRecord) -> int:
    """How long the row of numbers of a layer is, at most; nothing is mapped for it."""
    files = _read_seal(folder, record.checksum)[2] if record.kind == LAYER else {}
    if "chain.ranks" in files:
        return files["chain.ranks"].length * SAMPLE_STEP
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
            if not problem and _file_digest(place, advance) != record.checksum:
                problem = "the content has changed since it was written"
        except OSError as error:
            problem = f"a file of the index cannot be read ({error.strerror})"
        if problem:
            problems.append(f"{place}: {problem}")
    return problems


def _file_digest(place: str, advance: Advance) -> str:
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
    json_object = parse_description(data, place, "this part", READABLE)
    if (kind := json_object.text("kind")) not in (DOCUMENTS, LAYER, MEANINGS):
        raise json_object.error("kind", f"is {kind!r}, not one of {DOCUMENTS, LAYER, MEANINGS}")
    files = json_object.object("files")
    records = {name: _read_file_record(files, name) for name in files.values}
    return read_name(json_object, "name"), kind, records


def parse_description(data: bytes, place: Path, what: str, readable: tuple[int, ...]) -> JsonObject:
    """A JSON file of the index, which must be of a format that can be read."""
    value = parse_json(data, str(place), remedy=RESTORE, strict=True)
    json_object = JsonObject.of(value, str(place), remedy=RESTORE)
    if (version := json_object.get("format")) not in readable:
        known = " and ".join(map(str, readable))
        raise InputError(
            f"{what} has format {version}, this version of rote reads {known}",
            file=str(place),
            remedy="Build the index again, or use the version that built it",
        )
    return json_object


def _read_file_record(files: JsonObject, name: str) -> FileRecord:
    """A file's name stays within the folder, and its size follows from what it holds."""
    if not is_valid_name(name) or name == SEAL:
        raise files.error(name, "is not the name of a column")
    json_object = files.object(name)
    sizes = {
        field: json_object.count(field) if field in json_object.values else 0 for field in _SIZES
    }
    record = FileRecord(
        json_object.text("type"), json_object.count("bytes"), json_object.text("checksum"), **sizes
    )
    if record.type == PACKED:
        known = 1 <= record.bits <= MAX_BITS
        fits = known and record.bytes == packed_size(record.length, record.bits)
    else:
        known = record.type in TYPES
        fits = known and record.bytes % np.dtype(record.type).itemsize == 0
    if not known:
        problem = f"is {record.type!r} with {record.bits} bits, which is not a column type"
        raise json_object.error("type", problem)
    if not fits:
        raise json_object.error("bytes", f"is {record.bytes}, which does not fit {record.type!r}")
    return record


def _size_problem(place: str, record: FileRecord) -> str:
    try:
        size = os.stat(place).st_size
    except OSError as error:
        return f"a file of the index cannot be read ({error.strerror})"
    if size != record.bytes:
        return f"the file has {size} bytes, but was written with {record.bytes}"
    return ""


def _map_file(place: str, record: FileRecord) -> NDArray[Any]:
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


def _get_column(columns: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in columns:
        raise InputError(f"the column {name} is missing", file=where, remedy=RESTORE)
    return columns[name]


Append = Callable[[NDArray[Any]], None]
_SCRATCH = "scratch"
Target: TypeAlias = "FolderTarget | MemoryTarget"
"""Where the parts of one segment go."""
PartWriter: TypeAlias = "_FolderPart | _MemoryPart"
"""A part that is being written: `column` begins a column and gives what appends to it, `pack`
writes a packed one of numbers below 2**bits, `seal` ends the part."""
Scratch: TypeAlias = "_FileScratch | _MemoryScratch"
"""A column that is thrown away after use; `take` gives all of it in memory."""


class FolderTarget:
    """Parts as subfolders of a segment's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._files: list[BinaryIO] = []
        self._parts: list[Path] = []
        self.close()

    def part(self, folder: str, name: str, kind: str) -> PartWriter:
        _check_folder_name(folder, kind)
        self._parts.append(self.path / folder)
        return _FolderPart(self.path / folder, name, kind, self._open)

    def sealed(self, folder: str) -> SegmentPart:
        return open_part(self.path / folder)

    def scratch(self, kind: str) -> Scratch:
        (self.path / _SCRATCH).mkdir(exist_ok=True)
        path = self.path / _SCRATCH / str(len(self._files))
        return _FileScratch(path, self._open(path), kind)

    def _open(self, path: Path) -> BinaryIO:
        # Known here so that an error on the way leaves no file open.
        self._files.append(path.open("wb"))
        return self._files[-1]

    def close(self) -> None:
        """Let go of all files; remove scratch columns, and parts that were not sealed."""
        for file in self._files:
            # Only what is thrown away is still open: on a full disk it need not be written.
            with suppress(OSError):
                file.close()
        unfinished = [part for part in self._parts if not is_sealed(part)]
        for path in (self.path / _SCRATCH, *unfinished):
            if path.is_dir():
                shutil.rmtree(path)


class MemoryTarget:
    """Parts as arrays; they appear in `parts` once sealed."""

    def __init__(self) -> None:
        self.parts: dict[str, SegmentPart] = {}

    def part(self, folder: str, name: str, kind: str) -> PartWriter:
        _check_folder_name(folder, kind)
        return _MemoryPart(self.parts, folder, name, kind)

    def sealed(self, folder: str) -> SegmentPart:
        return self.parts[folder]

    def scratch(self, kind: str) -> Scratch:
        return _MemoryScratch(kind)

    def close(self) -> None:
        return None


def _check_folder_name(folder: str, kind: str) -> None:
    is_reserved = folder == _SCRATCH or (folder == DOCUMENTS and kind != DOCUMENTS)
    if is_reserved or not is_valid_name(folder):
        raise OptionError(
            f"'{folder}' cannot name a layer of an index: use letters, digits, '-', '_' and '.'"
        )


class _FolderPart:
    def __init__(
        self, path: Path, name: str, kind: str, open_file: Callable[[Path], BinaryIO]
    ) -> None:
        # What an interrupted run left is no use: without its end nobody knows what it holds.
        if path.exists():
            shutil.rmtree(path)
        path.mkdir()
        self._path, self._name, self._kind, self._open_file = path, name, kind, open_file
        self._growing: dict[str, _ColumnFile] = {}
        self._files: dict[str, FileRecord] = {}

    def column(self, name: str, kind: str) -> Append:
        self._growing[name] = file = _ColumnFile(self._open_file(self._path / name), kind)
        return file.append

    def pack(self, name: str, values: NDArray[Any], bits: int) -> None:
        file = _ColumnFile(self._open_file(self._path / name), PACKED, bits, len(values))
        for data in pack_chunks(values, bits):
            file.append(data)
        self._files[name] = file.close()

    def seal(self) -> PartRecord:
        for name, file in self._growing.items():
            self._files[name] = file.close()
        description = {
            "format": FORMAT,
            "kind": self._kind,
            "name": self._name,
            "files": {name: asdict(file) for name, file in sorted(self._files.items())},
        }
        data = json.dumps(description, indent=1).encode("ascii")
        sync_folder(self._path)
        # Under the final name only once it is on the disk: its presence means that all is.
        write_atomically(self._path / SEAL, data, durable=True)
        sync_folder(self._path)
        sync_folder(self._path.parent)
        size = sum(record.bytes for record in self._files.values())
        return PartRecord(self._path.name, self._name, self._kind, size, checksum(data))


class _ColumnFile:
    """A file that grows, and the digest of what was written to it."""

    def __init__(self, file: BinaryIO, kind: str, bits: int = 0, length: int = 0) -> None:
        self._file = file
        self._type = np.dtype(np.uint8 if kind == PACKED else kind).newbyteorder("<")
        self._kind, self._bits, self._length = kind, bits, length
        self._digest = blake2b(digest_size=16)
        self._bytes = 0

    def append(self, values: NDArray[Any]) -> None:
        data = _raw_bytes(values, self._type)
        self._file.write(data)
        self._digest.update(data)
        self._bytes += len(data)

    def close(self) -> FileRecord:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return FileRecord(
            self._kind, self._bytes, self._digest.hexdigest(), self._bits, self._length
        )


class _MemoryPart:
    def __init__(self, parts: dict[str, SegmentPart], folder: str, name: str, kind: str) -> None:
        self._parts, self._folder, self._name, self._kind = parts, folder, name, kind
        self._columns: dict[str, tuple[np.dtype[Any], list[NDArray[Any]]]] = {}
        self._packed: dict[str, PackedArray] = {}

    def column(self, name: str, kind: str) -> Append:
        pieces: list[NDArray[Any]] = []
        self._columns[name] = (np.dtype(kind), pieces)
        return lambda values: pieces.append(np.ascontiguousarray(values, np.dtype(kind)).copy())

    def pack(self, name: str, values: NDArray[Any], bits: int) -> None:
        data: Bytes = _join_pieces(np.dtype(np.uint8), pack_chunks(values, bits))
        self._packed[name] = PackedArray(data, bits, len(values))

    def seal(self) -> PartRecord:
        arrays = {name: _join_pieces(*column) for name, column in self._columns.items()}
        self._columns.clear()
        self._parts[self._folder] = SegmentPart(self._name, self._kind, arrays, self._packed)
        columns = [*arrays.values(), *(packed.data for packed in self._packed.values())]
        return PartRecord(
            self._folder, self._name, self._kind, sum(array.nbytes for array in columns), ""
        )


class _FileScratch:
    def __init__(self, path: Path, file: BinaryIO, kind: str) -> None:
        self._path, self._file, self._type = path, file, np.dtype(kind)

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(_raw_bytes(values, self._type))

    def take(self) -> NDArray[Any]:
        self._file.close()
        values = np.fromfile(self._path, self._type)
        self._path.unlink()
        return values


class _MemoryScratch:
    def __init__(self, kind: str) -> None:
        self._type = np.dtype(kind)
        self._pieces: list[NDArray[Any]] = []

    def append(self, values: NDArray[Any]) -> None:
        self._pieces.append(np.ascontiguousarray(values, self._type).copy())

    def take(self) -> NDArray[Any]:
        values = np.concatenate([np.empty(0, self._type), *self._pieces])
        self._pieces.clear()
        return values


def sync_folder(path: Path) -> None:
    """Names of new files are kept by the folder, which has to reach the disk too."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _raw_bytes(values: Any, kind: np.dtype[Any]) -> memoryview | bytes:
    data: Any = np.ascontiguousarray(values, kind)
    return memoryview(data).cast("B") if len(values) else b""


def _join_pieces(kind: np.dtype[Any], pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
    column = np.concatenate([np.empty(0, kind), *pieces])
    column.flags.writeable = False
    return column
