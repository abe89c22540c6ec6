"""Chains of runs: a passage of a document that stands in a text with a few words changed.

Two runs of one text and one document link if the second begins behind the first in both, with at
most `gap` words between them in each: words were added, left out or exchanged. A run that begins
before the other ends, in either, is cut at its front. Runs that are linked, directly or through
others, make a group; of each group the chain with the most words is taken, and of equal ones
that with the fewest words in its gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.tracing.runs import Numbers, Runs

# One word outweighs any number of words in gaps.
_WORD = 1 << 24


@dataclass(frozen=True, slots=True)
class Chains:
    """Chain c is the runs `ends[c - 1]` to `ends[c]` of these, in order, cut where they overlap."""

    first: Numbers
    place: Numbers
    length: Numbers
    ends: Numbers

    def __len__(self) -> int:
        return len(self.ends)

    def slice(self, chain: int) -> slice:
        return slice(int(self.ends[chain - 1]) if chain else 0, int(self.ends[chain]))


def chains(runs: Runs, texts: Numbers, documents: NDArray[Any], gap: int) -> Chains:
    """The best chain of every group of linked runs, if it has two runs at least.

    `texts` and `documents` say of each run where it lies.
    """
    order = np.lexsort((runs.place, runs.first, texts, documents))
    first, place, length = runs.first[order], runs.place[order], runs.length[order]
    same = (np.diff(texts[order]) == 0) & (np.diff(documents[order]) == 0)
    pair = np.concatenate((np.zeros(min(1, len(order)), np.int64), np.cumsum(~same)))
    previous, cut, best = _linked(first, place, length, pair, gap)
    members, sizes = _traced(previous, best)
    return Chains(
        first=first[members] + cut[members],
        place=place[members] + cut[members],
        length=length[members] - cut[members],
        ends=np.cumsum(sizes),
    )


@njit(cache=True, nogil=True)
def _root(parents, run):  # type: ignore[no-untyped-def]
    while parents[run] != run:
        parents[run] = parents[parents[run]]
        run = parents[run]
    return run


@njit(cache=True, nogil=True)
def _linked(first, place, length, pair, gap):  # type: ignore[no-untyped-def]
    """For each run the one before it in the best chain that it ends (-1: none), and how much is cut
    off its front there; and the last run of the best chain of each group."""
    count = len(first)
    previous, cut = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    scores, parents = length * _WORD, np.arange(count)
    longest = np.int64(0)
    for j in range(count):
        if j and pair[j] != pair[j - 1]:
            longest = np.int64(0)
        for k in range(j - 1, -1, -1):
            if pair[k] != pair[j] or first[k] + longest + gap < first[j]:
                break
            end, behind = first[k] + length[k], place[k] + length[k]
            less = max(np.int64(0), end - first[j], behind - place[j])
            between, apart = first[j] + less - end, place[j] + less - behind
            if less >= length[j] or between > gap or apart > gap:
                continue
            if first[k] == first[j] or place[k] >= place[j]:
                continue
            parents[_root(parents, j)] = _root(parents, k)
            score = scores[k] + (length[j] - less) * _WORD - between - apart
            if score > scores[j]:
                scores[j], previous[j], cut[j] = score, k, less
        longest = max(longest, length[j])
    best = np.full(count, -1, np.int64)
    for j in range(count):
        root = _root(parents, j)
        if best[root] < 0 or scores[j] > scores[best[root]]:
            best[root] = j
    return previous, cut, best


@njit(cache=True, nogil=True)
def _traced(previous, best):  # type: ignore[no-untyped-def]
    """The runs of each chain in order, and how many each has; a single run is no chain."""
    members, sizes = np.empty(len(previous), np.int64), np.empty(len(previous), np.int64)
    filled, count = 0, 0
    for last in best:
        size, run = 0, last
        while run >= 0:
            size += 1
            run = previous[run]
        if size < 2:
            continue
        run = last
        for at in range(filled + size - 1, filled - 1, -1):
            members[at] = run
            run = previous[run]
        filled += size
        sizes[count] = size
        count += 1
    return members[:filled], sizes[:count]
