"""A layer cut into pieces of whole sentences, each with a vocabulary of its own.

The models keep sums for every vocabulary entry; pieces bound that memory whatever the
batch holds. Results do not depend on where the cuts fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import Hashes
from rote.annotate._lexicon import describe
from rote.core.layer import Ids, Layer, Offsets

SIZE = 1 << 20  # tokens; a longer sentence is a piece by itself


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens `first:last` of a layer, numbered by the rows of `table`."""

    first: int
    last: int
    ids: Ids
    ends: Offsets
    table: Hashes


def pieces(word: Layer, size: int = SIZE) -> Iterator[Piece]:
    """Pieces of about `size` tokens, in order."""
    if word.sentence_ends is None:
        raise ValueError("the words have no sentence ends: call sentences.split first")
    ends = word.sentence_ends
    first = done = 0
    while done < len(ends):
        upto = max(done + 1, int(np.searchsorted(ends, first + size, side="right")))
        last = int(ends[upto - 1])
        ids, used = _renumber(word.ids[first:last], len(word.vocabulary))
        table = describe([word.vocabulary[entry] for entry in used.tolist()])
        yield Piece(first, last, ids, ends[done:upto] - first, table)
        first, done = last, upto


def _renumber(ids: Ids, size: int) -> tuple[Ids, NDArray[np.int64]]:
    """Ids without gaps, and the old number of each."""
    present = np.zeros(size, bool)
    present[ids] = True
    used = np.flatnonzero(present)
    new = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return new[ids], used
