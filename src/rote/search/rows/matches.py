"""Matches of a query: how many there are, in the order asked for, their forms, as rows.

Nothing is computed whole that is not shown whole: whoever wants the first twenty in the order of
the documents has only those looked up, and the others counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.core.array_types import Flags
from rote.core.progress import Reporter
from rote.index import query as queries
from rote.index.answers import Context, Place
from rote.index.index import DEFAULT, Index
from rote.index.places import places_in
from rote.search.rows.found import Matches, Numbers, find

COLUMNS = ("document", "author", "source", "item", "start", "end", "before", "match", "after")
Sort = Literal[
    "place", "left", "left2", "left3", "right", "right2", "right3", "document", "form", "random"
]
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
    holding: int | None = None
    """Documents with a match, where they were counted on the way."""

    @property
    def limited(self) -> bool:
        """Whether there are more matches than were looked up."""
        return len(self.matches) < self.total

    @property
    def documents(self) -> int | None:
        """How many documents hold a match; None where counting them would take all matches."""
        index = self.matches.index
        if self.holding is not None:
            return self.holding
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
    kept: Sequence[Flags] | None = None,
    among: int | None = None,
) -> Found:
    """The first matches of a phrase or a query, or all, and how many there are.

    `kept`: only those in some documents of each segment (`documents_where`), `among` the first.
    """
    parsed = index.parse(asked, layer)
    if kept is not None:
        held = find(index, parsed, among).only(kept)
        own = held if limit is None else held.first(limit)
        return Found(asked, layer, parsed, own, len(held), len(held.holding()[0]))
    matches = find(index, parsed, limit)
    total = len(matches)
    if total == limit:
        total = index.matches(asked, layer)
    return Found(asked, layer, parsed, matches, total)


def ordered(
    matches: Matches, sort: Sort, reporter: Reporter | None = None, seed: int = 0
) -> Numbers:
    """The numbers of the matches in an order; equal ones stay in that of the documents.

    `left2` goes by the second word before a match, then by the third, and so on.
    """
    if sort == "random":
        return np.random.default_rng(seed).permutation(len(matches))
    if sort == "document":
        return matches.by_document()
    if sort == "form":
        names, of = matches.forms()
        counts = np.bincount(of, minlength=len(names))
        alphabet = np.empty(len(names), np.int64)
        alphabet[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return np.lexsort((alphabet[of], -counts[of]))
    for side in ("left", "right"):
        if sort.startswith(side):
            return matches.by_neighbours(side, reporter, int(sort[len(side) :] or 1))
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
