"""Sorted suffixes with what originality needs of each: shared items, rest of sentence, source.

Three numbers stand beside each suffix of a column: how many items it shares with the one before
it, how many items there are up to its sentence's end (a match ends there), and its source. They
are made for a stretch of the order at a time. No fragment is shorter than two items, so
stretches are cut where neighbours share fewer, and no match reaches across a cut.

Comparing neighbours costs as much as they share. Where much repeats, the shared lengths are found
in the order of the text instead, in linear time (Phi: Kärkkäinen, Manzini, Puglisi 2009), for
four bytes an item. Lengths beyond the longest sentence are all the same to a match.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns import memory
from rote.index.columns.packed import read

prefetch: Any = memory.prefetch
LEAST = 2
"""Items of the shortest fragment."""
_AHEAD = 16
# For each byte the number of its lowest bit that is set; the first entry is never asked for.
LOWEST_BIT: NDArray[np.uint8] = np.array(
    [0] + [(byte & -byte).bit_length() - 1 for byte in range(1, 256)], np.uint8
)


@njit(inline="always")
def rest_of_sentence(last, lowest, place):  # type: ignore[no-untyped-def]
    """Items from a place to its sentence's end; `last` has a bit for the last item of each."""
    at = place >> 3
    held = last[at] >> np.uint8(place & 7)
    if held:
        return np.int64(lowest[held]) + 1
    at += 1
    while last[at] == 0:
        at += 1
    return (at << 3) + np.int64(lowest[last[at]]) - place + 1


@njit(cache=True, nogil=True)
def longest_sentence(last, places, ends):  # type: ignore[no-untyped-def]
    """Items of the longest sentence; `ends` are the documents' ends."""
    longest, start, document = 0, 0, 0
    for place in range(places):
        if document < len(ends) and place == ends[document]:
            document += 1
            start = place + 1
        elif (last[place >> 3] >> np.uint8(place & 7)) & np.uint8(1):
            longest = max(longest, place + 1 - start)
            start = place + 1
    return longest


@njit(inline="always")
def _agree(ids, bits, one, other, shared, most):  # type: ignore[no-untyped-def]
    """How many items two places share, `shared` of them known; a document's end is none."""
    while shared < most:
        item = read(ids, bits, one + shared)
        if item == 0 or item != read(ids, bits, other + shared):
            break
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def compare_neighbours(ids, bits, order, order_bits, start, most, budget, out):  # type: ignore[no-untyped-def]
    """What each suffix from `start` on shares with the one before it, up to `most` items.

    Gives the number of items compared, or -1 as soon as they are more than the budget.
    """
    work = np.int64(0)
    before = read(order, order_bits, start - 1) if start else np.int64(-1)
    last = start + len(out) - 1
    for i in range(len(out)):
        prefetch(ids, (read(order, order_bits, min(start + i + _AHEAD, last)) * bits) >> 3)
        place = read(order, order_bits, start + i)
        out[i] = _agree(ids, bits, before, place, 0, most) if before >= 0 else 0
        work += out[i]
        if work > budget:
            return np.int64(-1)
        before = place
    return work


@njit(cache=True, nogil=True)
def compare_in_text_order(ids, bits, order, order_bits, suffixes, most, out):  # type: ignore[no-untyped-def]
    """By place: what its suffix shares with the one before it in the order, up to `most` items."""
    before = np.int64(-1)
    for i in range(suffixes):
        prefetch(out, read(order, order_bits, min(i + _AHEAD, suffixes - 1)))
        place = read(order, order_bits, i)
        out[place] = before
        before = place
    shared = np.int64(0)
    for place in range(len(out)):
        ahead = min(place + _AHEAD, len(out) - 1)
        prefetch(ids, (max(np.int64(out[ahead]), np.int64(0)) * bits) >> 3)
        if read(ids, bits, place) == 0:
            shared = np.int64(0)
            out[place] = 0
            continue
        other = np.int64(out[place])
        shared = max(shared - 1, np.int64(0))
        if other + shared >= len(out):
            shared = np.int64(0)  # only if the suffixes are not sorted
        shared = _agree(ids, bits, other, place, shared, most) if other >= 0 else np.int64(0)
        out[place] = shared


@njit(cache=True, nogil=True)
def gather(values, order, order_bits, start, out):  # type: ignore[no-untyped-def]
    """The values at the places of the suffixes from `start` on."""
    last = start + len(out) - 1
    for i in range(len(out)):
        prefetch(values, read(order, order_bits, min(start + i + _AHEAD, last)))
        out[i] = values[read(order, order_bits, start + i)]


@njit(cache=True, nogil=True)
def locate(order, order_bits, start, last, lowest, places, rests):  # type: ignore[no-untyped-def]
    """Place and rest of the sentence of each suffix from `start` on."""
    for i in range(len(places)):
        places[i] = read(order, order_bits, start + i)
        rests[i] = rest_of_sentence(last, lowest, places[i])


@njit(cache=True, nogil=True)
def rests_of(last, lowest, ids, bits, out):  # type: ignore[no-untyped-def]
    """The rest of the sentence at each place; 0 at a document's end."""
    for place in range(len(out)):
        out[place] = rest_of_sentence(last, lowest, place) if read(ids, bits, place) else 0


@njit(cache=True, nogil=True)
def rests_at(last, lowest, places, out):  # type: ignore[no-untyped-def]
    """The same for some places, which hold items."""
    for i in range(len(places)):
        out[i] = rest_of_sentence(last, lowest, places[i])
