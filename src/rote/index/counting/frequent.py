"""The most frequent n-grams over several segments, exactly, without holding all of them.

An n-gram among the k most frequent has at least the k-th best total t; with S segments it has
at least t / S in one of them. So: the k best of each segment give a first list whose exact
totals give t; then all that reach t / S somewhere are counted everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.index.answers import Counts, Frequent
from rote.index.columns.parts import Column
from rote.index.columns.shared import Numbers, Shared
from rote.index.counting.lookup import Lookup
from rote.index.counting.tally import documents_with
from rote.index.counting.top import frequent
from rote.index.grams import Grams


def frequent_in_one(column: Column, n: int, k: int | None, *, documents: bool) -> Frequent:
    """The k most frequent n-grams of one column, ties at the cut in the order of the items."""
    places, counts = frequent(column, n, most=k)
    places, counts = places[:k], counts[:k]
    held = documents_with(column, places, n) if documents else None
    return Frequent(_grams(_items(column, places, n), column.vocabulary), counts, held)


def frequent_in_all(
    lookups: Sequence[Lookup], shared: Shared, n: int, k: int | None, *, documents: bool
) -> Frequent:
    """The same over the columns of several segments."""
    columns = [lookup.column for lookup in lookups]
    least = 1
    if k is not None:
        first = _union(columns, shared, n, most=k)
        totals = np.sort(_totals(lookups, shared, first))[::-1]
        if len(totals) >= k:
            least = -(-int(totals[k - 1]) // len(columns))
    chosen = _union(columns, shared, n, least=least)
    totals = _totals(lookups, shared, chosen)
    # Numbers are in the order of the strings; the last key is the first to be sorted by.
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    chosen, totals = chosen[order], totals[order]
    held = _documents_with(lookups, shared, chosen) if documents else None
    return Frequent(_grams(chosen, shared.strings), totals, held)


def frequent_by_adding(
    columns: Sequence[Column], shared: Shared, n: int, k: int | None, *, documents: bool
) -> Frequent:
    """The same for a layer that is not sorted: all n-grams of every segment, added up."""
    each = [frequent(column, n) for column in columns]
    rows = [up[_items(c, places, n)] for c, up, (places, _) in zip(columns, shared.up, each)]
    chosen, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    totals = np.zeros(len(chosen), np.int64)
    held = np.zeros(len(chosen), np.int64)
    parts = np.split(which.reshape(-1), np.cumsum([len(part) for part in rows])[:-1])
    for column, part, (places, counts) in zip(columns, parts, each):
        totals[part] += counts
        if documents:
            held[part] += documents_with(column, places, n)
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    found = _grams(chosen[order], shared.strings)
    return Frequent(found, totals[order], held[order] if documents else None)


def _union(
    columns: Sequence[Column], shared: Shared, n: int, *, least: int = 1, most: int | None = None
) -> Numbers:
    """The frequent n-grams of every column in shared numbers, each once."""
    found = [
        table[_items(column, frequent(column, n, least=least, most=most)[0], n)]
        for column, table in zip(columns, shared.up)
    ]
    none = np.empty((0, n), np.int32)
    return np.unique(np.concatenate([none, *found]), axis=0)


def _totals(lookups: Sequence[Lookup], shared: Shared, chosen: Numbers) -> Counts:
    totals = np.zeros(len(chosen), np.int64)
    for low, high in _ranges(lookups, shared, chosen):
        totals += high - low
    return totals


def _documents_with(lookups: Sequence[Lookup], shared: Shared, chosen: Numbers) -> Counts:
    held = np.zeros(len(chosen), np.int64)
    for lookup, (low, high) in zip(lookups, _ranges(lookups, shared, chosen)):
        there = high > low
        assert lookup.column.suffixes is not None
        places = lookup.column.suffixes.order.take(low[there])
        held[there] += documents_with(lookup.column, places, chosen.shape[1])
    return held


def _ranges(
    lookups: Sequence[Lookup], shared: Shared, chosen: Numbers
) -> list[tuple[Counts, Counts]]:
    ends = np.arange(1, len(chosen) + 1, dtype=np.int64) * chosen.shape[1]
    return [
        lookup.ranges(table[chosen].reshape(-1), ends)
        for lookup, table in zip(lookups, shared.down)
    ]


def _items(column: Column, places: NDArray[np.int64], n: int) -> Numbers:
    """The numbers of the n-grams at these places, one row each."""
    flat = column.ids.take((places[:, None] + np.arange(n)).reshape(-1))
    return flat.astype(np.int32).reshape(-1, n)


def _grams(rows: Numbers, vocabulary: Sequence[str]) -> Grams:
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return Grams(rows.reshape(-1), ends, vocabulary)
