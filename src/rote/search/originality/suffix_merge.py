"""The sorted suffixes of all segments in one order, each with what it shares with the last.

A tournament tree has a segment at each leaf, whose next suffix plays for it; a node holds who lost
there. Who plays has a code: how many items it shares with the suffix that came last, and the item
behind them. The one that shares more comes first, and of two that share as many the one with the
smaller item, so that one comparison of codes decides, and leaves the loser's code as it is. Texts
are compared only where codes are equal, from there on (offset-value coding: Conner 1977; as in the
LCP loser trees of Bingmann, Eberle, Sanders 2017).

What two texts share for long is cached by segments and diagonal, position less position, as in
`index.counts.longest_match`: else each suffix of a document that stands in two segments would be
compared with its copy.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from rote.core.kernels import njit
from rote.index.columns import intrinsics as memories
from rote.index.columns.intrinsics import pointer
from rote.index.columns.layer_column import SharedVocabulary
from rote.index.columns.packed_array import read
from rote.search.originality import suffix_blocks
from rote.search.originality.reach import GroundTruth
from rote.search.originality.suffix_blocks import Int64s, SourcedSegment, SuffixBlock, empty_block

# Suffixes of a segment that wait to be merged, at least.
_MIN_BUFFER = 1 << 10
# Suffixes that are worth a thread.
_MIN_PART = 1 << 18
_BYTE = 8
Ranges = Sequence[tuple[int, int]]


def segment_bases(segments: Sequence[SourcedSegment]) -> Int64s:
    """The number of each segment's first position in a row of all; the last is where the row ends.

    They are whole bytes of bits.
    """
    sizes = [-(-len(segment.column.ids) // _BYTE) * _BYTE for segment in segments]
    return np.cumsum([0, *sizes], dtype=np.int64)


def split_suffixes(ground: GroundTruth, most: int) -> list[Ranges]:
    """At most so many parts of all suffixes, in order: from where to where in each segment.

    No match leaves a part: it begins with two items that no suffix before it begins with.
    """
    segments = ground.segments
    sizes = [len(segment.suffixes.order) for segment in segments]
    number = min(most, sum(sizes) // _MIN_PART)
    if number < 2:
        return [[(0, size) for size in sizes]]
    up = ground.index.shared(ground.layer).up if len(segments) > 1 else [None]

    def first_two(segment: int, rank: int) -> tuple[int, ...]:
        ids, position = segments[segment].column.ids, segments[segment].suffixes.order[rank]
        items, table = (ids[position], ids[min(position + 1, len(ids) - 1)]), up[segment]
        return items if table is None else tuple(table[list(items)].tolist())

    largest = int(np.argmax(sizes))
    cuts = [[0] * len(segments)]
    for part in range(1, number):
        begin = first_two(largest, sizes[largest] * part // number)
        ranks = (
            bisect_left(range(size), begin, key=partial(first_two, s))
            for s, size in enumerate(sizes)
        )
        cuts.append([max(pair) for pair in zip(cuts[-1], ranks)])
    return [list(zip(*pair)) for pair in pairwise([*cuts, sizes])]


def merged_blocks(ground: GroundTruth, bases: Int64s, ranges: Ranges) -> Iterator[SuffixBlock]:
    """The suffixes of a part of all segments in one order, in pieces that no match leaves."""
    if len(ground.segments) < 2:
        segment_ranges = zip(ground.segments, ranges)
        return chain.from_iterable(segment.cut_ranges([each]) for segment, each in segment_ranges)
    return suffix_blocks.cut_blocks(
        _merge_segments(ground.segments, ground.index.shared(ground.layer), bases, ranges)
    )


def _merge_segments(
    segments: Sequence[SourcedSegment], shared: SharedVocabulary, bases: Int64s, ranges: Ranges
) -> Iterator[SuffixBlock]:
    size = max(_MIN_BUFFER, suffix_blocks.BLOCK_SIZE // len(segments))
    most = max(segment.longest for segment in segments)
    streams = [segment.column.stream() for segment in segments]
    # From the numbers of a stream to the items that all segments share.
    ups = [up[ids.table] if len(ids.table) else up for ids, up in zip(streams, shared.up)]
    firsts = np.cumsum([0, *map(len, ups)])
    up = np.concatenate(ups)
    texts = np.empty((len(segments), _TEXT_COLUMNS), np.int64)
    for number, ids in enumerate(streams):
        data, last = ids.packed.data, max(0, len(ids) - 1)
        texts[number] = data.ctypes.data, len(data), ids.bits, last, firsts[number]
    # All up to the same number: a match of two passes by the suffixes of a third.
    waiting = [s.blocks(*segment_range, size, most) for s, segment_range in zip(segments, ranges)]
    heads, sizes = np.zeros((2, len(segments)), np.int64)
    positions, codes = np.empty((2, len(segments), size), np.int64)
    rests, sources = np.empty((2, len(segments), size), np.int32)

    def fill(number: int) -> None:
        """The next suffixes of a segment."""
        block = next(waiting[number], None)
        filled = 0 if block is None else len(block.places)
        heads[number], sizes[number] = 0, filled
        if block is not None:
            positions[number, :filled], rests[number, :filled] = block.places, block.rests
            sources[number, :filled] = block.sources
            _fill_codes(texts, up, number, block.places, block.shared, most, codes[number, :filled])

    for number in range(len(segments)):
        fill(number)
    memory = np.full(_CACHE_SHAPE, -1, np.int64)
    tree, state = np.zeros((len(segments), 2), np.int64), np.zeros(3, np.int64)
    _start_tree(texts, up, most, memory, tree, state, sizes, positions, codes)
    done = 0
    while True:
        out, filled = empty_block(done, suffix_blocks.BLOCK_SIZE), 0
        while True:
            filled = _merge_buffers(
                texts,
                up,
                bases,
                most,
                memory,
                tree,
                state,
                heads,
                sizes,
                positions,
                codes,
                rests,
                sources,
                filled,
                out.places,
                out.shared,
                out.rests,
                out.sources,
            )
            if state[EMPTIED] < 0:
                break
            fill(int(state[EMPTIED]))
        yield out.part(0, filled)
        done += filled
        if filled < suffix_blocks.BLOCK_SIZE:
            return


# Columns of `texts`: where a segment's items lie, bytes, bits of one, the last position, and where
# its numbers begin in `up`, which says which shared numbers they are.
_TEXT_COLUMNS = 5
WINNER, CODE, EMPTIED = 0, 1, 2
"""What `state` holds: who is next, with which code, and whose buffer has to be filled."""
_NOBODY = np.int64(2**62)  # the code of a segment that has no more suffixes
_AHEAD = 8
_LONG = 32
_CACHE_BITS = 12
_CACHE_SHAPE = (1 << _CACHE_BITS, 4)
"""Entries of the memory: segments, diagonal, and from where to where texts agree."""
_address: Any = pointer
prefetch: Any = memories.prefetch


@njit(inline="always")
def _data(texts, segment):  # type: ignore[no-untyped-def]
    return carray(_address(texts[segment, 0]), texts[segment, 1], np.uint8)


@njit(inline="always")
def _item(texts, up, segment, position):  # type: ignore[no-untyped-def]
    return up[texts[segment, 4] + read(_data(texts, segment), texts[segment, 2], position)]


@njit(inline="always")
def _code(texts, up, segment, position, shared, most):  # type: ignore[no-untyped-def]
    """Small for what comes early; beyond `most` items all suffixes are the same."""
    if shared >= most:
        return np.int64(0)
    # Beyond the last position only if suffixes are not sorted.
    item = _item(texts, up, segment, min(position + shared, texts[segment, 3]))
    return np.int64(most - shared) << 32 | np.int64(item)


@njit(cache=True, nogil=True)
def _fill_codes(texts, up, segment, positions, shared, most, out):  # type: ignore[no-untyped-def]
    """The codes of suffixes, each after the one before it in its segment."""
    data, bits = _data(texts, segment), texts[segment, 2]
    for i in range(len(positions)):
        prefetch(data, (positions[min(i + 4 * _AHEAD, len(positions) - 1)] * bits) >> 3)
        out[i] = _code(texts, up, segment, positions[i], np.int64(shared[i]), most)


@njit(cache=True, nogil=True)
def _compare_items(texts, up, first, position, second, there, shared, most):  # type: ignore[no-untyped-def]
    """How many items two suffixes share, `shared` of them known; a document's end is none."""
    # Beyond the last position only if suffixes are not sorted.
    if position + shared > texts[first, 3] or there + shared > texts[second, 3]:
        return shared
    while shared < most:
        item = _item(texts, up, first, position + shared)
        if item == 0 or item != _item(texts, up, second, there + shared):
            break
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def _compare_far(texts, up, first, position, second, there, shared, most, memory):  # type: ignore[no-untyped-def]
    """The same for what is long: a stretch that is known to agree is not walked again."""
    pair, diagonal = np.int64(first) << 32 | np.int64(second), there - position
    key = np.uint64(diagonal ^ (pair * np.int64(0x5851F42D4C957F2D)))
    slot = (key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _CACHE_BITS)
    start, end = np.int64(-1), np.int64(-1)
    if memory[slot, 0] == pair and memory[slot, 1] == diagonal:
        start, end = memory[slot, 2], memory[slot, 3]
    if position + shared < start:
        shared = _compare_items(
            texts, up, first, position, second, there, shared, min(most, start - position)
        )
    if start <= position + shared <= end:
        shared, start = end - position, min(position, start)
    else:
        start = position
    shared = _compare_items(texts, up, first, position, second, there, shared, most)
    memory[slot, 0], memory[slot, 1] = pair, diagonal
    memory[slot, 2], memory[slot, 3] = start, position + shared
    return min(shared, most)


