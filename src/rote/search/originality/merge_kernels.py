"""The sorted suffixes of several segments in one order, each with what it shares with the last.

A tournament tree has a segment at each leaf, whose next suffix plays for it; a node keeps who lost
there. Who plays has a code: how many items it shares with the suffix that came last, and the item
behind them. The one that shares more comes first, and of two that share as many the one with the
smaller item, so that one comparison of codes decides, and leaves the loser's code as it is. Texts
are compared only where codes are equal, from there on (offset-value coding: Conner 1977; as in the
LCP loser trees of Bingmann, Eberle, Sanders 2017).

What two texts share for long is remembered by segments and diagonal, place less place, as in
`index.counting.agreement`: else each suffix of a document that stands in two segments would be
compared with its copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from rote.core.kernels import njit
from rote.index.columns import memory as memories
from rote.index.columns.packed import read
from rote.index.counting.single import pointer

# Columns of `texts`: where a segment's items lie, bytes, bits of one, the last place, and where its
# numbers begin in `up`, which says which shared numbers they are.
TEXT = 5
WINNER, CODE, EMPTIED = 0, 1, 2
"""What `state` holds: who is next, with which code, and whose buffer has to be filled."""
_NOBODY = np.int64(2**62)  # the code of a segment that has no more suffixes
_AHEAD = 8
_LONG = 32
_BITS = 12
MEMORY = (1 << _BITS, 4)
"""Entries of the memory: segments, diagonal, and from where to where texts agree."""
_address: Any = pointer
prefetch: Any = memories.prefetch


@njit(inline="always")
def _data(texts, segment):  # type: ignore[no-untyped-def]
    return carray(_address(texts[segment, 0]), texts[segment, 1], np.uint8)


@njit(inline="always")
def _item(texts, up, segment, place):  # type: ignore[no-untyped-def]
    return up[texts[segment, 4] + read(_data(texts, segment), texts[segment, 2], place)]


@njit(inline="always")
def _code(texts, up, segment, place, shared, most):  # type: ignore[no-untyped-def]
    """Small for what comes early; beyond `most` items all suffixes are the same."""
    if shared >= most:
        return np.int64(0)
    # Beyond the last place only if suffixes are not sorted.
    item = _item(texts, up, segment, min(place + shared, texts[segment, 3]))
    return np.int64(most - shared) << 32 | np.int64(item)


@njit(cache=True, nogil=True)
def codes_of(texts, up, segment, places, shared, most, out):  # type: ignore[no-untyped-def]
    """The codes of suffixes, each after the one before it in its segment."""
    data, bits = _data(texts, segment), texts[segment, 2]
    for i in range(len(places)):
        prefetch(data, (places[min(i + 4 * _AHEAD, len(places) - 1)] * bits) >> 3)
        out[i] = _code(texts, up, segment, places[i], np.int64(shared[i]), most)


@njit(cache=True, nogil=True)
def _walk(texts, up, one, place, other, there, shared, most):  # type: ignore[no-untyped-def]
    """How many items two suffixes share, `shared` of them known; a document's end is none."""
    # Beyond the last place only if suffixes are not sorted.
    if place + shared > texts[one, 3] or there + shared > texts[other, 3]:
        return shared
    while shared < most:
        item = _item(texts, up, one, place + shared)
        if item == 0 or item != _item(texts, up, other, there + shared):
            break
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def _far(texts, up, one, place, other, there, shared, most, memory):  # type: ignore[no-untyped-def]
    """The same for what is long: a stretch that is known to agree is not walked again."""
    pair, diagonal = np.int64(one) << 32 | np.int64(other), there - place
    key = np.uint64(diagonal ^ (pair * np.int64(0x5851F42D4C957F2D)))
    slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _BITS)
    start, end = np.int64(-1), np.int64(-1)
    if memory[slot, 0] == pair and memory[slot, 1] == diagonal:
        start, end = memory[slot, 2], memory[slot, 3]
    if place + shared < start:
        shared = _walk(texts, up, one, place, other, there, shared, min(most, start - place))
    if start <= place + shared <= end:
        shared, start = end - place, min(place, start)
    else:
        start = place
    shared = _walk(texts, up, one, place, other, there, shared, most)
    memory[slot, 0], memory[slot, 1] = pair, diagonal
    memory[slot, 2], memory[slot, 3] = start, place + shared
    return min(shared, most)


