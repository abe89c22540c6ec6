"""Algorithm 1 of the paper for fragments of one length: a table of hashes over the sentences.

Lengths do not touch each other in it, so they are run one after the other, and one table at a
time is in memory. A slot holds the place of a fragment's first window, plus one; hashes only say
where to look, words are compared.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit

BASE = np.uint64(0xD6E8FEB86659FD93)
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
MOST = 2
"""Counts stop there: more than one is all that matters."""


@njit(cache=True, nogil=True)
def prefix_hashes(ids, out):  # type: ignore[no-untyped-def]
    """`out[i]` is the hash of the first i items: digits to an odd base, modulo 2**64."""
    out[0] = 0
    for i in range(len(ids)):
        out[i + 1] = out[i] * BASE + np.uint64(ids[i] + 2)


@njit(inline="always")
def _slot_of(ids, slots, drop, text, hashes, power, i, length):  # type: ignore[no-untyped-def]
    """The slot of the window of a text that begins at i, or the free one where it belongs."""
    key = hashes[i + length] - hashes[i] * power
    slot = np.int64((key * _SCATTER) >> drop)
    while slots[slot]:
        at, shared = slots[slot] - 1, 0
        while shared < length and ids[at + shared] == text[i + shared]:
            shared += 1
        if shared == length:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def run(ids, hashes, power, ends, edges, length, drop, slots, counts):  # type: ignore[no-untyped-def]
    """Lines 1 to 20 for one length."""
    start = 0
    for sentence in range(len(ends)):
        for i in range(start, ends[sentence] - length + 1):
            if not edges[i] or not edges[i + length - 1]:
                continue
            slot = _slot_of(ids, slots, drop, ids, hashes, power, i, length)
            if slots[slot]:
                counts[slot] = min(MOST, counts[slot] + 1)
                break  # line 12: the sentence's other windows of this length are never seen
            slots[slot], counts[slot] = i + 1, 1
        start = ends[sentence]


@njit(cache=True, nogil=True)
def look_up(  # type: ignore[no-untyped-def]
    ids, slots, counts, drop, text, hashes, power, ends, edges, length, tally, first, last
):
    """Add the windows of a text's sentences to `tally`, by their counts.

    `first[i]` becomes the end of the shortest window from i on with a count of 0, `last[i]` that
    of the longest with a count of 1, if lengths come in ascending order.
    """
    start = 0
    for sentence in range(len(ends)):
        for i in range(start, ends[sentence] - length + 1):
            if edges[i] and edges[i + length - 1]:
                slot = _slot_of(ids, slots, drop, text, hashes, power, i, length)
                count = counts[slot] if slots[slot] else 0
                tally[sentence, count] += 1
                if count == 0 and first[i] == 0:
                    first[i] = i + length
                elif count == 1:
                    last[i] = i + length
        start = ends[sentence]


@njit(cache=True, nogil=True)
def mark(ids, slots, counts, drop, hashes, power, ends, edges, length, marked):  # type: ignore[no-untyped-def]
    """Mark the sentences that hold a window with a count of 1."""
    start = 0
    for sentence in range(len(ends)):
        if not marked[sentence]:
            for i in range(start, ends[sentence] - length + 1):
                if edges[i] and edges[i + length - 1]:
                    slot = _slot_of(ids, slots, drop, ids, hashes, power, i, length)
                    if slots[slot] and counts[slot] == 1:
                        marked[sentence] = True
                        break
        start = ends[sentence]


@njit(cache=True, nogil=True)
def decide(ends, first, last):  # type: ignore[no-untyped-def]
    """Keep of `first` those that hold no other, of `last` those that no other holds."""
    start = 0
    for sentence in range(len(ends)):
        least, most = ends[sentence] + 1, 0
        for i in range(ends[sentence] - 1, start - 1, -1):
            if first[i] >= least:
                first[i] = 0
            elif first[i]:
                least = first[i]
        for i in range(start, ends[sentence]):
            if last[i] <= most:
                last[i] = 0
            else:
                most = last[i]
        start = ends[sentence]
