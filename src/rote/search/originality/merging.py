"""The suffixes of all segments of a layer as one row, in order: what `originals` walks along."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np

from rote.index.columns.shared import Shared
from rote.search.originality import merge_kernels as kernels
from rote.search.originality import stretches
from rote.search.originality.reach import GroundTruth
from rote.search.originality.stretches import Int64s, Stretch, Suffixed, empty_stretch

# Suffixes of a segment that wait to be merged, at least.
_LEAST_SIZE = 1 << 10
# Suffixes that are worth a thread.
_LEAST_PART = 1 << 18
_BYTE = 8
Ranges = Sequence[tuple[int, int]]


def bases_of(segments: Sequence[Suffixed]) -> Int64s:
    """The number of each segment's first place in a row of all; the last is where the row ends.

    They are whole bytes of bits.
    """
    sizes = [-(-len(segment.column.ids) // _BYTE) * _BYTE for segment in segments]
    return np.cumsum([0, *sizes], dtype=np.int64)


def parts_of(ground: GroundTruth, most: int) -> list[Ranges]:
    """At most so many parts of all suffixes, in order: from where to where in each segment.

    No match leaves a part: it begins with two items that no suffix before it begins with.
    """
    segments = ground.segments
    sizes = [len(segment.suffixes.order) for segment in segments]
    number = min(most, sum(sizes) // _LEAST_PART)
    if number < 2:
        return [[(0, size) for size in sizes]]
    up = ground.index.shared(ground.layer).up if len(segments) > 1 else [None]

    def first_two(segment: int, rank: int) -> tuple[int, ...]:
        ids, place = segments[segment].column.ids, segments[segment].suffixes.order[rank]
        own, table = (ids[place], ids[min(place + 1, len(ids) - 1)]), up[segment]
        return own if table is None else tuple(table[list(own)].tolist())

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


def all_stretches(ground: GroundTruth, bases: Int64s, ranges: Ranges) -> Iterator[Stretch]:
    """The suffixes of a part of all segments in one order, in pieces that no match leaves."""
    if len(ground.segments) < 2:
        own = zip(ground.segments, ranges)
        return chain.from_iterable(segment.stretches([each]) for segment, each in own)
    return stretches.cut(_merged(ground.segments, ground.index.shared(ground.layer), bases, ranges))


def _merged(
    segments: Sequence[Suffixed], shared: Shared, bases: Int64s, ranges: Ranges
) -> Iterator[Stretch]:
    size = max(_LEAST_SIZE, stretches.SIZE // len(segments))
    most = max(segment.longest for segment in segments)
    streams = [segment.column.stream() for segment in segments]
    # From the numbers of a stream to the items that all segments share.
    ups = [up[ids.table] if len(ids.table) else up for ids, up in zip(streams, shared.up)]
    firsts = np.cumsum([0, *map(len, ups)])
    up = np.concatenate(ups)
    texts = np.empty((len(segments), kernels.TEXT), np.int64)
    for number, ids in enumerate(streams):
        data, last = ids.packed.data, max(0, len(ids) - 1)
        texts[number] = data.ctypes.data, len(data), ids.bits, last, firsts[number]
    # All up to the same number: a match of two passes by the suffixes of a third.
    waiting = [s.blocks(*own, size, most) for s, own in zip(segments, ranges)]
    heads, sizes = np.zeros((2, len(segments)), np.int64)
    places, codes = np.empty((2, len(segments), size), np.int64)
    rests, sources = np.empty((2, len(segments), size), np.int32)

    def fill(number: int) -> None:
        """The next suffixes of a segment."""
        block = next(waiting[number], None)
        filled = 0 if block is None else len(block.places)
        heads[number], sizes[number] = 0, filled
        if block is not None:
            places[number, :filled], rests[number, :filled] = block.places, block.rests
            sources[number, :filled] = block.sources
            kernels.codes_of(
                texts, up, number, block.places, block.shared, most, codes[number, :filled]
            )

    for number in range(len(segments)):
        fill(number)
    memory = np.full(kernels.MEMORY, -1, np.int64)
    tree, state = np.zeros((len(segments), 2), np.int64), np.zeros(3, np.int64)
    kernels.start(texts, up, most, memory, tree, state, sizes, places, codes)
    done = 0
    while True:
        out, filled = empty_stretch(done, stretches.SIZE), 0
        while True:
            filled = kernels.merge(
                texts, up, bases, most, memory, tree, state, heads, sizes,
                places, codes, rests, sources,
                filled, out.places, out.shared, out.rests, out.sources,
            )  # fmt: skip
            if state[kernels.EMPTIED] < 0:
                break
            fill(int(state[kernels.EMPTIED]))
        yield out.part(0, filled)
        done += filled
        if filled < stretches.SIZE:
            return
