"""What an index answers with: places, matches, frequent n-grams, what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.index.grams import Grams

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a match stands: its document, its first item there, its characters in the text.

    `segment` and `number` say where the index keeps the document; `Index.context` takes a
    place and gives the text around it.
    """

    document: str
    author: str | None
    source: str | None
    item: int
    start: int
    end: int
    segment: int
    number: int


@dataclass(frozen=True, slots=True)
class Context:
    """A match and the text around it."""

    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class Longest:
    """For every item of a text the longest run that begins there and occurs in the index.

    `lengths[i]` is 0 and `counts[i]` too where not even the item itself occurs.
    """

    lengths: NDArray[np.int32]
    counts: Counts


@dataclass(frozen=True, slots=True)
class Held:
    """Of each n-gram of a batch how often it occurs, in how many documents, by how many authors.

    Authors are those that are known: 0 where no document names one.
    """

    occurrences: Counts
    documents: Counts
    authors: Counts


@dataclass(frozen=True, slots=True)
class Holders:
    """Of each n-gram of a batch which documents hold it (or which stretches of documents), of
    `total`: the ascending numbers `units[ends[g - 1] : ends[g]]`."""

    ends: Counts
    units: Counts
    total: int

    @property
    def counts(self) -> Counts:
        return np.diff(self.ends, prepend=0)


@dataclass(frozen=True, slots=True)
class Frequent:
    """N-grams by falling count, equal counts in the order of their items."""

    grams: Grams
    counts: Counts
    documents: Counts | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[tuple[tuple[str, ...], int]]:
        return zip(self.grams, map(int, self.counts))


@dataclass(frozen=True, slots=True)
class Continuations:
    """What follows an n-gram: items by falling count, and how often a document ends there."""

    items: Mapping[str, int]
    ends: int

    @property
    def total(self) -> int:
        return sum(self.items.values()) + self.ends
