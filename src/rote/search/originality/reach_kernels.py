"""How far the sources of a ground truth reach along a suffix: the longest match with each.

Walking along sorted suffixes, the match of the one at hand with an earlier one is the least that
any two neighbours between them share, and no longer than the earlier one's sentence. For each
source only its longest match counts. So the walk carries a short list, the sources with the
longest matches: each step cuts all of them down to what the neighbours share, which keeps their
order, and puts in the suffix it has come to. A list of k + 1 sources, from either side, says from
which length on at most k sources hold a fragment. Linear in the suffixes, whatever repeats.

A list stands in two rows, sources and lengths; lengths fall, and 0 means that the list ends.
"""

from __future__ import annotations

import numpy as np

from rote.core.kernels import njit
from rote.search.originality.neighbour_kernels import LEAST

# The lists from behind are kept for so many suffixes at a time, and made again from one list
# at the end of each such block.
_BLOCK = 512


@njit(inline="always")
def _cut(lengths, most):  # type: ignore[no-untyped-def]
    """No match is longer than what the neighbours share; one too short for a fragment is none."""
    if most < LEAST:
        most = 0
    for k in range(len(lengths)):
        if lengths[k] <= most:
            break
        lengths[k] = most


@njit(inline="always")
def put(sources, lengths, source, length):  # type: ignore[no-untyped-def]
    """A match with a source, in its place in the list, unless the source has a longer one."""
    width = len(lengths)
    if length < LEAST or lengths[width - 1] >= length:
        return
    at = 0
    while at < width and lengths[at] and sources[at] != source:
        at += 1
    if at == width:
        at -= 1  # the last one makes room
    elif lengths[at] >= length:
        return
    while at > 0 and lengths[at - 1] < length:
        sources[at] = sources[at - 1]
        lengths[at] = lengths[at - 1]
        at -= 1
    sources[at] = source
    lengths[at] = length


@njit(inline="always")
def _join(sources, lengths, other_sources, other_lengths, out_sources, out_lengths):  # type: ignore[no-untyped-def]
    """One list of two; each source with the longer of its matches."""
    a = b = filled = 0
    width = len(lengths)
    out_lengths[:] = 0
    while filled < width:
        left = lengths[a] if a < width else 0
        right = other_lengths[b] if b < width else 0
        if left == 0 and right == 0:
            break
        if left >= right:
            source, length = sources[a], left
            a += 1
        else:
            source, length = other_sources[b], right
            b += 1
        seen = False
        for k in range(filled):
            seen |= out_sources[k] == source
        if not seen:
            out_sources[filled] = source
            out_lengths[filled] = length
            filled += 1


@njit(cache=True, nogil=True)
def reach_along(  # type: ignore[no-untyped-def]
    shared, rests, sources, width, ranks, most, found_sources, found_lengths, before, alone
):
    """Walk along a stretch of suffixes.

    For each question q, the list of the suffix `ranks[q]`, cut down to `most[q]`; ranks ascend.
    For each suffix of the stretch, the longest match with any before it, and with any other.
    """
    size = len(shared)
    blocks = (size + _BLOCK - 1) // _BLOCK
    # Lists of what stands behind each block, then behind each suffix of one block.
    corner_sources = np.zeros((blocks + 1, width), np.int32)
    corner_lengths = np.zeros((blocks + 1, width), np.int32)
    near_sources = np.zeros((_BLOCK, width), np.int32)
    near_lengths = np.zeros((_BLOCK, width), np.int32)
    now_sources, now_lengths = np.zeros(width, np.int32), np.zeros(width, np.int32)
    for i in range(size - 1, -1, -1):
        if i % _BLOCK == _BLOCK - 1:
            corner_sources[i // _BLOCK] = now_sources
            corner_lengths[i // _BLOCK] = now_lengths
        put(now_sources, now_lengths, sources[i], rests[i])
        _cut(now_lengths, shared[i])
    now_lengths[:] = 0
    q = 0
    for block in range(blocks):
        start, stop = block * _BLOCK, min(size, (block + 1) * _BLOCK)
        behind_sources, behind_lengths = corner_sources[block], corner_lengths[block]
        for i in range(stop - 1, start - 1, -1):
            near_sources[i - start] = behind_sources
            near_lengths[i - start] = behind_lengths
            put(behind_sources, behind_lengths, sources[i], rests[i])
            _cut(behind_lengths, shared[i])
        for i in range(start, stop):
            _cut(now_lengths, shared[i])
            before[i] = min(now_lengths[0], rests[i])
            alone[i] = min(max(now_lengths[0], near_lengths[i - start, 0]), rests[i])
            put(now_sources, now_lengths, sources[i], rests[i])
            while q < len(ranks) and ranks[q] == i:
                _join(
                    now_sources,
                    now_lengths,
                    near_sources[i - start],
                    near_lengths[i - start],
                    found_sources[q],
                    found_lengths[q],
                )
                _cut(found_lengths[q], most[q])
                q += 1


@njit(inline="always")
def _two(first, longest, second, longer, source, length):  # type: ignore[no-untyped-def]
    """`put` for a list of two entries, (first, longest) and (second, longer)."""
    if length < LEAST or longer >= length:
        return first, longest, second, longer
    if source == first:
        return first, max(longest, length), second, longer
    if length > longest:
        return source, length, first, longest
    return first, longest, source, length


@njit(cache=True, nogil=True)
def reach_of_two(shared, rests, sources, common, before, alone):  # type: ignore[no-untyped-def]
    """For each suffix of a stretch the longest match with another source, with any, with any other.

    As `reach_along` with lists of two, in two scans that carry one list each: `common` is what
    the second entry of its lists would be.
    """
    first = second = np.int32(-1)
    longest = longer = np.int32(0)
    for i in range(len(shared)):
        most = shared[i] if shared[i] >= LEAST else np.int32(0)
        longest, longer = min(longest, most), min(longer, most)
        before[i] = min(longest, rests[i])
        common[i] = longest if sources[i] != first else longer
        first, longest, second, longer = _two(first, longest, second, longer, sources[i], rests[i])
    first = second = np.int32(-1)
    longest = longer = np.int32(0)
    for i in range(len(shared) - 1, -1, -1):
        alone[i] = max(before[i], min(longest, rests[i]))
        both = max(common[i], longest if sources[i] != first else longer)
        common[i] = min(both, rests[i]) if rests[i] >= LEAST else 0
        first, longest, second, longer = _two(first, longest, second, longer, sources[i], rests[i])
        most = shared[i] if shared[i] >= LEAST else np.int32(0)
        longest, longer = min(longest, most), min(longer, most)


@njit(cache=True, nogil=True)
def join_lists(sources, lengths, other_sources, other_lengths):  # type: ignore[no-untyped-def]
    """Put the lists of another segment into these, one for each question."""
    width = lengths.shape[1]
    held_sources, held_lengths = np.empty(width, np.int32), np.empty(width, np.int32)
    for q in range(len(lengths)):
        held_sources[:] = sources[q]
        held_lengths[:] = lengths[q]
        _join(
            held_sources,
            held_lengths,
            other_sources[q],
            other_lengths[q],
            sources[q],
            lengths[q],
        )
