"""Kernels of the query language: does the pattern match here, and up to where?

A pattern is a machine with at most 64 states, held as the bits of one number: state s is "the
item just read was the one at position s of the pattern". For every number of a layer's
vocabulary a table says at which positions it may stand; an item of several layers may stand
where all of them allow it. The document's end may stand nowhere, so no match crosses it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.packed import Bytes, load64, read

MOST_STATES = 64
MOST_ITEMS = 100
"""A match holds at most so many items, so that `[]*` costs a bounded time at every place."""


class Machine(NamedTuple):
    """A pattern over the columns of one segment, as the kernels take it.

    `origin` is the data of one column; the data of column c begins `offsets[c]` bytes behind
    its first byte. (A tuple of arrays would be compiled anew for every number of layers.) The
    table of column c begins at `bases[c]` of `tables`. State s may be followed by the states
    `follow[s]`; a match begins in one of `first` and may end in those of `last`.
    """

    origin: Bytes
    offsets: NDArray[np.int64]
    bits: NDArray[np.int64]
    bases: NDArray[np.int64]
    tables: NDArray[np.uint64]
    follow: NDArray[np.uint64]
    first: np.uint64
    last: np.uint64
    sentence_last: Bytes
    within: bool


@njit(cache=True, nogil=True)
def match(machine, places, place, stop, longest, starts, ends):  # type: ignore[no-untyped-def]
    """Try the places from number `place` to `stop` of a list, or until `starts` is full.

    An empty list stands for that of all places. A match goes as far as it can, or if not
    `longest` only as far as it must, which is sooner found out. Says how many there are.
    """
    # In one piece, and the machine taken apart: numba would count references to the arrays at
    # every place, at a hundred times the cost of reading it.
    origin, offsets, bits, bases, tables, follow, first, last, sentence_last, within = machine
    one, bits_first = np.uint64(1), bits[0]
    found = 0
    for i in range(place, stop):
        if found == len(starts):
            break
        start = places[i] if len(places) else i
        # Most places fail here, so the first column is asked first, and quickly.
        if tables[read(origin, bits_first, start)] & first == 0:
            continue
        at, end, reached = start, 0, first
        while reached != 0:
            states = reached
            for column in range(len(offsets)):
                bit = at * bits[column]
                word = load64(origin, offsets[column] + (bit >> 3)) >> np.uint64(bit & 7)
                number = np.int64(word & ((one << np.uint64(bits[column])) - one))
                states &= tables[bases[column] + number]
                if states == 0:
                    break
            if states == 0:
                break
            at += 1
            if states & last != 0:
                end = at
                if not longest:
                    break
            if at - start == MOST_ITEMS or (within and read(sentence_last, 1, at - 1) != 0):
                break
            reached, state = np.uint64(0), 0
            while states != 0:
                if states & one != 0:
                    reached |= follow[state]
                states >>= one
                state += 1
        if end != 0:
            starts[found], ends[found] = start, end
            found += 1
    return found


@njit(cache=True, nogil=True)
def collect(data, bits, low, high, out):  # type: ignore[no-untyped-def]
    """The numbers of a packed column in several ranges, one range behind the other."""
    filled = 0
    for i in range(len(low)):
        for j in range(low[i], high[i]):
            out[filled] = read(data, bits, j)
            filled += 1
