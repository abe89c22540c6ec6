"""Kernels of `tally`: from places to documents to groups; the documents of many n-grams."""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.index.columns.packed import read

_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_FREE, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


@njit(inline="always")
def document_of(ends, shift, first, place):  # type: ignore[no-untyped-def]
    """The first document that ends at the place or behind it."""
    low, high = np.int64(first[place >> shift]), np.int64(first[(place >> shift) + 1])
    # Where many short documents lie in one stretch they are halved, not walked.
    while high - low > 4:
        middle = (low + high) >> 1
        if ends[middle] < place:
            low = middle + 1
        else:
            high = middle
    while ends[low] < place:
        low += 1
    return low


@njit(cache=True, nogil=True)
def documents(ends, shift, first, places, out):  # type: ignore[no-untyped-def]
    for i in range(len(places)):
        out[i] = document_of(ends, shift, first, places[i])


@njit(cache=True, nogil=True)
def groups(order, bits, ends, shift, first, group_of, low, out):  # type: ignore[no-untyped-def]
    """The group of each of the places from `low` on in the order."""
    for i in range(len(out)):
        out[i] = group_of[document_of(ends, shift, first, read(order, bits, low + i))]


@njit(cache=True, nogil=True)
def tally(order, bits, ends, shift, first, group_of, low, high, counts):  # type: ignore[no-untyped-def]
    for i in range(low, high):
        group = group_of[document_of(ends, shift, first, read(order, bits, i))]
        if group >= 0:
            counts[group] += 1


@njit(cache=True, nogil=True)
def distinct(order, bits, ends, shift, first, group_of, lows, highs, most, slot_bits, slots, out):  # type: ignore[no-untyped-def]
    """Count the groups of each range in a table of hashes.

    A slot holds a group, and above it the number of the range that put it there; what older
    ranges left counts as free, so that nothing is ever emptied.
    """
    mask, drop = np.int64(len(slots) - 1), np.uint64(64 - slot_bits)
    for j in range(len(lows)):
        stamp = np.uint64(j + 1) << _HALF
        seen = 0
        for i in range(lows[j], highs[j]):
            group = group_of[document_of(ends, shift, first, read(order, bits, i))]
            if group < 0:
                continue
            mine = stamp | np.uint64(group)
            slot = np.int64((np.uint64(group) * _SCATTER) >> drop)
            while slots[slot] >= stamp and slots[slot] != mine:
                slot = (slot + 1) & mask
            if slots[slot] < stamp:
                slots[slot] = mine
                seen += 1
                if seen == most:
                    break
        out[j] = seen


@njit(cache=True, nogil=True)
def _same(data, bits, one, other, n):  # type: ignore[no-untyped-def]
    shared = 0
    while shared < n and read(data, bits, one + shared) == read(data, bits, other + shared):
        shared += 1
    return shared == n


@njit(inline="always")
def _mark(key):  # type: ignore[no-untyped-def]
    """The hash as it stands in a slot, where 0 means free."""
    return key if key != _FREE else _ONE


@njit(cache=True, nogil=True)
def documents_with(data, bits, ends, n, places, base, top, exact, slot_bits, out):  # type: ignore[no-untyped-def]
    """Count for each n-gram the documents that hold it, by one pass over the text.

    The hash of a window is its numbers as digits to this base, modulo 2**64; `top` is the worth
    of the first digit. With a base of 2**bits, and n numbers that fit, it is the window itself
    (`exact`); if not, windows with equal hashes are compared.
    """
    mask, drop = np.uint64((1 << slot_bits) - 1), np.uint64(64 - slot_bits)
    marks = np.zeros(1 << slot_bits, np.uint64)
    numbers = np.empty(1 << slot_bits, np.int32)  # of the n-gram in each slot
    last = np.full(len(places), -1, np.int32)  # the document where each was last seen
    for j in range(len(places)):
        key = np.uint64(0)
        for i in range(n):
            key = key * base + np.uint64(read(data, bits, places[j] + i))
        slot = (key * _SCATTER) >> drop
        while marks[slot] != _FREE:
            slot = (slot + _ONE) & mask
        marks[slot], numbers[slot] = _mark(key), j
    start = np.int64(0)
    for document in range(len(ends)):
        key = np.uint64(0)
        for i in range(start, min(start + n - 1, ends[document])):
            key = key * base + np.uint64(read(data, bits, i))
        for i in range(start + n - 1, ends[document]):
            key = key * base + np.uint64(read(data, bits, i))
            slot, mark = (key * _SCATTER) >> drop, _mark(key)
            held = marks[slot]
            while held != _FREE:
                if held == mark:
                    j = numbers[slot]
                    if exact or _same(data, bits, places[j], i - n + 1, n):
                        if last[j] != document:
                            last[j] = document
                            out[j] += 1
                        break
                slot = (slot + _ONE) & mask
                held = marks[slot]
            # The next window has this one's numbers without the first, and one more.
            key -= np.uint64(read(data, bits, i - n + 1)) * top
        start = ends[document] + 1
