"""A layer kept as a chain: its stream and its sorted places, with the calls of packed columns.

`chain.py` says how it works. To read an item or a place is to follow the chain for some steps,
about a microsecond; whoever goes through all of a layer unpacks it first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.index.columns import chain as kernels
from rote.index.columns.chain import BLOCK, EVERY, HEAD, MARKED, Chain, ChainItems, ChainPlaces
from rote.index.columns.packed import NO_TABLE, OUTSIDE, PADDING, Packed, Stream, bits_for, pack

Int64s = NDArray[np.int64]
Append = Callable[[NDArray[np.uint32]], None]
# So many ranks are coded at a time; whole blocks.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class ChainedStream:
    """The items of a layer, as `Stream` has them."""

    chain: Chain
    length: int
    arrays: tuple[NDArray[Any], ...]
    """Where the chain lies."""
    items: Packed
    samples: Packed
    ranks: Packed

    @property
    def data(self) -> ChainItems:
        return ChainItems(self.chain)

    @property
    def bits(self) -> int:
        return self.chain.item_bits

    @property
    def table(self) -> NDArray[np.int32]:
        return NO_TABLE

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < self.length:
            raise IndexError(f"{i} of {self.length}")
        return int(self.slice(i, i + 1)[0])

    def slice(self, start: int, stop: int) -> Int64s:
        start, stop = max(0, start), min(stop, self.length)
        out = np.empty(max(0, stop - start), np.int64)
        # From every place that is written down to the next, many at once; what is left singly.
        inner = start + -start % EVERY
        starts = np.arange(inner, stop - EVERY + 1, EVERY, dtype=np.int64)
        first, last = inner - start, inner - start + len(starts) * EVERY
        if not len(starts):
            first = last = 0
        kernels.read_run(self.chain, start, out[:first])
        kernels.read_runs(self.chain, starts, EVERY, out[first:last])
        kernels.read_run(self.chain, start + last, out[last:])
        return out

    def take(self, places: Int64s) -> Int64s:
        return self.runs(places, 1)

    def runs(self, starts: Int64s, length: int) -> Int64s:
        if len(starts) and not 0 <= starts.min() <= starts.max() < self.length:
            raise InputError(OUTSIDE)
        out = np.empty(len(starts) * length, np.int64)
        kernels.read_runs(self.chain, np.ascontiguousarray(starts), length, out)
        return out

    def all(self) -> Int64s:
        return self.slice(0, self.length)

    def behind(self, start: int, stop: int) -> Int64s:
        """The chain itself: for ranks from start to stop, the rank of the place behind."""
        out = np.empty(max(0, min(stop, self.length) - start), np.int64)
        kernels.read_chain(self.chain, start, out)
        return out


@dataclass(frozen=True, slots=True)
class ChainedPlaces:
    """The sorted places of a layer, as a packed column of them."""

    chain: Chain
    length: int
    arrays: tuple[NDArray[Any], ...]

    @property
    def data(self) -> ChainPlaces:
        return ChainPlaces(self.chain)

    @property
    def bits(self) -> int:
        return self.chain.rank_bits

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < self.length:
            raise IndexError(f"{i} of {self.length}")
        return int(self.slice(i, i + 1)[0])

    def slice(self, start: int, stop: int) -> Int64s:
        return self.take(np.arange(max(0, start), min(stop, self.length), dtype=np.int64))

    def take(self, numbers: Int64s) -> Int64s:
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.length:
            raise InputError(OUTSIDE)
        out = np.empty(len(numbers), np.int64)
        kernels.read_places(self.chain, np.ascontiguousarray(numbers), out)
        return out

    def all(self) -> Int64s:
        return self.slice(0, self.length)


def chained(
    begins: NDArray[np.uint32],
    blocks: NDArray[np.uint32],
    firsts: NDArray[np.uint32],
    items: Packed,
    samples: Packed,
    ranks: Packed,
    ends: Int64s,
) -> tuple[ChainedStream, ChainedPlaces]:
    """The stream and the sorted places of a layer from the columns of its chain."""
    length = int(ends[-1]) + 1 if len(ends) else 0
    arrays = (begins, blocks, firsts, items.data, samples.data, ranks.data, ends)
    chain = Chain(
        begins.ctypes.data,
        blocks.ctypes.data,
        firsts.ctypes.data,
        items.data.ctypes.data,
        items.bits,
        samples.data.ctypes.data,
        samples.bits,
        ranks.data.ctypes.data,
        ranks.bits,
        ends.ctypes.data,
        len(ends),
        length,
    )
    stream = ChainedStream(chain, length, arrays, items, samples, ranks)
    return stream, ChainedPlaces(chain, length - len(ends), arrays)


def unpacked(chain: Chain, length: int) -> tuple[Stream, Packed]:
    """The whole stream and all sorted places as packed columns in memory."""
    ids, order = np.empty(length, np.int32), np.empty(length - chain.documents, np.int32)
    kernels.walk(chain, ids, order)
    return Stream(pack(ids, chain.item_bits)), pack(order, chain.rank_bits)


@dataclass(frozen=True, slots=True)
class Coded:
    """What a chain is made of beside its blocks, which may be large; see `Chain`."""

    begins: NDArray[np.uint32]
    firsts: NDArray[np.uint32]
    items: NDArray[np.int64]
    item_bits: int
    samples: NDArray[np.int32]
    sample_bits: int
    ranks: NDArray[np.int32]
    rank_bits: int


def encode(ids: NDArray[np.int32], order: NDArray[np.int32], entries: int, blocks: Append) -> Coded:
    """Code a stream and its sorted places; blocks are appended piece by piece."""
    length, ends = len(ids), np.flatnonzero(ids == 0).astype(np.int32)
    ranks = np.empty(length, np.int32)
    ranks[ends] = np.arange(len(ends), dtype=np.int32)
    ranks[order] = np.arange(len(ends), length, dtype=np.int32)
    rank_bits = bits_for(length - 1)
    samples, begins, begin, marks = [np.empty(0, np.int32)], [], 0, 0
    for start in range(0, length, _AT_ONCE):
        stop = min(start + _AT_ONCE, length)
        inner = slice(max(0, start - len(ends)), max(0, stop - len(ends)))
        places = np.concatenate([ends[start:stop], order[inner]])
        written = places % EVERY == 0
        # Behind the last place stands the first.
        behind = ranks[(places + 1) % length].astype(np.int64)
        own = np.empty(-(-len(places) // BLOCK), np.int64)
        out = np.zeros(len(own) * (HEAD + BLOCK) + 1, np.uint32)
        size = kernels.encode(behind, written, rank_bits, marks, own, out)
        blocks(out[:size])
        begins.append(own + begin)
        samples.append(places[written] // EVERY)
        begin, marks = begin + size, marks + int(written.sum())
    blocks(np.zeros(PADDING // 4, np.uint32))
    firsts = np.concatenate([[0], np.bincount(ids, minlength=entries).cumsum(), [length]])
    marked = np.minimum(np.arange(length // MARKED + 2) * MARKED, max(0, length - 1))
    return Coded(
        begins=np.concatenate([*begins, [begin, begin]]).astype(np.uint32),
        firsts=firsts.astype(np.uint32),
        items=np.searchsorted(firsts[1:-1], marked, side="right").clip(0, entries - 1),
        item_bits=bits_for(entries - 1),
        samples=np.concatenate(samples),
        sample_bits=bits_for(max(0, length - 1) // EVERY),
        ranks=ranks[::EVERY],
        rank_bits=rank_bits,
    )
