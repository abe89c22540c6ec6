"""Algorithm 1 as the paper prints it, quirks included (`--variant paper`).

- Equal sentences are removed first; which document or author they are from does not matter.
- A fragment that is repeated inside one sentence counts again.
- Line 12: as soon as a window of some length is known, the sentence's other windows of this
  length are not looked at. They are neither counted nor added, so that a fragment of which only
  one occurrence happened to be looked at is "original", and one that was never looked at is not
  in the ground truth at all. The result depends on the order of sentences.

Lengths do not touch each other in it, so they are run one after the other, and one table at a
time is in memory. A slot of it holds the position of a fragment's first window, plus one; hashes
only say where to look, words are compared.

Brooks and Youssef (2021), GOT: Testing for Originality in Natural Language Generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.index.counts.lookup import as_kernel_array
from rote.index.grams import ABSENT
from rote.index.index import DEFAULT, Index
from rote.search.originality.edges import Edges, Rule, edges_of_segment, rule_for
from rote.search.originality.originals import OriginalFragment, list_fragments
from rote.search.originality.suffix_blocks import MIN_FRAGMENT, Int32s, Int64s, SourcedSegment
from rote.search.originality.verdicts import SentenceVerdicts, spans_of


@dataclass(frozen=True, slots=True)
class _FragmentTable:
    """CountPerFrag for one length."""

    length: int
    slots: Int64s
    counts: NDArray[np.uint8]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As kernels take it: last the bits that a hash drops, and what the first digit of a window
        is worth one digit behind its last."""
        drop = np.uint64(64 - (len(self.slots).bit_length() - 1))
        power = np.uint64(pow(int(_BASE), self.length, 1 << 64))
        return self.length, self.slots, self.counts, drop, power


@dataclass(frozen=True, slots=True)
class PaperRow:
    """Of one length: the fragments in F, and those of them in O, with a count of 1."""

    length: int
    fragments: int
    original: int


@dataclass(frozen=True, slots=True)
class Algorithm1:
    """The different sentences of an index, in order, and the algorithm on them.

    `places` are the segment and the position where each sentence begins.
    """

    index: Index
    layer: str
    sentences: int
    ids: Int32s
    ends: Int64s
    edges: Edges
    hashes: NDArray[np.uint64]
    places: NDArray[np.int64]

    @property
    def _truth(self) -> tuple[Any, ...]:
        return self.ids, self.hashes, self.ends, self.edges

    @property
    def removed(self) -> int:
        """How many sentences were equal to an earlier one."""
        return self.sentences - len(self.ends)

    def by_length(self, reporter: Reporter | None = None) -> tuple[list[PaperRow], int]:
        """Counts by length, and how many sentences hold a fragment with a count of 1."""
        rows, marked = [], np.zeros(len(self.ends), np.bool_)
        for table in self._tables(reporter):
            fragments = int(np.count_nonzero(table.slots))
            original = int(np.count_nonzero(table.counts == 1))
            if fragments:
                rows.append(PaperRow(table.length, fragments, original))
            _mark_original(self._truth, table.arrays, marked)
        return rows, int(marked.sum())

    def fragments(self) -> Iterator[OriginalFragment]:
        """Every fragment with a count of 1, where it was counted; by length."""
        begins = np.append(0, self.ends[:-1])
        for table in self._tables(None):
            at = np.sort(table.slots[table.counts == 1] - 1)
            sentence = np.searchsorted(self.ends, at, side="right")
            segments, positions = self.places[sentence].T
            positions = positions + at - begins[sentence]
            for number, segment in enumerate(self.index.segments):
                starts = positions[segments == number]
                yield from list_fragments(
                    segment, number, self.layer, starts, starts + table.length
                )

    def judge(self, text: Layer, edges: Edges) -> SentenceVerdicts:
        """Judge every sentence of a text by these counts; a count of 1 needs a citation."""
        ends = text.sentence_ends
        if ends is None:
            raise OptionError(
                "fragments are parts of sentences, and the text has no sentence boundaries"
            )
        ends = as_kernel_array(ends, np.int64)
        shared = self.index.shared(self.layer).strings
        known = {string: number for number, string in enumerate(shared)}
        numbers = np.array([known.get(item, ABSENT) for item in text.vocabulary], np.int32)
        ids = numbers[text.ids] if len(numbers) else text.ids
        hashes = _hash_prefixes(ids)
        tally = np.zeros((len(ends), MAX_COUNT + 1), np.int64)
        first, last = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        for table in self._tables(None, int(np.diff(ends, prepend=0).max(initial=0))):
            windows = (ids, hashes, ends, edges)
            _look_up_windows(self._truth, table.arrays, windows, tally, first, last)
        _keep_decisive(ends, first, last)
        original, cited, common = tally.T.copy()
        return SentenceVerdicts(original, cited, common, spans_of(first), spans_of(last))

    def _tables(self, reporter: Reporter | None, longest: int = 0) -> Iterator[_FragmentTable]:
        """The table of each length; up to `longest` also where no sentence is that long."""
        sizes = np.diff(self.ends, prepend=0)
        longest = max(longest, int(sizes.max(initial=0)))
        with (reporter or Silent()).stage("running Algorithm 1", max(0, longest - 1)) as advance:
            for length in range(MIN_FRAGMENT, longest + 1):
                windows = int(np.maximum(sizes - length + 1, 0).sum())
                size = 2 << (2 * windows).bit_length()  # less than half full, and at least two
                table = _FragmentTable(length, np.zeros(size, np.int64), np.zeros(size, np.uint8))
                _count_windows(self._truth, table.arrays)
                yield table
                advance(1)


