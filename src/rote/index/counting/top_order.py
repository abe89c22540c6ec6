"""A kernel that reads n-grams of any length off the sorted suffixes: equal ones are neighbours.

The suffixes' places jump all over the text, so what stands there is asked for well ahead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.core.kernels import njit
from rote.index.columns import memory
from rote.index.columns.packed import read
from rote.index.counting.top_best import BAR, keep, with_room

load64: Any = memory.load64
prefetch: Any = memory.prefetch
_AHEAD = 32
_BLOCK = 1024


@njit(inline="always")
def _few(data, bits, place, items):  # type: ignore[no-untyped-def]
    """The numbers of some items at once, as many as fit into one load."""
    at = np.int64(place) * np.int64(bits)
    mask = (np.uint64(1) << np.uint64(items * bits)) - np.uint64(1)
    return (load64(data.data, at >> 3) >> np.uint64(at & 7)) & mask


@njit(inline="always")
def _agree(data, bits, whole, other, n):  # type: ignore[no-untyped-def]
    """How many items the two windows share at least; n only if they are equal.

    `whole` holds no document's end, so `other` differs where its document ends, and nothing
    behind the end of the text is read.
    """
    step = 57 // bits
    done = 0
    while done < n:
        items = min(step, n - done)
        if _few(data, bits, whole + done, items) == _few(data, bits, other + done, items):
            done += items
            continue
        if len(data.table) == 0:
            return done
        # Different numbers may stand for the same item.
        stop = done + items
        while done < stop and read(data, bits, whole + done) == read(data, bits, other + done):
            done += 1
        if done < stop:
            return done
    return n


@njit(inline="always")
def _is_whole(data, bits, place, start, n):  # type: ignore[no-untyped-def]
    """Whether the window holds no document's end; the first `start` items are known."""
    while start < n and read(data, bits, place + start) != 0:
        start += 1
    return start == n


@njit(cache=True, nogil=True)
def _next_grams(order, order_bits, length, data, bits, n, bar, walk, firsts, counts):  # type: ignore[no-untyped-def]
    """Fill in first places and counts of the next n-grams that reach the bar.

    `walk` says where in the order to go on, and with which n-gram in hand: a place (or -1), its
    first place and its count so far. Returns how many were filled in; fewer than there is room
    for only at the end.
    """
    start, previous, first, count = walk[0], walk[1], walk[2], walk[3]
    filled = 0
    for i in range(start, length):
        ahead = read(order, order_bits, min(i + _AHEAD, length - 1))
        prefetch(data, (ahead * bits) >> 3)
        place = read(order, order_bits, i)
        shared = np.int64(0)
        if previous >= 0:
            shared = _agree(data, bits, previous, place, n)
            if shared == n:
                count += 1
                first = min(first, place)
                continue
            if count >= bar:
                firsts[filled], counts[filled] = first, count
                filled += 1
        whole = _is_whole(data, bits, place, shared, n)
        previous, first, count = (place if whole else np.int64(-1)), place, np.int64(1)
        if filled == len(firsts):
            walk[0], walk[1], walk[2], walk[3] = i + 1, previous, first, count
            return filled
    if previous >= 0 and count >= bar:
        firsts[filled], counts[filled] = first, count
        filled += 1
    walk[0], walk[1] = length, -1
    return filled


@njit(cache=True, nogil=True)
def count_sorted(order, order_bits, length, data, bits, n, best, tallies, state):  # type: ignore[no-untyped-def]
    """Offer all n-grams to the best, by their first place, in order; returns `best`."""
    walk = np.array([0, -1, 0, 0])
    firsts, counts = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    while True:
        filled = _next_grams(
            order, order_bits, length, data, bits, n, state[BAR], walk, firsts, counts
        )
        best = with_room(best, state, filled)
        for i in range(filled):
            keep(best, tallies, state, 0, firsts[i], counts[i])
        if filled < _BLOCK:
            return best
