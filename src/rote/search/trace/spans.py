"""Matched spans of texts, by kind: what a match is, which are maximal, which tell something new.

Exact spans follow from the longest match at every word: ends of longest matches never fall from
one word to the next, so a longest match lies inside another exactly if it ends where the one
before it does. Gapped spans are alignments.

**Boundaries.** Whether a full stop belongs to the word before it (`Mr.`, `Q.`) is decided by
capitals and line breaks too. So where a passage was re-cased or re-wrapped, the text may have `q`
and `.` where the corpus has `q.`, or the other way around. Such a boundary is no difference: the
characters are the same. Where a longest match ends at one, it is followed in the documents
themselves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.core.layer import Layer, items_of
from rote.index.columns.packed_array import read
from rote.index.counts.lookup import Lookup, as_kernel_array
from rote.index.grams import ABSENT, Grams
from rote.index.index import Index
from rote.search.trace.alignment import (
    EDIT,
    Aligned,
    AlignmentThreshold,
    Numbers,
    find_alignments,
    find_shared_runs,
)
from rote.search.trace.options import (
    EXACT_LAYER,
    GAPPED,
    KINDS,
    LEMMA,
    LEMMA_LAYER,
    VERBATIM,
    TraceOptions,
)

MIN_NEW_WORDS = 3
"""A match has to hold so many words more than any that says nearly the same."""
_WORDS_PER_EDIT = 2
"""Words that make up for one edit."""


@dataclass(frozen=True, slots=True)
class QueryLayer:
    """A layer of texts, what the index holds of it from each word on, and how unlikely that is."""

    layer: Layer
    lengths: NDArray[np.int32]
    bits: Likelihood

    @classmethod
    def of(cls, index: Index, layer: Layer) -> QueryLayer:
        return cls(layer, index.lengths(layer, layer.name), Likelihood(index, layer))


def find_gapped(index: Index, query: QueryLayer, options: TraceOptions) -> list[Match]:
    """Alignments with edits; those that add little to a less likely one are left out."""
    matches: dict[tuple[int, int], Match] = {}
    layer, bits = query.layer, query.bits
    lookups = index.lookups(layer.name)
    bar = AlignmentThreshold(bits.each, options.min_bits + bits.places, options.gap)
    seed, most = options.seed_words, options.seed_count
    shared = find_shared_runs(lookups, layer, seed, most, lengths=query.lengths, bar=bar)
    for segment, (lookup, runs) in enumerate(zip(lookups, shared)):
        holders = index.segments[segment].positions_of(layer.name).document_of(runs.place)
        aligned = find_alignments(lookup, layer, runs, holders, bar)
        # One run alone has no edits: it is an exact match.
        for number in np.flatnonzero(np.diff(aligned.ends, prepend=0) > 1).tolist():
            parts = informative_part(aligned.runs(number), options.min_words)
            if len(parts) < 2:
                continue
            match = _gapped_match(segment, parts, layer, bits)
            known = matches.get((match.first, match.last))
            # The same words of the text may match more of one document than of another.
            if match.bits < options.min_bits or (known is not None and match.bits < known.bits):
                continue
            if known is not None and (match.bits, match.runs) == (known.bits, known.runs):
                if match.edits != known.edits:
                    continue  # the same words, but others between them
                match = replace(known, copies=known.copies + match.copies)
            matches[match.first, match.last] = match
    return select_informative(list(matches.values()))


def informative_part(runs: Aligned, least: int) -> Aligned:
    """An alignment with `least` words, two more for each edit; else the part of it that has them.

    That is the part with the most words, less two for each edit; empty if that is not enough.
    """
    words = sum(length for _, _, length in runs)
    if words - _WORDS_PER_EDIT * sum(count_edits(runs)) >= least:
        return runs
    score, start, best = 0, 0, (0, 0, 0)
    for number, run in enumerate(runs):
        score -= _WORDS_PER_EDIT * sum(count_edits(runs[max(0, number - 1) : number + 1]))
        if score <= 0:
            score, start = 0, number
        score += run[2]
        best = max(best, (score, -start, number + 1))
    return runs[-best[1] : best[2]] if best[0] >= least else ()


def _gapped_match(segment: int, runs: Aligned, layer: Layer, bits: Likelihood) -> Match:
    firsts, _, lengths = (np.array(column, np.int64) for column in zip(*runs))
    matched = bits.of(firsts, firsts + lengths) + bits.places
    return Match(
        kind=GAPPED,
        text=int(np.searchsorted(layer.text_ends, firsts[0], side="right")),
        first=runs[0][0],
        last=runs[-1][0] + runs[-1][2],
        words=int(lengths.sum()),
        bits=float(matched.sum()) - bits.places - EDIT * sum(count_edits(runs)),
        copies=(Copy(segment, runs[0][1], runs[-1][1] + runs[-1][2], runs),),
    )


def select_informative(matches: Sequence[Match]) -> list[Match]:
    """Those with words enough that no less likely one holds, in the order of the text."""
    spans = np.empty((2, len(matches)), np.int64)
    selected: list[Match] = []
    for match in sorted(matches, key=lambda match: (-match.bits, match.first, match.last)):
        first, last = spans[:, : len(selected)]
        shared = np.minimum(last, match.last) - np.maximum(first, match.first)
        if match.last - match.first - shared.max(initial=0) >= MIN_NEW_WORDS:
            spans[:, len(selected)] = match.first, match.last
            selected.append(match)
    return sorted(selected, key=lambda match: (match.first, match.last))


def find_matches(index: Index, layers: dict[str, Layer], options: TraceOptions) -> list[Match]:
    """All spans of the kinds that were asked for, text by text, from strict to loose."""
    matches: list[Match] = []
    stricter: list[_StricterSpans] = []
    queries = {name: QueryLayer.of(index, layers[name]) for name in options.layers}
    for kind in (kind for kind in KINDS if kind in options.kinds):
        if kind == GAPPED:
            candidates = find_gapped(index, queries[options.gap_layer], options)
        else:
            layer = LEMMA_LAYER if kind == LEMMA else EXACT_LAYER
            candidates = find_exact(index, queries[layer], kind, options)
        new = [match for match in candidates if not any(spans.tells(match) for spans in stricter)]
        stricter.append(_StricterSpans(new))
        matches += new
    return matches


def find_exact(index: Index, query: QueryLayer, kind: str, options: TraceOptions) -> list[Match]:
    """The maximal spans of a layer that stand in the index word for word."""
    layer = query.layer
    first, last = maximal_spans(query.lengths, layer)
    copies: dict[tuple[int, int], list[Copy]] = {}
    if kind == VERBATIM:
        for span in join_boundaries(index, layer, first, last):
            copy = Copy(span.segment, span.start, span.end)
            copies.setdefault((span.first, span.last), []).append(copy)
        first, last = _replace_with_longer(first, last, list(copies))
    texts = np.searchsorted(layer.text_ends, first, side="right")
    unlikely = query.bits.of(first, last)
    keep = (last - first >= options.min_words) & (unlikely >= options.min_bits)
    return [
        Match(kind, text, *span, span[1] - span[0], bits, tuple(copies.get(span, ())))
        for text, span, bits in zip(
            texts[keep].tolist(),
            zip(first[keep].tolist(), last[keep].tolist()),
            unlikely[keep].tolist(),
        )
    ]


def maximal_spans(lengths: NDArray[np.int32], layer: Layer) -> tuple[Numbers, Numbers]:
    """From where to where the longest matches run that lie in no other."""
    ends = np.arange(len(lengths)) + lengths
    new = np.diff(ends, prepend=-1) > 0
    new[layer.text_starts[layer.text_starts < len(lengths)]] = True
    first = np.flatnonzero(new & (lengths > 0))
    return first, ends[first]


def _replace_with_longer(
    first: Numbers, last: Numbers, longer: Sequence[tuple[int, int]]
) -> tuple[Numbers, Numbers]:
    """Maximal spans and longer ones that some of them lie in, all in order."""
    if not longer:
        return first, last
    starts, ends = (np.array(column, np.int64) for column in zip(*longer))
    # Of those that begin no later, the last ends last.
    near = np.searchsorted(starts, first, side="right") - 1
    inside = (near >= 0) & (ends[near] >= last)
    first = np.concatenate((first[~inside], starts))
    last = np.concatenate((last[~inside], ends))
    order = np.argsort(first, kind="stable")
    return first[order], last[order]


class _StricterSpans:
    """Spans of one kind, in which others may lie: both ends rise from one to the next."""

    def __init__(self, spans: Sequence[Match]) -> None:
        self.firsts = [match.first for match in spans]
        self.lasts = [match.last for match in spans]
        self.words = [match.words for match in spans]

    def tells(self, match: Match) -> bool:
        """Whether these spans say already what a looser match says."""
        around = bisect_right(self.firsts, match.first) - 1
        if around >= 0 and self.lasts[around] >= match.last:
            return True
        inside = slice(bisect_left(self.firsts, match.first), bisect_right(self.lasts, match.last))
        return max(self.words[inside], default=0) > match.words - MIN_NEW_WORDS


class EditCounts(NamedTuple):
    """Words in which a text differs from a document."""

    exchanged: int = 0
    added: int = 0
    left_out: int = 0


def count_edits(runs: Aligned) -> EditCounts:
    """What lies between runs: words of one side for words of the other, and those left over."""
    pairs = [(j - i - n, q - p - n) for (i, p, n), (j, q, _) in pairwise(runs)]
    return EditCounts(
        sum(min(pair) for pair in pairs),
        sum(max(0, text - document) for text, document in pairs),
        sum(max(0, document - text) for text, document in pairs),
    )


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a span stands that is no plain run of words: positions `start` to `end` of a segment.

    `runs` are (word of the text, position, length) each; those of a verbatim span are not told
    apart.
    """

    segment: int
    start: int
    end: int
    runs: Aligned = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Words `first` to `last` (exclusive) of a layer's texts that a corpus holds.

    `words` of them are matched: all but those in gaps. `bits` says how unlikely that is. The copies
    of a gapped match have the same edits.
    """

    kind: str
    text: int
    first: int
    last: int
    words: int
    bits: float
    copies: tuple[Copy, ...] = ()
    similarity: float | None = None
    """Of a match of meaning: the mean cosine of its sentences."""
    p: float | None = None
    """Of a match of meaning: how probable it is by chance; its bits are -log2 of that."""

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """First word and length of each run: one, unless there are gaps."""
        if self.kind != GAPPED:
            return ((self.first, self.words),)
        return tuple((first, length) for first, _, length in self.copies[0].runs)

    @property
    def edits(self) -> EditCounts:
        return count_edits(self.copies[0].runs) if self.kind == GAPPED else EditCounts()


class Likelihood:
    """How unlikely a stretch of a layer is, in bits, by the index's own counts of its items.

    -log2 of how often the index would hold it if its items stood in random order: the sum of
    -log2 P(item) less log2 of the number of items. An item that the index lacks counts as one.
    """

    def __init__(self, index: Index, layer: Layer) -> None:
        items = max(1, index.items_held(layer.name))
        numbers = np.arange(len(layer.vocabulary), dtype=np.int32)
        singles = Grams.of_rows(numbers[:, None], layer.vocabulary)
        counts = np.maximum(index.counts(singles, layer.name), 1)
        self.places = float(np.log2(items))
        self.each = (self.places - np.log2(counts))[layer.ids] if len(layer.ids) else np.empty(0)
        self._sums = np.concatenate((np.zeros(1), np.cumsum(self.each)))

    def of(self, first: Numbers, last: Numbers) -> NDArray[np.float64]:
        bits: NDArray[np.float64] = self._sums[last] - self._sums[first] - self.places
        return bits


STOP = "."
_ANCHOR = 4
"""Words that a match has at least for its ends to be looked at."""
_PLACES = 50
"""Positions of a match that are looked at."""


@dataclass(frozen=True, slots=True)
class BoundaryJoin:
    """Words `first` to `last` of the texts are positions `start` to `end` of a segment."""

    first: int
    last: int
    segment: int
    start: int
    end: int


def join_boundaries(
    index: Index, layer: Layer, first: Numbers, last: Numbers
) -> list[BoundaryJoin]:
    """The spans that reach across a seam, each with one position; those inside another left out."""
    stops = _FullStops(layer)
    keep = (last - first >= _ANCHOR) & stops.beside(first, last)
    joins: set[BoundaryJoin] = set()
    for segment, lookup in enumerate(index.lookups(layer.name)):
        joins |= stops.follow(lookup, first[keep], last[keep], segment)
    return _drop_nested(joins)


class _FullStops:
    """Where a full stop follows or ends a word of a layer, and how a corpus would cut it."""

    def __init__(self, layer: Layer) -> None:
        self._layer, self._ids = layer, layer.ids
        items = layer.vocabulary
        stop = np.array([item == STOP for item in items], bool)
        ends = np.array([len(item) > 1 and item.endswith(STOP) for item in items], bool)
        # One more at either end of the text, so that looking beyond it finds no full stop.
        padded = np.concatenate((layer.ids, np.full(2, len(items), np.int32)))
        self._stop, self._ends = np.append(stop, False)[padded], np.append(ends, False)[padded]
        # Words that could be one with the full stop behind them, and ones that could be two.
        self._joined = np.unique(layer.ids[self._stop[1 : len(layer.ids) + 1]])
        self._parted = np.flatnonzero(ends)
        self._with = [items[i] + STOP for i in self._joined.tolist()]
        self._without = [items[i][:-1] for i in self._parted.tolist()]
        self._word = int(stop.argmax()) if stop.any() else ABSENT

    def beside(self, first: Numbers, last: Numbers) -> NDArray[np.bool_]:
        """Whether a word with a full stop, or a word and a full stop, stand right beside a span."""
        before = self._ends[first - 1] | self._stop[first - 1]
        behind = self._ends[last] | self._stop[np.minimum(last + 1, len(self._stop) - 1)]
        is_beside: NDArray[np.bool_] = (before & (first > 0)) | behind
        return is_beside

    def follow(
        self, lookup: Lookup, first: Numbers, last: Numbers, segment: int
    ) -> set[BoundaryJoin]:
        """Matches as far as they go in a segment, seams included, where that is further."""
        vocabulary, texts = lookup.column.vocabulary, self._layer.text_ends
        tables = np.full((3, len(self._layer.vocabulary) + 1), ABSENT, np.int32)
        tables[0, :-1] = vocabulary.numbers(self._layer.vocabulary)
        tables[1, self._joined] = vocabulary.numbers(self._with)
        tables[2, self._parted] = vocabulary.numbers(self._without)
        otherwise = self._cut_otherwise(tables, first, last)
        first, last = first[otherwise], last[otherwise]
        items, ends = items_of(first, last)
        low, high = lookup.ranges(tables[0, self._ids[items]], ends)
        positions, behind = items_of(low, np.minimum(high, low + _PLACES))
        which = np.repeat(np.arange(len(first)), np.diff(behind, prepend=0))
        suffixes = lookup.column.suffixes
        assert suffixes is not None
        out = np.empty((len(which), 4), np.int64)
        text = np.searchsorted(texts, first, side="right")
        _follow(
            lookup.parts.ids,
            lookup.parts.ids_bits,
            lookup.parts.last,
            as_kernel_array(self._ids, np.int32),
            tables,
            self._word,
            vocabulary.find(STOP),
            as_kernel_array(
                np.stack((first, last, self._layer.text_starts[text], texts[text])), np.int64
            ),
            which,
            suffixes.order.take(positions),
            out,
        )
        longer = (out[:, 0] < first[which]) | (out[:, 1] > last[which])
        return {BoundaryJoin(a, b, segment, c, d) for a, b, c, d in out[longer].tolist()}

    def _cut_otherwise(
        self, tables: NDArray[np.int32], first: Numbers, last: Numbers
    ) -> NDArray[np.bool_]:
        """Whether the corpus has the words beside a span in their other form at all."""
        ids = np.append(self._ids, np.int32(tables.shape[1] - 1))
        _, as_one, as_two = tables > 0
        behind = np.where(
            self._ends[last], as_two[ids[last]], as_one[ids[last]] & self._stop[last + 1]
        )
        before = np.where(
            self._ends[first - 1],
            as_two[ids[first - 1]],
            as_one[ids[np.maximum(first - 2, 0)]] & self._stop[first - 1] & (first > 1),
        )
        occurs: NDArray[np.bool_] = behind | (before & (first > 0))
        return occurs


@njit(cache=True, nogil=True)
def _follow(data, bits, final, ids, tables, point, stop, spans, which, positions, out):  # type: ignore[no-untyped-def]
    """Follow each match in both directions: from where to where it goes in text and corpus.

    `tables` say of each word of the text which number it has in the corpus, which with a full stop,
    and which without the one that it ends with. A full stop is `point` in the text, `stop` in the
    corpus, where 0 is a document's end.
    """
    same, with_stop, parted = tables[0], tables[1], tables[2]
    for k in range(len(which)):
        first, last = spans[0, which[k]], spans[1, which[k]]
        low, high = spans[2, which[k]], spans[3, which[k]]
        start, end = positions[k], min(positions[k] + last - first, final)
        while last < high:
            word, item = ids[last], read(data, bits, end)
            if item == 0:
                break
            if same[word] == item:
                last, end = last + 1, end + 1
            elif with_stop[word] == item and last + 1 < high and ids[last + 1] == point:
                last, end = last + 2, end + 1
            elif parted[word] == item and read(data, bits, end + 1) == stop:
                last, end = last + 1, end + 2
            else:
                break
        while first > low and start > 0:
            word, item = ids[first - 1], read(data, bits, start - 1)
            if item == 0:
                break
            if same[word] == item:
                first, start = first - 1, start - 1
            elif first - 1 > low and with_stop[ids[first - 2]] == item and word == point:
                first, start = first - 2, start - 1
            elif start > 1 and item == stop and parted[word] == read(data, bits, start - 2):
                first, start = first - 1, start - 2
            else:
                break
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = first, last, start, end


def _drop_nested(joins: set[BoundaryJoin]) -> list[BoundaryJoin]:
    """Those that lie in no other, in order."""
    outermost: list[BoundaryJoin] = []
    for span in sorted(joins, key=lambda s: (s.first, -s.last, s.segment, s.start)):
        before = outermost[-1] if outermost else None
        if (
            before is None
            or span.last > before.last
            or (span.first, span.last) == (before.first, before.last)
        ):
            outermost.append(span)
    return outermost
