"""Kernels of `decontaminate`: where documents hold parts of test items, word for word or nearly.

The parts stand one after another in a stream of word numbers, an END behind each; documents are
numbered by the same vocabulary, words that no part has by END. A table finds the places of a
part where the next few words of a document occur; around such seeds the part is aligned with the
document, words weighted by how rare they are.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.parts import END

Array: TypeAlias = NDArray[Any]
_FIRST, _NEXT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)


@njit(cache=True, nogil=True)
def _key(ids: Array, place: int, length: int) -> np.uint64:
    """A hash of the next words; who takes a place by it compares the words."""
    key = _FIRST
    for step in range(length):
        key = (key ^ np.uint64(ids[place + step])) * _NEXT
        key ^= key >> np.uint64(29)
    return key


@njit(cache=True, nogil=True)
def _same(ids: Array, place: int, others: Array, other: int, length: int) -> bool:
    step = 0
    while step < length and ids[place + step] == others[other + step]:
        step += 1
    return step == length


@njit(cache=True, nogil=True)
def make_table(ids: Array, length: int, table: Array, links: Array) -> None:
    """The places of each seed: the first in the table (-1: none), the next ones by `links`."""
    mask = np.uint64(len(table) - 1)
    table[:] = -1
    links[:] = -1
    known = 0
    for place in range(len(ids)):
        known = known + 1 if ids[place] != END else 0
        if known < length:
            continue
        start = place - length + 1
        slot = _key(ids, start, length) & mask
        while table[slot] >= 0 and not _same(ids, start, ids, table[slot], length):
            slot = (slot + np.uint64(1)) & mask
        links[start] = table[slot]
        table[slot] = start


@njit(cache=True, nogil=True)
def seeds_of(words: Array, ends: Array, ids: Array, length: int, table: Array, first: Array) -> int:
    """Per word of the documents the last place of the seed that begins there, -1 if there is none;
    how many there are."""
    mask = np.uint64(len(table) - 1)
    first[:] = -1
    found = 0
    start = 0
    for end in ends:
        known = 0
        for place in range(start, end):
            known = known + 1 if words[place] != END else 0
            if known < length:
                continue
            begin = place - length + 1
            slot = _key(words, begin, length) & mask
            while table[slot] >= 0:
                if _same(words, begin, ids, table[slot], length):
                    first[begin] = table[slot]
                    found += 1
                    break
                slot = (slot + np.uint64(1)) & mask
        start = end
    return found


@njit(cache=True, nogil=True)
def hits_of(first: Array, links: Array, common: Array) -> tuple[Array, Array]:
    """All pairs of a word of a document and a place of a part that begin with the same seed, those
    apart that are common."""
    count = 0
    for place in range(len(first)):
        at = first[place]
        while at >= 0:
            count += not common[at]
            at = links[at]
    words, places = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for place in range(len(first)):
        at = first[place]
        while at >= 0:
            if not common[at]:
                words[count], places[count] = place, at
                count += 1
            at = links[at]
    return words, places


@njit(cache=True, nogil=True)
def align(
    part: Array, weights: Array, window: Array, best: Array, moves: Array
) -> tuple[float, int, int, int]:
    """The heaviest words of a part that occur in a window in the same order.

    Their weight, the first and the last word of the window that is one of them (-1: none), and how
    many they are; of several such stretches the one that ends first, as short as can be. `best` and
    `moves` are room to work in.
    """
    best[: len(window) + 1] = 0.0
    for row in range(len(part)):
        before = 0.0
        for column in range(1, len(window) + 1):
            above = best[column]
            move, value = 0, above
            if best[column - 1] > value:
                move, value = 1, best[column - 1]
            # Of equal ways the one that takes a word last: the stretch begins as late as it can.
            taken = before + weights[row]
            if part[row] == window[column - 1] and weights[row] > 0 and taken >= value:
                move, value = 2, taken
            before = above
            best[column] = value
            moves[row, column] = move
    row, column = len(part) - 1, len(window)
    while column > 0 and best[column - 1] == best[len(window)]:
        column -= 1  # and it ends as early as it can
    start, stop, count = -1, -1, 0
    while row >= 0 and column > 0:
        move = moves[row, column]
        if move == 2:
            start = column - 1
            if stop < 0:
                stop = column - 1
            count += 1
            row -= 1
            column -= 1
        elif move == 1:
            column -= 1
        else:
            row -= 1
    return best[len(window)], start, stop, count
