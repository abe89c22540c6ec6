"""Matched spans of texts, by kind: which are maximal, and which tell something new.

Exact spans follow from the longest match at every word: ends of longest matches never fall from
one word to the next, so a longest match lies inside another exactly if it ends where the one
before it does. Gapped spans are alignments (`near.py`).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.index.index import Index
from rote.search.trace.match import Copy, Likelihood, Match
from rote.search.trace.near import ADDED, gapped
from rote.search.trace.options import (
    EXACT_LAYER,
    GAPPED,
    KINDS,
    LEMMA,
    LEMMA_LAYER,
    VERBATIM,
    TraceOptions,
)
from rote.search.trace.runs import Numbers
from rote.search.trace.seams import joined


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
