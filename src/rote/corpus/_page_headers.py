"""The pages of a Parquet file by their headers: how much they hold, before any of it is decoded.

The footer says where the pages of a column begin; what a reader allocates stands before each page.
Both are written in Thrift's compact protocol. Names and numbers are those of parquet.thrift.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
_MOST_FIELDS = 2_000_000
"""Fields that are looked at: files with texts have thousands."""
_DEEPEST = 32
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_FIXED_ARRAY = 7
_DATA, _DATA_2 = 0, 3
_DELTA_BYTES = 7
"""An encoding in which a value begins as the one before it: a page may hold its square."""


class Malformed(Exception):
    """Headers that are cut short, contradict each other, or are too many."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds when it is decompressed."""

    size: int
    """Bytes, still encoded."""
    values: int
    """None in a dictionary."""
    width: int
    """Bytes of each value, where all have the same."""
    repeats: bool
    """Whether values are written by what they share with the one before."""
    nested: bool
    """Whether a row may hold many values."""


def read_pages(path: Path) -> Iterator[Page]:
    """The pages of all columns, as often as row groups refer to them."""
    with path.open("rb") as raw:
        size = path.stat().st_size
        if size < 12:
            raise Malformed("it is cut short")
        with mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                yield from _pages(data, size)
            except (IndexError, KeyError, TypeError, AttributeError, ValueError) as error:
                raise Malformed("its headers make no sense") from error


def _pages(data: mmap.mmap, size: int) -> Iterator[Page]:
    length = int.from_bytes(data[size - 8 : size - 4], "little")
    if data[size - 4 : size] != _MAGIC or length > size - 12:
        raise Malformed("it is cut short")
    thrift = _Thrift(data, size - 8 - length)
    footer = thrift.struct()
    # Leaves of the tree of fields are the columns, in their order.
    leaves = [field for field in footer[2] if not field.get(5)]
    for group in footer.get(4, ()):
        for leaf, chunk in zip(leaves, group[1], strict=True):
            about = chunk[3]
            nested = len(about[3]) > 1
            width = leaf.get(2, 0) if about[1] == _FIXED_ARRAY else 0
            start = min(filter(None, (about.get(11), about[9])))
            yield from _of_column(thrift, start, start + about[7], width, nested)


def _of_column(thrift: _Thrift, start: int, end: int, width: int, nested: bool) -> Iterator[Page]:
    while start < end:
        thrift.at = start
        header = thrift.struct()
        if header[2] < 0 or header[3] < 0:
            raise Malformed("a page has a negative size")
        kind: Mapping[int, Any] = header.get({_DATA: 5, _DATA_2: 8}.get(header[1], 0), {})
        # The encoding stands second in the first version of data pages, fourth in the second.
        encoding = kind.get(2 if header[1] == _DATA else 4)
        yield Page(header[2], kind.get(1, 0), width, encoding == _DELTA_BYTES, nested)
        start = thrift.at + header[3]


class _Thrift:
    """Structures as dicts by the numbers of their fields; strings are passed over."""

    def __init__(self, data: mmap.mmap, at: int) -> None:
        self._data, self.at = data, at
        self._left = _MOST_FIELDS

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise Malformed("its headers are too long")
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind in (_DOUBLE, _BINARY):
            length = 8 if kind == _DOUBLE else self._number()
            self.at += length
            return None
        if kind in (_LIST, _SET):
            head = self._byte()
            count = self._number() if head >> 4 == 15 else head >> 4
            # In a list even a truth value takes a byte.
            inner = _BYTE if head & 15 in (_TRUE, _FALSE) else head & 15
            return [self._value(inner, depth + 1) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise Malformed("its headers make no sense")  # none of them holds a map

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _number(self) -> int:
        found = shift = 0
        while True:
            byte = self._byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found
            if shift > 63:
                raise Malformed("its headers make no sense")

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)
