"""The fragments of a ground truth by length: how many there are, and which of them are new.

Edges are bits, so that one load says of 57 items which may end a fragment. Of all fragments from
a place on, those up to some length are not new, not original or not single; mostly these are the
shortest ones alone, so they are counted by the pattern that edges make among the first items, one
step for all lengths, and told apart at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.core.kernels import njit
from rote.index.columns import memory
from rote.index.columns.bits import ones, trailing_zeros
from rote.index.columns.packed import read
from rote.search.originality.neighbour_kernels import LEAST, rest_of_sentence

load64: Any = memory.load64
prefetch: Any = memory.prefetch
_AHEAD = 32
# Bits that one load gives, wherever it begins.
_BITS = 57
PADDING = 16
"""Bytes behind edges: what reads them reads up to so far beyond the last sentence."""
SHORT = 11
"""Items of the longest fragments that are counted by patterns."""
PATTERNS = 1 << (SHORT - 1)
KINDS = 4
BEFORE, ORIGINAL, COMMON, ALONE = range(KINDS)
"""What is counted: what is not new; not new or not original; not original; not single."""
_ONE = np.uint64(1)


@njit(inline="always")
def _from(edges, place):  # type: ignore[no-untyped-def]
    """Which places from one on are edges; the first is the lowest bit."""
    return load64(edges, place >> 3) >> np.uint64(place & 7)


@njit(inline="always")
def lowest(bits):  # type: ignore[no-untyped-def]
    """So many bits from the lowest one on, as far as a load goes."""
    return (_ONE << np.uint64(min(bits, _BITS))) - _ONE


@njit(inline="always")
def is_edge(edges, place):  # type: ignore[no-untyped-def]
    return (edges[place >> 3] >> np.uint8(place & 7)) & np.uint8(1)


@njit(cache=True, nogil=True)
def clear_special(data, bits, items, special, out):  # type: ignore[no-untyped-def]
    """Clear the bits of all places whose items are special."""
    for at in range((items + 7) >> 3):
        held = np.uint8(0)
        for k in range(min(8, items - 8 * at)):
            if not special[read(data, bits, 8 * at + k)]:
                held |= np.uint8(1 << k)
        out[at] &= held


@njit(cache=True, nogil=True)
def tally_places(last, document_ends, edges, reach, occurrences):  # type: ignore[no-untyped-def]
    """Add up the fragments of a segment's sentences by length.

    Gives how many sentences there are, and how many hold an original fragment.
    """
    sentences = original = 0
    place = np.int64(0)
    for document in range(len(document_ends)):
        while place < document_ends[document]:
            # Sentences of damaged texts end with their document, or as all others do.
            size = min(rest_of_sentence(last, place), document_ends[document] - place)
            size = min(size, len(occurrences) - 1)
            stop = place + size
            # Two edges so far apart: the sentence's edges beside themselves.
            if size <= _BITS:
                held = _from(edges, place) & lowest(size)
                length, behind = 2, held >> _ONE
                while behind:
                    occurrences[length] += ones(held & behind)
                    length += 1
                    behind >>= _ONE
            else:
                for length in range(LEAST, size + 1):
                    for at in range(place, stop - length + 1, _BITS):
                        some = _from(edges, at) & _from(edges, at + length - 1)
                        occurrences[length] += ones(some & lowest(stop - length + 1 - at))
            sentences += 1
            original += _holds_original(edges, reach, place, stop)
            place = stop
        place = document_ends[document] + 1
    return sentences, original


@njit(inline="always")
def _holds_original(edges, reach, place, stop):  # type: ignore[no-untyped-def]
    for start in range(place, stop):
        if is_edge(edges, start):
            for at in range(start + max(1, reach[start, 0]), stop, _BITS):
                if _from(edges, at) & lowest(stop - at):
                    return 1
    return 0


@njit(inline="always")
def _tally(edges, place, held, most, patterns, longer):  # type: ignore[no-untyped-def]
    """Add the fragments from a place on of at most so many items; `held` are the first edges."""
    patterns[(held & lowest(min(most, SHORT))) >> _ONE] += 1
    if most > SHORT:
        held &= lowest(most) & ~lowest(SHORT)
        while held:
            longer[trailing_zeros(held) + 1] += 1
            held &= held - _ONE
        for length in range(_BITS + 1, most + 1):
            longer[length] += is_edge(edges, place + length - 1)


@njit(cache=True, nogil=True)
def tally_stretch(  # type: ignore[no-untyped-def]
    places, shared, rests, common, before, alone, edges, reach, patterns, longer
):
    """Add up the fragments of a stretch of suffixes that are not new, not original or not single.

    Those with few items by their patterns, others by length. Writes `common` and `before` into
    the row of their place in `reach`. Gives the fragments whose words stand earlier in the order,
    but never as a fragment: the same words may be tagged in different ways, so that they are a
    fragment at one place and not at another. Each is its place, shifted up by 32 bits, and its
    length.
    """
    found = np.empty(16, np.int64)
    count = 0
    # Of each length whether the words at hand were met as a fragment: bits, then numbers of those
    # that are longer than a load.
    seen = np.uint64(0)
    far = np.zeros(longer.shape[1], np.bool_)
    deepest = 0
    for i in range(len(places)):
        place = places[i]
        ahead = places[min(i + _AHEAD, len(places) - 1)]
        prefetch(edges, ahead >> 3)
        prefetch(reach, 2 * ahead)
        reach[place, 0], reach[place, 1] = common[i], before[i]
        seen &= lowest(shared[i])
        for length in range(max(_BITS, shared[i]) + 1, deepest + 1):
            far[length] = False
        deepest = min(deepest, shared[i])
        held = _from(edges, place)
        if not held & _ONE:
            continue
        held &= ~_ONE
        _tally(edges, place, held, before[i], patterns[BEFORE], longer[BEFORE])
        _tally(edges, place, held, max(common[i], before[i]), patterns[ORIGINAL], longer[ORIGINAL])
        _tally(edges, place, held, common[i], patterns[COMMON], longer[COMMON])
        _tally(edges, place, held, alone[i], patterns[ALONE], longer[ALONE])
        follows = np.int32(0)
        if i + 1 < len(places):
            follows = min(shared[i + 1], rests[i])
        new = held & lowest(before[i]) & ~seen
        if new or before[i] > _BITS:
            if count + before[i] > len(found):
                found = np.append(found, np.empty(len(found) + before[i], np.int64))
            while new:
                found[count] = place << 32 | (trailing_zeros(new) + 1)
                count += 1
                new &= new - _ONE
            for length in range(_BITS + 1, before[i] + 1):
                if is_edge(edges, place + length - 1) and not far[length]:
                    found[count] = place << 32 | length
                    count += 1
        seen |= held & lowest(follows)
        for length in range(_BITS + 1, follows + 1):
            if is_edge(edges, place + length - 1):
                far[length] = True
                deepest = max(deepest, length)
    return found[:count]
