"""Columns of small numbers, each in as few bits as the largest needs.

An index is mostly two columns per layer: the items, whose numbers are below the size of the
vocabulary, and the sorted positions. Packed they take 17 and 24 to 32 bits rather than 32 each,
on disk and in the page cache, and one unaligned load still reads a number. A layer that follows
from another one needs no items of its own: it reads the other's and looks them up (`Stream`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.kernels import njit
from rote.index.columns.intrinsics import load64, prefetch, prefetch_array

Bytes = NDArray[np.uint8]
# `read` loads eight bytes at once, also for the last number of a column.
PADDING = 8
# Numbers of more bits could reach into a ninth byte.
MAX_BITS = 57
_CHUNK = 1 << 20
OUT_OF_RANGE = (
    "the index refers to positions that it does not have: it was not written by rote, or is "
    "damaged. `rote index verify` names all damage; restore a copy, or build the index again"
)


@dataclass(frozen=True, slots=True)
class PackedArray:
    """`length` numbers of `bits` bits each; `data` is read-only and ends in padding."""

    data: Bytes
    bits: int
    length: int

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < self.length:
            raise IndexError(f"{i} of {self.length}")
        return int(_read(self.data, self.bits, i))

    def slice(self, start: int, stop: int) -> NDArray[np.int64]:
        start, stop = max(0, start), min(stop, self.length)
        out = np.empty(max(0, stop - start), np.int64)
        _unpack(self.data, self.bits, start, out)
        return out

    def take(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers at these positions, which must be within the column."""
        if len(positions) and not 0 <= positions.min() <= positions.max() < self.length:
            raise InputError(OUT_OF_RANGE)
        out = np.empty(len(positions), np.int64)
        _gather(self.data, self.bits, positions, out)
        return out

    def all(self) -> NDArray[np.int64]:
        return self.slice(0, self.length)


NO_TABLE = np.empty(0, np.int32)
NO_TABLE.flags.writeable = False


class StreamItems(NamedTuple):
    """A `Stream` as kernels take it."""

    data: Bytes
    table: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ItemStream:
    """The items of a layer: packed numbers, and what each stands for; without a table itself.

    Kernels take `data` and `bits`, as of a packed column; no item has more bits.
    """

    packed: PackedArray
    table: NDArray[np.int32] = field(default_factory=lambda: NO_TABLE)

    @property
    def data(self) -> StreamItems:
        return StreamItems(self.packed.data, self.table)

    @property
    def bits(self) -> int:
        return self.packed.bits

    def __len__(self) -> int:
        return self.packed.length

    def __getitem__(self, i: int) -> int:
        number = self.packed[i]
        return int(self.table[number]) if len(self.table) else number

    def slice(self, start: int, stop: int) -> NDArray[np.int64]:
        return self._items(self.packed.slice(start, stop))

    def take(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The items at these positions, which must be within the column."""
        return self._items(self.packed.take(positions))

    def all(self) -> NDArray[np.int64]:
        return self.slice(0, len(self))

    def runs(self, starts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """The items from each position on, run after run; after the last item comes the first."""
        return self.take((starts[:, None] + np.arange(length)).reshape(-1) % max(1, len(self)))

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.packed.data,)

    def _items(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.table[numbers].astype(np.int64) if len(self.table) else numbers


def bits_for(largest: int) -> int:
    """How many bits the numbers up to `largest` need; at least one."""
    bits = max(1, int(largest).bit_length())
    if bits > MAX_BITS:
        raise ValueError(f"{largest} does not fit {MAX_BITS} bits")
    return bits


def packed_size(length: int, bits: int) -> int:
    return (length * bits + 7) // 8 + PADDING


def pack(values: NDArray[Any], bits: int) -> PackedArray:
    data = np.concatenate([np.empty(0, np.uint8), *pack_chunks(values, bits)])
    data.flags.writeable = False
    return PackedArray(data, bits, len(values))


def pack_chunks(values: NDArray[Any], bits: int) -> Iterator[Bytes]:
    """The bytes of a column piece by piece, so that a large one is never in memory twice."""
    # Eight numbers fill whole bytes, so pieces of a multiple of eight join without a seam.
    for start in range(0, len(values), _CHUNK):
        piece = values[start : start + _CHUNK]
        out = np.zeros((len(piece) * bits + 7) // 8 + PADDING, np.uint8)
        _pack(piece, bits, out)
        yield out[:-PADDING]
    yield np.zeros(PADDING, np.uint8)


def read(data: Any, bits: Any, i: Any) -> Any:
    """Number i of a column, as int64, in a kernel.

    `data` may be packed bytes, or whatever else stands for a column of numbers: each kind is
    compiled by itself, so that kernels need not know which one they read.
    """
    raise NotImplementedError("kernels read columns; others call their methods")


@overload(read)
def _read_of(data, bits, i):  # type: ignore[no-untyped-def]
    if isinstance(data, types.Array):
        return _read_packed
    return _read_item if getattr(data, "instance_class", None) is StreamItems else None


def _read_packed(data, bits, i):  # type: ignore[no-untyped-def]
    at = np.int64(i) * np.int64(bits)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    return np.int64((load64(data, at >> 3) >> np.uint64(at & 7)) & mask)


def _read_item(data, bits, i):  # type: ignore[no-untyped-def]
    number = read(data.data, bits, i)
    return np.int64(data.table[number]) if len(data.table) else number


@overload(prefetch)
def _prefetch_of(array, index):  # type: ignore[no-untyped-def]
    if getattr(array, "instance_class", None) is StreamItems:
        return lambda array, index: prefetch_array(array.data, index)
    return None


@njit(cache=True, nogil=True)
def _read(data, bits, i):  # type: ignore[no-untyped-def]
    return read(data, bits, i)


@njit(cache=True, nogil=True)
def _unpack(data, bits, start, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = read(data, bits, start + i)


@njit(cache=True, nogil=True)
def _gather(data, bits, positions, out):  # type: ignore[no-untyped-def]
    for i in range(len(positions)):
        out[i] = read(data, bits, positions[i])


@njit(cache=True, nogil=True)
def _pack(values, bits, out):  # type: ignore[no-untyped-def]
    pending, filled, at = np.uint64(0), 0, 0
    for i in range(len(values)):
        pending |= np.uint64(values[i]) << np.uint64(filled)
        filled += bits
        while filled >= 8:
            out[at] = np.uint8(pending & np.uint64(255))
            pending >>= np.uint64(8)
            filled -= 8
            at += 1
    if filled:
        out[at] = np.uint8(pending)
