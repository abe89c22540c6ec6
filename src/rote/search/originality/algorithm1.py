"""Algorithm 1 as the paper prints it, quirks included (`--variant paper`).

- Equal sentences are removed first; which document or author they are from does not matter.
- A fragment that is repeated inside one sentence counts again.
- Line 12: as soon as a window of some length is known, the sentence's other windows of this
  length are not looked at. They are neither counted nor added, so that a fragment of which only
  one occurrence happened to be looked at is "original", and one that was never looked at is not
  in the ground truth at all. The result depends on the order of sentences.

Brooks and Youssef (2021), GOT: Testing for Originality in Natural Language Generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import OptionError
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.index.columns.parts import ABSENT
from rote.index.counting.lookup import fixed
from rote.index.index import DEFAULT, Index
from rote.search.originality import algorithm1_kernels as kernels
from rote.search.originality.edges import Edges, Rule, edges_of_segment, rule_for
from rote.search.originality.generated import Verdicts, spans_of
from rote.search.originality.neighbour_kernels import LEAST
from rote.search.originality.originals import Fragment, listed
from rote.search.originality.stretches import Int32s, Int64s, Suffixed


@dataclass(frozen=True, slots=True)
class _Table:
    """CountPerFrag for one length."""

    length: int
    slots: Int64s
    counts: NDArray[np.uint8]

    @property
    def drop(self) -> np.uint64:
        return np.uint64(64 - (len(self.slots).bit_length() - 1))

    @property
    def power(self) -> np.uint64:
        """What the first digit of a window is worth one digit behind its last."""
        return np.uint64(pow(int(kernels.BASE), self.length, 1 << 64))


@dataclass(frozen=True, slots=True)
class PaperRow:
    """Of one length: the fragments in F, and those of them in O, with a count of 1."""

    length: int
    fragments: int
    original: int


@dataclass(frozen=True, slots=True)
class Algorithm1:
    """The different sentences of an index, in order, and the algorithm on them.

    `places` are the segment and the place where each sentence begins.
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
    def removed(self) -> int:
        """How many sentences were equal to an earlier one."""
        return self.sentences - len(self.ends)

    def by_length(self, reporter: Reporter | None = None) -> tuple[list[PaperRow], int]:
        """Counts by length, and how many sentences hold a fragment with a count of 1."""
        rows, marked = [], np.zeros(len(self.ends), np.bool_)
        for table in self._tables(reporter):
            found = int(np.count_nonzero(table.slots))
            original = int(np.count_nonzero(table.counts == 1))
            if found:
                rows.append(PaperRow(table.length, found, original))
            kernels.mark(
                self.ids,
                table.slots,
                table.counts,
                table.drop,
                self.hashes,
                table.power,
                self.ends,
                self.edges,
                table.length,
                marked,
            )
        return rows, int(marked.sum())

    def fragments(self) -> Iterator[Fragment]:
        """Every fragment with a count of 1, where it was counted; by length."""
        begins = np.append(0, self.ends[:-1])
        for table in self._tables(None):
            at = np.sort(table.slots[table.counts == 1] - 1)
            sentence = np.searchsorted(self.ends, at, side="right")
            segments, places = self.places[sentence].T
            places = places + at - begins[sentence]
            for number, segment in enumerate(self.index.segments):
                starts = places[segments == number]
                yield from listed(segment, number, self.layer, starts, starts + table.length)

    def judge(self, text: Layer, edges: Edges) -> Verdicts:
        """Judge every sentence of a text by these counts; a count of 1 needs a citation."""
        ends = text.sentence_ends
        if ends is None:
            raise OptionError("fragments are parts of sentences, and the text's are unknown")
        ends = fixed(ends, np.int64)
        shared = self.index.shared(self.layer).strings
        known = {string: number for number, string in enumerate(shared)}
        numbers = np.array([known.get(item, ABSENT) for item in text.vocabulary], np.int32)
        ids = numbers[text.ids] if len(numbers) else text.ids
        hashes = _hashed(ids)
        tally = np.zeros((len(ends), kernels.MOST + 1), np.int64)
        first, last = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        for table in self._tables(None, int(np.diff(ends, prepend=0).max(initial=0))):
            kernels.look_up(
                self.ids,
                table.slots,
                table.counts,
                table.drop,
                ids,
                hashes,
                table.power,
                ends,
                edges,
                table.length,
                tally,
                first,
                last,
            )
        kernels.decide(ends, first, last)
        original, cited, common = tally.T.copy()
        return Verdicts(original, cited, common, spans_of(first), spans_of(last))

    def _tables(self, reporter: Reporter | None, longest: int = 0) -> Iterator[_Table]:
        """The table of each length; up to `longest` also where no sentence is that long."""
        sizes = np.diff(self.ends, prepend=0)
        longest = max(longest, int(sizes.max(initial=0)))
        with (reporter or Silent()).stage("running Algorithm 1", max(0, longest - 1)) as advance:
            for length in range(LEAST, longest + 1):
                windows = int(np.maximum(sizes - length + 1, 0).sum())
                yield self._table(length, windows)
                advance(1)

    def _table(self, length: int, windows: int) -> _Table:
        size = 2 << (2 * windows).bit_length()  # less than half full, and at least two
        table = _Table(length, np.zeros(size, np.int64), np.zeros(size, np.uint8))
        kernels.run(
            self.ids,
            self.hashes,
            table.power,
            self.ends,
            self.edges,
            length,
            table.drop,
            table.slots,
            table.counts,
        )
        return table


