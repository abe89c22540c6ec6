"""Where a query finds nothing: which of its words occur nowhere, and how much of it does occur."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rote.index import query as queries
from rote.index.index import DEFAULT, Index
from rote.index.query import literal
from rote.index.query.tree import Chain, Item, Pattern

_MOST_PARTS = 8
"""Parts of a query whose combinations are tried: some thirty questions."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """What occurs nowhere by itself; the longest parts that do, as queries, with their counts."""

    unknown: list[str]
    longest: list[tuple[str, str, int]]
    """How a part is written, the query for it, how often it occurs."""


def lacking(index: Index, asked: str, layer: str = DEFAULT) -> Lacking:
    """Why a phrase or query matches nothing."""
    if queries.is_plain(asked) and layer in index.sorted_layers:
        return _of_phrase(index, asked, layer)
    return _of_query(index, index.parse(asked, layer))


def _of_phrase(index: Index, asked: str, layer: str) -> Lacking:
    items = index.items(asked, layer)
    found = index.longest(items, layer)
    lengths = found.lengths.tolist()
    most = max(lengths, default=0)
    unknown = [item for item, length in zip(items, lengths) if not length]
    longest = {}
    for start, (length, count) in enumerate(zip(lengths, found.counts.tolist())):
        if length == most > 0:
            part = items[start : start + length]
            longest[" ".join(part)] = (literal(part, layer), count)
    return Lacking(
        list(dict.fromkeys(unknown)), [(name, *found) for name, found in longest.items()]
    )


def _of_query(index: Index, parsed: queries.Query) -> Lacking:
    pattern = parsed.pattern
    parts = pattern.parts if isinstance(pattern, Chain) else (pattern,)
    tests = dict.fromkeys(str(Item(test)) for test in parsed.tests)
    unknown = [test for test in tests if not _occurs(index, queries.parse(test))]
    if len(parts) > _MOST_PARTS:
        return Lacking(unknown, [])
    for length in range(len(parts) - 1, 0, -1):
        windows = (parts[first : first + length] for first in range(len(parts) - length + 1))
        asked = [replace(parsed, pattern=_joined(window)) for window in windows]
        held = list(dict.fromkeys(str(one) for one in asked if _occurs(index, one)))
        if held:
            return Lacking(unknown, [(one, one, index.matches(one)) for one in held])
    return Lacking(unknown, [])


def _joined(parts: tuple[Pattern, ...]) -> Pattern:
    return parts[0] if len(parts) == 1 else Chain(parts)


def _occurs(index: Index, parsed: queries.Query) -> bool:
    return any(len(starts) for _, starts, _ in index.find(parsed, 1))
