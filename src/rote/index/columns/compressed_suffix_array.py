"""A compressed suffix array (Sadakane 2003): items and sorted positions of a layer in one column.

It takes about two bytes a word, is slower than packed columns, and exact. Reading an item or a
position follows some links, about a microsecond; who reads a whole layer decompresses it first.

**Links.** All positions, ends of documents too, are in the order of what follows them; the number
of a position in this order is its *rank*. For every rank the array holds the rank of the next
position (the *link*). Items are not stored: positions with the same item have neighbouring ranks,
so a rank tells the item, and following links reads the text. Nor are positions: every 16th is
stored, and following links leads to one of these.

**Blocks.** The links of one item ascend by small steps. They are coded as Elias and Fano did, in
blocks of 32: the first link; a word of upper halves, in which bit number k is at k plus what link k
is above the first, without its low bits; for each rank whether its position is stored, and how
many are before; the low bits of all. There are as many low bits as it takes for one word of upper
halves to be enough. A block lies in one or two cache lines, and the offsets of blocks are small
enough for the caches, so a step waits for memory once.

**Cursors** are how kernels walk along the text from a sorted suffix, whatever the column. In packed
columns a cursor is a position. Here it is a rank: finding the position first would take many steps,
and following a link takes one an item.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.kernels import njit
from rote.index.columns.intrinsics import count_ones, load64_at, prefetch
from rote.index.columns.packed_array import (
    NO_TABLE,
    OUT_OF_RANGE,
    ItemStream,
    PackedArray,
    pack,
    read,
)

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _CompressedColumn:
    """Numbers that are read along the links."""

    csa: CompressedSuffixArray
    length: int
    arrays: tuple[NDArray[Any], ...]
    """The memory that it lies in."""

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < self.length:
            raise IndexError(f"{i} of {self.length}")
        return int(self.slice(i, i + 1)[0])

    def slice(self, start: int, stop: int) -> Int64s:
        raise NotImplementedError

    def all(self) -> Int64s:
        return self.slice(0, self.length)


@dataclass(frozen=True, slots=True)
class CompressedStream(_CompressedColumn):
    """The items of a layer, as `Stream` has them."""

    items: PackedArray
    samples: PackedArray
    ranks: PackedArray

    @property
    def data(self) -> CompressedItems:
        return CompressedItems(self.csa)

    @property
    def bits(self) -> int:
        return self.csa.item_bits

    @property
    def table(self) -> NDArray[np.int32]:
        return NO_TABLE

    def slice(self, start: int, stop: int) -> Int64s:
        start, stop = max(0, start), min(stop, self.length)
        out = np.empty(max(0, stop - start), np.int64)
        # From every position that is written down to the next, many at once; what is left singly.
        inner = start + -start % SAMPLE_STEP
        starts = np.arange(inner, stop - SAMPLE_STEP + 1, SAMPLE_STEP, dtype=np.int64)
        first, last = inner - start, inner - start + len(starts) * SAMPLE_STEP
        if not len(starts):
            first = last = 0
        _read_run(self.csa, start, out[:first])
        _read_runs(self.csa, starts, SAMPLE_STEP, out[first:last])
        _read_run(self.csa, start + last, out[last:])
        return out

    def take(self, positions: Int64s) -> Int64s:
        return self.runs(positions, 1)

    def runs(self, starts: Int64s, length: int) -> Int64s:
        if len(starts) and not 0 <= starts.min() <= starts.max() < self.length:
            raise InputError(OUT_OF_RANGE)
        out = np.empty(len(starts) * length, np.int64)
        _read_runs(self.csa, np.ascontiguousarray(starts), length, out)
        return out

    def links(self, start: int, stop: int) -> Int64s:
        out = np.empty(max(0, min(stop, self.length) - start), np.int64)
        _read_links(self.csa, start, out)
        return out


@dataclass(frozen=True, slots=True)
class CompressedOrder(_CompressedColumn):
    """The sorted positions of a layer, as a packed column of them."""

    @property
    def data(self) -> CompressedPositions:
        return CompressedPositions(self.csa)

    @property
    def bits(self) -> int:
        return self.csa.rank_bits

    def slice(self, start: int, stop: int) -> Int64s:
        return self.take(np.arange(max(0, start), min(stop, self.length), dtype=np.int64))

    def take(self, numbers: Int64s) -> Int64s:
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.length:
            raise InputError(OUT_OF_RANGE)
        out = np.empty(len(numbers), np.int64)
        _read_positions(self.csa, np.ascontiguousarray(numbers), out)
        return out


def decompress(csa: CompressedSuffixArray, length: int) -> tuple[ItemStream, PackedArray]:
    """Read the whole stream and all sorted positions into packed columns."""
    ids, order = np.empty(length, np.int32), np.empty(length - csa.documents, np.int32)
    _read_everything(csa, ids, order)
    return ItemStream(pack(ids, csa.item_bits)), pack(order, csa.rank_bits)


BLOCK = 32
BLOCK_HEAD = 5
"""What a block has before its low bits, in units of four bytes."""
SAMPLE_STEP = 16
"""Of so many positions one is written down."""
ITEM_STEP = 128
"""Of so many ranks the item of the first is written down."""
# Walks that go in step.
_WALKS = 64
_HALF, _LOW, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)
_BYTES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


class CompressedSuffixArray(NamedTuple):
    """A layer as kernels take it: where its columns lie, and the bits of their numbers.

    Addresses, since numba would count references to arrays at every step along the links; whoever
    hands out an array keeps the columns. Block b lies from `begins[b]` to `begins[b + 1]` of
    `blocks`, in units of four bytes: its first number, two units of upper halves, the marks of
    what is written down and how many marks there are before, the low bits. `firsts` are the
    first ranks of the items, and two more that are the number of ranks; `items` says whose is
    every 128th rank. `samples` are the positions that are written down, as numbers of 16, by rank,
    `ranks` the ranks by position. `ends` are the documents' ends.
    """

    begins: int
    blocks: int
    firsts: int
    items: int
    item_bits: int
    samples: int
    sample_bits: int
    ranks: int
    rank_bits: int
    ends: int
    documents: int
    length: int


class CompressedItems(NamedTuple):
    """The stream: `read` gives the item at a position."""

    csa: CompressedSuffixArray


class CompressedPositions(NamedTuple):
    """The sorted positions of items: `read` gives them by number, without documents' ends."""

    csa: CompressedSuffixArray


