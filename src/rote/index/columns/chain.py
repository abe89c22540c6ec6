"""Items and sorted places of a layer in one column, in about two bytes a word: slower, and exact.

All places, documents' ends too, stand in the order of what follows them; the number of a place
in this row is its *rank*. For every rank the chain keeps the rank of the place behind it
(Sadakane's compressed suffix array, 2003). The items are not kept: a rank tells the item, since
places with the same item stand together, and whoever follows the chain reads the text. Nor are
the places: every 16th is written down, and following the chain leads to one of these.

The ranks behind those of one item rise, by small steps. So they are coded as Elias and Fano did,
in blocks of 32 numbers: the first one; a word of upper halves, in which the place of 1 number k is
k more than what number k is above the first without its low bits; for each rank whether its place
is written down, and how many are before; the low bits of all. These are as many as it takes for
one word of upper halves to be enough. A block lies in one cache line or two, and a list of where
blocks begin is small enough for the caches, so a step waits for memory once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns import bits as bit_kernels
from rote.index.columns import memory
from rote.index.columns.packed import read

load64_at: Any = memory.load64_at
ones: Any = bit_kernels.ones
BLOCK = 32
HEAD = 5
"""What a block has before its low bits, in units of four bytes."""
EVERY = 16
"""Of so many places one is written down."""
MARKED = 128
"""Of so many ranks the item of the first is written down."""
# Walks that go in step.
_TOGETHER = 64
Int64s = NDArray[np.int64]
_HALF, _LOW, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)
_BYTES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


class Chain(NamedTuple):
    """A layer as kernels take it: where its columns lie, and the bits of their numbers.

    Addresses, since numba would count references to arrays at every step along the chain; whoever
    hands out a chain keeps the columns. Block b lies from `begins[b]` to `begins[b + 1]` of
    `blocks`, in units of four bytes: its first number, two units of upper halves, the marks of
    what is written down and how many marks there are before, the low bits. `firsts` are the
    first ranks of the items, and two more that are the number of ranks; `items` says whose is
    every 128th rank. `samples` are the places that are written down, as numbers of 16, by rank,
    `ranks` the ranks by place. `ends` are the documents' ends.
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


class ChainItems(NamedTuple):
    """The stream: `read` gives the item at a place."""

    chain: Chain


class ChainPlaces(NamedTuple):
    """The sorted places of items: `read` gives them by number, without documents' ends."""

    chain: Chain


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
    left = np.uint64(k)
    behind = np.uint64(ones((((left * _BYTES) | _TOPS) - sums) & _TOPS))
    at = (behind << np.uint64(3)) & np.uint64(56)
    left -= ((sums << np.uint64(8)) >> at) & np.uint64(255)
    # Within the byte by halves; without a branch, around which numba would count references.
    below = np.uint64(ones((word >> at) & np.uint64(15)))
    beyond = np.uint64(left >= below)
    left, at = left - beyond * below, at + beyond * np.uint64(4)
    below = np.uint64(ones((word >> at) & np.uint64(3)))
    beyond = np.uint64(left >= below)
    left, at = left - beyond * below, at + beyond * np.uint64(2)
    return np.int64(at + np.uint64(left >= ((word >> at) & _ONE)))


@njit(inline="always")
def _number(address, bits, i):  # type: ignore[no-untyped-def]
    """Number i of a packed column."""
    at = np.int64(i) * bits
    word = load64_at(address + (at >> 3)) >> np.uint64(at & 7)
    return np.int64(word & ((_ONE << np.uint64(bits)) - _ONE))


@njit(inline="always")
def follow(chain, rank):  # type: ignore[no-untyped-def]
    """The rank of the place behind that of `rank`."""
    k = rank & 31
    both = load64_at(chain.begins + 4 * (rank >> 5))
    begin = np.int64(both & _LOW)
    width = np.int64(both >> _HALF) - begin - HEAD
    at = chain.blocks + 4 * begin
    low = np.uint64(_number(at + 4 * HEAD, width, k))
    high = np.uint64(select(load64_at(at + 4), k) - k)
    above = (load64_at(at) & _LOW) + ((high << np.uint64(width)) | low)
    # Where numbers fall within a block, they go on from the next power of two.
    return np.int64(above & ((_ONE << np.uint64(chain.rank_bits)) - _ONE))


@njit(inline="always")
def item_of(chain, rank):  # type: ignore[no-untyped-def]
    """The item at the place of `rank`."""
    low = _number(chain.items, chain.item_bits, rank >> 7)
    high = _number(chain.items, chain.item_bits, (rank >> 7) + 1)
    while low < high:
        middle = (low + high + 1) >> 1
        if np.int64(load64_at(chain.firsts + 4 * middle) & _LOW) <= rank:
            low = middle
        else:
            high = middle - 1
    return low


@njit(inline="always")
def written_place(chain, rank):  # type: ignore[no-untyped-def]
    """The place of `rank` if it is written down, as all documents' ends are; else -1."""
    if rank < chain.documents:
        return np.int64(load64_at(chain.ends + 8 * rank))
    begin = np.int64(load64_at(chain.begins + 4 * (rank >> 5)) & _LOW)
    word, k = load64_at(chain.blocks + 4 * begin + 12), np.uint64(rank & 31)
    if (word >> k) & _ONE:
        sample = np.int64(word >> _HALF) + ones(word & ((_ONE << k) - _ONE))
        return _number(chain.samples, chain.sample_bits, sample) * EVERY
    return np.int64(-1)


