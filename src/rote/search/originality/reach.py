"""From which length on a run of words is known to few sources, or to none: for every word.

A longer run has no more sources than a shorter one that it begins with, so two numbers for each
word of a text say all: the longest run from there on that some sentence of the ground truth holds,
and the longest that more than `relax` sources hold.

**Walking along sorted suffixes**, the match of the one at hand with an earlier one is the least
that any two neighbours between them share, and no longer than the earlier one's sentence. For each
source only its longest match counts. So the walk carries a short list, the sources with the longest
matches: each step cuts all of them down to what the neighbours share, which keeps their order, and
puts in the suffix it has come to. A list of k + 1 sources, from either side, says from which length
on at most k sources hold a fragment. Linear in the suffixes, whatever repeats. A list is two rows,
sources and lengths; lengths fall, and 0 means that the list ends.

**Single positions of a text** stand somewhere between the sorted suffixes, and those that share
most are their neighbours there. Going outwards, always on the side that shares more, a list is
complete as soon as it is full and nobody further out can share more than its last entry. Among many
sources that takes a few steps, however large the ground truth is. Where one source has written
nearly everything it can take any number; such positions are given up, and left to the walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.index.columns.compressed_suffix_array import item_at, skip, suffix_at
from rote.index.columns.packed_array import read
from rote.index.counts.document_counts import document_of, document_table
from rote.index.counts.longest_match import longest_matches
from rote.index.counts.lookup import Lookup
from rote.index.index import Index
from rote.search.originality.authors import DocumentSources
from rote.search.originality.suffix_blocks import (
    MIN_FRAGMENT,
    Int32s,
    Int64s,
    SourcedSegment,
    SuffixBlock,
    rest_of_sentence,
)

# Words of a text that are asked about at once, for each entry of their lists.
_AT_ONCE = 1 << 24
# A text of fewer words than one in so many of the ground truth's touches only a part of it.
_SPARSE = 16
# Steps after which a position is left to a walk along all suffixes that begin as it does.
_STEPS = 256
# Suffixes between two such parts that are read along with them.
_GAP = 1 << 10


@dataclass(frozen=True, slots=True)
class Reach:
    """For every word of a text how far, inside its sentence, the ground truth follows it.

    `known[i]`: items of the longest run from i on that a sentence of the ground truth holds.
    `common[i]`: of the longest that more than `relax` sources hold. Runs of one item are not
    looked for: both are 0 or at least 2.
    """

    known: Int32s
    common: Int32s


@dataclass(frozen=True, slots=True)
class SourceLists:
    """For each question the sources with the longest matches; see `_reach_along`."""

    sources: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @classmethod
    def empty(cls, questions: int, width: int) -> SourceLists:
        shape = (questions, width)
        return cls(np.zeros(shape, np.int32), np.zeros(shape, np.int32))

    def of(self, questions: NDArray[Any]) -> SourceLists:
        return SourceLists(self.sources[questions], self.lengths[questions])

    def put(self, questions: Int64s, lists: SourceLists) -> None:
        self.sources[questions], self.lengths[questions] = lists.sources, lists.lengths

    def join(self, other: SourceLists) -> None:
        _join_lists(self.sources, self.lengths, other.sources, other.lengths)


class GroundTruth:
    """The sentences of an index in one layer, with the source of each."""

    def __init__(self, index: Index, layer: str, sources: DocumentSources) -> None:
        self.index, self.layer, self.sources = index, layer, sources
        self.lookups: Sequence[Lookup] = index.lookups(layer)
        self.segments = [
            SourcedSegment(segment, layer, of) for segment, of in zip(index.segments, sources.of)
        ]

    # -- a text against it -------------------------------------------------------------------

    def reach(self, text: Layer, relax: int = 1, *, held_out: bool = False) -> Reach:
        """Of every item of a text, whose sentences have to be known.

        `held_out`: the text is a part of the ground truth, and its own source does not count.
        """
        ends = text.sentence_ends
        if ends is None:
            raise OptionError(
                "fragments are parts of sentences, and the text has no sentence boundaries"
            )
        # For each item how many there are to its sentence's end.
        lengths = np.diff(ends, prepend=0)
        rests = (np.repeat(ends, lengths) - np.arange(len(text.ids))).astype(np.int32)
        known, common = np.zeros(len(rests), np.int32), np.zeros(len(rests), np.int32)
        # A source knows its own text to the sentence's end, so that it always comes first.
        first = int(held_out)
        width = list_width(self.sources, relax) + first
        tables = [lookup.column.vocabulary.numbers(text.vocabulary) for lookup in self.lookups]
        size = max(1, _AT_ONCE // width)
        for start in range(0, len(rests), size):
            stop = min(start + size, len(rests))
            # What is asked about at once, and what its last sentence needs.
            part = slice(start, stop)
            needed = slice(start, stop + max(0, int(rests[stop - 1]) - 1))
            lists = SourceLists.empty(part.stop - part.start, width)
            for number, table in enumerate(tables):
                lists.join(self.ask_segment(number, table[text.ids[needed]], rests[part], width))
            known[part], common[part] = lists.lengths[:, first], lists.lengths[:, -1]
        return Reach(known, common)

    def ask_segment(self, number: int, ids: Int32s, rests: Int32s, width: int) -> SourceLists:
        """What segment `number` knows of a text, given in its numbers."""
        lookup = self.lookups[number]
        lengths, low, high = longest_matches(lookup, ids)
        most = np.minimum(lengths[: len(rests)], rests)
        questions = np.flatnonzero(most >= MIN_FRAGMENT)
        lists = SourceLists.empty(len(rests), width)
        if len(questions) * _SPARSE < lookup.column.items:
            # Positions that are found in a few steps.
            segment, table = self.segments[number], document_table(lookup.column.document_ends)
            nearby = SourceLists.empty(len(questions), width)
            solved = np.zeros(len(questions), np.bool_)
            _reach_nearby(
                lookup.parts,
                segment.sentence_last.data,
                (table.ends, table.shift, table.first, segment.sources),
                (ids, questions, low[questions], high[questions], most[questions]),
                len(segment.suffixes.order),
                min(width, self.sources.count),
                _STEPS,
                (nearby.sources, nearby.lengths, solved),
            )
            lists.put(questions[solved], nearby.of(solved))
            questions = questions[~solved]
        questions = questions[np.argsort(low[questions], kind="stable")]
        ranks, done = low[questions], 0
        for block in self.segments[number].cut_ranges(self._touched(number, ids, questions)):
            more = int(np.searchsorted(ranks[done:], block.stop))
            if more:
                here = questions[done : done + more]
                lists.put(here, walk_block(block, ranks[done : done + more], most[here], width)[0])
                done += more
        return lists

    def _touched(self, number: int, ids: Int32s, questions: Int64s) -> list[tuple[int, int]] | None:
        """The ranges of suffixes that begin like a position of a text; None means that all may.

        Whatever shares two items with a position stands in the range of these two.
        """
        lookup = self.lookups[number]
        if len(questions) * _SPARSE > lookup.column.items:
            return None
        pairs = np.unique(ids[questions].astype(np.int64) << 32 | ids[questions + 1])
        both = np.stack([pairs >> 32, pairs & 0xFFFFFFFF], axis=1).astype(np.int32)
        low, high = lookup.ranges(both.reshape(-1), np.arange(1, len(pairs) + 1) * MIN_FRAGMENT)
        # Pairs come in the order of suffixes; small gaps are cheaper read than left out.
        wide = low[1:] - high[:-1] > _GAP
        starts = low[np.append(True, wide)[: len(low)]]
        return list(zip(starts.tolist(), high[np.append(wide, True)[: len(low)]].tolist()))


def list_width(sources: DocumentSources, relax: int) -> int:
    """Entries of a list that tells whether more than `relax` sources hold something."""
    if relax < 1:
        raise OptionError(f"relax must be at least 1, not {relax}: a source knows its own text")
    return min(relax, sources.count) + 1


def walk_block(
    block: SuffixBlock, ranks: Int64s, most: Int32s, width: int
) -> tuple[SourceLists, Int32s, Int32s]:
    """The lists of some suffixes of a block; of all `before` and `alone`, see `_reach_along`."""
    lists = SourceLists.empty(len(ranks), width)
    before, alone = np.empty_like(block.rests), np.empty_like(block.rests)
    _reach_along(
        (block.shared, block.rests, block.sources),
        (ranks - block.start, most),
        (lists.sources, lists.lengths),
        before,
        alone,
    )
    return lists, before, alone


# The lists from behind are kept for so many suffixes at a time, and made again from one list
# at the end of each such block.
_BLOCK = 512


@njit(inline="always")
def _cut_lengths(lengths, most):  # type: ignore[no-untyped-def]
    """No match is longer than what the neighbours share; one too short for a fragment is none."""
    if most < MIN_FRAGMENT:
        most = 0
    for k in range(len(lengths)):
        if lengths[k] <= most:
            break
        lengths[k] = most


@njit(inline="always")
def _put_source(sources, lengths, source, length):  # type: ignore[no-untyped-def]
    """A match with a source, in its place in the list, unless the source has a longer one."""
    width = len(lengths)
    if length < MIN_FRAGMENT or lengths[width - 1] >= length:
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
def _join_pair(sources, lengths, other_sources, other_lengths, out_sources, out_lengths):  # type: ignore[no-untyped-def]
    """One list of two; each source with the longer of its matches."""
    a = b = filled = 0
    width = len(lengths)
    out_lengths[:] = 0
    while filled < width:
        length_a = lengths[a] if a < width else 0
        length_b = other_lengths[b] if b < width else 0
        if length_a == 0 and length_b == 0:
            break
        if length_a >= length_b:
            source, length = sources[a], length_a
            a += 1
        else:
            source, length = other_sources[b], length_b
            b += 1
        is_listed = False
        for k in range(filled):
            is_listed |= out_sources[k] == source
        if not is_listed:
            out_sources[filled] = source
            out_lengths[filled] = length
            filled += 1


@njit(cache=True, nogil=True)
def _reach_along(suffixes, questions, lists, before, alone):  # type: ignore[no-untyped-def]
    """Walk along a block of suffixes.

    For each question q, the list of the suffix `ranks[q]`, cut down to `most[q]`; ranks ascend.
    For each suffix of the block, the longest match with any before it, and with any other.
    """
    shared, rests, sources = suffixes
    ranks, most = questions
    found_sources, found_lengths = lists
    size, width = len(shared), found_lengths.shape[1]
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
        _put_source(now_sources, now_lengths, sources[i], rests[i])
        _cut_lengths(now_lengths, shared[i])
    now_lengths[:] = 0
    q = 0
    for block in range(blocks):
        start, stop = block * _BLOCK, min(size, (block + 1) * _BLOCK)
        behind_sources, behind_lengths = corner_sources[block], corner_lengths[block]
        for i in range(stop - 1, start - 1, -1):
            near_sources[i - start] = behind_sources
            near_lengths[i - start] = behind_lengths
            _put_source(behind_sources, behind_lengths, sources[i], rests[i])
            _cut_lengths(behind_lengths, shared[i])
        for i in range(start, stop):
            _cut_lengths(now_lengths, shared[i])
            before[i] = min(now_lengths[0], rests[i])
            alone[i] = min(max(now_lengths[0], near_lengths[i - start, 0]), rests[i])
            _put_source(now_sources, now_lengths, sources[i], rests[i])
            while q < len(ranks) and ranks[q] == i:
                _join_pair(
                    now_sources,
                    now_lengths,
                    near_sources[i - start],
                    near_lengths[i - start],
                    found_sources[q],
                    found_lengths[q],
                )
                _cut_lengths(found_lengths[q], most[q])
                q += 1


@njit(inline="always")
def _put_of_two(first, longest, second, longer, source, length):  # type: ignore[no-untyped-def]
    """`put` for a list of two entries, (first, longest) and (second, longer)."""
    if length < MIN_FRAGMENT or longer >= length:
        return first, longest, second, longer
    if source == first:
        return first, max(longest, length), second, longer
    if length > longest:
        return source, length, first, longest
    return first, longest, source, length


@njit(cache=True, nogil=True)
def reach_of_two(shared, rests, sources, common, before, alone):  # type: ignore[no-untyped-def]
    """For each suffix of a block the longest match with another source, with any, with any other.

    As `_reach_along` with lists of two, in two scans that carry one list each: `common` is what
    the second entry of its lists would be.
    """
    first = second = np.int32(-1)
    longest = longer = np.int32(0)
    for i in range(len(shared)):
        most = shared[i] if shared[i] >= MIN_FRAGMENT else np.int32(0)
        longest, longer = min(longest, most), min(longer, most)
        before[i] = min(longest, rests[i])
        common[i] = longest if sources[i] != first else longer
        first, longest, second, longer = _put_of_two(
            first, longest, second, longer, sources[i], rests[i]
        )
    first = second = np.int32(-1)
    longest = longer = np.int32(0)
    for i in range(len(shared) - 1, -1, -1):
        alone[i] = max(before[i], min(longest, rests[i]))
        both = max(common[i], longest if sources[i] != first else longer)
        common[i] = min(both, rests[i]) if rests[i] >= MIN_FRAGMENT else 0
        first, longest, second, longer = _put_of_two(
            first, longest, second, longer, sources[i], rests[i]
        )
        most = shared[i] if shared[i] >= MIN_FRAGMENT else np.int32(0)
        longest, longer = min(longest, most), min(longer, most)


@njit(cache=True, nogil=True)
def _join_lists(sources, lengths, other_sources, other_lengths):  # type: ignore[no-untyped-def]
    """Put the lists of another segment into these, one for each question."""
    width = lengths.shape[1]
    held_sources, held_lengths = np.empty(width, np.int32), np.empty(width, np.int32)
    for q in range(len(lengths)):
        held_sources[:] = sources[q]
        held_lengths[:] = lengths[q]
        _join_pair(
            held_sources, held_lengths, other_sources[q], other_lengths[q], sources[q], lengths[q]
        )


@njit(inline="always")
def _shared_with_suffix(parts, text, i, rank, most):  # type: ignore[no-untyped-def]
    """How many items, up to `most`, the text from i on shares with a suffix."""
    at = suffix_at(parts.order, parts.order_bits, rank)
    shared = 0
    while shared < most and item_at(parts.ids, parts.ids_bits, at) == text[i + shared]:
        at = skip(parts.ids, at, 1)
        shared += 1
    return shared


@njit(cache=True, nogil=True)
def _reach_nearby(parts, last, table, text_questions, suffixes, needed, steps, lists):  # type: ignore[no-untyped-def]
    """For position `questions[q]` of a text list its longest matches, none above `most[q]`.

    `lows[q]` to `highs[q]` are the suffixes that share most with it, at least `most[q]` items.
    The list is full with `needed` entries. `solved[q]` says whether so many steps were enough.
    """
    ends, shift, first, source_of = table
    text, questions, lows, highs, most = text_questions
    found_sources, found_lengths, solved = lists
    for q in range(len(questions)):
        i, limit = questions[q], most[q]
        sources, lengths = found_sources[q], found_lengths[q]
        # The next suffix on either side, and what the text shares with it.
        above, below = lows[q], lows[q] - 1
        shares_above = limit
        shares_below = _shared_with_suffix(parts, text, i, below, limit) if below >= 0 else 0
        steps_left = steps
        while True:
            shared = max(shares_above, shares_below)
            if shared < MIN_FRAGMENT or lengths[needed - 1] >= shared:
                solved[q] = True
                break
            if steps_left == 0:
                break
            steps_left -= 1
            rank = above if shares_above >= shares_below else below
            position = read(parts.order, parts.order_bits, rank)
            rest = rest_of_sentence(last, position)
            source = source_of[document_of(ends, shift, first, position)]
            _put_source(sources, lengths, source, min(shared, rest))
            if rank == above:
                above += 1
                if above >= suffixes:
                    shares_above = 0
                elif above >= highs[q]:
                    shares_above = _shared_with_suffix(parts, text, i, above, shares_above)
            else:
                below -= 1
                shares_below = (
                    _shared_with_suffix(parts, text, i, below, shares_below) if below >= 0 else 0
                )
