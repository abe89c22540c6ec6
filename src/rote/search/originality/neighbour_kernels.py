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

from rote.core.kernels import njit
from rote.index.columns import memory
from rote.index.columns.bits import trailing_zeros
from rote.index.columns.packed import PADDING, read
from rote.index.counting.tally_kernels import document_of

load64: Any = memory.load64
prefetch: Any = memory.prefetch
LEAST = 2
"""Items of the shortest fragment."""
_AHEAD = 32
# Bits of a load that belong to it wherever the load begins.
_LOADED = 57


@njit(inline="always")
def rest_of_sentence(last, place):  # type: ignore[no-untyped-def]
    """Items from a place to its sentence's end; `last` has a bit for the last item of each."""
    at = place >> 3
    held = load64(last, at) >> np.uint64(place & 7)
    if held:
        rest = trailing_zeros(held) + 1
    else:
        at += 8
        while at < len(last) and last[at] == 0:
            at += 1
        held = np.uint64(last[at]) if at < len(last) else np.uint64(1)
        rest = (at << 3) + trailing_zeros(held) - place + 1
    # Beyond them only behind the last sentence, where no suffix begins if they are sorted.
    return min(rest, ((len(last) - PADDING) << 3) - place)


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
def _loads(bits):  # type: ignore[no-untyped-def]
    """How many items one load holds, its bits, and the lowest bit of each item."""
    step = _LOADED // bits
    low = np.uint64(0)
    for k in range(step):
        low |= np.uint64(1) << np.uint64(k * bits)
    return step, (np.uint64(1) << np.uint64(step * bits)) - np.uint64(1), low


@njit(inline="always")
def _load(ids, bits, mask, place):  # type: ignore[no-untyped-def]
    """The numbers of as many items as one load holds."""
    at = place * bits
    return (load64(ids.data, at >> 3) >> np.uint64(at & 7)) & mask


@njit(inline="always")
def _differ(bits, low, mine, theirs):  # type: ignore[no-untyped-def]
    """A number whose lowest bit lies in the first item that differs, or that is 0; 0 if none is.

    The lowest item that is 0 borrows when 1 is taken off each.
    """
    return (mine ^ theirs) | ((mine - low) & ~mine & (low << np.uint64(bits - 1)))


@njit(inline="always")
def _before(bits, stop):  # type: ignore[no-untyped-def]
    """How many items lie before the lowest bit; the division is a multiplication."""
    return (trailing_zeros(stop) * (65536 // bits + 1)) >> 16


@njit(inline="always")
def _agree(ids, bits, loads, one, other, shared, most):  # type: ignore[no-untyped-def]
    """How many items two places share, `shared` of them known; a document's end is none."""
    step, mask, low = loads
    while shared < most:
        mine = _load(ids, bits, mask, one + shared)
        stop = _differ(bits, low, mine, _load(ids, bits, mask, other + shared))
        if stop == 0:
            shared += step
            continue
        shared += _before(bits, stop)
        # Different numbers may stand for the same item.
        if shared >= most or not _same(ids, bits, one + shared, other + shared):
            return min(most, shared)
        shared += 1
    return most


@njit(inline="always")
def _same(ids, bits, one, other):  # type: ignore[no-untyped-def]
    """Whether two places hold the same item, though not the same number."""
    if len(ids.table) == 0:
        return False
    item = read(ids, bits, one)
    return item != 0 and item == read(ids, bits, other)


@njit(cache=True, nogil=True)
def locate(  # type: ignore[no-untyped-def]
    ids, bits, order, order_bits, start, known, most, budget, last, table, source_of,
    places, shared, rests, sources,
):  # fmt: skip
    """Fill in all that is to be known of the suffixes from `start` on.

    What each shares with the one before it, up to `most` items, is looked up in `known`, by
    place, or compared if that is empty. Gives the number of items compared, or -1 as soon as they
    are more than the budget.
    """
    loads = _loads(bits)
    step, mask, low = loads
    work = np.int64(0)
    before = read(order, order_bits, start - 1) if start else np.int64(-1)
    # What the suffix before begins with; no suffix begins with a document's end.
    items = _load(ids, bits, mask, before) if start else np.uint64(0)
    final = start + len(places) - 1
    for i in range(len(places)):
        ahead = read(order, order_bits, min(start + i + _AHEAD, final))
        place = read(order, order_bits, start + i)
        places[i] = place
        if len(known):
            prefetch(known, ahead)
            shared[i] = known[place]
            continue
        prefetch(ids, (ahead * bits) >> 3)
        mine = _load(ids, bits, mask, place)
        stop = _differ(bits, low, mine, items)
        if stop and (len(ids.table) == 0 or before < 0):
            shared[i] = min(most, _before(bits, stop))
        else:
            shared[i] = _agree(ids, bits, loads, before, place, 0 if stop else step, most)
        before, items = place, mine
        work += shared[i]
        if work > budget:
            return np.int64(-1)
    # Apart from the loop above, which waits for memory: both are faster so.
    ends, shift, first = table
    for i in range(len(places)):
        place = places[i]
        prefetch(last, places[min(i + _AHEAD, len(places) - 1)] >> 3)
        rests[i] = min(most, rest_of_sentence(last, place))
        sources[i] = source_of[document_of(ends, shift, first, place)]
    return work


@njit(cache=True, nogil=True)
def compare_in_text_order(ids, bits, order, order_bits, suffixes, most, out):  # type: ignore[no-untyped-def]
    """By place: what its suffix shares with the one before it in the order, up to `most` items."""
    loads = _loads(bits)
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
        # Beyond the end only if the suffixes are not sorted.
        if other + shared >= len(out) or place + shared >= len(out):
            shared = np.int64(0)
        inside = 0 <= other < len(out)
        shared = _agree(ids, bits, loads, other, place, shared, most) if inside else np.int64(0)
        out[place] = shared


@njit(cache=True, nogil=True)
def rests_of(last, ids, bits, out):  # type: ignore[no-untyped-def]
    """The rest of the sentence at each place; 0 at a document's end."""
    for place in range(len(out)):
        rest = min(rest_of_sentence(last, place), len(out) - place)
        out[place] = rest if read(ids, bits, place) else 0


@njit(cache=True, nogil=True)
def rests_at(last, places, out):  # type: ignore[no-untyped-def]
    """The same for some places, which hold items."""
    for i in range(len(places)):
        out[i] = rest_of_sentence(last, places[i])
