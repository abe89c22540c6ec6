"""The longest match at every place of a text: how far it runs along the corpus, and how often.

For each place the table's bucket is halved down to where the text from there on would stand among
the sorted suffixes; the longest match is with one of the two neighbours, and the suffixes that
share it lie around them. If the bucket is empty, so is every search in it: the match is then
shorter than the table's bits, and the table knows it. As in `lookup.py`, many searches go in
step, so that their waits for memory overlap. `agreement.py` compares, and sees to it that a text
that copies long stretches is not compared with them again from each of its places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.cursor import item_at, skip, suffix_at
from rote.index.columns.parts import ABSENT
from rote.index.counting.agreement import LONG, agree, agree_far, new_memory
from rote.index.counting.buckets import TOGETHER, Places, bucket, prefetch
from rote.index.counting.lookup import Lookup

# What a search is after: where the text would stand, then the two edges of the longest match.
_PLACE, _LOWER, _UPPER = 0, 1, 2


def longest(lookup: Lookup, ids: NDArray[Any]) -> tuple[NDArray[np.int32], Places, Places]:
    """For every place i the length of the longest run from there on that the column holds.

    And the range of `suffixes.order` that begins with it; high - low is how often it occurs.
    A number that is no item of the column matches nothing, and no match reaches across it.
    """
    lengths = np.zeros(len(ids), np.int32)
    low, high = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    _longest(lookup.parts, _text(lookup, ids), lengths, low, high)
    return lengths, low, high


def longest_lengths(lookup: Lookup, ids: NDArray[Any]) -> NDArray[np.int32]:
    """The lengths alone, for which the edges of the range need not be found."""
    lengths, none = np.zeros(len(ids), np.int32), np.empty(0, np.int64)
    _longest(lookup.parts, _text(lookup, ids), lengths, none, none)
    return lengths


def _text(lookup: Lookup, ids: NDArray[Any]) -> NDArray[np.int32]:
    # One more that never matches, so that comparing needs no check for the text's end.
    text = np.full(len(ids) + 1, ABSENT, np.int32)
    known = (ids > 0) & (ids < len(lookup.parts.codes))
    text[:-1][known] = ids[known]
    return text


@njit(inline="always")
def _encode(parts, text, i):  # type: ignore[no-untyped-def]
    """The top of the code of the text from i on, its bits, and the items that they cover.

    There are more bits than the table's, unless the text or a barrier ends before.
    """
    head, bits, settled = np.uint64(0), np.int64(0), np.int64(0)
    while bits <= parts.table_bits and text[i + settled] != ABSENT:
        item = text[i + settled]
        head |= parts.codes[item] >> np.uint64(bits)
        bits += np.int64(parts.lengths[item])
        settled += 1
    return head, bits, settled


@njit(inline="always")
def _shorten(parts, text, i, head, bits, settled):  # type: ignore[no-untyped-def]
    """The same, one item less."""
    bits -= np.int64(parts.lengths[text[i + settled - 1]])
    rest = np.uint64(64 - bits)
    head = (head >> rest) << rest if bits else np.uint64(0)
    return head, bits, settled - 1


@njit(inline="always")
def _shorter(parts, text, i, head, bits, settled):  # type: ignore[no-untyped-def]
    """The longest match among the runs that the table covers: length and range."""
    while settled:
        low, high = bucket(parts, head, bits)
        if low < high:
            return settled, low, high
        head, bits, settled = _shorten(parts, text, i, head, bits, settled)
    return np.int64(0), np.int64(0), np.int64(0)


@njit(inline="always")
def _round_middle(low, high):  # type: ignore[no-untyped-def]
    """The roundest number from low to high - 1, as numbers in base two go.

    As good as the middle. Ranges that begin or end a little apart are halved at the same
    suffixes, about which then something may be remembered.
    """
    apart = low ^ (high - 1)
    for shift in (1, 2, 4, 8, 16):
        apart |= apart >> shift
    return (high - 1) & ~(apart >> 1)


@njit(cache=True, nogil=True)
def _longest(parts, text, lengths, from_ranks, to_ranks):  # type: ignore[no-untyped-def]
    """Lengths, and ranges if there is room for them."""
    ranged = len(from_ranks) > 0
    memory = new_memory()
    heads = np.empty(TOGETHER, np.uint64)
    bits = np.empty(TOGETHER, np.int64)
    settled = np.empty(TOGETHER, np.int64)
    lows = np.empty(TOGETHER, np.int64)
    highs = np.empty(TOGETHER, np.int64)
    middles = np.empty(TOGETHER, np.int64)
    places = np.empty(TOGETHER, np.int64)
    equals = np.empty(TOGETHER, np.int64)
    wanted = np.empty(TOGETHER, np.int64)
    # The items shared with the neighbours below and above, and the nearest suffixes to either
    # side of which it is known that they share fewer.
    below = np.empty(TOGETHER, np.int64)
    above = np.empty(TOGETHER, np.int64)
    outer_lows = np.empty(TOGETHER, np.int64)
    outer_highs = np.empty(TOGETHER, np.int64)
    # The lower edge, and where the search for the upper one begins.
    found = np.empty(TOGETHER, np.int64)
    upper_lows = np.empty(TOGETHER, np.int64)
    active = np.empty(TOGETHER, np.int64)
    for base in range(0, len(lengths), TOGETHER):
        size = min(TOGETHER, len(lengths) - base)
        for k in range(size):
            heads[k], bits[k], settled[k] = _encode(parts, text, base + k)
            entry = np.int64(heads[k] >> np.uint64(64 - parts.table_bits))
            prefetch(parts.table, (entry * parts.order_bits) >> 3)
        left = 0
        for k in range(size):
            i = base + k
            low, high = np.int64(0), np.int64(0)
            if bits[k] > parts.table_bits:
                low, high = bucket(parts, heads[k], parts.table_bits)
                heads[k], bits[k], settled[k] = _shorten(
                    parts, text, i, heads[k], bits[k], settled[k]
                )
            if low == high:
                lengths[i], low, high = _shorter(parts, text, i, heads[k], bits[k], settled[k])
                if ranged:
                    from_ranks[i], to_ranks[i] = low, high
                continue
            wanted[k] = _PLACE
            lows[k], highs[k], outer_lows[k], outer_highs[k] = low, high, low, high
            below[k] = above[k] = settled[k]
            middles[k] = (low + high) >> 1
            prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
            active[left] = k
            left += 1
        while left:
            for a in range(left):
                k = active[a]
                places[k] = suffix_at(parts.order, parts.order_bits, middles[k])
                prefetch(parts.ids, ((places[k] + settled[k]) * parts.ids_bits) >> 3)
            far = False
            for a in range(left):
                k = active[a]
                known = min(below[k], above[k]) if wanted[k] == _PLACE else settled[k]
                equals[k] = agree(parts, text, base + k, places[k], known)
                far |= equals[k] >= LONG
            if far:
                agree_far(parts, text, base, active[:left], places, equals, memory)
            kept = 0
            for a in range(left):
                k = active[a]
                i, place, middle, equal = base + k, places[k], middles[k], equals[k]
                low, high = lows[k], highs[k]
                if wanted[k] == _PLACE:
                    at = min(skip(parts.ids, place, equal), parts.last)
                    item = item_at(parts.ids, parts.ids_bits, at)
                    if item < text[i + equal]:
                        if equal > below[k]:
                            outer_lows[k] = low
                        low, below[k] = middle + 1, equal
                    else:
                        if equal > above[k]:
                            outer_highs[k] = high
                        high, above[k] = middle, equal
                elif (equal == lengths[i]) == (wanted[k] == _UPPER):
                    low = middle + 1
                else:
                    high = middle
                # Above: only if the suffixes are not sorted.
                if low >= high and wanted[k] == _PLACE:
                    length = max(below[k], above[k])
                    lengths[i] = length
                    if not ranged:
                        continue
                    if length == settled[k]:
                        if length:
                            from_ranks[i], to_ranks[i] = bucket(parts, heads[k], bits[k])
                        continue
                    # A neighbour that shares the match is inside the range; one that does not
                    # is its edge.
                    upper_lows[k] = high
                    if above[k] == length:
                        upper_lows[k] += 1
                    else:
                        outer_highs[k] = high
                    if below[k] == length:
                        low, high = outer_lows[k], low - 1
                    wanted[k] = _LOWER
                if low >= high and wanted[k] == _LOWER:
                    found[k] = low
                    low, high = upper_lows[k], outer_highs[k]
                    wanted[k] = _UPPER
                if low >= high and wanted[k] == _UPPER:
                    from_ranks[i], to_ranks[i] = found[k], max(found[k], low)
                    continue
                lows[k], highs[k] = low, high
                if wanted[k] == _PLACE:
                    middles[k] = (low + high) >> 1
                else:
                    middles[k] = _round_middle(low, high)
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[kept] = k
                kept += 1
            left = kept