@njit(inline="always")
def place_of(chain, rank):  # type: ignore[no-untyped-def]
    """The place of `rank`; in no more than `EVERY` steps, also along a chain that is none."""
    for steps in range(EVERY):
        place = written_place(chain, rank)
        if place >= 0:
            return max(place - steps, np.int64(0))
        rank = follow(chain, rank)
    return np.int64(0)


@njit(inline="always")
def rank_of(chain, place):  # type: ignore[no-untyped-def]
    """The rank of a place."""
    rank = _number(chain.ranks, chain.rank_bits, place // EVERY)
    for _ in range(place % EVERY):
        rank = follow(chain, rank)
    return rank


@overload(read)
def _read_of(data, bits, i):  # type: ignore[no-untyped-def]
    kind: Any = getattr(data, "instance_class", None)
    return {ChainItems: _read_item, ChainPlaces: _read_place}.get(kind)


def _read_item(data, bits, i):  # type: ignore[no-untyped-def]
    chain = data.chain
    # Outside only where a stranger's suffixes are not sorted.
    place = max(np.int64(0), min(np.int64(i), np.int64(chain.length - 1)))
    return item_of(chain, rank_of(chain, place))


def _read_place(data, bits, i):  # type: ignore[no-untyped-def]
    chain = data.chain
    rank = max(np.int64(0), min(np.int64(i) + chain.documents, np.int64(chain.length - 1)))
    return place_of(chain, rank)


@overload(memory.prefetch)
def _prefetch_of(array, index):  # type: ignore[no-untyped-def]
    if getattr(array, "instance_class", None) in (ChainItems, ChainPlaces):
        return lambda array, index: None
    return None


@njit(cache=True, nogil=True)
def read_chain(chain, start, out):  # type: ignore[no-untyped-def]
    """The chain itself, from a rank on."""
    for i in range(len(out)):
        out[i] = follow(chain, start + i)


@njit(cache=True, nogil=True)
def read_run(chain, start, out):  # type: ignore[no-untyped-def]
    """The items from a place on."""
    rank = rank_of(chain, start) if len(out) else np.int64(0)
    for i in range(len(out)):
        out[i] = item_of(chain, rank)
        rank = follow(chain, rank)


@njit(cache=True, nogil=True)
def read_runs(chain, starts, length, out):  # type: ignore[no-untyped-def]
    """The same from several places on, one run behind the other; many walks go in step."""
    ranks, left = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64)
    for base in range(0, len(starts), _TOGETHER):
        walks = min(_TOGETHER, len(starts) - base)
        furthest = np.int64(0)
        for k in range(walks):
            ranks[k] = _number(chain.ranks, chain.rank_bits, starts[base + k] // EVERY)
            left[k] = starts[base + k] % EVERY
            furthest = max(furthest, left[k])
        for step in range(furthest):
            for k in range(walks):
                if step < left[k]:
                    ranks[k] = follow(chain, ranks[k])
        for j in range(length):
            for k in range(walks):
                out[(base + k) * length + j] = item_of(chain, ranks[k])
            for k in range(walks):
                ranks[k] = follow(chain, ranks[k])


@njit(cache=True, nogil=True)
def read_places(chain, numbers, out):  # type: ignore[no-untyped-def]
    """The sorted places with these numbers, documents' ends left out; many walks in step."""
    ranks, active = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.int64)
    for base in range(0, len(numbers), _TOGETHER):
        left = min(_TOGETHER, len(numbers) - base)
        for k in range(left):
            ranks[k], active[k] = numbers[base + k] + chain.documents, k
            out[base + k] = 0
        for steps in range(EVERY):
            kept = 0
            for a in range(left):
                k = active[a]
                place = written_place(chain, ranks[k])
                if place >= 0:
                    out[base + k] = max(place - steps, np.int64(0))
                else:
                    active[kept] = k
                    kept += 1
            left = kept
            for a in range(left):
                ranks[active[a]] = follow(chain, ranks[active[a]])


@njit(cache=True, nogil=True)
def walk(chain, ids, order):  # type: ignore[no-untyped-def]
    """All items and all sorted places, by many walks in step, one from each sample."""
    ranks = np.empty(_TOGETHER, np.int64)
    for base in range(0, len(ids), _TOGETHER * EVERY):
        walks = min(_TOGETHER, (len(ids) - base + EVERY - 1) // EVERY)
        for k in range(walks):
            ranks[k] = _number(chain.ranks, chain.rank_bits, base // EVERY + k)
        for step in range(EVERY):
            for k in range(walks):
                at, rank = base + k * EVERY + step, ranks[k]
                if at < len(ids):
                    ids[at] = item_of(chain, rank)
                    if rank >= chain.documents:
                        order[rank - chain.documents] = at
            for k in range(walks):
                ranks[k] = follow(chain, ranks[k])


@njit(cache=True, nogil=True)
def encode(numbers, written, rank_bits, marks, begins, out):  # type: ignore[no-untyped-def]
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
            if written[start + k]:
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
            unit = at + HEAD + (bit >> 5)
            out[unit] |= np.uint32(low & _LOW)
            if low >> _HALF:
                out[unit + 1] |= np.uint32(low >> _HALF)
            bit += width
        out[at], out[at + 1] = np.uint32(numbers[start]), np.uint32(upper & _LOW)
        out[at + 2], out[at + 3] = np.uint32(upper >> _HALF), written_down
        out[at + 4] = np.uint32(before)
        begins[b] = at
        at += HEAD + width
    return at