@njit(cache=True, nogil=True)
def _compare_codes(texts, up, left, position, right, there, code, most, memory):  # type: ignore[no-untyped-def]
    """Whether the first of two suffixes with the same code comes first, and the loser's new code.

    Suffixes that are equal come in the order of their segments.
    """
    shared = most - (code >> 32)
    shared = _compare_items(
        texts, up, left, position, right, there, shared, min(most, max(shared, _LONG))
    )
    if _LONG <= shared < most:
        if left < right:
            shared = _compare_far(texts, up, left, position, right, there, shared, most, memory)
        else:
            shared = _compare_far(texts, up, right, there, left, position, shared, most, memory)
    mine = _code(texts, up, left, position, shared, most)
    theirs = _code(texts, up, right, there, shared, most)
    first = mine < theirs or (mine == theirs and left < right)
    return first, theirs if first else mine


@njit(cache=True, nogil=True)
def _start_tree(texts, up, most, memory, tree, state, sizes, positions, codes):  # type: ignore[no-untyped-def]
    """Play for the first position; the first suffix of each segment is the first in its buffer."""
    segments = len(sizes)
    winners = np.empty(2 * segments, np.int64)
    for node in range(2 * segments - 1, 0, -1):
        if node >= segments:
            winners[node] = node - segments
            continue
        left, right = winners[2 * node], winners[2 * node + 1]
        mine = codes[left, 0] if sizes[left] else _NOBODY
        theirs = codes[right, 0] if sizes[right] else _NOBODY
        first, lost = mine < theirs, max(mine, theirs)
        if mine == theirs and mine != _NOBODY:
            first, lost = _compare_codes(
                texts, up, left, positions[left, 0], right, positions[right, 0], mine, most, memory
            )
        winners[node] = left if first else right
        tree[node, 0], tree[node, 1] = right if first else left, lost
    state[WINNER] = winners[1]
    state[CODE] = codes[winners[1], 0] if sizes[winners[1]] else _NOBODY
    state[EMPTIED] = -1


