"""From which length on a run of words is known to few sources, or to none: for every word.

A longer run has no more sources than a shorter one that it begins with, so two numbers for each
word of a text say all: the longest run from there on that some sentence of the ground truth
holds, and the longest that more than `relax` sources hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.index.counting.longest import longest
from rote.index.counting.lookup import Lookup
from rote.index.counting.tally import document_table
from rote.index.index import Index
from rote.search.originality import reach_kernels as kernels
from rote.search.originality.near_kernels import reach_nearby
from rote.search.originality.neighbour_kernels import LEAST
from rote.search.originality.sources import Sources
from rote.search.originality.stretches import Int32s, Int64s, Stretch, Suffixed

# Words of a text that are asked about at once, for each entry of their lists.
_AT_ONCE = 1 << 24
# A text of fewer words than one in so many of the ground truth's touches only a part of it.
_SPARSE = 16
# Steps after which a place is left to a walk along all suffixes that begin as it does.
_STEPS = 256
# Suffixes between two such parts that are read along with them.
_GAP = 1 << 10


@dataclass(frozen=True, slots=True)
class Reach:
    """For every word of a text how far, inside its sentence, the ground truth follows it.

    `known[i]`: items of the longest run from i on that a sentence of the ground truth holds.
    `common[i]`: of the longest that more than `relax` sources hold. Runs of one item are not
    looked for: both are 0 or at least 2.
    """

    known: Int32s
    common: Int32s


@dataclass(frozen=True, slots=True)
class Lists:
    """For each question the sources with the longest matches; see `_reach`."""

    sources: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @classmethod
    def empty(cls, questions: int, width: int) -> Lists:
        shape = (questions, width)
        return cls(np.zeros(shape, np.int32), np.zeros(shape, np.int32))

    def of(self, questions: NDArray[Any]) -> Lists:
        return Lists(self.sources[questions], self.lengths[questions])

    def put(self, questions: Int64s, lists: Lists) -> None:
        self.sources[questions], self.lengths[questions] = lists.sources, lists.lengths

    def join(self, other: Lists) -> None:
        kernels.join_lists(self.sources, self.lengths, other.sources, other.lengths)


class GroundTruth:
    """The sentences of an index in one layer, with the source of each."""

    def __init__(self, index: Index, layer: str, sources: Sources) -> None:
        self.index, self.layer, self.sources = index, layer, sources
        self.lookups: Sequence[Lookup] = index.lookups(layer)
        self.segments = [
            Suffixed(segment, layer, of) for segment, of in zip(index.segments, sources.of)
        ]

    def width(self, relax: int) -> int:
        """Entries of a list that tells whether more than `relax` sources hold something."""
        if relax < 1:
            raise OptionError(f"relax must be at least 1, not {relax}: a source knows its own text")
        return min(relax, self.sources.count) + 1

    # -- a text against it -------------------------------------------------------------------

    def reach(self, text: Layer, relax: int = 1, *, held_out: bool = False) -> Reach:
        """Of every item of a text, whose sentences have to be known.

        `held_out`: the text is a part of the ground truth, and its own source does not count.
        """
        rests = rests_of_text(text)
        known, common = np.zeros(len(rests), np.int32), np.zeros(len(rests), np.int32)
        # A source knows its own text to the sentence's end, so that it always comes first.
        first = int(held_out)
        width = self.width(relax) + first
        tables = [lookup.column.vocabulary.numbers(text.vocabulary) for lookup in self.lookups]
        for part, seen in blocks(rests, width):
            lists = Lists.empty(part.stop - part.start, width)
            for number, table in enumerate(tables):
                lists.join(self.asked(number, table[text.ids[seen]], rests[part], width))
            known[part], common[part] = lists.lengths[:, first], lists.lengths[:, -1]
        return Reach(known, common)

    def asked(self, number: int, ids: Int32s, rests: Int32s, width: int) -> Lists:
        """What segment `number` knows of a text, given in its numbers."""
        lengths, low, high = longest(self.lookups[number], ids)
        most = np.minimum(lengths[: len(rests)], rests)
        asked = np.flatnonzero(most >= LEAST)
        lists = Lists.empty(len(rests), width)
        if len(asked) * _SPARSE < self.lookups[number].column.items:
            found, solved = self._nearby(number, ids, asked, low, high, most, width)
            lists.put(asked[solved], found.of(solved))
            asked = asked[~solved]
        asked = asked[np.argsort(low[asked], kind="stable")]
        ranks, done = low[asked], 0
        for stretch in self.segments[number].stretches(self._touched(number, ids, asked)):
            more = int(np.searchsorted(ranks[done:], stretch.stop))
            if more:
                here = asked[done : done + more]
                lists.put(here, walk(stretch, ranks[done : done + more], most[here], width)[0])
                done += more
        return lists

    def _nearby(
        self,
        number: int,
        ids: Int32s,
        asked: Int64s,
        low: Int64s,
        high: Int64s,
        most: Int32s,
        width: int,
    ) -> tuple[Lists, NDArray[np.bool_]]:
        """The lists of the places asked about, and which of them were found in a few steps."""
        segment, table = (
            self.segments[number],
            document_table(self.lookups[number].column.document_ends),
        )
        found, solved = Lists.empty(len(asked), width), np.zeros(len(asked), np.bool_)
        reach_nearby(
            self.lookups[number].parts,
            segment.sentence_last.data,
            (table.ends, table.shift, table.first),
            segment.sources,
            ids,
            asked,
            low[asked],
            high[asked],
            most[asked],
            len(segment.suffixes.order),
            min(width, self.sources.count),
            _STEPS,
            found.sources,
            found.lengths,
            solved,
        )
        return found, solved

    def _touched(self, number: int, ids: Int32s, asked: Int64s) -> list[tuple[int, int]] | None:
        """The ranges of suffixes that begin like a place of a text; None means that all may.

        Whatever shares two items with a place stands in the range of these two.
        """
        lookup = self.lookups[number]
        if len(asked) * _SPARSE > lookup.column.items:
            return None
        pairs = np.unique(ids[asked].astype(np.int64) << 32 | ids[asked + 1])
        both = np.stack([pairs >> 32, pairs & 0xFFFFFFFF], axis=1).astype(np.int32)
        low, high = lookup.ranges(both.reshape(-1), np.arange(1, len(pairs) + 1) * LEAST)
        # Pairs come in the order of suffixes; small gaps are cheaper read than left out.
        wide = low[1:] - high[:-1] > _GAP
        starts = low[np.append(True, wide)[: len(low)]]
        return list(zip(starts.tolist(), high[np.append(wide, True)[: len(low)]].tolist()))


def rests_of_text(text: Layer) -> Int32s:
    """For each item how many there are to its sentence's end."""
    ends = text.sentence_ends
    if ends is None:
        raise OptionError("fragments are parts of sentences, and the text's sentences are unknown")
    sizes = np.diff(ends, prepend=0)
    return (np.repeat(ends, sizes) - np.arange(len(text.ids))).astype(np.int32)


def blocks(rests: Int32s, width: int) -> Iterator[tuple[slice, slice]]:
    """A text in pieces that are asked about at once, each with what its last sentence needs."""
    size = max(1, _AT_ONCE // width)
    for start in range(0, len(rests), size):
        stop = min(start + size, len(rests))
        behind = stop + max(0, int(rests[stop - 1]) - 1)
        yield slice(start, stop), slice(start, behind)


def walk(stretch: Stretch, ranks: Int64s, most: Int32s, width: int) -> tuple[Lists, Int32s, Int32s]:
    """The lists of some suffixes of a stretch; of all `before` and `alone`, see `OwnReach`."""
    found = Lists.empty(len(ranks), width)
    before, alone = np.empty_like(stretch.rests), np.empty_like(stretch.rests)
    kernels.reach_along(
        stretch.shared,
        stretch.rests,
        stretch.sources,
        width,
        ranks - stretch.start,
        most,
        found.sources,
        found.lengths,
        before,
        alone,
    )
    return found, before, alone
