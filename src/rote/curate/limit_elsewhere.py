"""The words of `limit` that engines of other machines send here: those of frequent n-grams.

The texts are read twice over there. The first time n-grams are counted by a hash of 64 bits, which
`group` adds up in parts, one for each range of hashes; what comes here are the hashes that occur
more than so often. Two n-grams may share a hash, so an n-gram occurs at most as often as its hash,
and none that is frequent is lost. The second time each shard gives the runs of words that n-grams
with such a hash hold. `limit.repeats` numbers and counts those as it would all words,
by the words themselves, so that n-grams which only share a hash are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.layer import Layer, n_gram_starts
from rote.corpus import Corpus, Shard, group_shards
from rote.curate.limit import Repeats
from rote.curate.reading import Piece, Read, Tokenizing
from rote.run import Engine, Shared

WORDS, HOLDS = "words of the text", "n-grams in the text"
"""What is kept beside the runs: how many words a text has, and whether it has an n-gram."""
_READ = -1
"""The key under which each shard says what it has counted."""
_WORDS_A_PART = 4_000_000
_BITS_FOR_EACH = 16

Hashes = NDArray[np.uint64]
Block = tuple[Hashes, NDArray[np.integer[Any]]]
"""Hashes in order, and how often each occurs; or the number of a shard, and the sum of its own."""


@dataclass(frozen=True, slots=True)
class Frequent:
    """Which hashes are frequent: a bit for each value of their first `width` bits, so that
    a few others pass as well. `sums` are of all hashes of each shard, to see that it is the same.
    """

    bits: NDArray[np.uint8]
    width: int
    sums: dict[int, int]

    def holds(self, hashes: Hashes) -> NDArray[np.bool_]:
        place = hashes >> np.uint64(64 - self.width)
        marks = self.bits[place >> np.uint64(3)] >> (place & np.uint64(7))
        return np.asarray(marks & 1, np.bool_)


@dataclass(frozen=True, slots=True)
class Thinning:
    """The work on one shard: its runs of frequent n-grams, as parts of the texts."""

    work: Tokenizing
    n: int
    frequent: Shared[Frequent]

    def __call__(self, shard: Shard) -> Piece:
        piece, frequent = self.work(shard), self.frequent.value
        places, hashes = _hashed(piece.layer, self.n)
        if frequent.sums.get(shard.number) != _sum(hashes):
            raise InputError(
                "the file has changed since it was read first",
                file=shard.origin.file,
                remedy="Run the command again while nothing writes to it",
            )
        return _thinned(piece, places, places[frequent.holds(hashes)], self.n)


def thinning(
    corpus: Corpus, work: Tokenizing, n: int, least: int, engine: Engine, words: int
) -> Thinning:
    """Find the hashes that occur more than `least` times in about so many `words`."""
    # What is wrong with a record is for the second reading to say, in the order of the input.
    width = (words // _WORDS_A_PART).bit_length()
    found = group_shards(
        partial(_counted, replace(work, skip=True), n, width),
        corpus,
        engine,
        _both,
        then=partial(_above, least),
        doing="counting n-grams",
    )
    sums: dict[int, int] = {}
    several: list[Hashes] = []
    for key, (numbers, counts) in found:
        if key == _READ:
            sums = dict(zip(numbers.tolist(), counts.tolist()))
        else:
            several.append(numbers)
    return Thinning(work, n, engine.share(_marked(several, sums)))


def _marked(several: list[Hashes], sums: dict[int, int]) -> Frequent:
    width = max(3, (_BITS_FOR_EACH * sum(map(len, several))).bit_length())
    bits = np.zeros(1 << (width - 3), np.uint8)
    for hashes in several:
        place = hashes >> np.uint64(64 - width)
        np.bitwise_or.at(
            bits, place >> np.uint64(3), np.uint8(1) << (place & np.uint64(7)).astype(np.uint8)
        )
    return Frequent(bits, width, sums)


def completed(found: Read, counted: Repeats) -> Repeats:
    """With the texts that have n-grams, but none that is frequent."""
    holds = np.array(found.beside[HOLDS], np.int32)
    return replace(
        counted,
        everywhere=np.maximum(counted.everywhere, holds),
        inside=np.maximum(counted.inside, holds),
    )


def _counted(
    work: Tokenizing, n: int, width: int, shard: Shard
) -> Iterator[tuple[int, list[Block]]]:
    """The hashes of a shard by their first `width` bits."""
    lenient = replace(shard, options=replace(shard.options, on_error="skip"))
    _, hashes = _hashed(work(lenient).layer, n)
    yield _READ, [(np.array([shard.number], np.uint64), np.array([_sum(hashes)]))]
    different, counts = np.unique(hashes, return_counts=True)
    firsts = np.arange(1 << width, dtype=np.uint64) << np.uint64(64 - width) if width else [0]
    begins = [*np.searchsorted(different, firsts).tolist(), len(different)]
    for part, (begin, end) in enumerate(pairwise(begins)):
        if end > begin:
            yield part, [(different[begin:end], counts[begin:end].astype(np.int32))]


def _both(one: list[Block], other: list[Block]) -> list[Block]:
    one.extend(other)
    return one


def _above(least: int, key: int, blocks: list[Block]) -> Block:
    """The hashes of a part that occur more than `least` times."""
    hashes, counts = (np.concatenate(column) for column in zip(*blocks))
    if key == _READ:
        return hashes, counts
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    first = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    totals = np.add.reduceat(counts[order], first, dtype=np.int64)
    return hashes[first[totals > least]], np.empty(0, np.int64)


def _hashed(layer: Layer, n: int) -> tuple[NDArray[np.int64], Hashes]:
    """The places at which n-grams begin, and a hash of the words of each."""
    own = b"".join(_digest(word) for word in layer.vocabulary)
    words = np.frombuffer(own, "<u8").astype(np.uint64)[layer.ids]
    places = n_gram_starts(layer, n)
    hashes = np.zeros(len(places), np.uint64)
    for step in range(n):
        hashes = (hashes ^ words[places + step]) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(32)
    return places, hashes * np.uint64(0xBF58476D1CE4E5B9)


def _digest(word: str) -> bytes:
    return blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _sum(hashes: Hashes) -> int:
    return int(hashes.sum(dtype=np.uint64).astype(np.int64))


def _thinned(piece: Piece, places: NDArray[np.int64], chosen: NDArray[np.int64], n: int) -> Piece:
    """The piece with those words alone that n-grams at the chosen places hold."""
    layer, text_ends = piece.layer, np.concatenate(([0], piece.layer.text_ends))
    last_parts = np.cumsum(piece.counts)
    bounds = text_ends[np.concatenate(([0], last_parts))]
    holds = np.diff(np.searchsorted(places, bounds)) > 0
    # Others may be in a run as well: they occur at most `least` times, whatever is counted of them.
    size = len(layer.ids) + 1
    steps = np.bincount(chosen, minlength=size) - np.bincount(chosen + n, minlength=size)
    held = np.flatnonzero(np.cumsum(steps) > 0)
    part = np.searchsorted(layer.text_ends, held, side="right")
    ends = np.flatnonzero((np.diff(held) > 1) | (np.diff(part) > 0)) + 1
    ends = np.append(ends, [len(held)] if len(held) else []).astype(np.int64)
    used, numbers = np.unique(layer.ids[held], return_inverse=True)
    return replace(
        piece,
        layer=replace(
            layer,
            ids=numbers.astype(np.int32),
            vocabulary=tuple(layer.vocabulary[word] for word in used.tolist()),
            text_ends=ends,
        ),
        counts=np.diff(np.searchsorted(held[ends - 1], bounds)),
        beside={WORDS: np.diff(bounds).tolist(), HOLDS: holds.tolist()},
    )