def algorithm1(index: Index, layer: str = DEFAULT, *, rule: Rule | None = None) -> Algorithm1:
    """The algorithm on an index's sentences, all of which are kept in memory."""
    rule = rule or rule_for(index)
    vocabulary = index.shared(layer)
    known: set[bytes] = set()
    ids, edges, positions, sizes = [], [], [], []
    sentences = 0
    for number, segment in enumerate(index.segments):
        suffixed = SourcedSegment(segment, layer, np.empty(0, np.int32))
        rests = suffixed.rests()
        stream = vocabulary.up[number][segment.columns[layer].ids.all()]
        bits = edges_of_segment(segment, rule)
        allowed = np.unpackbits(bits, count=len(stream), bitorder="little").view(np.bool_)
        # A sentence begins behind an end: of a sentence, of a document, or of nothing.
        begins = np.flatnonzero((rests > 0) & (np.append(0, rests[:-1]) <= 1))
        new_sentences = []
        for begin, end in zip(begins.tolist(), (begins + rests[begins]).tolist()):
            sentence = stream[begin:end].tobytes()
            if sentence not in known:
                known.add(sentence)
                new_sentences.append((begin, end))
        sentences += len(begins)
        mask = np.zeros(len(stream) + 1, np.int8)
        starts, ends = np.array(new_sentences, np.int64).reshape(-1, 2).T
        np.add.at(mask, starts, 1)
        np.subtract.at(mask, ends, 1)
        inside = np.cumsum(mask[:-1]) > 0
        ids.append(stream[inside])
        edges.append(allowed[inside])
        sizes.append(ends - starts)
        positions.append(np.stack([np.full(len(starts), number), starts], axis=1))
    all_ids = np.concatenate([np.empty(0, np.int32), *ids])
    return Algorithm1(
        index=index,
        layer=layer,
        sentences=sentences,
        ids=all_ids,
        ends=np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes])),
        edges=np.concatenate([np.empty(0, np.bool_), *edges]),
        hashes=_hash_prefixes(all_ids),
        places=np.concatenate([np.empty((0, 2), np.int64), *positions]),
    )


