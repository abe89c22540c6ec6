"""Which runs of words chance would put into a ground truth, so that they are nobody's own.

A run w1 ... wn of a text is expected N P(w1) P(w2 | w1) ... P(wn | wn-1) times in a ground truth of
N words by other hands. P are the index's own probabilities of one word after another (`BackOff`,
cut to pairs), from counts without the run's own occurrences: else what was copied once would look
expected. Whether a run that begins at some word is there by chance has at most this probability, so
if the threshold is t, chance brings at most 1,000 t of them in 1,000 words, whatever the text's
length. Phrases are more frequent than pairs of words say: how many sentences chance flags
nevertheless is counted on the ground truth itself: see `held_out`.
"""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Floats
from rote.core.layer import Layer
from rote.index.grams import Grams
from rote.search.model.back_off import BackOff
from rote.search.originality.edges import is_mark
from rote.search.originality.reach import GroundTruth, Reach
from rote.search.originality.stretches import Int32s, Int64s

PER_WORDS = 1_000
"""Words in which `chance` counts."""


def expected_runs(
    ground: GroundTruth, text: Layer, reach: Reach, min_words: int, chance: float
) -> Int32s:
    """Of every item the longest run from there on that is too short, or expected, to be cited.

    No longer than what the ground truth knows. `chance` 0: no run is expected.
    """
    least = np.maximum(reach.common + 1, _spanning(text, min_words))
    runs: Int32s = np.minimum(reach.known, least - 1).astype(np.int32)
    starts = np.flatnonzero(reach.known >= least)
    if not chance or not len(starts):
        return runs
    model, least, longest = BackOff(ground.index, ground.layer), least[starts], reach.known[starts]
    counts = _Counts(ground, text, starts, least, longest.astype(np.int64))
    events = np.full(len(starts), model.events())
    uniform = np.full(len(starts), model.uniform())

    def single(going: Int64s, offset: int) -> tuple[Int64s, Floats]:
        """How often the item at that offset occurs elsewhere, and how probable that makes it."""
        other = np.maximum(counts.single[starts[going] + offset] - counts.own[going], 0)
        return other, model.mix(other, events[going] - counts.own[going], uniform[going])

    going, length = np.arange(len(starts)), 1
    context, probability = single(going, 0)
    expected = np.log2(events) + np.log2(probability)
    while len(going):
        other, probability = single(going, length)
        pairs = np.maximum(counts.pair[starts[going] + length - 1] - counts.own[going], 0)
        # Where the context occurs nowhere else, nothing is known of what follows it.
        seen = context > 0
        probability[seen] = model.mix(pairs[seen], context[seen], probability[seen])
        expected[going] += np.log2(probability)
        length += 1
        rare = (length >= least[going]) & (expected[going] <= np.log2(chance / PER_WORDS))
        runs[starts[going[rare]]] = length - 1
        ended = ~rare & (length == longest[going])
        runs[starts[going[ended]]] = length
        left = ~(rare | ended)
        going, context = going[left], other[left]
    return runs


def _spanning(text: Layer, words: int) -> Int64s:
    """Of every item how many items from there on hold so many words; marks are none.

    More than the text has where it ends before.
    """
    is_word = ~is_mark(text.vocabulary)[text.ids]
    # Behind the last word there is always one too few.
    places = np.append(np.flatnonzero(is_word), np.full(words, len(text.ids) + words))
    before: Int64s = np.cumsum(is_word, dtype=np.int64) - is_word
    found: Int64s = places[before + words - 1] + 1 - np.arange(len(text.ids))
    return found


class _Counts:
    """How often the ground truth holds the words and pairs of some runs, and their first part."""

    def __init__(
        self, ground: GroundTruth, text: Layer, starts: Int64s, least: Int64s, longest: Int64s
    ) -> None:
        self._ground, self._text = ground, text
        inside = np.zeros(len(text.ids) + 1, np.int64)
        np.add.at(inside, starts, 1)
        np.subtract.at(inside, starts + longest, 1)
        items = np.flatnonzero(np.cumsum(inside[:-1]) > 0)
        self.single = self._counted(items, np.ones_like(items))
        pairs = items[np.append(np.diff(items) == 1, False)]
        # Of an item and the one behind it.
        self.pair = self._counted(pairs, np.full(len(pairs), 2))
        self.own = self._count(starts, least)

    def _counted(self, starts: Int64s, sizes: Int64s) -> Int64s:
        counts = np.zeros(len(self._text.ids), np.int64)
        counts[starts] = self._count(starts, sizes)
        return counts

    def _count(self, starts: Int64s, sizes: Int64s) -> Int64s:
        ends = np.cumsum(sizes)
        items = np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        grams = Grams(self._text.ids[items], ends, self._text.vocabulary)
        return self._ground.index.counts(grams, self._ground.layer)
