"""All original fragments of a ground truth, from one linear pass over its sorted suffixes.

A fragment is original iff at most `relax` sources hold it. The shortest original length at a word
is one more than the longest match with sentences of other sources; everything longer, up to the
sentence's end, is original too.

Different fragments are counted once each, at the first position, in the order of suffixes, where
they are fragments. Mostly that is a length: from one item more than what any earlier position
shares. But the same words may be tagged in several ways, and be a fragment at a later position
only; these are listed apart. Segments are joined first, in memory: sorting them as one costs less
than walking along all of them.

**By length.** Of all fragments from a position on, those up to some length are not new, not
original or not single. Mostly these are the shortest ones alone, so they are counted, and not the
others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import pairwise

import numpy as np

from rote.core.kernels import njit
from rote.core.layer import items_of
from rote.core.progress import Reporter, Silent
from rote.index.answers import Occurrence, occurrences_in
from rote.index.columns.intrinsics import count_ones, prefetch, trailing_zeros
from rote.index.counts.lookup import map_segments
from rote.index.index import DEFAULT, Index
from rote.index.segments.part import MemoryTarget
from rote.index.segments.segment import WORD, LayerForms, Segment, read_segment
from rote.index.segments.writers import merge_segments
from rote.search.originality.authors import DocumentSources, sources_of
from rote.search.originality.edges import (
    LOADED_BITS,
    TAGS,
    Bits,
    Rule,
    edge_bits,
    edges_of_segment,
    is_edge,
    lowest,
    rule_for,
)
from rote.search.originality.reach import list_width, reach_of_two, walk_block
from rote.search.originality.suffix_blocks import (
    MIN_FRAGMENT,
    Int32s,
    Int64s,
    SourcedSegment,
    SuffixBlock,
    rest_of_sentence,
)

# Fragments that are listed at once.
_AT_ONCE = 1 << 16
# Parts of all suffixes for each thread: they take unequal times.
_PARTS = 8
# Suffixes that are worth a thread.
_MIN_PART = 1 << 18


def reach_of_all(block: SuffixBlock, width: int) -> tuple[Int32s, Int32s, Int32s]:
    """Of each suffix of a block the longest run that `width` sources hold, that stands earlier in
    the order, and that stands anywhere else.
    """
    if width > 2:
        lists, before, alone = walk_block(
            block, np.arange(block.start, block.stop), block.rests, width
        )
        return lists.lengths[:, -1].copy(), before, alone
    common, before, alone = (np.empty_like(block.rests) for _ in range(3))
    reach_of_two(block.shared, block.rests, block.sources, common, before, alone)
    return common, before, alone


@dataclass(frozen=True, slots=True)
class OriginalFragment:
    """An original fragment, its words as they stand in the layer, and one position of it."""

    words: tuple[str, ...]
    place: Occurrence


@dataclass(frozen=True, slots=True)
class Originals:
    """What the pass found; `fragments` goes through the texts once more and names them."""

    index: Index
    layer: str
    sources: DocumentSources
    by_length: Sequence[LengthRow]
    sentences: int
    original_sentences: int
    _ground: tuple[SourcedSegment, GroundReach] | None = None

    @property
    def total(self) -> LengthRow:
        """All lengths together, under length 0."""
        rows = np.array([astuple(row) for row in self.by_length], np.int64).reshape(-1, 6)
        return LengthRow(0, *rows[:, 1:].sum(axis=0).tolist())

    def fragments(self, *, shortest: bool = False) -> Iterator[OriginalFragment]:
        """Every different original fragment, at one of its positions; sentence by sentence.

        `shortest`: only those that hold no other original fragment, since whatever holds one
        is original too.
        """
        if self._ground is None:
            return
        all_segments, reach = self._ground
        sizes = [len(segment.columns[self.layer].ids) for segment in self.index.segments]
        bases = np.cumsum([0, *sizes])
        for starts, ends in _original_spans(reach, all_segments.rests(), shortest):
            numbers = np.searchsorted(bases, starts, side="right") - 1
            for number in np.unique(numbers).tolist():
                inside, base = numbers == number, bases[number]
                segment = self.index.segments[number]
                yield from list_fragments(
                    segment, number, self.layer, starts[inside] - base, ends[inside] - base
                )


def find_originals(
    index: Index,
    layer: str = DEFAULT,
    *,
    relax: int = 1,
    rule: Rule | None = None,
    sources: DocumentSources | None = None,
    reporter: Reporter | None = None,
) -> Originals:
    """The original fragments of an index's own sentences.

    `rule` says how edges of fragments are told, by tags or by words (by tags if there are any);
    `sources` which documents belong together (those of one known author).
    """
    sources = sources or sources_of(index)
    rule = rule or rule_for(index)
    width = list_width(sources, relax)
    index.lookups(layer)  # refuses a layer that is not sorted
    if not index.segments:
        return Originals(index, layer, sources, [], 0, 0)
    all_segments = _join_segments(index, layer)
    segment = SourcedSegment(all_segments, layer, np.concatenate(sources.of))
    edges = np.append(edges_of_segment(all_segments, rule), np.zeros(PADDING, np.uint8))
    tally, longest = FragmentCounts.empty(segment.longest), segment.longest
    reach = np.zeros((len(segment.column.ids), 2), np.int32)
    more = [np.empty(0, np.int64)]

    def walk_along(ranks: tuple[int, int]) -> tuple[Int64s, list[Int64s]]:
        less = FragmentCounts.empty(longest).less
        later = []
        for block in segment.cut_ranges([ranks]):
            columns = block.places, block.shared, block.rests, *reach_of_all(block, width)
            later.append(_count_block(*columns, edges, reach, less))
        return less, later

    parts = split_suffixes(segment, _PARTS * index.threads)
    with (reporter or Silent()).stage("matching sentences", len(segment.suffixes.order)) as advance:
        for part, (less, later) in zip(parts, map_segments(walk_along, parts, index.threads)):
            tally.less[:] += less
            more += later
            advance(part[1] - part[0])
    ground_reach = GroundReach(reach, np.sort(np.concatenate(more)), edges)
    sentences_count, original = _count_sentences(
        segment.sentence_last.data, segment.column.document_ends, edges, reach, tally.occurrences
    )
    ground = (segment, ground_reach)
    rows = tally.rows(ground_reach)
    return Originals(index, layer, sources, rows, int(sentences_count), int(original), ground)


def _join_segments(index: Index, layer: str) -> Segment:
    """The layers that fragments are made of, of all segments as one."""
    if len(index.segments) == 1:
        return index.segments[0]
    names = [name for name in dict.fromkeys((WORD, layer, TAGS)) if name in index.layers]
    parts = [
        replace(segment, columns={name: segment.columns[name] for name in names})
        for segment in index.segments
    ]
    target = MemoryTarget()
    merge_segments(target, parts, LayerForms((layer,), threads=index.threads))
    return read_segment("joined", target.parts.values())


def split_suffixes(segment: SourcedSegment, most: int) -> list[tuple[int, int]]:
    """At most so many parts of all suffixes, in order: from where to where.

    No match leaves a part: it begins with two items that no suffix before it begins with.
    """
    ids, order = segment.column.ids, segment.suffixes.order
    size = len(order)
    number = max(1, min(most, size // _MIN_PART))

    def first_two(rank: int) -> tuple[int, int]:
        return ids[order[rank]], ids[min(order[rank] + 1, len(ids) - 1)]

    cuts = [
        bisect_left(range(size), first_two(size * part // number), key=first_two)
        for part in range(1, number)
    ]
    return list(pairwise([0, *cuts, size]))


def _original_spans(
    ground_reach: GroundReach, rests: Int32s, shortest: bool
) -> Iterator[tuple[Int64s, Int64s]]:
    position, room = 0, _AT_ONCE
    edges, reach, more = ground_reach.edges, ground_reach.reach, ground_reach.more
    while position < len(rests):
        starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
        count, at = _list_originals(edges, rests, reach, more, shortest, position, starts, ends)
        if at == position:
            room *= 2  # a very long sentence
            continue
        position = at
        yield starts[:count], ends[:count]


def list_fragments(
    segment: Segment, number: int, layer: str, starts: Int64s, ends: Int64s
) -> Iterator[OriginalFragment]:
    """The fragments from these positions of segment `number` to those, by rising start."""
    for i in range(0, len(starts), _AT_ONCE):
        part = slice(i, i + _AT_ONCE)
        items, word_ends = items_of(starts[part], ends[part])
        column = segment.columns[layer]
        numbers = column.ids.take(items).tolist()
        used = {i: column.vocabulary[i] for i in set(numbers)}
        bounds = pairwise([0, *word_ends.tolist()])
        words = (tuple(used[i] for i in numbers[first:last]) for first, last in bounds)
        places = occurrences_in(segment, number, layer, starts[part], ends[part])
        yield from map(OriginalFragment, words, places)


@njit(inline="always")
def _holds(ascending, value):  # type: ignore[no-untyped-def]
    at = np.searchsorted(ascending, value)
    return at < len(ascending) and ascending[at] == value


@njit(cache=True, nogil=True)
def _list_originals(edges, rests, reach, more, shortest, position, starts, ends):  # type: ignore[no-untyped-def]
    """Original fragments from the sentence at `position` on, as many as there is room for.

    `edges` are bits, `rests` the items to the sentence's end, `reach` and `more` as in
    `originals`. Gives how many, and the sentence with which to go on. `shortest`: only those that
    hold no other. The room has to be enough for one sentence, else none are given.
    """
    count = 0
    while position < len(rests):
        stop = position + max(1, rests[position])
        count_before = count
        least = stop + 1
        for start in range(stop - 1, position - 1, -1):
            if not is_edge(edges, start):
                continue
            common, before = reach[start, 0], reach[start, 1]
            end = start + max(MIN_FRAGMENT, common + 1)
            while end <= stop:
                if shortest and end >= least:
                    break
                if is_edge(edges, end - 1):
                    least = min(least, end)
                    if end - start > before or _holds(more, start << 32 | (end - start)):
                        if count == len(starts):
                            return count_before, position
                        starts[count] = start
                        ends[count] = end
                        count += 1
                    if shortest:
                        break
                end += 1
        position = stop
    return count, position


_LENGTH = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class GroundReach:
    """For every position of all segments, in a row; runs are inside a sentence.

    `reach[p]` are two numbers of items: of the longest run from p on that more than `relax` sources
    hold, its own among them, and of the longest that stands earlier in the order. A fragment from p
    on counts as a different one if it is longer than that, or if position << 32 | length is in
    `more`, which ascends. `edges` has a bit for each position.
    """

    reach: Int32s
    more: Int64s
    edges: Bits


@dataclass(frozen=True, slots=True)
class LengthRow:
    """How many fragments of one length a ground truth holds.

    `fragments` are different ones, `original` those of them with at most `relax` sources, `once`
    those that occur once. `occurrences` counts every position, `original_occurrences` the positions
    of original ones.
    """

    length: int
    fragments: int
    original: int
    occurrences: int
    original_occurrences: int
    once: int


@dataclass(frozen=True, slots=True)
class FragmentCounts:
    """Fragments by length: all, and those that are not new, not original, not single."""

    occurrences: Int64s
    less: Int64s

    @classmethod
    def empty(cls, longest: int) -> FragmentCounts:
        return cls(np.zeros(longest + 1, np.int64), np.zeros((_KINDS, longest + 1), np.int64))

    def rows(self, ground_reach: GroundReach) -> list[LengthRow]:
        counts = self.occurrences - self.less
        more, positions = ground_reach.more & _LENGTH, ground_reach.more >> 32
        np.add.at(counts[_BEFORE], more, 1)
        np.add.at(counts[_ORIGINAL], more, more > ground_reach.reach[positions, 0])
        before, original, common, alone = counts
        columns = (before, original, self.occurrences, common, alone)
        rows = np.stack(columns, axis=1).tolist()
        return [LengthRow(length, *row) for length, row in enumerate(rows) if row[2]]


_AHEAD = 32
PADDING = 16
"""Bytes behind edges: what reads them reads up to so far beyond the last sentence."""
_KINDS = 4
_BEFORE, _ORIGINAL, _COMMON, _ALONE = range(_KINDS)
"""What is counted: what is not new; not new or not original; not original; not single."""
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _count_sentences(last, document_ends, edges, reach, occurrences):  # type: ignore[no-untyped-def]
    """Add up the fragments of a segment's sentences by length.

    Gives how many sentences there are, and how many hold an original fragment.
    """
    sentences = original = 0
    position = np.int64(0)
    for document in range(len(document_ends)):
        while position < document_ends[document]:
            # Sentences of damaged texts end with their document, or as all others do.
            size = min(rest_of_sentence(last, position), document_ends[document] - position)
            size = min(size, len(occurrences) - 1)
            stop = position + size
            # Two edges so far apart: the sentence's edges beside themselves.
            if size <= LOADED_BITS:
                edge_word = edge_bits(edges, position) & lowest(size)
                length, behind = 2, edge_word >> _ONE
                while behind:
                    occurrences[length] += count_ones(edge_word & behind)
                    length += 1
                    behind >>= _ONE
            else:
                for length in range(MIN_FRAGMENT, size + 1):
                    for at in range(position, stop - length + 1, LOADED_BITS):
                        some = edge_bits(edges, at) & edge_bits(edges, at + length - 1)
                        occurrences[length] += count_ones(some & lowest(stop - length + 1 - at))
            sentences += 1
            original += _holds_original(edges, reach, position, stop)
            position = stop
        position = document_ends[document] + 1
    return sentences, original


@njit(inline="always")
def _holds_original(edges, reach, position, stop):  # type: ignore[no-untyped-def]
    for start in range(position, stop):
        if is_edge(edges, start):
            for at in range(start + max(1, reach[start, 0]), stop, LOADED_BITS):
                if edge_bits(edges, at) & lowest(stop - at):
                    return 1
    return 0


@njit(inline="always")
def _count_from(edges, position, edge_word, most, counts):  # type: ignore[no-untyped-def]
    """Count the fragments from a position on, up to `most` items; `edge_word`: the first edges."""
    edge_word &= lowest(most)
    while edge_word:
        counts[trailing_zeros(edge_word) + 1] += 1
        edge_word &= edge_word - _ONE
    for length in range(LOADED_BITS + 1, most + 1):
        counts[length] += is_edge(edges, position + length - 1)


@njit(cache=True, nogil=True)
def _count_block(positions, shared, rests, common, before, alone, edges, reach, less):  # type: ignore[no-untyped-def]
    """Count the fragments of a block of suffixes that are not new, not original or not single.

    Writes `common` and `before` into the row of their position in `reach`. Gives the fragments
    whose words stand earlier in the order, but never as a fragment: the same words may be tagged in
    different ways, so that they are a fragment at one position and not at another. Each is its
    position, shifted up by 32 bits, and its length.
    """
    later_fragments = np.empty(16, np.int64)
    count = 0
    # Of each length whether the words at hand were met as a fragment: bits, then numbers of those
    # that are longer than a load.
    met = np.uint64(0)
    far = np.zeros(less.shape[1], np.bool_)
    deepest = 0
    for i in range(len(positions)):
        position = positions[i]
        ahead = positions[min(i + _AHEAD, len(positions) - 1)]
        prefetch(edges, ahead >> 3)
        prefetch(reach, 2 * ahead)
        reach[position, 0], reach[position, 1] = common[i], before[i]
        met &= lowest(shared[i])
        for length in range(max(LOADED_BITS, shared[i]) + 1, deepest + 1):
            far[length] = False
        deepest = min(deepest, shared[i])
        edge_word = edge_bits(edges, position)
        if not edge_word & _ONE:
            continue
        edge_word &= ~_ONE
        _count_from(edges, position, edge_word, before[i], less[_BEFORE])
        _count_from(edges, position, edge_word, max(common[i], before[i]), less[_ORIGINAL])
        _count_from(edges, position, edge_word, common[i], less[_COMMON])
        _count_from(edges, position, edge_word, alone[i], less[_ALONE])
        follows = np.int32(0)
        if i + 1 < len(positions):
            follows = min(shared[i + 1], rests[i])
        new = edge_word & lowest(before[i]) & ~met
        if new or before[i] > LOADED_BITS:
            if count + before[i] > len(later_fragments):
                later_fragments = np.append(
                    later_fragments, np.empty(len(later_fragments) + before[i], np.int64)
                )
            while new:
                later_fragments[count] = position << 32 | (trailing_zeros(new) + 1)
                count += 1
                new &= new - _ONE
            for length in range(LOADED_BITS + 1, before[i] + 1):
                if is_edge(edges, position + length - 1) and not far[length]:
                    later_fragments[count] = position << 32 | length
                    count += 1
        met |= edge_word & lowest(follows)
        for length in range(LOADED_BITS + 1, follows + 1):
            if is_edge(edges, position + length - 1):
                far[length] = True
                deepest = max(deepest, length)
    return later_fragments[:count]
