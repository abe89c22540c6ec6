"""The suffixes of all segments of a layer as one row, in order: what `originals` walks along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from rote.index.columns.shared import Shared
from rote.search.originality import merge_kernels as kernels
from rote.search.originality import stretches
from rote.search.originality.reach import GroundTruth
from rote.search.originality.stretches import Int64s, Stretch, Suffixed, empty_stretch

# Suffixes of a segment that wait to be merged, at least.
_LEAST_SIZE = 1 << 10
_BYTE = 8


def bases_of(segments: Sequence[Suffixed]) -> Int64s:
    """The number of each segment's first place in a row of all; the last is where the row ends.

    They are whole bytes of bits.
    """
    sizes = [-(-len(segment.column.ids) // _BYTE) * _BYTE for segment in segments]
    return np.cumsum([0, *sizes], dtype=np.int64)


def all_stretches(ground: GroundTruth, bases: Int64s) -> Iterator[Stretch]:
    """The suffixes of all segments in one order, in pieces that no match leaves."""
    if len(ground.segments) < 2:
        return chain.from_iterable(segment.stretches() for segment in ground.segments)
    return stretches.cut(_merged(ground.segments, ground.index.shared(ground.layer), bases))


def _merged(segments: Sequence[Suffixed], shared: Shared, bases: Int64s) -> Iterator[Stretch]:
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
    waiting = [s.blocks(0, len(s.suffixes.order), size, most) for s in segments]
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
