"""The network under every model: hashed rows summed, cut at zero, then a score per label.

Everything is integers (rows int8, sums int16, output int16, scores int32), so results
are the same on every machine and in any order. Features that depend on one word
alone are summed once per vocabulary entry (`sums`), for each role the word may
play (itself, the next word, ...), so a token costs a few additions.

A model that reads a sentence word by word cannot know the rows of the next word before it has
judged this one, and waiting for them takes as long as judging. So a piece is cut into LANES runs
of sentences, and every lane takes a step in turn. Sentences do not know of each other, so
results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import Hashes, describe, pair, place
from rote.annotate._vectors import add_row, fetch, padded
from rote.core.arrays import Arrays
from rote.core.kernels import lean, part
from rote.core.layer import Ids, Layer, Offsets
from rote.run import side_by_side, threads

Rows = NDArray[np.int32]
CEILING = 2047  # of a hidden unit, so that scores cannot overflow
SCORE_UNIT = 1 << 16  # of a score: a log-chance of 1
NEVER = -(1 << 30)  # the bias of a label that cannot be chosen: below all that scores can reach
_LINE = 64  # bytes


@dataclass(frozen=True, slots=True)
class Network:
    """Weights as they are used; a score is a log-chance times a constant of the file."""

    rows: NDArray[np.int8]  # (2**bits, hidden)
    bias: NDArray[np.int16]  # (hidden,)
    output: NDArray[np.int16]  # (labels, hidden)
    output_bias: NDArray[np.int32]  # (labels,)
    templates: Rows  # (templates, 3): role, column, second column or -1; roles ascending

    @property
    def bits(self) -> int:
        return len(self.rows).bit_length() - 1


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network as its kernel takes it, in the kernel's sizes.

    `weights`: rows, bias, output by unit, its bias, number of word templates, bits.
    """

    net: Network
    weights: tuple[Any, ...]

    def sums(self, table: Hashes, roles: int) -> NDArray[np.int16]:
        """Every entry's partial sums: (entries, roles, hidden)."""
        rows = self.weights[0]
        sums: NDArray[np.int16] = aligned((len(table), roles, rows.shape[1]), np.int16)
        places = np.empty((2, len(self.net.templates)), np.int64)
        partials(table, self.net.templates, self.net.bits, rows, places, sums)
        return sums


def network(arrays: Arrays, prefix: str = "") -> Network:
    rows, bias, output = (arrays[prefix + name] for name in ("rows", "bias", "output"))
    rest = (arrays[prefix + name] for name in ("output_bias", "templates"))
    return Network(rows, bias, output, *rest)


def fitted(net: Network, hidden: int, labels: int, together: int) -> Fitted:
    """The network with as many units and labels as its kernel has; those added do nothing.

    `together` rows are added in 8 bits by the kernel, which their weights must allow.
    """
    there, units = net.output.shape
    largest = max(int(net.rows.max()), -int(net.rows.min()))
    reach = CEILING * int(np.abs(net.output.astype(np.int64)).sum(1).max())
    if units > hidden or there > labels or largest * together > 127 or 4 * reach > -NEVER:
        raise ValueError("the network is too large for its kernel")
    rows = aligned((len(net.rows), hidden), np.int8)
    rows[:, :units] = net.rows
    bias = np.zeros(hidden, np.int16)
    bias[:units] = net.bias
    output = aligned((hidden, padded(labels)), np.int16)
    output[:units, :there] = net.output.T
    output_bias = np.full(padded(labels), NEVER, np.int32)
    output_bias[:there] = net.output_bias
    weights = (rows, bias, output, output_bias, len(net.templates), net.bits)
    return Fitted(replace(net, rows=rows[:, :units]), weights)


