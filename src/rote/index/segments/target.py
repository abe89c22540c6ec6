"""Where parts are written: a folder, or memory. The writers of segments do not know which.

A target gives parts, whose columns grow piece by piece, and scratch columns for what has to be
read again before it can take its final form (numbers of items before the vocabulary is sorted).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.columns.packed import Bytes, Packed, pack_chunks
from rote.index.segments.part import (
    DOCUMENTS,
    FORMAT,
    PACKED,
    SEAL,
    FileRecord,
    Part,
    PartRecord,
    checksum,
    is_whole,
    open_part,
    valid_name,
)

Append = Callable[[NDArray[Any]], None]
_SCRATCH = "scratch"


class PartWriter(Protocol):
    """A part that is being written."""

    def column(self, name: str, kind: str) -> Append:
        """Begin a column of this number type; what it gives appends to it."""

    def pack(self, name: str, values: NDArray[Any], bits: int) -> None:
        """A whole packed column, `values` being numbers below 2**bits."""

    def seal(self) -> PartRecord:
        """The part is whole."""


class Scratch(Protocol):
    """A column that is thrown away after use."""

    def append(self, values: NDArray[Any]) -> None: ...

    def take(self) -> NDArray[Any]:
        """All of it in memory, as an array that may be written to; the column is gone then."""


class Target(Protocol):
    """Where the parts of one segment go."""

    def part(self, folder: str, name: str, kind: str) -> PartWriter: ...

    def sealed(self, folder: str) -> Part:
        """A part that was written here before."""

    def scratch(self, kind: str) -> Scratch: ...

    def close(self) -> None:
        """Let go of all files; remove scratch columns, and parts that were not sealed."""


class FolderTarget:
    """Parts as subfolders of a segment's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._files: list[BinaryIO] = []
        self._parts: list[Path] = []
        self.close()

    def part(self, folder: str, name: str, kind: str) -> PartWriter:
        _check(folder, kind)
        self._parts.append(self.path / folder)
        return _FolderPart(self.path / folder, name, kind, self._open)

    def sealed(self, folder: str) -> Part:
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
        for file in self._files:
            # Only what is thrown away is still open: on a full disk it need not be written.
            with suppress(OSError):
                file.close()
        unfinished = [part for part in self._parts if not is_whole(part)]
        for path in (self.path / _SCRATCH, *unfinished):
            if path.is_dir():
                shutil.rmtree(path)


class MemoryTarget:
    """Parts as arrays; they appear in `parts` once sealed."""

    def __init__(self) -> None:
        self.parts: dict[str, Part] = {}

    def part(self, folder: str, name: str, kind: str) -> PartWriter:
        _check(folder, kind)
        return _MemoryPart(self.parts, folder, name, kind)

    def sealed(self, folder: str) -> Part:
        return self.parts[folder]

    def scratch(self, kind: str) -> Scratch:
        return _MemoryScratch(kind)

    def close(self) -> None:
        return None


def _check(folder: str, kind: str) -> None:
    taken = folder == _SCRATCH or (folder == DOCUMENTS and kind != DOCUMENTS)
    if taken or not valid_name(folder):
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
        held = {
            "format": FORMAT,
            "kind": self._kind,
            "name": self._name,
            "files": {
                name: {field: getattr(file, field) for field in FileRecord.__dataclass_fields__}
                for name, file in sorted(self._files.items())
            },
        }
        data = json.dumps(held, indent=1).encode("ascii")
        sync_folder(self._path)
        _write_seal(self._path / SEAL, data)
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
        data = _raw(values, self._type)
        self._file.write(data)
        self._digest.update(data)
        self._bytes += len(data)

    def close(self) -> FileRecord:
        _finish(self._file)
        return FileRecord(
            self._kind, self._bytes, self._digest.hexdigest(), self._bits, self._length
        )


class _MemoryPart:
    def __init__(self, parts: dict[str, Part], folder: str, name: str, kind: str) -> None:
        self._parts, self._folder, self._name, self._kind = parts, folder, name, kind
        self._columns: dict[str, tuple[np.dtype[Any], list[NDArray[Any]]]] = {}
        self._packed: dict[str, Packed] = {}

    def column(self, name: str, kind: str) -> Append:
        pieces: list[NDArray[Any]] = []
        self._columns[name] = (np.dtype(kind), pieces)
        return lambda values: pieces.append(_as(values, np.dtype(kind)).copy())

    def pack(self, name: str, values: NDArray[Any], bits: int) -> None:
        data: Bytes = _joined(np.dtype(np.uint8), pack_chunks(values, bits))
        self._packed[name] = Packed(data, bits, len(values))

    def seal(self) -> PartRecord:
        arrays = {name: _joined(*column) for name, column in self._columns.items()}
        self._columns.clear()
        self._parts[self._folder] = Part(self._name, self._kind, arrays, self._packed)
        held = [*arrays.values(), *(packed.data for packed in self._packed.values())]
        return PartRecord(
            self._folder, self._name, self._kind, sum(array.nbytes for array in held), ""
        )


class _FileScratch:
    def __init__(self, path: Path, file: BinaryIO, kind: str) -> None:
        self._path, self._file, self._type = path, file, np.dtype(kind)

    def append(self, values: NDArray[Any]) -> None:
        self._file.write(_raw(values, self._type))

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
        self._pieces.append(_as(values, self._type).copy())

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


def _write_seal(path: Path, data: bytes) -> None:
    """Under the final name only once it is on the disk: its presence means that all is."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        file.write(data)
        _finish(file)
    os.replace(beside, path)


def _finish(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
    file.close()


def _as(values: Any, kind: np.dtype[Any]) -> Any:
    return np.ascontiguousarray(values, kind)


def _raw(values: Any, kind: np.dtype[Any]) -> memoryview | bytes:
    return memoryview(_as(values, kind)).cast("B") if len(values) else b""


def _joined(kind: np.dtype[Any], pieces: Iterable[NDArray[Any]]) -> NDArray[Any]:
    whole = np.concatenate([np.empty(0, kind), *pieces])
    whole.flags.writeable = False
    return whole