@njit(inline="always")
def select(word, k):  # type: ignore[no-untyped-def]
    """The place of 1 number k, from 0 on, in a word that has more than k."""
    # How many there are in each byte, and in all bytes up to it.
    sums = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    sums = (sums & np.uint64(0x3333333333333333)) + (
        (sums >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    sums = ((sums + (sums >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)) * _BYTES
    # The bytes up to which there are not more than k; sums are at most 64, so no byte borrows.
    remaining = np.uint64(k)
    behind = np.uint64(count_ones((((remaining * _BYTES) | _TOPS) - sums) & _TOPS))
    at = (behind << np.uint64(3)) & np.uint64(56)
    remaining -= ((sums << np.uint64(8)) >> at) & np.uint64(255)
    # Within the byte by halves; without a branch, around which numba would count references.
    below = np.uint64(count_ones((word >> at) & np.uint64(15)))
    beyond = np.uint64(remaining >= below)
    remaining, at = remaining - beyond * below, at + beyond * np.uint64(4)
    below = np.uint64(count_ones((word >> at) & np.uint64(3)))
    beyond = np.uint64(remaining >= below)
    remaining, at = remaining - beyond * below, at + beyond * np.uint64(2)
    return np.int64(at + np.uint64(remaining >= ((word >> at) & _ONE)))


@njit(inline="always")
def _number(address, bits, i):  # type: ignore[no-untyped-def]
    at = np.int64(i) * bits
    word = load64_at(address + (at >> 3)) >> np.uint64(at & 7)
    return np.int64(word & ((_ONE << np.uint64(bits)) - _ONE))


@njit(inline="always")
def follow(csa, rank):  # type: ignore[no-untyped-def]
    """The rank of the position behind that of `rank`."""
    k = rank & 31
    both = load64_at(csa.begins + 4 * (rank >> 5))
    begin = np.int64(both & _LOW)
    width = np.int64(both >> _HALF) - begin - BLOCK_HEAD
    at = csa.blocks + 4 * begin
    low = np.uint64(_number(at + 4 * BLOCK_HEAD, width, k))
    high = np.uint64(select(load64_at(at + 4), k) - k)
    above = (load64_at(at) & _LOW) + ((high << np.uint64(width)) | low)
    # Where numbers fall within a block, they go on from the next power of two.
    return np.int64(above & ((_ONE << np.uint64(csa.rank_bits)) - _ONE))


@njit(inline="always")
def item_of(csa, rank):  # type: ignore[no-untyped-def]
    """The item at the position of `rank`."""
    low = _number(csa.items, csa.item_bits, rank >> 7)
    high = _number(csa.items, csa.item_bits, (rank >> 7) + 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if np.int64(load64_at(csa.firsts + 4 * middle) & _LOW) <= rank:
            low = middle
        else:
            high = middle - 1
    return low


@njit(inline="always")
def sampled_position(csa, rank):  # type: ignore[no-untyped-def]
    """The position of `rank` if it is written down, as all documents' ends are; else -1."""
    if rank < csa.documents:
        return np.int64(load64_at(csa.ends + 8 * rank))
    begin = np.int64(load64_at(csa.begins + 4 * (rank >> 5)) & _LOW)
    word, k = load64_at(csa.blocks + 4 * begin + 12), np.uint64(rank & 31)
    if (word >> k) & _ONE:
        sample = np.int64(word >> _HALF) + count_ones(word & ((_ONE << k) - _ONE))
        return _number(csa.samples, csa.sample_bits, sample) * SAMPLE_STEP
    return np.int64(-1)


@njit(inline="always")
def position_of(csa, rank):  # type: ignore[no-untyped-def]
    """The position of `rank`; in at most `SAMPLE_STEP` steps, also along damaged links."""
    for steps in range(SAMPLE_STEP):
        position = sampled_position(csa, rank)
        if position >= 0:
            return max(position - steps, np.int64(0))
        rank = follow(csa, rank)
    return np.int64(0)


@njit(inline="always")
def rank_of(csa, position):  # type: ignore[no-untyped-def]
    rank = _number(csa.ranks, csa.rank_bits, position // SAMPLE_STEP)
    for _ in range(position % SAMPLE_STEP):
        rank = follow(csa, rank)
    return rank


@overload(read)
def _read_overload(data, bits, i):  # type: ignore[no-untyped-def]
    kind: Any = getattr(data, "instance_class", None)
    return {CompressedItems: _read_item, CompressedPositions: _read_position}.get(kind)


def _read_item(data, bits, i):  # type: ignore[no-untyped-def]
    csa = data.csa
    # Outside only where a stranger's suffixes are not sorted.
    position = max(np.int64(0), min(np.int64(i), np.int64(csa.length - 1)))
    return item_of(csa, rank_of(csa, position))


def _read_position(data, bits, i):  # type: ignore[no-untyped-def]
    csa = data.csa
    rank = max(np.int64(0), min(np.int64(i) + csa.documents, np.int64(csa.length - 1)))
    return position_of(csa, rank)


@overload(prefetch)
def _prefetch_overload(array, index):  # type: ignore[no-untyped-def]
    if getattr(array, "instance_class", None) in (CompressedItems, CompressedPositions):
        return lambda array, index: None
    return None


@njit(cache=True, nogil=True)
def _read_links(csa, start, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = follow(csa, start + i)


@njit(cache=True, nogil=True)
def _read_run(csa, start, out):  # type: ignore[no-untyped-def]
    """The items from a position on."""
    rank = rank_of(csa, start) if len(out) else np.int64(0)
    for i in range(len(out)):
        out[i] = item_of(csa, rank)
        rank = follow(csa, rank)


@njit(cache=True, nogil=True)
def _read_runs(csa, starts, length, out):  # type: ignore[no-untyped-def]
    """The same from several positions on, one run behind the other; many walks go in step."""
    ranks, steps_left = np.empty(_WALKS, np.int64), np.empty(_WALKS, np.int64)
    for base in range(0, len(starts), _WALKS):
        walks = min(_WALKS, len(starts) - base)
        furthest = np.int64(0)
        for k in range(walks):
            ranks[k] = _number(csa.ranks, csa.rank_bits, starts[base + k] // SAMPLE_STEP)
            steps_left[k] = starts[base + k] % SAMPLE_STEP
            furthest = max(furthest, steps_left[k])
        for step in range(furthest):
            for k in range(walks):
                if step < steps_left[k]:
                    ranks[k] = follow(csa, ranks[k])
        for j in range(length):
            for k in range(walks):
                out[(base + k) * length + j] = item_of(csa, ranks[k])
            for k in range(walks):
                ranks[k] = follow(csa, ranks[k])


@njit(cache=True, nogil=True)
def _read_positions(csa, numbers, out):  # type: ignore[no-untyped-def]
    """The sorted positions with these numbers, documents' ends left out; many walks in step."""
    ranks, active = np.empty(_WALKS, np.int64), np.empty(_WALKS, np.int64)
    for base in range(0, len(numbers), _WALKS):
        pending = min(_WALKS, len(numbers) - base)
        for k in range(pending):
            ranks[k], active[k] = numbers[base + k] + csa.documents, k
            out[base + k] = 0
        for steps in range(SAMPLE_STEP):
            remaining = 0
            for a in range(pending):
                k = active[a]
                position = sampled_position(csa, ranks[k])
                if position >= 0:
                    out[base + k] = max(position - steps, np.int64(0))
                else:
                    active[remaining] = k
                    remaining += 1
            pending = remaining
            for a in range(pending):
                ranks[active[a]] = follow(csa, ranks[active[a]])


@njit(cache=True, nogil=True)
def _read_everything(csa, ids, order):  # type: ignore[no-untyped-def]
    """All items and all sorted positions, by many walks in step, one from each sample."""
    ranks = np.empty(_WALKS, np.int64)
    for base in range(0, len(ids), _WALKS * SAMPLE_STEP):
        walks = min(_WALKS, (len(ids) - base + SAMPLE_STEP - 1) // SAMPLE_STEP)
        for k in range(walks):
            ranks[k] = _number(csa.ranks, csa.rank_bits, base // SAMPLE_STEP + k)
        for step in range(SAMPLE_STEP):
            for k in range(walks):
                at, rank = base + k * SAMPLE_STEP + step, ranks[k]
                if at < len(ids):
                    ids[at] = item_of(csa, rank)
                    if rank >= csa.documents:
                        order[rank - csa.documents] = at
            for k in range(walks):
                ranks[k] = follow(csa, ranks[k])


@njit(cache=True, nogil=True)
def encode_blocks(numbers, block_count, rank_bits, marks, begins, out):  # type: ignore[no-untyped-def]
    """Fill in whole blocks and where they begin, the first at 0; gives where the last ends.

    `marks` says how many ranks before are written down.
    """
    wrap = np.int64(1) << np.int64(rank_bits)
    at, block = np.int64(0), np.empty(BLOCK, np.int64)
    for b in range(len(begins)):
        start = b * BLOCK
        size = min(BLOCK, len(numbers) - start)
        written_down, before, falls = np.uint32(0), marks, np.int64(0)
        for k in range(size):
            if k and numbers[start + k] < numbers[start + k - 1]:
                falls += wrap
            block[k] = numbers[start + k] + falls - numbers[start]
            if block_count[start + k]:
                written_down |= np.uint32(1) << np.uint32(k)
                marks += 1
        width = 0
        while block[size - 1] >> width > BLOCK - 1:
            width += 1
        upper, bit = np.uint64(0), np.int64(0)
        for k in range(size):
            above = np.uint64(block[k])
            upper |= _ONE << ((above >> np.uint64(width)) + np.uint64(k))
            low = (above & ((_ONE << np.uint64(width)) - _ONE)) << np.uint64(bit & 31)
            unit = at + BLOCK_HEAD + (bit >> 5)
            out[unit] |= np.uint32(low & _LOW)
            if low >> _HALF:
                out[unit + 1] |= np.uint32(low >> _HALF)
            bit += width
        out[at], out[at + 1] = np.uint32(numbers[start]), np.uint32(upper & _LOW)
        out[at + 2], out[at + 3] = np.uint32(upper >> _HALF), written_down
        out[at + 4] = np.uint32(before)
        begins[b] = at
        at += BLOCK_HEAD + width
    return at


_ONLY_KERNELS = "only kernels have cursors"


def suffix_at(order: Any, bits: Any, i: Any) -> Any:
    """A cursor at the beginning of sorted suffix i."""
    raise NotImplementedError(_ONLY_KERNELS)


def skip(ids: Any, at: Any, items: Any) -> Any:
    """The cursor so many items further."""
    raise NotImplementedError(_ONLY_KERNELS)


def item_at(ids: Any, bits: Any, at: Any) -> Any:
    """The item at a cursor."""
    raise NotImplementedError(_ONLY_KERNELS)


def position_at(ids: Any, at: Any) -> Any:
    """The position of a cursor."""
    raise NotImplementedError(_ONLY_KERNELS)


def _is_kind(data: Any, kind: type) -> bool:
    return getattr(data, "instance_class", None) is kind


@overload(suffix_at)
def _suffix_at(order, bits, i):  # type: ignore[no-untyped-def]
    if _is_kind(order, CompressedPositions):
        return lambda order, bits, i: np.int64(i) + order.csa.documents
    return lambda order, bits, i: read(order, bits, i)


@overload(skip)
def _skip(ids, at, items):  # type: ignore[no-untyped-def]
    return _skip_links if _is_kind(ids, CompressedItems) else lambda ids, at, items: at + items


def _skip_links(ids, at, items):  # type: ignore[no-untyped-def]
    for _ in range(items):
        at = follow(ids.csa, at)
    return at


@overload(item_at)
def _item_at(ids, bits, at):  # type: ignore[no-untyped-def]
    if _is_kind(ids, CompressedItems):
        return lambda ids, bits, at: item_of(ids.csa, at)
    return lambda ids, bits, at: read(ids, bits, at)


@overload(position_at)
def _position_at(ids, at):  # type: ignore[no-untyped-def]
    if _is_kind(ids, CompressedItems):
        return lambda ids, at: position_of(ids.csa, at)
    return lambda ids, at: at
