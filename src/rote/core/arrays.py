"""Arrays by what they hold, named ones in a file, and columns that grow.

The file is a zstd-compressed npz without pickle, with a description.

Opening a stranger's file must not run code, and a damaged one must not give wrong
numbers: numpy's pickles are refused, and zstd's checksum is written and checked.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.json_reader import JsonObject, parse_json

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

ENDING = ".npz.zst"
_RESTORE = "Create it again, or restore a copy"
DAMAGED = (zipfile.BadZipFile, ValueError, TypeError, KeyError, OSError, EOFError)
"""What reading a damaged archive of arrays raises."""
Arrays: TypeAlias = dict[str, Any]


def pack(arrays: Mapping[str, Any], about: Mapping[str, Any], level: int = 3) -> bytes:
    """The arrays and a JSON-able description as bytes; the same input gives the same bytes."""
    import zstandard

    text = json.dumps(about, ensure_ascii=True, sort_keys=True).encode("ascii")
    plain = io.BytesIO()
    entries: Any = {"about": np.frombuffer(text, np.uint8), **arrays}
    np.savez(plain, **entries)
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
    return compressor.compress(plain.getvalue())


def unpack(data: bytes, name: str) -> tuple[Arrays, dict[str, Any]]:
    """The reverse of `pack`; `name` is the file, for the error."""
    import zstandard

    try:
        plain = zstandard.ZstdDecompressor().decompress(data)
        with np.load(io.BytesIO(plain), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        about = arrays.pop("about").tobytes()
    except (zstandard.ZstdError, *DAMAGED) as error:
        problem = f"the file is damaged ({error})"
        raise InputError(problem, file=name, remedy=_RESTORE) from None
    return arrays, dict(JsonObject.of(parse_json(about, name), name, remedy=_RESTORE).values)


# A column that grows without filling the memory.
#
# Appending keeps arrays in memory up to a limit, then moves them to an unnamed
# temporary file; finishing gives one array, in memory or mapped from that file. So
# a measure over a corpus of any size sees a plain numpy array.

LIMIT = 256 * 1024 * 1024
_OF_ROOM = 8
_GIVEN = Path("/sys/fs/cgroup/memory.max")


def room() -> float:
    """Bytes of memory that work on a corpus may take: half of what there is, in a container of what
    it is given."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _GIVEN.read_text().strip() if os.path.isfile(_GIVEN) else ""
    return 0.5 * min(there, int(limit) if limit.isdigit() else there)


def empty(size: int, dtype: Any) -> NDArray[Any]:
    """An array to be written from its start to its end; a large one is in a temporary file."""
    needed = size * np.dtype(dtype).itemsize
    if needed * _OF_ROOM <= room():
        return np.empty(size, dtype)
    with tempfile.TemporaryFile(prefix="rote-") as file:
        if hasattr(os, "posix_fallocate"):
            # A full disk is an error now, not a crash later.
            os.posix_fallocate(file.fileno(), 0, needed)
        return np.memmap(file, dtype=dtype, mode="w+", shape=(size,)).view(np.ndarray)


class GrowableArray:
    """Append arrays of one type; `finish` gives them as one."""

    def __init__(self, dtype: Any, limit: int = LIMIT, folder: Path | None = None) -> None:
        self._dtype = np.dtype(dtype)
        self._limit = limit
        self._folder = folder
        self._parts: list[NDArray[Any]] = []
        self._held = 0
        self._file: Any = None

    def append(self, part: NDArray[Any]) -> None:
        self._parts.append(np.ascontiguousarray(part, dtype=self._dtype))
        self._held += part.nbytes
        if self._held > self._limit:
            self._spill()

    def finish(self) -> NDArray[Any]:
        """All parts as one array. The file's bytes, if any, live as long as the array maps them."""
        if self._file is None:
            return np.concatenate(self._parts) if self._parts else np.empty(0, self._dtype)
        self._spill()
        self._file.flush()
        with self._file as file:
            return np.memmap(file, dtype=self._dtype, mode="r+").view(np.ndarray)

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 - finish closes it
                prefix="rote-", dir=self._folder
            )
        for part in self._parts:
            part.tofile(self._file)
        self._parts, self._held = [], 0
