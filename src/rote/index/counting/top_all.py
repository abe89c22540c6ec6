"""The most frequent n-grams over several segments, exactly, without holding all of them.

An n-gram among the k most frequent has at least the k-th best total t; with S segments it has
at least t / S in one of them. So: of the k best of each segment the likeliest are counted
everywhere, which gives a total t that k of them reach; then those are counted that reach t / S
somewhere and may reach t in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.index.answers import Counts, Frequent
from rote.index.columns.parts import Column
from rote.index.columns.shared import Numbers, Shared
from rote.index.counting.batch import in_each
from rote.index.counting.frequent import MEMORY, frequent
from rote.index.counting.lookup import Lookup
from rote.index.counting.tally import documents_with
from rote.index.grams import Grams


def most_frequent(
    columns: Sequence[Column],
    shared: Shared | None,
    lookups: Sequence[Lookup] | None,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int = 1,
) -> Frequent:
    """The k most frequent n-grams (all without k) of the columns of all segments.

    Several columns have a vocabulary that they share, and `lookups` where they are sorted.
    """
    if n < 1 or (k is not None and k < 1):
        raise OptionError("an n-gram has at least one item, and at least one is asked for")
    ends = [np.diff(column.document_ends, prepend=-1) for column in columns]
    if n >= max((int(sizes.max(initial=1)) for sizes in ends), default=1):
        return Frequent(Grams.of(()), np.empty(0, np.int64), np.empty(0, np.int64))
    if shared is None:
        return _in_one(columns[0], n, k, documents=documents)
    if lookups is None:
        return _by_adding(columns, shared, n, k, documents=documents, threads=threads)
    return _in_all(lookups, shared, n, k, documents=documents, threads=threads)


def _in_one(column: Column, n: int, k: int | None, *, documents: bool) -> Frequent:
    """The k most frequent n-grams of one column, ties at the cut in the order of the items."""
    places, counts = frequent(column, n, most=k)
    places, counts = places[:k], counts[:k]
    held = documents_with(column, places, n) if documents else None
    return Frequent(_grams(_items(column, places, n), column.vocabulary), counts, held)


def _in_all(
    lookups: Sequence[Lookup],
    shared: Shared,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int,
) -> Frequent:
    """The same over the columns of several segments."""
    columns = [lookup.column for lookup in lookups]
    least, reached = 1, 0
    if k is not None:
        first, known, _, _ = _added(columns, shared, n, threads, most=k)
        best = first[likeliest(known, k)]
        totals = np.sort(_totals(lookups, shared, best, threads))[::-1]
        if len(totals) >= k:
            reached = int(totals[k - 1])
            least = -(-reached // len(columns))
    chosen, totals, seen, _ = _added(columns, shared, n, threads, least=least)
    if least > 1:
        chosen = chosen[possible(totals, seen, len(columns), least, reached)]
        totals = _totals(lookups, shared, chosen, threads)
    # Numbers are in the order of the strings; the last key is the first to be sorted by.
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    chosen, totals = chosen[order], totals[order]
    held = _documents_with(lookups, shared, chosen, threads) if documents else None
    return Frequent(_grams(chosen, shared.strings), totals, held)


def likeliest(known: Counts, k: int) -> NDArray[np.int64]:
    """Which n-grams to count everywhere for a k-th best total, by what some segments have."""
    return np.argsort(-known, kind="stable")[: 2 * k]


def possible(known: Counts, seen: Counts, segments: int, least: int, reached: int) -> NDArray[Any]:
    """What may reach the total: where an n-gram was not seen it occurs less than `least` times."""
    found: NDArray[Any] = known + (segments - seen) * (least - 1) >= reached
    return found


def _by_adding(
    columns: Sequence[Column],
    shared: Shared,
    n: int,
    k: int | None,
    *,
    documents: bool,
    threads: int,
) -> Frequent:
    """The same for a layer that is not sorted: all n-grams of every segment, added up."""

    chosen, totals, _, held = _added(columns, shared, n, threads, documents=documents)
    order = np.lexsort((*chosen.T[::-1], -totals))[:k]
    found = _grams(chosen[order], shared.strings)
    return Frequent(found, totals[order], held[order] if documents else None)


def _added(
    columns: Sequence[Column],
    shared: Shared,
    n: int,
    threads: int,
    *,
    least: int = 1,
    most: int | None = None,
    documents: bool = False,
) -> tuple[Numbers, Counts, Counts, Counts]:
    """The frequent n-grams of every column in shared numbers, each once; how often the columns
    that give it have it, how many these are, and how many of their documents hold it."""

    def count(number: int) -> tuple[Numbers, Counts, Counts]:
        column = columns[number]
        places, counts = frequent(column, n, least=least, most=most, memory=MEMORY // threads)
        held = documents_with(column, places, n) if documents else np.zeros_like(counts)
        return shared.up[number][_items(column, places, n)], counts, held

    each = list(in_each(count, range(len(columns)), threads))
    rows = [part for part, _, _ in each]
    chosen, which = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    totals, seen, held = np.zeros((3, len(chosen)), np.int64)
    parts = np.split(which.reshape(-1), np.cumsum([len(part) for part in rows])[:-1])
    for part, (_, counts, in_documents) in zip(parts, each):
        totals[part] += counts
        seen[part] += 1
        held[part] += in_documents
    return chosen, totals, seen, held


def _totals(lookups: Sequence[Lookup], shared: Shared, chosen: Numbers, threads: int) -> Counts:
    def count(number: int) -> Counts:
        low, high = _range(lookups[number], shared.down[number], chosen)
        return high - low

    return sum(in_each(count, range(len(lookups)), threads), np.zeros(len(chosen), np.int64))


def _documents_with(
    lookups: Sequence[Lookup], shared: Shared, chosen: Numbers, threads: int
) -> Counts:
    def count(number: int) -> Counts:
        low, high = _range(lookups[number], shared.down[number], chosen)
        there, column = high > low, lookups[number].column
        assert column.suffixes is not None
        held = np.zeros(len(chosen), np.int64)
        places = column.suffixes.order.take(low[there])
        held[there] = documents_with(column, places, chosen.shape[1])
        return held

    return sum(in_each(count, range(len(lookups)), threads), np.zeros(len(chosen), np.int64))


def _range(lookup: Lookup, numbers: Numbers, chosen: Numbers) -> tuple[Counts, Counts]:
    ends = np.arange(1, len(chosen) + 1, dtype=np.int64) * chosen.shape[1]
    return lookup.ranges(numbers[chosen].reshape(-1), ends)


def _items(column: Column, places: NDArray[np.int64], n: int) -> Numbers:
    """The numbers of the n-grams at these places, one row each."""
    flat = column.ids.take((places[:, None] + np.arange(n)).reshape(-1))
    return flat.astype(np.int32).reshape(-1, n)


def _grams(rows: Numbers, vocabulary: Sequence[str]) -> Grams:
    ends = np.arange(1, len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return Grams(rows.reshape(-1), ends, vocabulary)
