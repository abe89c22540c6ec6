"""What a match is: words of a text, where they stand in a corpus, and how unlikely that is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.grams import Grams
from rote.index.index import Index
from rote.search.trace.alignment import Aligned
from rote.search.trace.options import GAPPED
from rote.search.trace.runs import Numbers


class Edits(NamedTuple):
    """Words in which a text differs from a document."""

    exchanged: int = 0
    added: int = 0
    left_out: int = 0


def edits_of(runs: Aligned) -> Edits:
    """What lies between runs: words of one side for words of the other, and those left over."""
    pairs = [(j - i - n, q - p - n) for (i, p, n), (j, q, _) in pairwise(runs)]
    return Edits(
        sum(min(pair) for pair in pairs),
        sum(max(0, text - document) for text, document in pairs),
        sum(max(0, document - text) for text, document in pairs),
    )


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a span stands that is no plain run of words: places `start` to `end` of a segment.

    `runs` are (word of the text, place, length) each; those of a verbatim span are not told apart.
    """

    segment: int
    start: int
    end: int
    runs: Aligned = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Words `first` to `last` (exclusive) of a layer's texts that a corpus holds.

    `words` of them are matched: all but those in gaps. `bits` says how unlikely that is. The copies
    of a gapped match have the same edits.
    """

    kind: str
    text: int
    first: int
    last: int
    words: int
    bits: float
    copies: tuple[Copy, ...] = ()

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """First word and length of each run: one, unless there are gaps."""
        if self.kind != GAPPED:
            return ((self.first, self.words),)
        return tuple((first, length) for first, _, length in self.copies[0].runs)

    @property
    def edits(self) -> Edits:
        return edits_of(self.copies[0].runs) if self.kind == GAPPED else Edits()


class Likelihood:
    """How unlikely a stretch of a layer is, in bits, by the index's own counts of its items.

    -log2 of how often the index would hold it if its items stood in random order: the sum of
    -log2 P(item) less log2 of the number of items. An item that the index lacks counts as one.
    """

    def __init__(self, index: Index, layer: Layer) -> None:
        items = max(1, index.items_held(layer.name))
        singles = Grams(
            np.arange(len(layer.vocabulary), dtype=np.int32),
            np.arange(1, len(layer.vocabulary) + 1),
            layer.vocabulary,
        )
        counts = np.maximum(index.counts(singles, layer.name), 1)
        self.places = float(np.log2(items))
        self.each = (self.places - np.log2(counts))[layer.ids] if len(layer.ids) else np.empty(0)
        self._sums = np.concatenate((np.zeros(1), np.cumsum(self.each)))

    def of(self, first: Numbers, last: Numbers) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._sums[last] - self._sums[first] - self.places
        return found
