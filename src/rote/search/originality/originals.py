"""All original fragments of a ground truth, from one linear pass over its sorted suffixes.

A fragment is original iff at most `relax` sources hold it. The shortest original length at a word
is one more than the longest match with sentences of other sources; everything longer, up to
the sentence's end, is original too.

How far other sentences of a ground truth follow each of its own words.
Beside the longest run that several sources hold, this says which runs to count as different ones:
each once, at the first place, in the order of suffixes, where it is a fragment. Mostly that is
a length: from one item more than what any earlier place shares. But the same words may be
tagged in several ways, and be a fragment at a later place only; these are listed apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rote.core.progress import Reporter, Silent
from rote.index.answers import Place
from rote.index.columns.parts import Column
from rote.index.columns.shared import Shared, share
from rote.index.index import DEFAULT, Index
from rote.index.places import places_in
from rote.index.segments.segment import Segment
from rote.search.originality import fragment_kernels as kernels
from rote.search.originality.edges import Edges, Rule, edges_of_segment, rule_for
from rote.search.originality.reach import GroundTruth, Lists, blocks, walk
from rote.search.originality.sources import Sources, sources_of
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


# Fragments that are listed at once.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class LengthRow:
    """How many fragments of one length a ground truth holds.

    `fragments` are different ones, `original` those of them with at most `relax` sources, `once`
    those that occur once. `occurrences` counts every place, `original_occurrences` the places
    of original ones.
    """

    length: int
    fragments: int
    original: int
    occurrences: int
    original_occurrences: int
    once: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """An original fragment, its words as they stand in the layer, and one place of it."""

    words: tuple[str, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Originals:
    """What the pass found; `fragments` goes through the texts once more and names them."""

    index: Index
    layer: str
    sources: Sources
    by_length: Sequence[LengthRow]
    sentences: int
    original_sentences: int
    _edges: Sequence[Edges]
    _reaches: Sequence[OwnReach]

    @property
    def total(self) -> LengthRow:
        """All lengths together, under length 0."""
        rows = np.array(
            [
                (r.fragments, r.original, r.occurrences, r.original_occurrences, r.once)
                for r in self.by_length
            ],
            np.int64,
        ).reshape(-1, kernels.TALLIED)
        return LengthRow(0, *rows.sum(axis=0).tolist())

    def fragments(self, *, shortest: bool = False) -> Iterator[Fragment]:
        """Every different original fragment, at one of its places; sentence by sentence.

        `shortest`: only those that hold no other original fragment, since whatever holds one
        is original too.
        """
        for number, (segment, edges, own) in enumerate(
            zip(self.index.segments, self._edges, self._reaches)
        ):
            for starts, ends in _original_spans(edges, own, shortest):
                yield from listed(segment, number, self.layer, starts, ends)


def find_originals(
    index: Index,
    layer: str = DEFAULT,
    *,
    relax: int = 1,
    rule: Rule | None = None,
    sources: Sources | None = None,
    reporter: Reporter | None = None,
) -> Originals:
    """The original fragments of an index's own sentences.

    `rule` says how edges of fragments are told, by tags or by words (by tags if there are any);
    `sources` which documents belong together (those of one known author).
    """
    sources = sources or sources_of(index)
    rule = rule or rule_for(index)
    ground = GroundTruth(index, layer, sources)
    longest = max((segment.longest for segment in ground.segments), default=0)
    tally = np.zeros((longest + 1, kernels.TALLIED), np.int64)
    edges, reaches = [], []
    sentences = original = 0
    with (reporter or Silent()).stage("matching sentences", len(ground.segments)) as advance:
        for number, segment in enumerate(index.segments):
            edges.append(edges_of_segment(segment, rule))
            own = own_reach(ground, number, edges, relax)
            reaches.append(own)
            held, found = kernels.tally_lengths(
                edges[-1], own.rests, own.common, own.before, own.alone, tally
            )
            lengths, places = own.more & LENGTH, own.more >> 32
            np.add.at(tally[:, kernels.FRAGMENTS], lengths, 1)
            np.add.at(tally[:, kernels.ORIGINAL], lengths, lengths > own.common[places])
            sentences, original = sentences + held, original + found
            advance(1)
    rows = [LengthRow(n, *row) for n, row in enumerate(tally.tolist()) if row[2]]
    return Originals(index, layer, sources, rows, sentences, original, edges, reaches)


def _original_spans(edges: Edges, own: OwnReach, shortest: bool) -> Iterator[tuple[Int64s, Int64s]]:
    """Starts and ends of original fragments, some at a time."""
    place, room = 0, _AT_ONCE
    while place < len(own.rests):
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        found, at = kernels.list_originals(
            edges, own.rests, own.common, own.before, own.more, shortest, place, starts, ends
        )
        if at == place:
            room *= 2  # a very long sentence
            continue
        place = at
        yield starts[:found], ends[:found]


def listed(
    segment: Segment, number: int, layer: str, starts: Int64s, ends: Int64s
) -> Iterator[Fragment]:
    """The fragments from these places of segment `number` to those, by rising start."""
    for i in range(0, len(starts), _AT_ONCE):
        part = slice(i, i + _AT_ONCE)
        words = _words(segment.columns[layer], starts[part], ends[part])
        yield from map(Fragment, words, places_in(segment, number, layer, starts[part], ends[part]))


def _words(column: Column, starts: Int64s, ends: Int64s) -> Iterator[tuple[str, ...]]:
    sizes = ends - starts
    items = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(int(sizes.sum()))
    numbers = column.ids.take(items).tolist()
    used = {i: column.vocabulary[i] for i in set(numbers)}
    at = 0
    for size in sizes.tolist():
        yield tuple(used[i] for i in numbers[at : at + size])
        at += size
