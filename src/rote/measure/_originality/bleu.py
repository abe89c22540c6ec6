"""BLEU of sentences against a whole ground truth: all of its sentences are references.

Papineni et al. (2002), n = 1 to 4, over a corpus: an n-gram of a sentence counts as often as some
one reference holds it; the length that a sentence is held against is the nearest that a reference
has. With so many references nearly every common phrase is found, which is why Brooks and Youssef
(2021) call the score insufficient.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Flags, Floats, Integers
from rote.core.layer import Layer
from rote.index.counts.batch import find_ranges
from rote.index.grams import Grams
from rote.search.originality.reach import GroundTruth
from rote.search.originality.suffix_blocks import SourcedSegment

LONGEST = 4
# Places of an n-gram that are looked at before it is asked whether that was enough.
_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Matches:
    """For every sentence: n-grams found and n-grams in all (columns n = 1 to 4), and lengths."""

    found: Integers
    total: Integers
    lengths: Integers
    nearest: Floats


def matches(ground: GroundTruth, text: Layer, known: NDArray[np.int32]) -> Matches:
    """Count for every sentence of a text; `known` as `GroundTruth.reach` gives it."""
    ends = text.sentence_ends
    assert ends is not None  # `reach` has asked
    lengths = np.diff(ends, prepend=0).astype(np.int64)
    sentence = np.repeat(np.arange(len(ends)), lengths)
    rests = np.repeat(ends, lengths) - np.arange(len(text.ids))
    found = np.zeros((len(ends), LONGEST), np.int64)
    total = np.maximum(lengths[:, None] - np.arange(LONGEST), 0)
    key = np.zeros(len(text.ids), np.int64)
    for n in range(1, LONGEST + 1):
        # n-grams by number, each length made from the one before: (n-1)-gram, then the last item.
        here = np.flatnonzero(rests >= n)
        grown = key[here] * len(text.vocabulary) + text.ids[here + n - 1]
        kinds, renumbered = np.unique(grown, return_inverse=True)
        key[here] = renumbered
        held = _single(ground, text)[text.ids[here]] if n == 1 else known[here] >= n
        # One row for each different n-gram of a sentence.
        _, first, times = np.unique(
            sentence[here] * max(1, len(kinds)) + renumbered, return_index=True, return_counts=True
        )
        counted = np.where(held[first], times, 0)
        again = np.flatnonzero(counted > 1)
        counted[again] = _clipped(ground, text, here[first[again]], n, counted[again])
        np.add.at(found[:, n - 1], sentence[here][first], counted)
    return Matches(found, total, lengths, _nearest(reference_lengths(ground), lengths))


def bleu(found: Floats, total: Floats, length: Floats, nearest: Floats) -> Floats:
    """BLEU from sums over sentences, the last axis of the first two being n; no smoothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(total > 0, found / total, np.nan)
        brevity = np.minimum(0.0, 1 - nearest / length)
        return np.asarray(np.exp(brevity + np.log(precision).mean(axis=-1)), np.float64)


def reference_lengths(ground: GroundTruth) -> Integers:
    """The lengths that sentences of the ground truth have, each once."""
    found = [np.zeros(0, np.int64)]
    for segment in ground.segments:
        rests = segment.rests()
        # A sentence begins behind an end: of a sentence, of a document, or of nothing.
        begins = (rests > 0) & (np.append(0, rests[:-1])[: len(rests)] <= 1)
        found.append(np.unique(rests[begins]).astype(np.int64))
    return np.unique(np.concatenate(found))


def _nearest(known: Integers, lengths: Integers) -> Floats:
    """The known length nearest to each, of two equally near ones the shorter; nan if none is."""
    if not len(known):
        return np.full(len(lengths), np.nan)
    above = np.searchsorted(known, lengths)
    right = known[np.minimum(above, len(known) - 1)]
    left = known[np.maximum(above - 1, 0)]
    nearer = np.abs(right - lengths) < np.abs(lengths - left)
    return np.where(nearer, right, left).astype(np.float64)


def _single(ground: GroundTruth, text: Layer) -> Flags:
    """Of each entry of the vocabulary whether the ground truth has the word."""
    held = np.zeros(len(text.vocabulary), np.bool_)
    for lookup in ground.lookups:
        held |= lookup.column.vocabulary.numbers(text.vocabulary) > 0
    return held


def _clipped(
    ground: GroundTruth, text: Layer, places: Integers, n: int, times: Integers
) -> Integers:
    """How often the n-gram at each place may count: as often as one sentence holds it."""
    if not len(places):
        return times
    rows = text.ids[places[:, None] + np.arange(n)]
    grams, which = np.unique(rows, axis=0, return_inverse=True)
    which = which.reshape(-1)
    wanted, most = np.zeros(len(grams), np.int64), np.zeros(len(grams), np.int64)
    np.maximum.at(wanted, which, times)
    # The words of these n-grams alone: few of the text's occur in a sentence twice.
    used, ids = np.unique(grams, return_inverse=True)
    asked = Grams(
        ids.reshape(-1).astype(np.int32),
        np.arange(1, len(grams) + 1) * n,
        [text.vocabulary[i] for i in used.tolist()],
    )
    for lookup, segment in zip(ground.lookups, ground.segments):
        low, high = find_ranges(lookup, asked)
        for gram in np.flatnonzero(high > low).tolist():
            ranks = range(int(low[gram]), int(high[gram]))
            here = _most_in_one_sentence(segment, ranks, n, int(wanted[gram]))
            most[gram] = max(most[gram], here)
    return np.minimum(times, most[which])


def _most_in_one_sentence(segment: SourcedSegment, ranks: range, n: int, wanted: int) -> int:
    """How often one sentence holds an n-gram, given the suffixes that begin with it.

    No more than `wanted` is looked for.
    """
    ends, most = np.zeros(0, np.int64), 0
    for start in range(ranks.start, ranks.stop, _AT_ONCE):
        stop = min(start + _AT_ONCE, ranks.stop)
        places = np.asarray(segment.suffixes.order.slice(start, stop), np.int64)
        rests = segment.rests_at(places)
        # A sentence is known by its end; its occurrences may lie in different parts.
        ends = np.concatenate((ends, (places + rests)[rests >= n]))
        most = int(np.unique(ends, return_counts=True)[1].max(initial=0))
        if most >= wanted:
            break
    return most
