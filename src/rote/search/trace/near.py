"""Gapped matches: near-verbatim passages, those alignments (`alignment.py`) that tell something."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rote.core.layer import Layer
from rote.index.index import Index
from rote.search.trace.alignment import EDIT, Aligned, alignments
from rote.search.trace.match import Copy, Likelihood, Match, edits_of
from rote.search.trace.options import GAPPED, TraceOptions
from rote.search.trace.runs import shared_runs

ADDED = 3
"""A match has to hold so many words more than any that says nearly the same."""
_PAID = 2
"""Words that make up for one edit."""


def gapped(index: Index, layer: Layer, options: TraceOptions) -> list[Match]:
    """Alignments with edits; those that add little to a less likely one are left out."""
    found: dict[tuple[int, int], Match] = {}
    bits = Likelihood(index, layer)
    lookups = index.lookups(layer.name)
    shared = shared_runs(lookups, layer, options.seed_words, options.seed_count)
    for segment, (lookup, runs) in enumerate(zip(lookups, shared)):
        holders = index.segments[segment].frame_of(layer.name).document_of(runs.place)
        least = options.min_bits + bits.places
        aligned = alignments(lookup, layer, runs, holders, bits.each, least=least, drop=options.gap)
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
