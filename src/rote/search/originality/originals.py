"""All original fragments of a ground truth, from one linear pass over its sorted suffixes.

A fragment is original iff at most `relax` sources hold it. The shortest original length at a word
is one more than the longest match with sentences of other sources; everything longer, up to
the sentence's end, is original too.

Different fragments are counted once each, at the first place, in the order of suffixes, where
they are fragments. Mostly that is a length: from one item more than what any earlier place shares.
But the same words may be tagged in several ways, and be a fragment at a later place only; these
are listed apart. The suffixes of several segments are walked along in one order, so segments cost
no more than their words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rote.core.progress import Reporter, Silent
from rote.index.answers import Place
from rote.index.columns.parts import Column
from rote.index.counting.batch import in_each
from rote.index.index import DEFAULT, Index
from rote.index.places import places_in
from rote.index.segments.segment import Segment
from rote.search.originality.edges import Rule, edges_of_segment, rule_for
from rote.search.originality.fragment_kernels import list_originals
from rote.search.originality.length_kernels import PADDING
from rote.search.originality.lengths import LengthRow, OwnReach, Tally
from rote.search.originality.merging import Ranges, all_stretches, bases_of, parts_of
from rote.search.originality.reach import GroundTruth, walk
from rote.search.originality.reach_kernels import reach_of_two
from rote.search.originality.sources import Sources, sources_of
from rote.search.originality.stretches import Int32s, Int64s, Stretch

# Fragments that are listed at once.
_AT_ONCE = 1 << 16
# Parts of all suffixes for each thread: they take unequal times.
_PARTS = 8


def reach_of_all(stretch: Stretch, width: int) -> tuple[Int32s, Int32s, Int32s]:
    """Of each suffix of a stretch the longest run that `width` sources hold, that stands earlier in
    the order, and that stands anywhere else.
    """
    if width > 2:
        found, before, alone = walk(
            stretch, np.arange(stretch.start, stretch.stop), stretch.rests, width
        )
        return found.lengths[:, -1].copy(), before, alone
    common, before, alone = (np.empty_like(stretch.rests) for _ in range(3))
    reach_of_two(stretch.shared, stretch.rests, stretch.sources, common, before, alone)
    return common, before, alone


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
    _ground: GroundTruth
    _reach: OwnReach

    @property
    def total(self) -> LengthRow:
        """All lengths together, under length 0."""
        rows = np.array(
            [
                (r.fragments, r.original, r.occurrences, r.original_occurrences, r.once)
                for r in self.by_length
            ],
            np.int64,
        ).reshape(-1, 5)
        return LengthRow(0, *rows.sum(axis=0).tolist())

    def fragments(self, *, shortest: bool = False) -> Iterator[Fragment]:
        """Every different original fragment, at one of its places; sentence by sentence.

        `shortest`: only those that hold no other original fragment, since whatever holds one
        is original too.
        """
        for number, segment in enumerate(self.index.segments):
            rests = self._ground.segments[number].rests()
            for starts, ends in _original_spans(self._reach.of(number), rests, shortest):
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
    width = ground.width(relax)
    bases = bases_of(ground.segments)
    edges = np.zeros((int(bases[-1]) >> 3) + PADDING, np.uint8)
    for segment, base in zip(index.segments, bases.tolist()):
        bits = edges_of_segment(segment, rule)
        edges[base >> 3 : (base >> 3) + len(bits)] = bits
    tally = Tally.empty(max((segment.longest for segment in ground.segments), default=0))
    reach = np.zeros((int(bases[-1]), 2), np.int32)
    more = [np.empty(0, np.int64)]

    def walk_along(ranges: Ranges) -> tuple[Tally, list[Int64s]]:
        own = Tally.empty(tally.longest)
        return own, [
            own.add(stretch, *reach_of_all(stretch, width), edges, reach)
            for stretch in all_stretches(ground, bases, ranges)
        ]

    parts = parts_of(ground, _PARTS * index.threads)
    sizes = [sum(stop - start for start, stop in ranges) for ranges in parts]
    with (reporter or Silent()).stage("matching sentences", sum(sizes)) as advance:
        for size, (counted, apart) in zip(sizes, in_each(walk_along, parts, index.threads)):
            tally.join(counted)
            more += apart
            advance(size)
    own = OwnReach(reach, np.sort(np.concatenate(more)), edges, bases)
    sentences = original = 0
    for number, suffixed in enumerate(ground.segments):
        held, holding = tally.add_places(suffixed, own.of(number))
        sentences, original = sentences + held, original + holding
    return Originals(index, layer, sources, tally.rows(own), sentences, original, ground, own)


def _original_spans(
    own: OwnReach, rests: Int32s, shortest: bool
) -> Iterator[tuple[Int64s, Int64s]]:
    """Starts and ends of original fragments, some at a time."""
    place, room = 0, _AT_ONCE
    while place < len(rests):
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        found, at = list_originals(
            own.edges, rests, own.reach, own.more, shortest, place, starts, ends
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
