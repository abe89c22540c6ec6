"""From ranges of sorted places to documents and authors, over the segments of an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.index.answers import Counts, Holders
from rote.index.counting.batch import Range, at_once, in_each
from rote.index.counting.tally import (
    DocumentTable,
    distinct,
    document_table,
    documents_of,
    first_places,
    tally,
)
from rote.index.segments.segment import WORD, Segment


@dataclass(frozen=True, slots=True)
class Found:
    """Where the n-grams of a batch stand in a layer, segment by segment."""

    layer: str
    grams: int
    ranges: Sequence[Range]

    @property
    def occurrences(self) -> Counts:
        return sum((high - low for low, high in self.ranges), np.zeros(self.grams, np.int64))


class Tallies:
    """Counts by document and by author; what finds a place's document is made once."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self._tables: dict[tuple[int, str], DocumentTable] = {}

    @property
    def has_authors(self) -> bool:
        """Whether it is known who wrote any of the documents."""
        return any(len(segment.documents.author.vocabulary) > 1 for segment in self._segments)

    def document_counts(self, found: Found, threads: int) -> Counts:
        """In how many documents each n-gram stands."""

        def count(number: int) -> Counts:
            own = np.arange(len(self._segments[number].documents), dtype=np.int32)
            return self._distinct(number, found, own, len(own))

        each = in_each(count, range(len(found.ranges)), at_once(threads, found.grams))
        return sum(each, np.zeros(found.grams, np.int64))

    def author_counts(self, found: Found) -> Counts:
        """How many known authors used each n-gram."""
        if not self.has_authors:
            return np.zeros(found.grams, np.int64)
        if len(found.ranges) == 1:
            authors = self._segments[0].documents.author
            # Number 0 is "no author given", which is nobody.
            return self._distinct(0, found, authors.numbers - 1, len(authors.vocabulary))
        names: list[set[str]] = [set() for _ in range(found.grams)]
        for number, (low, high) in enumerate(found.ranges):
            for g in np.flatnonzero(high > low).tolist():
                names[g].update(self.authors(found.layer, number, int(low[g]), int(high[g])))
        return np.array([len(held) for held in names], np.int64)

    def documents(self, layer: str, number: int, low: int, high: int) -> Counter[str]:
        """How often each document of a segment stands in a range."""
        documents = self._segments[number].documents
        own = np.arange(len(documents), dtype=np.int32)
        found: Counter[str] = Counter()
        for document, occurrences in self._tally(number, layer, low, high, own, len(own)):
            found[documents.id(document)] += occurrences
        return found

    def authors(self, layer: str, number: int, low: int, high: int) -> Counter[str]:
        """How often each author; documents without one are not counted."""
        authors = self._segments[number].documents.author
        names = authors.vocabulary
        found = self._tally(number, layer, low, high, authors.numbers - 1, len(names))
        return Counter({names[author + 1]: occurrences for author, occurrences in found})

    def holders(self, found: Found, within: int | None) -> Holders:
        """Which documents hold each n-gram, or which stretches of `within` items."""
        none = np.empty(0, np.int64)
        grams, units, total = [none], [none], 0
        for number, (low, high) in enumerate(found.ranges):
            column, table = (
                self._segments[number].columns[found.layer],
                self._table(number, found.layer),
            )
            some = np.flatnonzero(high > low)
            held = [first_places(column, int(low[g]), int(high[g])) for g in some]
            places = np.concatenate([none, *held])
            own, count = documents_of(table, places).astype(np.int64), len(table.ends)
            if within is not None:
                starts = np.concatenate(([0], table.ends + 1))
                stretches = -(-(table.ends - starts[:-1]) // within)
                first = np.concatenate(([0], np.cumsum(stretches)))
                own, count = first[own] + (places - starts[own]) // within, int(first[-1])
            grams.append(np.repeat(some, (high - low)[some]))
            units.append(total + own)
            total += count
        wide = max(1, total)
        different = np.unique(np.concatenate(grams) * wide + np.concatenate(units))
        gram, unit = np.divmod(different, wide)
        return Holders(np.cumsum(np.bincount(gram, minlength=found.grams)), unit, total)

    def _distinct(self, number: int, found: Found, of: NDArray[np.int32], groups: int) -> Counts:
        column = self._segments[number].columns[found.layer]
        low, high = found.ranges[number]
        return distinct(column, low, high, of, groups, self._table(number, found.layer))

    def _tally(
        self, number: int, layer: str, low: int, high: int, of: NDArray[np.int32], groups: int
    ) -> list[tuple[int, int]]:
        column, table = self._segments[number].columns[layer], self._table(number, layer)
        found, occurrences = tally(column, low, high, of, groups, table)
        return list(zip(found.tolist(), occurrences.tolist()))

    def _table(self, number: int, layer: str) -> DocumentTable:
        frames = self._segments[number].frames
        frame = layer if layer in frames else WORD
        if (number, frame) not in self._tables:
            self._tables[number, frame] = document_table(frames[frame].document_ends)
        return self._tables[number, frame]