@njit(cache=True, nogil=True)
def _play(texts, up, one, place, other, there, code, most, memory):  # type: ignore[no-untyped-def]
    """Whether the first of two suffixes with the same code comes first, and the loser's new code.

    Suffixes that are equal come in the order of their segments.
    """
    shared = most - (code >> 32)
    shared = _walk(texts, up, one, place, other, there, shared, min(most, max(shared, _LONG)))
    if _LONG <= shared < most:
        if one < other:
            shared = _far(texts, up, one, place, other, there, shared, most, memory)
        else:
            shared = _far(texts, up, other, there, one, place, shared, most, memory)
    mine = _code(texts, up, one, place, shared, most)
    theirs = _code(texts, up, other, there, shared, most)
    first = mine < theirs or (mine == theirs and one < other)
    return first, theirs if first else mine


@njit(cache=True, nogil=True)
def start(texts, up, most, memory, tree, state, sizes, places, codes):  # type: ignore[no-untyped-def]
    """Play for the first place; the first suffix of each segment is the first in its buffer."""
    segments = len(sizes)
    winners = np.empty(2 * segments, np.int64)
    for node in range(2 * segments - 1, 0, -1):
        if node >= segments:
            winners[node] = node - segments
            continue
        one, other = winners[2 * node], winners[2 * node + 1]
        mine = codes[one, 0] if sizes[one] else _NOBODY
        theirs = codes[other, 0] if sizes[other] else _NOBODY
        first, lost = mine < theirs, max(mine, theirs)
        if mine == theirs and mine != _NOBODY:
            first, lost = _play(
                texts, up, one, places[one, 0], other, places[other, 0], mine, most, memory
            )
        winners[node] = one if first else other
        tree[node, 0], tree[node, 1] = other if first else one, lost
    state[WINNER] = winners[1]
    state[CODE] = codes[winners[1], 0] if sizes[winners[1]] else _NOBODY
    state[EMPTIED] = -1


@njit(cache=True, nogil=True)
def merge(  # type: ignore[no-untyped-def]
    texts, up, bases, most, memory, tree, state, heads, sizes,
    from_places, from_codes, from_rests, from_sources, filled, places, shared, rests, sources,
):  # fmt: skip
    """Write suffixes in order from `filled` on, until all are full or a buffer is empty.

    Gives how many are written then. A place has the base of its segment added to it.
    """
    segments = len(sizes)
    while True:
        who = state[EMPTIED]
        if who < 0:
            who, code = state[WINNER], state[CODE]
            if filled == len(places) or code == _NOBODY:
                return filled
            head = heads[who]
            places[filled] = from_places[who, head] + bases[who]
            shared[filled] = most - (code >> 32)
            rests[filled] = from_rests[who, head]
            sources[filled] = from_sources[who, head]
            filled += 1
            heads[who] += 1
            ahead = from_places[who, min(head + _AHEAD, sizes[who] - 1)]
            prefetch(_data(texts, who), (ahead * texts[who, 2]) >> 3)
            if heads[who] == sizes[who]:
                state[EMPTIED] = who
                return filled
        state[EMPTIED] = -1
        code = from_codes[who, heads[who]] if sizes[who] else _NOBODY
        node = (who + segments) >> 1
        while node:
            other, theirs = tree[node, 0], tree[node, 1]
            if theirs == code and code != _NOBODY:
                first, lost = _play(
                    texts, up, who, from_places[who, heads[who]],
                    other, from_places[other, heads[other]], code, most, memory,
                )  # fmt: skip
                tree[node, 0], tree[node, 1] = (other if first else who), lost
                who = who if first else other
            else:
                swap = theirs < code
                tree[node, 0], tree[node, 1] = (who if swap else other), max(code, theirs)
                who, code = (other if swap else who), min(code, theirs)
            node >>= 1
        state[WINNER], state[CODE] = who, code
