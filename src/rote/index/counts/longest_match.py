"""The longest match at every position of a text: how far it runs along the corpus, and how often.

For each position the table's range is halved down to where the text from there on would stand among
the sorted suffixes; the longest match is with one of the two neighbours, and the suffixes that
share it lie around them. If the range is empty, so is every search in it: the match is then
shorter than the table's bits, and the table knows it. As in `lookup.py`, many searches go in
step, so that their waits for memory overlap.

**Long matches.** Where the text copies a long passage, walking along it from each of its positions
would take the square of its length; so the ends of long matches are cached, in three ways:

- along a diagonal, position - i: from within a passage that agrees, its end is known;
- by position: who was compared with the same position before tells how far this one can agree, if
  it is known how far the two agree with each other. A text that goes round and round meets the same
  positions of the corpus on ever new diagonals, and is served by this;
- along a shift within the text, for just that.

Each cache has a fixed number of entries; what is forgotten costs time, never correctness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.compressed_suffix_array import item_at, position_at, skip, suffix_at
from rote.index.columns.intrinsics import prefetch
from rote.index.columns.packed_array import read
from rote.index.counts.lookup import SEARCHES, Int64s, Lookup, prefix_range
from rote.index.grams import ABSENT, Counts

# What a search is after: where the text would stand, then the two edges of the longest match.
_INSERTION, _LOWER, _UPPER = 0, 1, 2


class TextQuery:
    """The items of texts, for their longest matches: between two texts nothing matches."""

    def __init__(self, ids: NDArray[np.int32], vocabulary: Sequence[str], ends: Counts) -> None:
        self.size, self._vocabulary = len(ids), vocabulary
        self._inner = np.insert(np.arange(len(ids)), ends, ABSENT)
        self._ids = np.append(ids, np.int32(len(vocabulary)))[self._inner]

    def longest(self, lookup: Lookup) -> tuple[NDArray[np.int32], Counts, Counts]:
        """The longest matches in one segment: their lengths and ranges."""
        lengths, low, high = longest_matches(lookup, self._numbers(lookup))
        inside = self._inner >= 0
        return lengths[inside], low[inside], high[inside]

    def lengths(self, lookup: Lookup) -> NDArray[np.int32]:
        lengths, _, _ = longest_matches(lookup, self._numbers(lookup), ranges=False)
        return lengths[self._inner >= 0]

    def _numbers(self, lookup: Lookup) -> NDArray[np.int32]:
        numbers = lookup.column.vocabulary.numbers(self._vocabulary)
        return np.append(numbers, np.int32(ABSENT))[self._ids]


def longest_matches(
    lookup: Lookup, ids: NDArray[Any], *, ranges: bool = True
) -> tuple[NDArray[np.int32], Int64s, Int64s]:
    """For every position i the length of the longest run from there on that the column holds.

    And the range of `suffixes.order` that begins with it; high - low is how often it occurs.
    Without `ranges` the edges of these need not be found, and they are empty. A number that is no
    item of the column matches nothing, and no match reaches across it.
    """
    # One more that never matches, so that comparing needs no check for the text's end.
    text = np.full(len(ids) + 1, ABSENT, np.int32)
    known = (ids > 0) & (ids < len(lookup.parts.codes))
    text[:-1][known] = ids[known]
    lengths = np.zeros(len(ids), np.int32)
    low, high = np.zeros((2, len(ids) * ranges), np.int64)
    _find_longest(lookup.parts, text, lengths, low, high)
    return lengths, low, high


@njit(inline="always")
def _encode_text(parts, text, i):  # type: ignore[no-untyped-def]
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
        low, high = prefix_range(parts, head, bits)
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
def _find_longest(parts, text, lengths, from_ranks, to_ranks):  # type: ignore[no-untyped-def]
    """Lengths, and ranges if there is room for them."""
    ranged = len(from_ranks) > 0
    # Three memories of entries (key, start, end), each a stretch of the text.
    memory = np.full((3, 1 << _CACHE_BITS, 3), _NEVER, np.int64)
    heads = np.empty(SEARCHES, np.uint64)
    bits = np.empty(SEARCHES, np.int64)
    settled = np.empty(SEARCHES, np.int64)
    lows = np.empty(SEARCHES, np.int64)
    highs = np.empty(SEARCHES, np.int64)
    middles = np.empty(SEARCHES, np.int64)
    positions = np.empty(SEARCHES, np.int64)
    equals = np.empty(SEARCHES, np.int64)
    wanted = np.empty(SEARCHES, np.int64)
    # The items shared with the neighbours below and above, and the nearest suffixes to either
    # side of which it is known that they share fewer.
    below = np.empty(SEARCHES, np.int64)
    above = np.empty(SEARCHES, np.int64)
    outer_lows = np.empty(SEARCHES, np.int64)
    outer_highs = np.empty(SEARCHES, np.int64)
    # The lower edge, and where the search for the upper one begins.
    lower_edges = np.empty(SEARCHES, np.int64)
    upper_lows = np.empty(SEARCHES, np.int64)
    active = np.empty(SEARCHES, np.int64)
    for base in range(0, len(lengths), SEARCHES):
        size = min(SEARCHES, len(lengths) - base)
        for k in range(size):
            heads[k], bits[k], settled[k] = _encode_text(parts, text, base + k)
            entry = np.int64(heads[k] >> np.uint64(64 - parts.table_bits))
            prefetch(parts.table, (entry * parts.order_bits) >> 3)
        pending = 0
        for k in range(size):
            i = base + k
            low, high = np.int64(0), np.int64(0)
            if bits[k] > parts.table_bits:
                low, high = prefix_range(parts, heads[k], parts.table_bits)
                heads[k], bits[k], settled[k] = _shorten(
                    parts, text, i, heads[k], bits[k], settled[k]
                )
            if low == high:
                lengths[i], low, high = _shorter(parts, text, i, heads[k], bits[k], settled[k])
                if ranged:
                    from_ranks[i], to_ranks[i] = low, high
                continue
            wanted[k] = _INSERTION
            lows[k], highs[k], outer_lows[k], outer_highs[k] = low, high, low, high
            below[k] = above[k] = settled[k]
            middles[k] = (low + high) >> 1
            prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
            active[pending] = k
            pending += 1
        while pending:
            for a in range(pending):
                k = active[a]
                positions[k] = suffix_at(parts.order, parts.order_bits, middles[k])
                prefetch(parts.ids, ((positions[k] + settled[k]) * parts.ids_bits) >> 3)
            far = False
            for a in range(pending):
                k = active[a]
                known = min(below[k], above[k]) if wanted[k] == _INSERTION else settled[k]
                equals[k] = match_length(parts, text, base + k, positions[k], known)
                far |= equals[k] >= LONG
            if far:
                match_long(parts, text, base, active[:pending], positions, equals, memory)
            remaining = 0
            for a in range(pending):
                k = active[a]
                i, position, middle, equal = base + k, positions[k], middles[k], equals[k]
                low, high = lows[k], highs[k]
                if wanted[k] == _INSERTION:
                    at = min(skip(parts.ids, position, equal), parts.last)
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
                if low >= high and wanted[k] == _INSERTION:
                    length = max(below[k], above[k])
                    lengths[i] = length
                    if not ranged:
                        continue
                    if length == settled[k]:
                        if length:
                            from_ranks[i], to_ranks[i] = prefix_range(parts, heads[k], bits[k])
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
                    lower_edges[k] = low
                    low, high = upper_lows[k], outer_highs[k]
                    wanted[k] = _UPPER
                if low >= high and wanted[k] == _UPPER:
                    from_ranks[i], to_ranks[i] = lower_edges[k], max(lower_edges[k], low)
                    continue
                lows[k], highs[k] = low, high
                if wanted[k] == _INSERTION:
                    middles[k] = (low + high) >> 1
                else:
                    middles[k] = _round_middle(low, high)
                prefetch(parts.order, (middles[k] * parts.order_bits) >> 3)
                active[remaining] = k
                remaining += 1
            pending = remaining


# From so many equal items on an agreement is remembered; ordinary text rarely comes that far.
LONG = 32
# Entries of each memory, as a power of two; a newer one takes an older one's place.
_CACHE_BITS = 12
_BY_DIAGONAL, _BY_POSITION, _BY_SHIFT = 0, 1, 2
_NEVER = -(1 << 62)


@njit(inline="always")
def match_length(parts, text, i, at, equal):  # type: ignore[no-untyped-def]
    """How many items the text from i on shares with the corpus from a cursor on, up to `LONG`.

    `equal` of them are known. Whatever is no item of the corpus must be ABSENT in the text, and
    its last number must be.
    """
    at = skip(parts.ids, at, equal)
    if at > parts.last:
        return equal  # only if the suffixes are not sorted: no corpus agrees that far
    while equal < LONG and item_at(parts.ids, parts.ids_bits, at) == text[i + equal]:
        equal += 1
        at = skip(parts.ids, at, 1)
    return equal


@njit(cache=True, nogil=True)
def match_long(parts, text, base, searches, positions, equal, memory):  # type: ignore[no-untyped-def]
    """Go on for those of the searches whose agreement is `LONG`; search k is at base + k.

    Apart from `agree`, since its weight would slow down the loop around that.
    """
    for k in searches:
        if equal[k] >= LONG:
            position = position_at(parts.ids, positions[k])
            equal[k] = _match_far(parts, text, base + k, position, equal[k], memory)


@njit(inline="always")
def _match_far(parts, text, i, position, equal, memory):  # type: ignore[no-untyped-def]
    """All that they share, with the help of the memories."""
    diagonal = position - i
    start, end = _cache_get(memory, _BY_DIAGONAL, diagonal)
    at, differs = i + equal, False
    if not start <= at <= end:
        earlier, earlier_end = _cache_get(memory, _BY_POSITION, position)
        if earlier >= 0 and earlier != i:
            length = earlier_end - earlier
            shared = _self_match(text, min(i, earlier), max(i, earlier), min(equal, length), memory)
            at = max(at, i + min(length, shared))
            # The one of the two that ends first shows where the difference is.
            differs = length != shared
    if not differs:
        if at < start:
            at = _walk_diagonal(parts, text, at, start, diagonal)
        at = end if start <= at <= end else _walk_diagonal(parts, text, at, len(text), diagonal)
    _cache_put(memory, _BY_DIAGONAL, diagonal, min(i, start) if at == end else i, at)
    _cache_put(memory, _BY_POSITION, position, i, at)
    return at - i


@njit(inline="always")
def _walk_diagonal(parts, text, at, stop, diagonal):  # type: ignore[no-untyped-def]
    if diagonal + at > parts.last:
        return at
    while at < stop and read(parts.ids, parts.ids_bits, diagonal + at) == text[at]:
        at += 1
    return at


@njit(inline="always")
def _self_match(text, i, j, equal, memory):  # type: ignore[no-untyped-def]
    """How many items the text shares with itself from i and from j > i on."""
    start, end = _cache_get(memory, _BY_SHIFT, j - i)
    at = i + equal
    while not start <= at <= end and text[at] == text[at + j - i] and text[at] != ABSENT:
        at += 1
    if start <= at <= end:
        start, at = min(i, start), end
    else:
        start = i
    _cache_put(memory, _BY_SHIFT, j - i, start, at)
    return at - i


@njit(inline="always")
def _cache_slot(key):  # type: ignore[no-untyped-def]
    # Fibonacci hashing: neighbouring keys fall far apart.
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _CACHE_BITS)


@njit(inline="always")
def _cache_get(memory, kind, key):  # type: ignore[no-untyped-def]
    slot = _cache_slot(key)
    if memory[kind, slot, 0] == key:
        return memory[kind, slot, 1], memory[kind, slot, 2]
    return np.int64(_NEVER), np.int64(_NEVER)


@njit(inline="always")
def _cache_put(memory, kind, key, start, end):  # type: ignore[no-untyped-def]
    slot = _cache_slot(key)
    memory[kind, slot, 0] = key
    memory[kind, slot, 1] = start
    memory[kind, slot, 2] = end
