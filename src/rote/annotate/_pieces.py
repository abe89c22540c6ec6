"""A layer cut into pieces of whole sentences, each with a vocabulary of its own.

The models keep sums for every vocabulary entry; pieces bound that memory whatever the
batch holds. Results do not depend on where the cuts fall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import Hashes
from rote.annotate._lexicon import describe
from rote.core.layer import Ids, Layer, Offsets
from rote.run import side_by_side, threads

SIZE = 1 << 20  # tokens; a longer sentence is a piece by itself
_FEW = 1 << 14
"""So many tokens are read sooner than a thread would be worth it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Tokens `first:last` of a layer, numbered by the rows of `table`."""

    first: int
    last: int
    ids: Ids
    ends: Offsets
    table: Hashes

    def read(self, work: Callable[[Piece], None]) -> None:
        """Have the sentences worked on, on as many threads as there are for this process."""
        count = max(1, min(threads(), len(self.ids) // _FEW))
        cuts = np.searchsorted(self.ends, len(self.ids) * np.arange(1, count) // count)
        places = sorted({0, *cuts.tolist(), len(self.ends)})
        list(side_by_side(work, map(self._part, places, places[1:]), count))

    def _part(self, one: int, other: int) -> Piece:
        """Some sentences, with the vocabulary of all."""
        first, last = (int(self.ends[n - 1]) if n else 0 for n in (one, other))
        ends = self.ends[one:other] - first
        return Piece(self.first + first, self.first + last, self.ids[first:last], ends, self.table)


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