_BASE = np.uint64(0xD6E8FEB86659FD93)
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
MAX_COUNT = 2
"""Counts stop there: more than one is all that matters."""


@njit(cache=True, nogil=True)
def _hash_prefixes(ids):  # type: ignore[no-untyped-def]
    """Number i is the hash of the first i items: digits to an odd base, modulo 2**64."""
    hashes = np.zeros(len(ids) + 1, np.uint64)
    for i in range(len(ids)):
        hashes[i + 1] = hashes[i] * _BASE + np.uint64(ids[i] + 2)
    return hashes


@njit(inline="always")
def _slot_of(ids, table, text, hashes, i):  # type: ignore[no-untyped-def]
    """The slot of the window of a text that begins at i, or the free one where it belongs."""
    length, slots, _, drop, power = table
    key = hashes[i + length] - hashes[i] * power
    slot = np.int64((key * _SCATTER) >> drop)
    while slots[slot]:
        at, shared = slots[slot] - 1, 0
        while shared < length and ids[at + shared] == text[i + shared]:
            shared += 1
        if shared == length:
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def _count_windows(truth, table):  # type: ignore[no-untyped-def]
    """Lines 1 to 20 for one length."""
    ids, hashes, ends, edges = truth
    length, slots, counts, _, _ = table
    start = 0
    for sentence in range(len(ends)):
        for i in range(start, ends[sentence] - length + 1):
            if not edges[i] or not edges[i + length - 1]:
                continue
            slot = _slot_of(ids, table, ids, hashes, i)
            if slots[slot]:
                counts[slot] = min(MAX_COUNT, counts[slot] + 1)
                break  # line 12: the sentence's other windows of this length are never seen
            slots[slot], counts[slot] = i + 1, 1
        start = ends[sentence]


@njit(cache=True, nogil=True)
def _look_up_windows(truth, table, windows, tally, first, last):  # type: ignore[no-untyped-def]
    """Add the windows of a text's sentences to `tally`, by their counts.

    `first[i]` becomes the end of the shortest window from i on with a count of 0, `last[i]` that
    of the longest with a count of 1, if lengths come in ascending order.
    """
    ids, _, _, _ = truth
    length, slots, counts, _, _ = table
    text, hashes, ends, edges = windows
    start = 0
    for sentence in range(len(ends)):
        for i in range(start, ends[sentence] - length + 1):
            if edges[i] and edges[i + length - 1]:
                slot = _slot_of(ids, table, text, hashes, i)
                count = counts[slot] if slots[slot] else 0
                tally[sentence, count] += 1
                if count == 0 and first[i] == 0:
                    first[i] = i + length
                elif count == 1:
                    last[i] = i + length
        start = ends[sentence]


@njit(cache=True, nogil=True)
def _mark_original(truth, table, marked):  # type: ignore[no-untyped-def]
    ids, hashes, ends, edges = truth
    length, slots, counts, _, _ = table
    start = 0
    for sentence in range(len(ends)):
        if not marked[sentence]:
            for i in range(start, ends[sentence] - length + 1):
                if edges[i] and edges[i + length - 1]:
                    slot = _slot_of(ids, table, ids, hashes, i)
                    if slots[slot] and counts[slot] == 1:
                        marked[sentence] = True
                        break
        start = ends[sentence]


@njit(cache=True, nogil=True)
def _keep_decisive(ends, first, last):  # type: ignore[no-untyped-def]
    """Keep of `first` those that hold no other, of `last` those that no other holds."""
    start = 0
    for sentence in range(len(ends)):
        least, most = ends[sentence] + 1, 0
        for i in range(ends[sentence] - 1, start - 1, -1):
            if first[i] >= least:
                first[i] = 0
            elif first[i]:
                least = first[i]
        for i in range(start, ends[sentence]):
            if last[i] <= most:
                last[i] = 0
            else:
                most = last[i]
        start = ends[sentence]