@njit(cache=True, nogil=True)
def _merge_buffers(  # type: ignore[no-untyped-def]
    texts,
    up,
    bases,
    most,
    memory,
    tree,
    state,
    heads,
    sizes,
    from_places,
    from_codes,
    from_rests,
    from_sources,
    filled,
    positions,
    shared,
    rests,
    sources,
):
    """Write suffixes in order from `filled` on, until all are full or a buffer is empty.

    Gives how many are written then. A position has the base of its segment added to it.
    """
    segments = len(sizes)
    while True:
        who = state[EMPTIED]
        if who < 0:
            who, code = state[WINNER], state[CODE]
            if filled == len(positions) or code == _NOBODY:
                return filled
            head = heads[who]
            positions[filled] = from_places[who, head] + bases[who]
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
                first, lost = _compare_codes(
                    texts,
                    up,
                    who,
                    from_places[who, heads[who]],
                    other,
                    from_places[other, heads[other]],
                    code,
                    most,
                    memory,
                )
                tree[node, 0], tree[node, 1] = (other if first else who), lost
                who = who if first else other
            else:
                swap = theirs < code
                tree[node, 0], tree[node, 1] = (who if swap else other), max(code, theirs)
                who, code = (other if swap else who), min(code, theirs)
            node >>= 1
        state[WINNER], state[CODE] = who, code
