"""Names for the pieces between valleys, and the way back from names to valleys (see `sais`).

Of two neighbours at most one is a valley, so place // 2 tells valleys apart: what is known of a
valley is noted there, behind the list of valleys, and stands in the order of the text.

A name that occurs once decides every comparison that reaches it. So nothing behind it matters to
others, and its own suffix is in order already: a single piece behind a single piece is left out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.sorting.sais_induce import AHEAD, CHUNK, MARK, UNMARK, find_valleys, prefetch

Bits = NDArray[np.uint8]


@njit(inline="always")
def _set(bits, i, bit):  # type: ignore[no-untyped-def]
    bits[np.uint64(i >> 3)] |= np.uint8(bit << (i & 7))


@njit(inline="always")
def _get(bits, i):  # type: ignore[no-untyped-def]
    return (bits[np.uint64(i >> 3)] >> (i & 7)) & 1


@njit(cache=True, nogil=True)
def _note_lengths(text, order, valleys):  # type: ignore[no-untyped-def]
    """The length of each valley's piece; 0 for the last, which is like no other."""
    order[valleys:] = 0
    found = np.empty(CHUNK, np.int32)
    high, rises, next_valley = len(text) - 1, np.int64(0), np.int64(0)
    while high > 0:
        low = max(high - CHUNK, 0)
        held, rises = find_valleys(text, low, high, rises, found)
        for i in range(held):
            place = np.int64(found[i])
            order[np.uint64(valleys + (place >> 1))] = max(next_valley - place, 0)
            next_valley = place
        high = low


@njit(cache=True, nogil=True)
def name_pieces(text, order, valleys):  # type: ignore[no-untyped-def]
    """Note for each valley the name of its piece, from 1 on, marked where no other has it.

    Returned are how many names there are, and how many of them are single.
    """
    _note_lengths(text, order, valleys)
    name, single = np.int64(0), np.int64(0)
    place_before, length_before, spot_before = np.int64(0), np.int64(-1), np.int64(0)
    new_before = np.int64(0)
    for i in range(valleys):
        ahead = np.int64(order[np.uint64(min(i + AHEAD, valleys - 1))])
        prefetch(text, ahead)
        prefetch(order, valleys + (ahead >> 1))
        place = np.int64(order[np.uint64(i)])
        spot = valleys + (place >> 1)
        length = np.int64(order[np.uint64(spot)])
        k = np.int64(-1)
        if length == length_before:
            k = np.int64(0)
            # The next valley is compared too: it belongs to both pieces.
            while k <= length and (text[np.uint64(place + k)] == text[np.uint64(place_before + k)]):
                k += 1
        new = np.int64(k <= length)
        if new & new_before:
            order[np.uint64(spot_before)] |= MARK
            single += 1
        name += new
        order[np.uint64(spot)] = np.int32(name)
        place_before, length_before, spot_before, new_before = place, length, spot, new
    if new_before:
        order[np.uint64(spot_before)] |= MARK
        single += 1
    return name, single


@njit(cache=True, nogil=True)
def leave_out(order, valleys, ranks, turns):  # type: ignore[no-untyped-def]
    """Delete the names of pieces to leave out, close the gaps, and say how many they are.

    Their valleys are moved to the beginning of `order`, the other valleys are forgotten. Bits are
    set in `ranks` by number in the order of pieces, in `turns` by number in the text.
    """
    turn, behind_single = np.int64(0), np.int64(1)
    for spot in range(valleys, valleys + (len(order) + 1) // 2):
        name = order[np.uint64(spot)]
        single = np.int64(name < 0)
        out = single & behind_single
        order[np.uint64(spot)] = name if out else name & UNMARK
        _set(turns, turn, out)
        turn += np.int64(name != 0)
        behind_single = single if name != 0 else behind_single
    total = np.int64(0)
    for rank in range(valleys):
        ahead = np.int64(order[np.uint64(min(rank + AHEAD, valleys - 1))])
        prefetch(order, valleys + (ahead >> 1))
        place = order[np.uint64(rank)]
        spot = valleys + (np.int64(place) >> 1)
        name = order[np.uint64(spot)]
        out = np.int64(name < 0)
        order[np.uint64(spot)] = np.int32(0 if out else name - total)
        order[np.uint64(total)] = place
        _set(ranks, rank, out)
        total += out
    return total


@njit(cache=True, nogil=True)
def squeeze_names(order, valleys, kept):  # type: ignore[no-untyped-def]
    """The names as a text, from 0 on, to the end of `order`; before it the valleys left out."""
    at = np.int64(len(order))
    for spot in range(valleys + (len(order) + 1) // 2 - 1, valleys - 1, -1):
        name = order[np.uint64(spot)]
        order[np.uint64(at - 1)] = (name & UNMARK) - np.int32(1)
        at -= np.int64(name != 0)
    out = valleys - kept
    for i in range(out):
        order[at - out + i] = order[i]


@njit(cache=True, nogil=True)
def merge_valleys(text, order, valleys, kept, ranks, turns):  # type: ignore[no-untyped-def]
    """All valleys in suffix order at the beginning of `order`, where the sorted names stand."""
    size = len(text)
    found = np.empty(CHUNK, np.int32)
    high, rises = size - 1, np.int64(0)
    turn, at = np.int64(valleys), np.int64(size)
    while high > 0:
        low = max(high - CHUNK, 0)
        held, rises = find_valleys(text, low, high, rises, found)
        for i in range(held):
            turn -= 1
            if not _get(turns, turn):
                at -= 1
                order[np.uint64(at)] = found[i]
        high = low
    # Downwards, so that no sorted name is overwritten before it is read.
    left_out, name = at, np.int64(kept)
    for rank in range(valleys - 1, -1, -1):
        ahead = order[np.uint64(max(name - np.int64(AHEAD), np.int64(0)))]
        prefetch(order, at + np.int64(ahead))
        if _get(ranks, rank):
            left_out -= 1
            order[np.uint64(rank)] = order[np.uint64(left_out)]
        else:
            name -= 1
            order[np.uint64(rank)] = order[np.uint64(at + order[np.uint64(name)])]
