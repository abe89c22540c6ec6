"""Named patterns in an index: matches of each, in all documents or in groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rote.index.index import Index
from rote.search.patterns import Patterns
from rote.search.rows.collocates import dispersion
from rote.search.rows.counts import per_million
from rote.search.rows.found import Matches, find
from rote.search.rows.groups import DOCUMENT, Groups, groups_by, tally

NAMED = ("pattern", "matches", "documents", "per_million", "dp", "juilland_d")


def matches_of(index: Index, queries: Sequence[str], layer: str) -> Matches:
    """The matches of any of these queries; where several begin at one place, one of them."""
    found = [find(index, index.parse(query, layer)) for query in queries]
    if len(found) == 1:
        return found[0]
    segment, start, end = (
        np.concatenate([getattr(one, name) for one in found])
        for name in ("segment", "start", "end")
    )
    _, first = np.unique(segment << 40 | start, return_index=True)
    return Matches(index, found[0].layer, segment[first], start[first], end[first])


def in_all(index: Index, patterns: Patterns, layer: str) -> list[dict[str, Any]]:
    """A row for each pattern, with its dispersion over documents."""
    every = groups_by(index, DOCUMENT)
    rows = []
    for name, queries in patterns.items():
        matches = matches_of(index, queries, layer)
        spread = dispersion(tally(matches, every), every)
        rows.append(
            {
                "pattern": name,
                "matches": len(matches),
                "documents": len(matches.holding()[0]),
                "per_million": per_million(len(matches), index.items_held("word")),
                "dp": spread["dp"],
                "juilland_d": spread["juilland_d"],
            }
        )
    return rows


def in_groups(index: Index, patterns: Patterns, layer: str, groups: Groups) -> list[dict[str, Any]]:
    """A row for each pattern and each group that has it."""
    return [
        {"pattern": name, **row}
        for name, queries in patterns.items()
        for row in tally(matches_of(index, queries, layer), groups)
    ]
