"""The texts of a segment's documents, compressed, and read a little at a time.

All texts stand in one row of characters, which is cut into chunks, each compressed by itself,
with a checksum. Showing forty characters around a match thus costs one chunk, not a novel, and
merging segments copies chunks without opening them. Metadata is kept the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
import zstandard
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.index.columns.packed import Bytes
from rote.index.segments.part import RESTORE, Part, let_go
from rote.index.segments.target import PartWriter

CHUNK = 1 << 16
"""Characters of a chunk; only the last of a column, or of what was merged into it, has fewer."""
_LEVEL = 3
_MOST_BYTES = 4  # of a character
_REMEMBERED = 32
_COPY_AT_ONCE = 1 << 24


class Texts:
    """Strings by number, or a piece of one.

    Chunk c holds the characters from `firsts[c]` on and lies compressed at
    `data[offsets[c]:offsets[c + 1]]`; string i ends before character `ends[i]` of the row.
    """

    __slots__ = ("_chunk", "data", "ends", "firsts", "offsets", "where")

    def __init__(self, part: Part, name: str) -> None:
        self.where = f"{part.where}: {name}"
        self.data: Bytes = part[f"{name}.data"]
        self.offsets: NDArray[np.int64] = part[f"{name}.offsets"]
        self.firsts: NDArray[np.int64] = part[f"{name}.firsts"]
        self.ends: NDArray[np.int64] = part[f"{name}.ends"]
        self._chunk = lru_cache(_REMEMBERED)(self._decompress)

    def __len__(self) -> int:
        return len(self.ends)

    def length(self, i: int) -> int:
        """Characters of string i."""
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
        found = []
        for chunk in range(first, len(self.firsts) - 1):
            origin = int(self.firsts[chunk])
            if origin >= high:
                break
            found.append(self._chunk(chunk)[max(0, low - origin) : high - origin])
        return "".join(found)

    def _begin(self, i: int) -> int:
        return int(self.ends[i - 1]) if i else 0

    def _decompress(self, chunk: int) -> str:
        held = self.data[int(self.offsets[chunk]) : int(self.offsets[chunk + 1])]
        characters = int(self.firsts[chunk + 1] - self.firsts[chunk])
        try:
            # Known beforehand, and never more than is due: a few bytes may stand for gigabytes.
            if not 0 <= zstandard.frame_content_size(held.data) <= _MOST_BYTES * characters:
                raise ValueError("it is larger than it may be")
            plain = zstandard.ZstdDecompressor().decompress(held.data)
            text = plain.decode("utf-8", "surrogatepass")
            if len(text) != characters:
                raise ValueError("it is not as long as it was")
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
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self._waiting: list[str] = []
        self._held = 0  # characters that wait
        self._characters = 0  # before those that wait
        self._bytes = 0
        self._mark()

    def add(self, strings: Iterable[str]) -> None:
        ends = []
        for string in strings:
            self._waiting.append(string)
            self._held += len(string)
            ends.append(self._characters + self._held)
            if self._held >= CHUNK:
                self._compress(CHUNK)
        self._ends(np.array(ends, np.int64))

    def copy(self, other: Texts) -> None:
        """Append another column: its chunks as they are."""
        self._compress(1)
        for start in range(0, len(other.data), _COPY_AT_ONCE):
            self._data(other.data[start : start + _COPY_AT_ONCE])
        let_go(other.data)
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
        self._held = len(row) - at

    def _mark(self) -> None:
        self._offsets(np.array([self._bytes], np.int64))
        self._firsts(np.array([self._characters], np.int64))