def aligned(shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    """Zeros from the beginning of a cache line on, so that a row touches as few as it can."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + _LINE, np.uint8)
    first = -room.ctypes.data % _LINE
    array: NDArray[Any] = room[first : first + size].view(kind).reshape(shape)
    return array


@part
def word_row(table, entry, templates, number, bits):  # type: ignore[no-untyped-def]
    """Where one template of one vocabulary entry stands."""
    value = table[entry, templates[number, 1]]
    second = templates[number, 2]
    if second >= 0:
        value = pair(value, table[entry, second])
    return place(number, value, bits)


@lean
def partials(table, templates, bits, rows, places, out):  # type: ignore[no-untyped-def]
    """Add each entry's rows in each role to `out`: (entries, roles, hidden), int16.

    `places` is room for those of two entries.
    """
    count, roles, hidden = len(templates), out.shape[1], rows.shape[1]
    for entry in range(len(table) + 1):
        # The rows of one entry are asked for while those of the one before are added.
        if entry < len(table):
            for number in range(count):
                row_start = hidden * word_row(table, entry, templates, number, bits)
                places[entry % 2, number] = row_start
                for unit in range(0, hidden, _LINE):
                    fetch(rows, row_start + unit, _LINE)
        if entry > 0:
            for number in range(count):
                first = ((entry - 1) * roles + templates[number, 0]) * hidden
                add_row(out, first, rows, places[(entry - 1) % 2, number], hidden)


LANES = 4


def split_lanes(ends: Offsets) -> tuple[Offsets, Offsets]:
    """The first sentence of each lane and, at last, their number; the longest of each lane."""
    starts = np.concatenate((np.zeros(1, np.int64), ends))[:-1]
    first = np.searchsorted(starts * LANES, np.arange(LANES + 1) * (ends[-1] if len(ends) else 0))
    lengths = ends - starts
    longest = [lengths[a:b].max(initial=0) for a, b in pairwise(first)]
    return first, np.array(longest, np.int64)


@part
def sentence_span(ends, sentence):  # type: ignore[no-untyped-def]
    return ends[sentence - 1] if sentence > 0 else np.int64(0), ends[sentence]


# A layer cut into pieces of whole sentences, each with a vocabulary of its own.
#
# The models keep sums for every vocabulary entry; pieces bound that memory whatever the
# batch holds. Results do not depend on where the cuts fall.

MAX_TOKENS = 1 << 20  # tokens; a longer sentence is a piece by itself
_MIN_TOKENS_PER_THREAD = 1 << 14
"""So many tokens are read sooner than a thread would be worth it."""


@dataclass(frozen=True, slots=True)
class Subbatch:
    """Tokens `first:last` of a layer, numbered by the rows of `table`."""

    first: int
    last: int
    ids: Ids
    ends: Offsets
    table: Hashes

    def read(self, work: Callable[[Subbatch], None]) -> None:
        """Have the sentences worked on, on as many threads as there are for this process."""
        count = max(1, min(threads(), len(self.ids) // _MIN_TOKENS_PER_THREAD))
        cuts = np.searchsorted(self.ends, len(self.ids) * np.arange(1, count) // count)
        places = sorted({0, *cuts.tolist(), len(self.ends)})
        list(side_by_side(work, map(self._make_subbatch, places, places[1:]), count))

    def _make_subbatch(self, begin: int, end: int) -> Subbatch:
        """Some sentences, with the vocabulary of all."""
        first, last = (int(self.ends[n - 1]) if n else 0 for n in (begin, end))
        ends = self.ends[begin:end] - first
        return Subbatch(
            self.first + first, self.first + last, self.ids[first:last], ends, self.table
        )


def split_subbatches(word: Layer, size: int = MAX_TOKENS) -> Iterator[Subbatch]:
    """Pieces of about `size` tokens, in order."""
    if word.sentence_ends is None:
        raise ValueError("the words have no sentence ends: call sentences.split first")
    ends = word.sentence_ends
    first = done = 0
    while done < len(ends):
        upto = max(done + 1, int(np.searchsorted(ends, first + size, side="right")))
        last = int(ends[upto - 1])
        present = np.zeros(len(word.vocabulary), bool)
        present[word.ids[first:last]] = True
        numbers = np.cumsum(present, dtype=np.int32) - np.int32(1)  # without gaps
        table = describe([word.vocabulary[entry] for entry in np.flatnonzero(present).tolist()])
        ids = numbers[word.ids[first:last]]
        yield Subbatch(first, last, ids, ends[done:upto] - first, table)
        first, done = last, upto
