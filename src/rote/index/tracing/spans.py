"""Matched spans of texts, by kind: which are maximal, and which tell something new.

Exact spans follow from the longest match at every word: ends of longest matches never fall from
one word to the next, so a longest match lies inside another exactly if it ends where the one
before it does. Gapped spans are chains of runs (`chains.py`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.grams import Grams
from rote.index.index import Index
from rote.index.tracing.chains import Chains, chains
from rote.index.tracing.options import (
    EXACT_LAYER,
    GAPPED,
    KINDS,
    LEMMA,
    LEMMA_LAYER,
    VERBATIM,
    TraceOptions,
)
from rote.index.tracing.runs import Numbers, shared_runs
from rote.index.tracing.seams import joined

ADDED = 3
"""A looser span has to hold so many words more than any stricter one inside it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Where a span stands that is no plain run of words: places `start` to `end` of a segment.

    `runs` are (word of the text, place, length) each; those of a verbatim span are not told apart.
    """

    segment: int
    start: int
    end: int
    runs: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """Words `first` to `last` (exclusive) of a layer's texts that a corpus holds.

    `words` of them are matched: all but those in gaps. `bits` says how unlikely that is.
    """

    kind: str
    text: int
    first: int
    last: int
    words: int
    bits: float
    copies: tuple[Copy, ...] = ()

    @property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """First word and length of each run: one, unless there are gaps."""
        if self.kind != GAPPED:
            return ((self.first, self.words),)
        return tuple((first, length) for first, _, length in self.copies[0].runs)


def matches(index: Index, layers: dict[str, Layer], options: TraceOptions) -> list[Match]:
    """All spans of the kinds that were asked for, text by text, from strict to loose."""
    kept: list[Match] = []
    stricter: list[_Stricter] = []
    for kind in (kind for kind in KINDS if kind in options.kinds):
        if kind == GAPPED:
            found = gapped(index, layers[options.gap_layer], options)
        else:
            layer = layers[LEMMA_LAYER if kind == LEMMA else EXACT_LAYER]
            found = exact(index, layer, kind, options)
        new = [match for match in found if not any(other.tells(match) for other in stricter)]
        stricter.append(_Stricter(new))
        kept += new
    return kept


def exact(index: Index, layer: Layer, kind: str, options: TraceOptions) -> list[Match]:
    """The maximal spans of a layer that stand in the index word for word."""
    first, last = maximal(index.longest(layer, layer.name).lengths, layer)
    copies: dict[tuple[int, int], list[Copy]] = {}
    if kind == VERBATIM:
        for span in joined(index, layer, first, last):
            copy = Copy(span.segment, span.start, span.end)
            copies.setdefault((span.first, span.last), []).append(copy)
        first, last = _with(first, last, list(copies))
    texts = np.searchsorted(layer.text_ends, first, side="right")
    unlikely = Likelihood(index, layer).of(first, last)
    keep = (last - first >= options.min_words) & (unlikely >= options.min_bits)
    return [
        Match(kind, text, *span, span[1] - span[0], bits, tuple(copies.get(span, ())))
        for text, span, bits in zip(
            texts[keep].tolist(),
            zip(first[keep].tolist(), last[keep].tolist()),
            unlikely[keep].tolist(),
        )
    ]


def maximal(lengths: NDArray[np.int32], layer: Layer) -> tuple[Numbers, Numbers]:
    """From where to where the longest matches run that lie in no other."""
    ends = np.arange(len(lengths)) + lengths
    new = np.diff(ends, prepend=-1) > 0
    new[layer.text_starts[layer.text_starts < len(lengths)]] = True
    first = np.flatnonzero(new & (lengths > 0))
    return first, ends[first]


def _with(
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


def gapped(index: Index, layer: Layer, options: TraceOptions) -> list[Match]:
    """Chains of runs with at most `gap` words between them; those inside another left out."""
    found: dict[tuple[int, int], tuple[int, float, list[Copy]]] = {}
    bits = Likelihood(index, layer)
    lookups = index.lookups(layer.name)
    shared = shared_runs(lookups, layer, options.seed_words, options.seed_count)
    for segment, runs in enumerate(shared):
        texts = np.searchsorted(layer.text_ends, runs.first, side="right")
        holders = index.segments[segment].frame_of(layer.name).document_of(runs.place)
        for chain, words, unlikely in _unlikely(
            chains(runs, texts, holders, options.gap), bits, options
        ):
            span = (chain[0][0], chain[-1][0] + chain[-1][2])
            known = found.get(span)
            # The same words of the text may match more of one document than of another.
            if known is None or words > known[0]:
                found[span] = (words, unlikely, [_copy(segment, chain)])
            elif words == known[0]:
                known[2].append(_copy(segment, chain))
    kept: list[Match] = []
    for (first, last), (words, unlikely, copies) in sorted(
        found.items(), key=lambda item: (item[0][0], -item[0][1])
    ):
        text = int(np.searchsorted(layer.text_ends, first, side="right"))
        # Sorted so, a span lies in an earlier one if it ends no later than the last that was kept.
        if not kept or kept[-1].last < last or kept[-1].text != text:
            kept.append(Match(GAPPED, text, first, last, words, unlikely, tuple(copies)))
    return kept


class Likelihood:
    """How unlikely a stretch of a layer is, in bits, by the index's own counts of its items.

    -log2 of how often the index would hold it if its items stood in random order: the sum of
    -log2 P(item) less log2 of the number of items. An item that the index lacks counts as one.
    """

    def __init__(self, index: Index, layer: Layer) -> None:
        items = max(1, index.items_held(layer.name))
        singles = Grams(
            np.arange(len(layer.vocabulary), dtype=np.int32),
            np.arange(1, len(layer.vocabulary) + 1),
            layer.vocabulary,
        )
        counts = np.maximum(index.counts(singles, layer.name), 1)
        self.places = float(np.log2(items))
        each = (self.places - np.log2(counts))[layer.ids] if len(layer.ids) else np.empty(0)
        self._sums = np.concatenate((np.zeros(1), np.cumsum(each)))

    def of(self, first: Numbers, last: Numbers) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._sums[last] - self._sums[first] - self.places
        return found


_Chain = tuple[tuple[int, int, int], ...]


def _unlikely(
    found: Chains, bits: Likelihood, options: TraceOptions
) -> list[tuple[_Chain, int, float]]:
    """The chains that are long and unlikely enough, with their words and bits."""
    if not len(found):
        return []
    starts = np.concatenate((np.zeros(1, np.int64), found.ends[:-1]))
    words = np.add.reduceat(found.length, starts)
    each = bits.of(found.first, found.first + found.length) + bits.places
    # Every gap could have been any of (gap + 1)^2, which makes a chance match as much likelier.
    freedom = 2 * np.log2(options.gap + 1) * (found.ends - starts - 1)
    unlikely = np.add.reduceat(each, starts) - bits.places - freedom
    keep = np.flatnonzero((words >= options.min_words) & (unlikely >= options.min_bits))
    return [
        (
            tuple(zip(*(column[found.slice(c)].tolist() for column in _columns(found)))),
            int(words[c]),
            float(unlikely[c]),
        )
        for c in keep.tolist()
    ]


def _copy(segment: int, chain: _Chain) -> Copy:
    return Copy(segment, chain[0][1], chain[-1][1] + chain[-1][2], chain)


def _columns(found: Chains) -> Sequence[Numbers]:
    return found.first, found.place, found.length


class _Stricter:
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
        return max(self.words[inside], default=0) > match.words - ADDED
