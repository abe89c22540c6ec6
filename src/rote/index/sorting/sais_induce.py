"""Inducing: from a few suffixes in order to all of them, in two sweeps (see `sais`).

All suffixes that begin with the same symbol form a bucket, a stretch of the result. Where a
suffix is larger than the one behind it (it *falls*) it stands at its bucket's front, where it is
smaller (it *rises*) at its bucket's back. A sweep upwards that meets a suffix knows that the one
before it, if it falls, is the next at the front of its own bucket; a sweep downwards does the
same for those that rise. Behind the last symbol stands an end that is smaller than everything.

What a later step has to know of a place (does the one before it rise or fall?) is found when the
place is written, since its neighbours are at hand then, and kept in the number's sign bit.
The sweeps jump all over the text and the result, so they ask for memory well before they use it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns import memory

Int32s = NDArray[np.int32]
prefetch: Any = memory.prefetch  # numba hides the first argument, as in `packed`
MARK = np.int32(-(2**31))
UNMARK = np.int32(2**31 - 1)
# How many steps before its use a cache line is asked for.
AHEAD = 32
# So many places are searched for valleys at once.
CHUNK = 1024


@njit(cache=True, nogil=True)
def find_valleys(text, low, high, rises, found):  # type: ignore[no-untyped-def]
    """The valleys from low + 1 to high, downwards, into `found`.

    `rises` says whether the suffix at high does; returned are how many valleys there are and
    whether the suffix at low rises. What is no valley is overwritten by the next rather than
    skipped, since whether it is one cannot be foreseen and a wrong guess costs more.
    """
    held = np.int64(0)
    after = np.int64(text[high])
    for i in range(high - 1, low - 1, -1):
        here = np.int64(text[np.uint64(i)])
        behind = rises
        # An equal symbol does what the one behind it does.
        rises = np.int64(here < after + rises)
        found[np.uint64(held)] = np.int32(i + 1)
        held += behind & ~rises
        after = here
    return held, rises


@njit(cache=True, nogil=True)
def count(text, counts):  # type: ignore[no-untyped-def]
    """How often each symbol occurs."""
    counts[:] = 0
    for i in range(len(text)):
        counts[np.uint32(text[i])] += 1


@njit(cache=True, nogil=True)
def _fronts(counts, buckets):  # type: ignore[no-untyped-def]
    total = np.int32(0)
    for symbol in range(len(counts)):
        buckets[symbol] = total
        total += counts[symbol]


@njit(cache=True, nogil=True)
def _backs(counts, buckets):  # type: ignore[no-untyped-def]
    total = np.int32(0)
    for symbol in range(len(counts)):
        total += counts[symbol]
        buckets[symbol] = total


@njit(inline="always")
def _push_back(order, buckets, symbol, value):  # type: ignore[no-untyped-def]
    at = np.uint32(buckets[symbol]) - np.uint32(1)
    buckets[symbol] = np.int32(at)
    order[at] = value


@njit(inline="always")
def _push_front(order, buckets, symbol, value):  # type: ignore[no-untyped-def]
    at = np.uint32(buckets[symbol])
    buckets[symbol] = np.int32(at + np.uint32(1))
    order[at] = value


@njit(inline="always")
def _falling(text, place):  # type: ignore[no-untyped-def]
    """The symbol of a place that falls, and the place, marked if the one before it rises."""
    symbol = np.uint32(text[np.uint32(place)])
    before = np.uint32(text[np.uint32(max(place - 1, 0))])
    return symbol, np.int32(place | (MARK if before < symbol else np.int32(0)))


@njit(inline="always")
def _rising(text, place):  # type: ignore[no-untyped-def]
    """The symbol of a place that rises, and the place, marked if the one before it falls."""
    symbol = np.uint32(text[np.uint32(place)])
    before = np.uint32(text[np.uint32(max(place - 1, 0))])
    return symbol, np.int32(place | (MARK if before > symbol else np.int32(0)))


@njit(inline="always")
def _ask(text, order, buckets, far, near):  # type: ignore[no-untyped-def]
    """Ask for what the sweep will need when it comes to these two numbers of `order`."""
    # Marked and empty ones need nothing; the text's beginning is in the cache.
    prefetch(text, np.int64(max(far, np.int32(2))) - 2)
    symbol = np.uint32(text[np.uint32(max(near, np.int32(1)) - 1)])
    prefetch(order, np.int64(buckets[symbol]))


@njit(cache=True, nogil=True)
def place_valleys(text, order, counts, buckets):  # type: ignore[no-untyped-def]
    """All valleys at the backs of their buckets, in any order; the rest of `order` is 0."""
    _backs(counts, buckets)
    order[:] = 0
    found = np.empty(CHUNK, np.int32)
    high, rises = len(text) - 1, np.int64(0)
    while high > 0:
        low = max(high - CHUNK, 0)
        held, rises = find_valleys(text, low, high, rises, found)
        for i in range(held):
            _push_back(order, buckets, np.uint32(text[np.uint32(found[i])]), found[i])
        high = low


@njit(cache=True, nogil=True)
def induce_pieces(text, order, counts, buckets):  # type: ignore[no-untyped-def]
    """From valleys in any order to valleys in the order of their pieces, marked; the rest is 0.

    What has been used is emptied, so that in the end only the valleys are left. Place 0 looks
    like an empty one: nothing is before it, and it is no valley.
    """
    last = len(text) - 1
    _fronts(counts, buckets)
    symbol, value = _falling(text, np.int32(last))
    _push_front(order, buckets, symbol, value)
    for i in range(last + 1):
        far = order[np.uint64(min(i + 2 * AHEAD, last))]
        _ask(text, order, buckets, far, order[np.uint64(min(i + AHEAD, last))])
        here = order[np.uint64(i)]
        if here > 0:
            order[np.uint64(i)] = 0
            symbol, value = _falling(text, np.int32(here - 1))
            _push_front(order, buckets, symbol, value)
        elif here < 0:
            order[np.uint64(i)] = here & UNMARK
    _backs(counts, buckets)
    for i in range(last, -1, -1):
        far = order[np.uint64(max(i - 2 * AHEAD, 0))]
        _ask(text, order, buckets, far, order[np.uint64(max(i - AHEAD, 0))])
        here = order[np.uint64(i)]
        if here > 0:
            order[np.uint64(i)] = 0
            symbol, value = _rising(text, np.int32(here - 1))
            _push_back(order, buckets, symbol, value)


@njit(cache=True, nogil=True)
def gather_valleys(order):  # type: ignore[no-untyped-def]
    """Move the marked places to the beginning; how many there are."""
    found = np.int64(0)
    for i in range(len(order)):
        here = order[i]
        order[np.uint64(found)] = here & UNMARK
        found += np.int64(here < 0)
    return found


@njit(cache=True, nogil=True)
def spread_valleys(text, order, valleys, counts, buckets):  # type: ignore[no-untyped-def]
    """From the beginning of `order` to the backs of their buckets, order kept; the rest is 0."""
    _backs(counts, buckets)
    order[valleys:] = 0
    for i in range(valleys - 1, -1, -1):
        prefetch(text, np.int64(order[np.uint64(max(i - AHEAD, 0))]))
        place = order[np.uint64(i)]
        order[np.uint64(i)] = 0
        _push_back(order, buckets, np.uint32(text[np.uint32(place)]), place)


@njit(cache=True, nogil=True)
def induce_all(text, order, counts, buckets):  # type: ignore[no-untyped-def]
    """From sorted valleys to all places in suffix order."""
    last = len(text) - 1
    _fronts(counts, buckets)
    symbol, value = _falling(text, np.int32(last))
    _push_front(order, buckets, symbol, value)
    for i in range(last + 1):
        far = order[np.uint64(min(i + 2 * AHEAD, last))]
        _ask(text, order, buckets, far, order[np.uint64(min(i + AHEAD, last))])
        here = order[np.uint64(i)]
        # From here on unmarked are those behind one that rises, which the second sweep needs.
        order[np.uint64(i)] = here ^ MARK
        if here > 0:
            symbol, value = _falling(text, np.int32(here - 1))
            _push_front(order, buckets, symbol, value)
    _backs(counts, buckets)
    for i in range(last, -1, -1):
        far = order[np.uint64(max(i - 2 * AHEAD, 0))]
        _ask(text, order, buckets, far, order[np.uint64(max(i - AHEAD, 0))])
        here = order[np.uint64(i)]
        order[np.uint64(i)] = here & UNMARK
        if here > 0:
            symbol, value = _rising(text, np.int32(here - 1))
            _push_back(order, buckets, symbol, value)
