"""How far other sentences of a ground truth follow each of its own words.

Beside the longest run that several sources hold, this says which runs to count as different ones:
each once, at the first place, in the order of suffixes, where it is a fragment. Mostly that is
a length: from one item more than what any earlier place shares. But the same words may be
tagged in several ways, and be a fragment at a later place only; these are listed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rote.index.columns.shared import Shared, share
from rote.search.originality import _fragments as kernels
from rote.search.originality.edges import Edges
from rote.search.originality.reach import GroundTruth, Lists, blocks, walk
from rote.search.originality.stretches import Int32s, Int64s

LENGTH = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class OwnReach:
    """For every place of a segment; runs are inside its sentence.

    `common[p]`: items of the longest run from p on that more than `relax` sources hold, its own
    among them. `alone[p]`: of the longest that stands anywhere else. `rests[p]`: items to the
    sentence's end. A fragment from p on counts as a different one if it is longer than
    `before[p]`, or if place << 32 | length is in `more`, which ascends.
    """

    common: Int32s
    before: Int32s
    alone: Int32s
    rests: Int32s
    more: Int64s


def own_reach(ground: GroundTruth, number: int, edges: Sequence[Edges], relax: int = 1) -> OwnReach:
    """The reach of segment `number`; `edges` of it and of those before it."""
    segment, width = ground.segments[number], ground.width(relax)
    rests = segment.rests()
    common, before, alone = (np.zeros(len(rests), np.int32) for _ in range(3))
    more = [np.empty(0, np.int64)]
    for stretch in segment.stretches():
        ranks = np.arange(stretch.start, stretch.stop)
        found, earlier, alone[stretch.places] = walk(stretch, ranks, stretch.rests, width)
        before[stretch.places] = earlier
        common[stretch.places] = found.lengths[:, -1]
        more.append(
            kernels.new_despite_others(
                stretch.shared,
                stretch.places,
                stretch.rests,
                earlier,
                edges[number],
                segment.longest,
            )
        )
    own = OwnReach(common, before, alone, rests, np.sort(np.concatenate(more)))
    return own if len(ground.segments) == 1 else _with_others(ground, number, edges, width, own)


def _with_others(
    ground: GroundTruth, number: int, edges: Sequence[Edges], width: int, own: OwnReach
) -> OwnReach:
    """The same with what other segments hold."""
    segment, shared = ground.segments[number], share([x.column for x in ground.lookups])
    common, alone = own.common.copy(), own.alone.copy()
    elsewhere = np.zeros_like(own.before)
    more = []
    for part, seen in blocks(own.rests, width):
        lists = Lists.empty(part.stop - part.start, width)
        for stretch in segment.stretches():
            ranks = np.flatnonzero((stretch.places >= part.start) & (stretch.places < part.stop))
            found, _, _ = walk(stretch, ranks + stretch.start, stretch.rests[ranks], width)
            lists.put(stretch.places[ranks] - part.start, found)
        ids = shared.up[number][segment.column.ids.slice(seen.start, seen.stop)]
        for other in range(len(ground.segments)):
            if other != number:
                found = ground.asked(other, shared.down[other][ids], own.rests[part], width)
                lists.join(found)
                known = found.lengths[:, 0]
                alone[part] = np.maximum(alone[part], known)
                if other < number:
                    elsewhere[part] = np.maximum(elsewhere[part], known)
        common[part] = lists.lengths[:, -1]
        starts, ends = _fragments(edges[number], own.rests, elsewhere, part, seen)
        keys = starts << 32 | ends - starts
        new = (ends - starts > own.before[starts]) | np.isin(keys, own.more)
        starts, ends, keys = starts[new], ends[new], keys[new]
        for other in range(number):
            unmet = ~_met(ground, number, other, edges[other], shared, starts, ends)
            starts, ends, keys = starts[unmet], ends[unmet], keys[unmet]
        more.append(keys)
    kept = own.more[own.more & LENGTH > elsewhere[own.more >> 32]]
    listed = np.sort(np.concatenate([kept, *more]))
    return OwnReach(common, np.maximum(own.before, elsewhere), alone, own.rests, listed)


def _fragments(
    edges: Edges, rests: Int32s, most: Int32s, part: slice, seen: slice
) -> tuple[Int64s, Int64s]:
    """The fragments from some places on, of at most so many items each."""
    none = np.empty(0, np.int64)
    held = (edges[seen], rests[part], most[part])
    count = kernels.fragments_up_to(*held, none, none)
    starts, ends = np.empty(count, np.int64), np.empty(count, np.int64)
    kernels.fragments_up_to(*held, starts, ends)
    return starts + part.start, ends + part.start


def _met(
    ground: GroundTruth,
    number: int,
    other: int,
    edges: Edges,
    shared: Shared,
    starts: Int64s,
    ends: Int64s,
) -> Edges:
    """Of fragments of segment `number` whether another segment has them, as fragments."""
    sizes = ends - starts
    behind = np.cumsum(sizes)
    items = np.repeat(starts - (behind - sizes), sizes) + np.arange(int(sizes.sum()))
    ids = shared.up[number][ground.segments[number].column.ids.take(items)]
    low, high = ground.lookups[other].ranges(shared.down[other][ids], behind)
    segment = ground.segments[other]
    order = segment.suffixes.order
    out = np.zeros(len(starts), np.bool_)
    kernels.any_is_fragment(order.data, order.bits, low, high, sizes, edges, segment.rests(), out)
    return out