def algorithm1(index: Index, layer: str = DEFAULT, *, rule: Rule | None = None) -> Algorithm1:
    """The algorithm on an index's sentences, all of which are kept in memory."""
    rule = rule or rule_for(index)
    own = index.shared(layer)
    seen: set[bytes] = set()
    ids, edges, places, sizes = [], [], [], []
    sentences = 0
    for number, segment in enumerate(index.segments):
        suffixed = Suffixed(segment, layer, np.empty(0, np.int32))
        rests = suffixed.rests()
        stream = own.up[number][segment.columns[layer].ids.all()]
        bits = edges_of_segment(segment, rule)
        allowed = np.unpackbits(bits, count=len(stream), bitorder="little").view(np.bool_)
        # A sentence begins behind an end: of a sentence, of a document, or of nothing.
        begins = np.flatnonzero((rests > 0) & (np.append(0, rests[:-1]) <= 1))
        kept = []
        for begin, end in zip(begins.tolist(), (begins + rests[begins]).tolist()):
            held = stream[begin:end].tobytes()
            if held not in seen:
                seen.add(held)
                kept.append((begin, end))
        sentences += len(begins)
        mask = np.zeros(len(stream) + 1, np.int8)
        starts, ends = np.array(kept, np.int64).reshape(-1, 2).T
        np.add.at(mask, starts, 1)
        np.subtract.at(mask, ends, 1)
        inside = np.cumsum(mask[:-1]) > 0
        ids.append(stream[inside])
        edges.append(allowed[inside])
        sizes.append(ends - starts)
        places.append(np.stack([np.full(len(starts), number), starts], axis=1))
    joined = np.concatenate([np.empty(0, np.int32), *ids])
    return Algorithm1(
        index=index,
        layer=layer,
        sentences=sentences,
        ids=joined,
        ends=np.cumsum(np.concatenate([np.empty(0, np.int64), *sizes])),
        edges=np.concatenate([np.empty(0, np.bool_), *edges]),
        hashes=_hashed(joined),
        places=np.concatenate([np.empty((0, 2), np.int64), *places]),
    )


def _hashed(ids: Int32s) -> NDArray[np.uint64]:
    out = np.empty(len(ids) + 1, np.uint64)
    kernels.prefix_hashes(ids, out)
    return out
