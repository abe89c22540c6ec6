"""Matches of a query: how many, a page of them in the order asked for, their forms.

Nothing is computed whole that is not shown whole. In the order of the documents only the matches
up to the page's end are looked up; any other order, and every tally, takes the first `MOST`
matches, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rote.core.errors import OptionError, UnknownName
from rote.index import query as queries
from rote.index.answers import Context, Place
from rote.index.index import Index
from rote.index.places import places_in
from rote.web.asking import found as arrays
from rote.web.asking.found import Matches, Numbers
from rote.web.asking.patterns import LONGEST, checked
from rote.web.reading.indexes import OpenIndex

MOST = 20_000
"""Matches that are put in another order, tallied, or paged through."""
MOST_EXPORTED = 1_000_000
_WRITTEN = 1_000
Sort = Literal["place", "left", "right", "document", "form"]
SORTS: dict[str, str] = {
    "place": "place in the index",
    "left": "words before",
    "right": "words after",
    "document": "name of the document",
    "form": "most frequent form",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of an index."""

    q: str
    layer: str = "lower"
    sort: Sort = "place"
    context: int = 60
    page: int = 1
    per: int = 50

    @property
    def last(self) -> int:
        """The match behind the last of the page."""
        return self.page * self.per


@dataclass(frozen=True, slots=True)
class Found:
    """The matches that were looked at, and how many there are in all.

    `documents`: how many hold a match; None where counting them would take all matches.
    """

    query: str
    matches: Matches
    total: int
    documents: int | None

    @property
    def limited(self) -> bool:
        """Whether there are more matches than were looked at."""
        return len(self.matches) < self.total


def check(index: Index, question: Question) -> queries.Query:
    """The query, read; what cannot be asked is refused."""
    if not question.q.strip():
        raise OptionError("there is nothing to look for: write a word, a phrase or a query")
    if question.layer not in index.layers:
        raise UnknownName("layer of the index", question.layer, index.layers)
    if queries.is_plain(question.q):
        if len(question.q) > LONGEST:
            raise OptionError(f"a phrase has at most {LONGEST:,} characters")
    else:
        checked(question.q, question.layer)
    return index.parse(question.q, question.layer)


def find(opened: OpenIndex, question: Question, *, every: bool = False) -> Found:
    """The matches up to the end of the page, or with `every` all up to `MOST`."""
    index = opened.index
    parsed = check(index, question)
    limit = MOST if every or question.sort != "place" else min(question.last, MOST)
    memos = opened.once("memos", lambda: [queries.Memo() for _ in index.segments])
    matches = arrays.find(index, parsed, memos, limit)
    total = len(matches)
    if total == limit:
        total = index.matches(question.q, question.layer)
    documents: int | None = None
    if len(matches) == total:
        documents = len(matches.holding()[0])
    elif queries.is_plain(question.q) and question.layer in index.sorted_layers:
        documents = int(index.document_counts([question.q], question.layer)[0])
    return Found(str(parsed), matches, total, documents)


def page_of(found: Found, question: Question) -> list[Place]:
    """The matches of the page, in the order asked for."""
    return found.matches.places(
        _ordered(found.matches, question.sort)[question.last - question.per : question.last]
    )


def forms(matches: Matches) -> list[tuple[str, int]]:
    """What was matched, capitals folded, and how often; the most frequent first."""
    names, of = matches.forms()
    counts = np.bincount(of, minlength=len(names)).tolist()
    return sorted(zip(names, counts), key=lambda pair: (-pair[1], pair[0]))


def exported(index: Index, question: Question) -> Iterator[list[dict[str, Any]]]:
    """All matches in the order of the documents, a block of rows at a time."""
    parsed = index.parse(question.q, question.layer)
    layer, left = parsed.layers[0], MOST_EXPORTED
    for number, segment in enumerate(index.segments):
        starts, ends = queries.find(
            parsed,
            segment.columns,
            sentence_last=segment.frame_of(layer).sentence_last,
            limit=left,
        )
        left -= len(starts)
        for at in range(0, len(starts), _WRITTEN):
            block = slice(at, at + _WRITTEN)
            places = places_in(segment, number, layer, starts[block], ends[block])
            yield [row_of(place, index.context(place, question.context)) for place in places]


def row_of(place: Place, context: Context) -> dict[str, Any]:
    """A match as `rote search` writes it."""
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


def _ordered(matches: Matches, sort: str) -> Numbers:
    if sort == "document":
        return matches.by_document()
    if sort == "form":
        names, of = matches.forms()
        counts = np.bincount(of, minlength=len(names))
        alphabet = np.empty(len(names), np.int64)
        alphabet[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return np.lexsort((alphabet[of], -counts[of]))
    if sort in ("left", "right"):
        return matches.by_neighbours(sort)
    return np.arange(len(matches))
