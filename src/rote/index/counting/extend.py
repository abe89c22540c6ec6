"""What follows a run of items, and how often: the distribution of the next item.

The suffixes that begin with the run are sorted, so those with the same next item stand together.
Where a group ends is read from the table if the run and the item have few enough bits, and else
found by steps of doubling size: the work grows with the number of different items, not with
how often the run occurs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import InputError
from rote.core.kernels import njit
from rote.index.answers import Continuations
from rote.index.columns.cursor import item_at, skip, suffix_at
from rote.index.columns.packed import OUTSIDE
from rote.index.columns.parts import END
from rote.index.counting.buckets import Places, bucket, encode
from rote.index.counting.lookup import Lookup, fixed


def next_items(lookup: Lookup, gram: Sequence[int]) -> tuple[NDArray[np.int32], Places]:
    """The numbers that follow the run, ascending, and how often each does.

    END among them says how often the run ends a document. Behind the empty run stands every
    item of the column, and END once for every document.
    """
    low, high = lookup.range(gram)
    if low == high or (len(gram) and gram[-1] == END):
        low = high = 0
    most = min(high - low, len(lookup.parts.codes)) + 1
    items, counts = np.empty(most, np.int32), np.empty(most, np.int64)
    found = 0
    # The suffixes begin with items, so no END is among those that follow the empty run.
    if not len(gram) and len(lookup.column.document_ends):
        items[0], counts[0] = END, len(lookup.column.document_ends)
        found = 1
    run = fixed(np.array(gram, np.int64), np.int64)
    found = _next_items(lookup.parts, run, low, high, items, counts, found)
    if found < 0:
        raise InputError(OUTSIDE)
    return items[:found].copy(), counts[:found].copy()


@njit(cache=True, nogil=True)
def _next_items(parts, gram, low, high, items, counts, found):  # type: ignore[no-untyped-def]
    size = len(gram)
    head, bits, _ = encode(parts, gram, 0, size)
    while low < high:
        item = _item(parts, low, size)
        length = np.int64(parts.lengths[item])
        if bits + length <= parts.table_bits:
            _, end = bucket(parts, head | (parts.codes[item] >> np.uint64(bits)), bits + length)
        else:
            end = _end(parts, low, high, size, item)
        if not low < end <= high or found == len(items):
            return np.int64(-1)  # the suffixes are not sorted
        items[found], counts[found] = item, end - low
        found += 1
        low = end
    return np.int64(found)


@njit(inline="always")
def _item(parts, rank, size):  # type: ignore[no-untyped-def]
    """The item behind the first `size` of a suffix."""
    at = skip(parts.ids, suffix_at(parts.order, parts.order_bits, rank), size)
    return item_at(parts.ids, parts.ids_bits, min(at, parts.last))


@njit(inline="always")
def _end(parts, low, high, size, item):  # type: ignore[no-untyped-def]
    """The first suffix from `low` on, whose next item this is, that has another."""
    step = np.int64(1)
    while low + step < high and _item(parts, low + step, size) == item:
        low += step
        step += step
    high = min(high, low + step)
    low += 1
    while low < high:
        middle = (low + high) >> 1
        if _item(parts, middle, size) == item:
            low = middle + 1
        else:
            high = middle
    return low


def continuations(lookups: Sequence[Lookup], items: Sequence[str]) -> Continuations:
    """What follows the items in any of the segments, and how often; most often first."""
    found: Counter[str] = Counter()
    ends = 0
    for lookup in lookups:
        vocabulary = lookup.column.vocabulary
        numbers, counts = next_items(lookup, [vocabulary.find(item) for item in items])
        for number, count in zip(numbers.tolist(), counts.tolist()):
            if number == END:
                ends += count
            else:
                found[vocabulary[number]] += count
    ordered = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return Continuations(dict(ordered), ends)
