"""Matches of a query as rows: how many, in which order, their forms; and why there are none.

Nothing is computed in full that is not shown in full: who wants the first twenty in the order of
the documents has only those looked up, and the others counted. Where a query finds nothing,
`find_missing` says which of its words occur nowhere, and how much of it does occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rote.core.array_types import Flags
from rote.core.progress import Reporter
from rote.index import query as queries
from rote.index.answers import MatchContext, Occurrence, occurrences_in
from rote.index.index import DEFAULT, Index
from rote.index.query import literal
from rote.index.query.tree import Concatenation, ItemPattern
from rote.search.rows.match_arrays import MatchArrays, Numbers, find_matches

COLUMNS = ("document", "author", "source", "item", "start", "end", "before", "match", "after")
Sort = Literal[
    "place", "left", "left2", "left3", "right", "right2", "right3", "document", "form", "random"
]
_WRITTEN = 1_000
"""Rows of a block."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches that were looked up, and how many there are in all."""

    query: str
    layer: str
    parsed: queries.Query
    matches: MatchArrays
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
        if queries.is_plain(self.query) and self.layer in index.sorted_layers:
            return int(index.document_counts([self.query], self.layer)[0])
        return None


def search_index(
    index: Index,
    query: str,
    layer: str = DEFAULT,
    limit: int | None = None,
    selected: Sequence[Flags] | None = None,
    among: int | None = None,
) -> SearchResult:
    """The first matches of a phrase or a query, or all, and how many there are.

    `selected`: only those in some documents of each segment (`documents_where`), `among` the first.
    """
    parsed = index.parse(query, layer)
    if selected is not None:
        selected_matches = find_matches(index, parsed, among).only(selected)
        limited = selected_matches if limit is None else selected_matches.first(limit)
        return SearchResult(
            query, layer, parsed, limited, len(selected_matches), len(selected_matches.holding()[0])
        )
    matches = find_matches(index, parsed, limit)
    total = len(matches)
    if total == limit:
        total = index.matches(query, layer)
    return SearchResult(query, layer, parsed, matches, total)


def sort_matches(
    matches: MatchArrays, sort: Sort, reporter: Reporter | None = None, seed: int = 0
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


def count_forms(matches: MatchArrays) -> list[tuple[str, int]]:
    """What was matched, capitals folded, and how often; the most frequent first."""
    names, of = matches.forms()
    counts = np.bincount(of, minlength=len(names)).tolist()
    return sorted(zip(names, counts), key=lambda pair: (-pair[1], pair[0]))


def count_soft_forms(index: Index, parsed: queries.Query) -> list[tuple[str, int]]:
    """What the soft words of a query matched, and how often, over all matches; none without any."""
    if not any(test.soft for test in parsed.tests):
        return []
    return count_forms(find_matches(index, parsed, None))


def name_forms(forms: Sequence[tuple[str, int]], most: int = 12) -> str:
    """Forms and their counts in a line: gold medal 5, silver medal 2, and 3 more."""
    named = ", ".join(f"{form} {count:,}" for form, count in forms[:most])
    return named + (f", and {len(forms) - most:,} more" if len(forms) > most else "")


def row_of(occurrence: Occurrence, context: MatchContext) -> dict[str, Any]:
    """A match as it is listed and written to files: the names are `COLUMNS`."""
    return {
        "document": occurrence.document,
        "author": occurrence.author,
        "source": occurrence.source,
        "item": occurrence.item,
        "start": occurrence.start,
        "end": occurrence.end,
        "before": context.before,
        "match": context.match,
        "after": context.after,
    }


def read_row_blocks(
    index: Index, parsed: queries.Query, around: int, limit: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """The matches in the order of the documents, a block of rows at a time, while they are read."""
    layer = parsed.layers[0]
    for number, starts, ends in index.find(parsed, limit):
        for at in range(0, len(starts), _WRITTEN):
            block = slice(at, at + _WRITTEN)
            occurrences = occurrences_in(
                index.segments[number], number, layer, starts[block], ends[block]
            )
            yield [
                row_of(occurrence, index.context(occurrence, around)) for occurrence in occurrences
            ]


_MOST_PARTS = 8
"""Parts of a query whose combinations are tried: some thirty questions."""


@dataclass(frozen=True, slots=True)
class MissingParts:
    """What occurs nowhere by itself; the longest parts that do, as queries, with their counts."""

    unknown: list[str]
    longest: list[tuple[str, str, int]]
    """How a part is written, the query for it, how often it occurs."""


def find_missing(index: Index, query: str, layer: str = DEFAULT) -> MissingParts:
    """Why a phrase or query matches nothing."""
    if queries.is_plain(query) and layer in index.sorted_layers:
        return _missing_of_phrase(index, query, layer)
    return _missing_of_query(index, index.parse(query, layer))


def _missing_of_phrase(index: Index, phrase: str, layer: str) -> MissingParts:
    items = index.items(phrase, layer)
    longest_matches = index.longest(items, layer)
    lengths = longest_matches.lengths.tolist()
    most = max(lengths, default=0)
    unknown = [item for item, length in zip(items, lengths) if not length]
    longest = {}
    for start, (length, count) in enumerate(zip(lengths, longest_matches.counts.tolist())):
        if length == most > 0:
            part = items[start : start + length]
            longest[" ".join(part)] = (literal(part, layer), count)
    return MissingParts(
        list(dict.fromkeys(unknown)),
        [(name, *longest_matches) for name, longest_matches in longest.items()],
    )


def _missing_of_query(index: Index, parsed: queries.Query) -> MissingParts:
    pattern = parsed.pattern
    parts = pattern.parts if isinstance(pattern, Concatenation) else (pattern,)
    tests = dict.fromkeys(str(ItemPattern(test)) for test in parsed.tests)
    unknown = [test for test in tests if not _occurs(index, index.parse(test))]
    if len(parts) > _MOST_PARTS:
        return MissingParts(unknown, [])
    for length in range(len(parts) - 1, 0, -1):
        windows = (parts[first : first + length] for first in range(len(parts) - length + 1))
        patterns = (w[0] if len(w) == 1 else Concatenation(w) for w in windows)
        candidates = [replace(parsed, pattern=pattern) for pattern in patterns]
        occurring = list(
            dict.fromkeys(str(candidate) for candidate in candidates if _occurs(index, candidate))
        )
        if occurring:
            return MissingParts(
                unknown,
                [(candidate, candidate, index.matches(candidate)) for candidate in occurring],
            )
    return MissingParts(unknown, [])


def _occurs(index: Index, parsed: queries.Query) -> bool:
    return any(len(starts) for _, starts, _ in index.find(parsed, 1))
