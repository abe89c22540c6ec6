"""How far a text and a corpus agree, also where they agree for very long.

`longest.py` asks it for every place of a text and a handful of places in the corpus each. Where
the text copies a long stretch, walking along the stretch from each of its places would take the
square of its length; so the ends of long agreements are remembered, in three ways:

- along a diagonal, place - i: from within a stretch that agrees, its end is known;
- by place: who was compared with the same place before tells how far this one can agree, if it
  is known how far the two agree with each other. A text that goes round and round meets the same
  places of the corpus on ever new diagonals, and is served by this;
- along a shift within the text, for just that.

Each memory holds a fixed number of entries; what is forgotten costs time, never correctness.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.index.columns.cursor import item_at, place_at, skip
from rote.index.columns.packed import read
from rote.index.columns.parts import ABSENT

# From so many equal items on an agreement is remembered; ordinary text rarely comes that far.
LONG = 32
# Entries of each memory, as a power of two; a newer one takes an older one's place.
_BITS = 12
_BY_DIAGONAL, _BY_PLACE, _BY_SHIFT = 0, 1, 2
_NEVER = -(1 << 62)


@njit(inline="always")
def new_memory():  # type: ignore[no-untyped-def]
    """Three memories of entries (key, start, end), each a stretch of the text."""
    return np.full((3, 1 << _BITS, 3), _NEVER, np.int64)


@njit(inline="always")
def agree(parts, text, i, at, equal):  # type: ignore[no-untyped-def]
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
def agree_far(parts, text, base, searches, places, equal, memory):  # type: ignore[no-untyped-def]
    """Go on for those of the searches whose agreement is `LONG`; search k is at base + k.

    Apart from `agree`, since its weight would slow down the loop around that.
    """
    for k in searches:
        if equal[k] >= LONG:
            place = place_at(parts.ids, places[k])
            equal[k] = _far(parts, text, base + k, place, equal[k], memory)


@njit(inline="always")
def _far(parts, text, i, place, equal, memory):  # type: ignore[no-untyped-def]
    """All that they share, with the help of the memories."""
    diagonal = place - i
    start, end = _recall(memory, _BY_DIAGONAL, diagonal)
    at, differs = i + equal, False
    if not start <= at <= end:
        other, other_end = _recall(memory, _BY_PLACE, place)
        if other >= 0 and other != i:
            length = other_end - other
            shared = _shared(text, min(i, other), max(i, other), min(equal, length), memory)
            at = max(at, i + min(length, shared))
            # The one of the two that ends first shows where the difference is.
            differs = length != shared
    if not differs:
        if at < start:
            at = _walk(parts, text, at, start, diagonal)
        at = end if start <= at <= end else _walk(parts, text, at, len(text), diagonal)
    _keep(memory, _BY_DIAGONAL, diagonal, min(i, start) if at == end else i, at)
    _keep(memory, _BY_PLACE, place, i, at)
    return at - i


@njit(inline="always")
def _walk(parts, text, at, stop, diagonal):  # type: ignore[no-untyped-def]
    if diagonal + at > parts.last:
        return at
    while at < stop and read(parts.ids, parts.ids_bits, diagonal + at) == text[at]:
        at += 1
    return at


@njit(inline="always")
def _shared(text, i, j, equal, memory):  # type: ignore[no-untyped-def]
    """How many items the text shares with itself from i and from j > i on."""
    start, end = _recall(memory, _BY_SHIFT, j - i)
    at = i + equal
    while not start <= at <= end and text[at] == text[at + j - i] and text[at] != ABSENT:
        at += 1
    if start <= at <= end:
        start, at = min(i, start), end
    else:
        start = i
    _keep(memory, _BY_SHIFT, j - i, start, at)
    return at - i


@njit(inline="always")
def _slot(key):  # type: ignore[no-untyped-def]
    # Fibonacci hashing: neighbouring keys fall far apart.
    return (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _BITS)


@njit(inline="always")
def _recall(memory, kind, key):  # type: ignore[no-untyped-def]
    slot = _slot(key)
    if memory[kind, slot, 0] == key:
        return memory[kind, slot, 1], memory[kind, slot, 2]
    return np.int64(_NEVER), np.int64(_NEVER)


@njit(inline="always")
def _keep(memory, kind, key, start, end):  # type: ignore[no-untyped-def]
    slot = _slot(key)
    memory[kind, slot, 0] = key
    memory[kind, slot, 1] = start
    memory[kind, slot, 2] = end
