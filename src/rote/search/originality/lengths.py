"""How many fragments of each length a ground truth holds, added up while its suffixes are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rote.search.originality import length_kernels as kernels
from rote.search.originality.edges import Bits
from rote.search.originality.neighbour_kernels import LEAST
from rote.search.originality.stretches import Int32s, Int64s, Stretch, Suffixed

_LENGTH = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class OwnReach:
    """For every place of all segments, in a row; runs are inside a sentence.

    `reach[p]` are two numbers of items: of the longest run from p on that more than `relax`
    sources hold, its own among them, and of the longest that stands earlier in the order. A
    fragment from p on counts as a different one if it is longer than that, or if
    place << 32 | length is in `more`, which ascends. `edges` has a bit for each place. Segment s
    begins with place `bases[s]`.
    """

    reach: Int32s
    more: Int64s
    edges: Bits
    bases: Int64s

    def of(self, segment: int) -> OwnReach:
        """That of one segment, from whose first place on places are counted then."""
        first, behind = (int(base) for base in self.bases[segment : segment + 2])
        low, high = np.searchsorted(self.more, [first << 32, behind << 32])
        return OwnReach(
            self.reach[first:behind],
            self.more[low:high] - (first << 32),
            self.edges[first >> 3 :],
            np.array([0, behind - first]),
        )


@dataclass(frozen=True, slots=True)
class LengthRow:
    """How many fragments of one length a ground truth holds.

    `fragments` are different ones, `original` those of them with at most `relax` sources, `once`
    those that occur once. `occurrences` counts every place, `original_occurrences` the places
    of original ones.
    """

    length: int
    fragments: int
    original: int
    occurrences: int
    original_occurrences: int
    once: int


@dataclass(frozen=True, slots=True)
class Tally:
    """Fragments by length: all, and those that are not new, not original, not single."""

    occurrences: Int64s
    patterns: Int64s
    longer: Int64s

    @classmethod
    def empty(cls, longest: int) -> Tally:
        size = max(longest, kernels.SHORT) + 1
        return cls(
            np.zeros(size, np.int64),
            np.zeros((kernels.KINDS, kernels.PATTERNS), np.int64),
            np.zeros((kernels.KINDS, size), np.int64),
        )

    @property
    def longest(self) -> int:
        return len(self.occurrences) - 1

    def join(self, other: Tally) -> None:
        """Add what another one has counted."""
        self.occurrences[:] += other.occurrences
        self.patterns[:] += other.patterns
        self.longer[:] += other.longer

    def add(
        self,
        stretch: Stretch,
        common: Int32s,
        before: Int32s,
        alone: Int32s,
        edges: Bits,
        reach: Int32s,
    ) -> Int64s:
        found: Int64s = kernels.tally_stretch(
            stretch.places,
            stretch.shared,
            stretch.rests,
            common,
            before,
            alone,
            edges,
            reach,
            self.patterns,
            self.longer,
        )
        return found

    def add_places(self, segment: Suffixed, own: OwnReach) -> tuple[int, int]:
        held, holding = kernels.tally_places(
            segment.sentence_last.data,
            segment.column.document_ends,
            own.edges,
            own.reach,
            self.occurrences,
        )
        return int(held), int(holding)

    def rows(self, own: OwnReach) -> list[LengthRow]:
        less = self.longer.copy()
        patterns = np.arange(kernels.PATTERNS)
        for length in range(LEAST, kernels.SHORT + 1):
            of_length = patterns >> (length - LEAST) & 1 == 1
            less[:, length] += self.patterns[:, of_length].sum(axis=1)
        counts = self.occurrences - less
        more, places = own.more & _LENGTH, own.more >> 32
        np.add.at(counts[kernels.BEFORE], more, 1)
        np.add.at(counts[kernels.ORIGINAL], more, more > own.reach[places, 0])
        columns = (
            counts[kernels.BEFORE],
            counts[kernels.ORIGINAL],
            self.occurrences,
            counts[kernels.COMMON],
            counts[kernels.ALONE],
        )
        rows = np.stack(columns, axis=1).tolist()
        return [LengthRow(length, *row) for length, row in enumerate(rows) if row[2]]
