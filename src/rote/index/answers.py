"""What an index answers with: occurrences, longest matches, frequent n-grams, continuations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError, OptionError
from rote.index.columns.packed_array import OUT_OF_RANGE
from rote.index.grams import Counts, Grams
from rote.index.segments.documents import Documents
from rote.index.segments.segment import Segment


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Where a match stands: its document, its first item there, its characters in the text.

    `segment` and `number` say where the index keeps the document; `Index.context` takes a
    position and gives the text around it.
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
class MatchContext:
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class LongestMatches:
    """For every item of a text the longest run that begins there and occurs in the index.

    `lengths[i]` is 0 and `counts[i]` too where not even the item itself occurs.
    """

    lengths: NDArray[np.int32]
    counts: Counts


@dataclass(frozen=True, slots=True)
class NgramCounts:
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
class NearestSentences:
    """For each vector the sentences nearest to it, a row each, the most similar first.

    Where an index has fewer sentences, rows end in -1, and in nan.
    """

    similarities: NDArray[np.float32]
    sentences: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FrequentNgrams:
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


def occurrences_in(
    segment: Segment, number: int, layer: str, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> list[Occurrence]:
    """The matches [start, end) of a layer in segment `number`, as occurrences in documents."""
    positions, documents = segment.positions_of(layer), segment.documents
    if len(starts) and not 0 <= int(starts.min()) < int(ends.max()) <= len(positions):
        raise InputError(OUT_OF_RANGE)
    holders = positions.document_of(starts)
    first, _ = positions.spans.spans(starts)
    _, last = positions.spans.spans(ends - 1)
    known = {
        holder: (
            documents.id(holder),
            documents.author.of(holder),
            documents.source.of(holder),
            positions.start_of(holder),
        )
        for holder in set(holders.tolist())
    }
    occurrences = []
    for holder, start, begin, end in zip(*(c.tolist() for c in (holders, starts, first, last))):
        name, author, source, base = known[holder]
        occurrences.append(
            Occurrence(name, author, source, start - base, begin, end, number, holder)
        )
    return occurrences


def occurrence_at(
    segments: Sequence[Segment], number: int, layer: str, start: int, end: int
) -> Occurrence:
    bounds = np.array([[start], [end]], np.int64)
    return occurrences_in(segments[number], number, layer, *bounds)[0]


def describe_occurrence(occurrence: Occurrence, context: MatchContext) -> dict[str, Any]:
    names = ("document", "author", "start", "end")
    return {name: getattr(occurrence, name) for name in names} | asdict(context)


def context_of(documents: Documents, occurrence: Occurrence, around: int) -> MatchContext:
    """The text of an occurrence, with so many characters before and after it."""
    start = max(0, occurrence.start - around)
    text = documents.text(occurrence.number, start, occurrence.end + around)
    match, end = occurrence.start - start, occurrence.end - start
    return MatchContext(text[:match], text[match:end], text[end:])


def check_limit(limit: int | None) -> None:
    """How many positions, how many characters: never a negative number."""
    if limit is not None and limit < 0:
        raise OptionError(f"a limit must not be negative, and {limit} is")
