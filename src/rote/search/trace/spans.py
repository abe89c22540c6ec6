"""Matched spans of texts, by kind: which are maximal, and which tell something new.

Exact spans follow from the longest match at every word: ends of longest matches never fall from
one word to the next, so a longest match lies inside another exactly if it ends where the one
before it does. Gapped spans are alignments.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.index import Index
from rote.search.trace.alignment import Aligned, alignments
from rote.search.trace.bounds import EDIT, Bar
from rote.search.trace.match import Copy, Likelihood, Match, edits_of
from rote.search.trace.options import (
    EXACT_LAYER,
    GAPPED,
    KINDS,
    LEMMA,
    LEMMA_LAYER,
    VERBATIM,
    TraceOptions,
)
from rote.search.trace.runs import Numbers, shared_runs
from rote.search.trace.seams import joined

ADDED = 3
"""A match has to hold so many words more than any that says nearly the same."""
_PAID = 2
"""Words that make up for one edit."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A layer of texts, what the index holds of it from each word on, and how unlikely that is."""

    layer: Layer
    lengths: NDArray[np.int32]
    bits: Likelihood

    @classmethod
    def of(cls, index: Index, layer: Layer) -> Asked:
        return cls(layer, index.lengths(layer, layer.name), Likelihood(index, layer))


def gapped(index: Index, asked: Asked, options: TraceOptions) -> list[Match]:
    """Alignments with edits; those that add little to a less likely one are left out."""
    found: dict[tuple[int, int], Match] = {}
    layer, bits = asked.layer, asked.bits
    lookups = index.lookups(layer.name)
    bar = Bar(bits.each, options.min_bits + bits.places, options.gap)
    seed, most = options.seed_words, options.seed_count
    shared = shared_runs(lookups, layer, seed, most, lengths=asked.lengths, bar=bar)
    for segment, (lookup, runs) in enumerate(zip(lookups, shared)):
        holders = index.segments[segment].frame_of(layer.name).document_of(runs.place)
        aligned = alignments(lookup, layer, runs, holders, bar)
        # One run alone has no edits: it is an exact match.
        for number in np.flatnonzero(np.diff(aligned.ends, prepend=0) > 1).tolist():
            parts = telling_part(aligned.runs(number), options.min_words)
            if len(parts) < 2:
                continue
            match = _match(segment, parts, layer, bits)
            known = found.get((match.first, match.last))
            # The same words of the text may match more of one document than of another.
            if match.bits < options.min_bits or (known is not None and match.bits < known.bits):
                continue
            if known is not None and (match.bits, match.runs) == (known.bits, known.runs):
                if match.edits != known.edits:
                    continue  # the same words, but others between them
                match = replace(known, copies=known.copies + match.copies)
            found[match.first, match.last] = match
    return telling(list(found.values()))


def telling_part(runs: Aligned, least: int) -> Aligned:
    """An alignment with `least` words, two more for each edit; else the part of it that has them.

    That is the part with the most words, less two for each edit; empty if that is not enough.
    """
    if _net(runs) >= least:
        return runs
    score, start, best = 0, 0, (0, 0, 0)
    for number, run in enumerate(runs):
        score -= _PAID * sum(edits_of(runs[max(0, number - 1) : number + 1]))
        if score <= 0:
            score, start = 0, number
        score += run[2]
        best = max(best, (score, -start, number + 1))
    return runs[-best[1] : best[2]] if best[0] >= least else ()


def _net(runs: Aligned) -> int:
    return sum(length for _, _, length in runs) - _PAID * sum(edits_of(runs))


def _match(segment: int, runs: Aligned, layer: Layer, bits: Likelihood) -> Match:
    firsts, _, lengths = (np.array(column, np.int64) for column in zip(*runs))
    matched = bits.of(firsts, firsts + lengths) + bits.places
    return Match(
        kind=GAPPED,
        text=int(np.searchsorted(layer.text_ends, firsts[0], side="right")),
        first=runs[0][0],
        last=runs[-1][0] + runs[-1][2],
        words=int(lengths.sum()),
        bits=float(matched.sum()) - bits.places - EDIT * sum(edits_of(runs)),
        copies=(Copy(segment, runs[0][1], runs[-1][1] + runs[-1][2], runs),),
    )


def telling(found: Sequence[Match]) -> list[Match]:
    """Those with words enough that no less likely one holds, in the order of the text."""
    spans = np.empty((2, len(found)), np.int64)
    kept: list[Match] = []
    for match in sorted(found, key=lambda match: (-match.bits, match.first, match.last)):
        first, last = spans[:, : len(kept)]
        shared = np.minimum(last, match.last) - np.maximum(first, match.first)
        if match.last - match.first - shared.max(initial=0) >= ADDED:
            spans[:, len(kept)] = match.first, match.last
            kept.append(match)
    return sorted(kept, key=lambda match: (match.first, match.last))


def matches(index: Index, layers: dict[str, Layer], options: TraceOptions) -> list[Match]:
    """All spans of the kinds that were asked for, text by text, from strict to loose."""
    kept: list[Match] = []
    stricter: list[_Stricter] = []
    asked = {name: Asked.of(index, layers[name]) for name in options.layers}
    for kind in (kind for kind in KINDS if kind in options.kinds):
        if kind == GAPPED:
            found = gapped(index, asked[options.gap_layer], options)
        else:
            layer = LEMMA_LAYER if kind == LEMMA else EXACT_LAYER
            found = exact(index, asked[layer], kind, options)
        new = [match for match in found if not any(other.tells(match) for other in stricter)]
        stricter.append(_Stricter(new))
        kept += new
    return kept


def exact(index: Index, asked: Asked, kind: str, options: TraceOptions) -> list[Match]:
    """The maximal spans of a layer that stand in the index word for word."""
    layer = asked.layer
    first, last = maximal(asked.lengths, layer)
    copies: dict[tuple[int, int], list[Copy]] = {}
    if kind == VERBATIM:
        for span in joined(index, layer, first, last):
            copy = Copy(span.segment, span.start, span.end)
            copies.setdefault((span.first, span.last), []).append(copy)
        first, last = _with(first, last, list(copies))
    texts = np.searchsorted(layer.text_ends, first, side="right")
    unlikely = asked.bits.of(first, last)
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
