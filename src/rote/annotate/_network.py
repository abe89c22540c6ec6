"""The network under every model: hashed rows summed, cut at zero, then a score per label.

Everything is integers (rows int8, sums int16, output int16, scores int32), so results
are the same on every machine and in any order. Features that depend on one word
alone are summed once per vocabulary entry (`partials`), for each role the word may
play (itself, the next word, ...), so a token costs a few additions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import Hashes, pair, place
from rote.core.arrays import Arrays
from rote.core.kernels import njit

Rows = NDArray[np.int32]
CEILING = 2047  # of a hidden unit, so that scores cannot overflow
SCORE_UNIT = 1 << 16  # of a score: a log-chance of 1


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

    @property
    def weights(self) -> tuple[Any, ...]:
        """What a kernel takes: rows, bias, output, its bias, number of word templates, bits."""
        shape = (len(self.templates), self.bits)
        return (self.rows, self.bias, self.output, self.output_bias, *shape)


def network(arrays: Arrays, prefix: str = "") -> Network:
    """The network that a weight file holds under this prefix."""
    rows, bias, output = (arrays[prefix + name] for name in ("rows", "bias", "output"))
    rest = (arrays[prefix + name] for name in ("output_bias", "templates"))
    return Network(rows, bias, output, *rest)


def sums(net: Network, table: Hashes, roles: int) -> NDArray[np.int16]:
    """Every entry's partial sums: (entries, roles, hidden)."""
    indices = word_rows(table, net.templates, net.bits)
    found: NDArray[np.int16] = partials(indices, net.templates, roles, net.rows)
    return found


@njit(cache=True, nogil=True)
def word_rows(table, templates, bits):  # type: ignore[no-untyped-def]
    """Where each template of each vocabulary entry stands in the table: (entries, templates)."""
    out = np.empty((len(table), len(templates)), np.int32)
    for entry in range(len(table)):
        for number in range(len(templates)):
            value = table[entry, templates[number, 1]]
            second = templates[number, 2]
            if second >= 0:
                value = pair(value, table[entry, second])
            out[entry, number] = place(number, value, bits)
    return out


@njit(cache=True, nogil=True)
def partials(indices, templates, roles, rows):  # type: ignore[no-untyped-def]
    """The sum of each entry's rows in each role: (entries, roles, hidden), int16."""
    out = np.zeros((len(indices), roles, rows.shape[1]), np.int16)
    for entry in range(len(indices)):
        for number in range(len(templates)):
            add(out[entry, templates[number, 0]], rows[indices[entry, number]])
    return out


@njit(cache=True, nogil=True, inline="always")
def add(total, row):  # type: ignore[no-untyped-def]
    """Add a row (int8) or a partial sum (int16) to a sum."""
    for unit in range(len(total)):
        total[unit] += row[unit]


@njit(cache=True, nogil=True)
def score(total, output, output_bias, scores):  # type: ignore[no-untyped-def]
    """The score of each label from the summed rows, which are cut to 0 .. CEILING in place."""
    for unit in range(len(total)):
        total[unit] = min(max(total[unit], 0), CEILING)
    for label in range(len(scores)):
        weights = output[label]
        # Kept in 32 bits, where int16 products have an instruction of their own.
        found = np.int32(0)
        for unit in range(len(total)):
            found = np.int32(found + np.int32(total[unit]) * np.int32(weights[unit]))
        scores[label] = output_bias[label] + found
