"""Matches of a query: how many there are, in the order asked for, their forms, as rows.

Nothing is computed whole that is not shown whole: whoever wants the first twenty in the order of
the documents has only those looked up, and the others counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.core.progress import Reporter
from rote.index import query as queries
from rote.index.answers import Context, Place
from rote.index.index import DEFAULT, Index
from rote.index.places import places_in
from rote.search.rows.found import Matches, Numbers, find

COLUMNS = ("document", "author", "source", "item", "start", "end", "before", "match", "after")
Sort = Literal["place", "left", "right", "document", "form"]
_WRITTEN = 1_000
"""Rows of a block."""


@dataclass(frozen=True, slots=True)
class Found:
    """The matches that were looked up, and how many there are in all."""

    asked: str
    layer: str
    parsed: queries.Query
    matches: Matches
    total: int

    @property
    def limited(self) -> bool:
        """Whether there are more matches than were looked up."""
        return len(self.matches) < self.total

    @property
    def documents(self) -> int | None:
        """How many documents hold a match; None where counting them would take all matches."""
        index = self.matches.index
        if not self.limited:
            return len(self.matches.holding()[0])
        if queries.is_plain(self.asked) and self.layer in index.sorted_layers:
            return int(index.document_counts([self.asked], self.layer)[0])
        return None


def look_up(
    index: Index,
    asked: str,
    layer: str = DEFAULT,
    limit: int | None = None,
) -> Found:
    """The first matches of a phrase or a query, or all, and how many there are."""
    parsed = index.parse(asked, layer)
    matches = find(index, parsed, limit)
    total = len(matches)
    if total == limit:
        total = index.matches(asked, layer)
    return Found(asked, layer, parsed, matches, total)


def ordered(matches: Matches, sort: Sort, reporter: Reporter | None = None) -> Numbers:
    """The numbers of the matches in an order; equal ones stay in that of the documents."""
    if sort == "document":
        return matches.by_document()
    if sort == "form":
        names, of = matches.forms()
        counts = np.bincount(of, minlength=len(names))
        alphabet = np.empty(len(names), np.int64)
        alphabet[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return np.lexsort((alphabet[of], -counts[of]))
    if sort in ("left", "right"):
        return matches.by_neighbours(sort, reporter)
    return np.arange(len(matches))


def forms(matches: Matches) -> list[tuple[str, int]]:
    """What was matched, capitals folded, and how often; the most frequent first."""
    names, of = matches.forms()
    counts = np.bincount(of, minlength=len(names)).tolist()
    return sorted(zip(names, counts), key=lambda pair: (-pair[1], pair[0]))


def row_of(place: Place, context: Context) -> dict[str, Any]:
    """A match as it is listed and written to files: the names are `COLUMNS`."""
    return {
        "document": place.document,
        "author": place.author,
        "source": place.source,
        "item": place.item,
        "start": place.start,
        "end": place.end,
        "before": context.before,
        "match": context.match,
        "after": context.after,
    }


def rows_in_blocks(
    index: Index, parsed: queries.Query, around: int, limit: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The matches in the order of the documents, a block of rows at a time, while they are read."""
    layer = parsed.layers[0]
    for number, starts, ends in index.find(parsed, limit):
        for at in range(0, len(starts), _WRITTEN):
            block = slice(at, at + _WRITTEN)
            places = places_in(index.segments[number], number, layer, starts[block], ends[block])
            yield [row_of(place, index.context(place, around)) for place in places]
