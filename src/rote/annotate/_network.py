"""The network under every model: hashed rows summed, cut at zero, then a score per label.

Everything is integers (rows int8, sums int16, output int16, scores int32), so results
are the same on every machine and in any order. Features that depend on one word
alone are summed once per vocabulary entry (`sums`), for each role the word may
play (itself, the next word, ...), so a token costs a few additions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import Hashes, pair, place
from rote.annotate._vectors import add_row, fetch, padded
from rote.core.arrays import Arrays
from rote.core.kernels import lean, njit, part

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
        found: NDArray[np.int16] = aligned((len(table), roles, rows.shape[1]), np.int16)
        places = np.empty((2, len(self.net.templates)), np.int64)
        partials(table, self.net.templates, self.net.bits, rows, places, found)
        return found


def network(arrays: Arrays, prefix: str = "") -> Network:
    """The network that a weight file holds under this prefix."""
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
    found: NDArray[Any] = room[first : first + size].view(kind).reshape(shape)
    return found


@njit(cache=True, nogil=True)
def word_rows(table, templates, bits):  # type: ignore[no-untyped-def]
    """Where each template of each vocabulary entry stands in the table: (entries, templates)."""
    out = np.empty((len(table), len(templates)), np.int32)
    for entry in range(len(table)):
        for number in range(len(templates)):
            out[entry, number] = word_row(table, entry, templates, number, bits)
    return out


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
                found = hidden * word_row(table, entry, templates, number, bits)
                places[entry % 2, number] = found
                for unit in range(0, hidden, _LINE):
                    fetch(rows, found + unit, _LINE)
        if entry > 0:
            for number in range(count):
                first = ((entry - 1) * roles + templates[number, 0]) * hidden
                add_row(out, first, rows, places[(entry - 1) % 2, number], hidden)
