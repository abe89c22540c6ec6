"""Which texts of a corpus say the same in other words, by static vectors and the words they share.

Two texts score the cosine of their static vectors, and how much of their words they share: the
weight of the shared words (how rare they are, `chains.word_weight`) over the weight of all words of
the text that has more. No encoder runs. On translations of the same sentences among other texts
this finds more at equal precision than a sentence encoder's cosine (docs/decisions.md).

Pairs that share too little to reach the least score are never compared: each text is looked up by
its rarest words, as many as it takes for a pair above the least to share one (prefix filtering with
weights), so that none is missed. Scores are whole thousandths.

How often chance does as much is estimated on the texts themselves: each of a sample is compared
with a few others, so few that its copies are hardly among them; the probability for all texts
follows from that for a few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate.embeddings import static
from rote.annotate.folded_words import lower_word
from rote.core.arrays import Array, Integers
from rote.core.kernels import njit
from rote.core.numbers import format_number
from rote.search.meaning.chains import UNIT, word_weight
from rote.search.meaning.chance import ScoreTail

VERSION = "paraphrases/1"
_SAMPLED, _OTHERS = 2_000, 500
"""Texts that are sampled to see what chance does, and how many others each is compared with."""
_FEWEST, _SHARE_OF_TEXTS = 20, 10
_USUAL_START, _USUAL_SCALE = 680.0, 75.0
"""What texts of one or two sentences reach against `_OTHERS` (benchmarks/meaning.py): stands in
where there are too few texts to see."""
_LEAST_SHARED = 200
"""Thousandths of its words that a text shares with one that says the same, by weight."""
_HIGHEST = 2 * UNIT
_MOST_PAIRS = 10
"""Earlier texts that are kept in mind for each text, the most similar ones."""
_ROWS = 10_000
_SQUARE = static.UNIT**2


@dataclass(frozen=True, slots=True)
class ParaphrasePairs:
    """Texts and earlier ones that say nearly the same, by the later one, the most similar first."""

    later: Integers
    earlier: Integers
    similarity: NDArray[np.float64]
    """From 0 to 1: half of the score."""
    p: NDArray[np.float64]
    """The probability that a text which has nothing to do with the others does as well."""


def find_pairs(
    ids: Array, vocabulary: Sequence[str], starts: Integers, ends: Integers, most: float
) -> ParaphrasePairs:
    """The pairs that chance brings with a probability of at most `most`; text t is the words
    `starts[t]` to `ends[t]`."""
    texts = _TextTable.build(ids, vocabulary, starts, ends)
    sizes = ends - starts
    tail, others = texts.sample_chance(sizes)
    times = max(1.0, (len(starts) - 1) / max(1, others))
    least = _least_scores(tail, sizes, times, most)
    later, earlier, scores = texts.find_near(least)
    p = [_probability(tail, score, int(sizes[t]), times) for t, score in zip(later, scores)]
    return ParaphrasePairs(later, earlier, np.round(scores / _HIGHEST, 3), np.array(p, np.float64))


@dataclass(frozen=True, slots=True)
class _TextTable:
    """The different words of texts, the rarest first, and their static vectors."""

    words: Integers
    ends: Integers
    """Text t has the words `words[ends[t - 1]:ends[t]]`, in order."""
    weights: Integers
    totals: Integers
    """The weight of all words of each text."""
    vectors: NDArray[np.int8]

    @classmethod
    def build(
        cls, ids: Array, vocabulary: Sequence[str], starts: Integers, ends: Integers
    ) -> _TextTable:
        strings = list(map(lower_word, vocabulary))
        codes = {string: number for number, string in enumerate(dict.fromkeys(strings))}
        none = codes.setdefault("", len(codes))
        code_of = np.array([codes[string] for string in strings], np.int64)
        words = np.empty(int((ends - starts).sum()), np.int64)
        counts, last = np.zeros(len(codes), np.int64), np.zeros(len(starts), np.int64)
        _list_words(ids, code_of, starts, ends, none, words, counts, last)
        # The rarest words first, so that a text is looked up by the first of its words.
        order = np.argsort(counts, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        shares = ((count + 0.5) / (len(starts) + 1) for count in counts[order].tolist())
        weights = np.fromiter(map(word_weight, shares), np.int64, len(order))
        used = int(last[-1]) if len(last) else 0
        words, totals = ranks[words[:used]], np.zeros(len(starts), np.int64)
        _sort_words(words, last, weights, totals)
        vectors = np.empty((len(starts), static.DIMENSIONS), np.int8)
        rows = static.weighted_rows(vocabulary)
        for first in range(0, len(starts), _ROWS):
            some = slice(first, first + _ROWS)
            vectors[some] = static.quantize(static.sum_spans(rows, ids, starts[some], ends[some]))
        return cls(words, last, weights, totals, vectors)

    @property
    def columns(self) -> tuple[Array, ...]:
        """As kernels take them."""
        return self.words, self.ends, self.weights, self.totals, self.vectors

    def sample_chance(self, sizes: Integers) -> tuple[ScoreTail, int]:
        """The best scores of a sample of texts with a few others, and how many others."""
        count = len(self.ends)
        others = min(_OTHERS, max(_FEWEST, count // _SHARE_OF_TEXTS), max(1, count - 1))
        rows, columns = (
            np.arange(size) * count // size for size in (min(_SAMPLED, count), min(others, count))
        )
        best = np.zeros(len(rows), np.int64)
        _best_of_others(self.columns, rows, columns, best)
        start = _USUAL_START - _USUAL_SCALE * float(np.log(_OTHERS / others))
        return ScoreTail.fit(sizes[rows], best, (start, _USUAL_SCALE)), others

    def find_near(self, least: Integers) -> tuple[Integers, Integers, Integers]:
        """Each text with the earlier ones that reach its least score, the best `_MOST_PAIRS`."""
        shared = max(_LEAST_SHARED, int(least.min()) - UNIT) if len(least) else _LEAST_SHARED
        prefixes = np.zeros(len(self.ends), np.int64)
        _prefix_ends(self.words, self.ends, self.weights, self.totals, shared, prefixes)
        scores = np.full((len(self.ends), _MOST_PAIRS), -1, np.int32)
        earlier = np.full((len(self.ends), _MOST_PAIRS), -1, np.int32)
        heads = np.full(len(self.weights), -1, np.int64)
        links, owners = (np.empty(int(prefixes.sum()), np.int64) for _ in range(2))
        work_room = heads, links, owners
        _near_texts(self.columns, prefixes, least, shared, work_room, scores, earlier)
        later, places = np.nonzero(earlier >= 0)
        order = np.lexsort((earlier[later, places], -scores[later, places], later))
        later, places = later[order], places[order]
        best, nearest = (column[later, places].astype(np.int64) for column in (scores, earlier))
        return later, nearest, best


def _probability(tail: ScoreTail, score: int, words: int, times: float) -> float:
    """That a text does as well with `times` as many others as the tail was estimated on."""
    p = tail.probability(score, words)
    return float(format_number(-np.expm1(times * np.log1p(-p)), ".2g"))


def _least_scores(tail: ScoreTail, sizes: Integers, times: float, most: float) -> Integers:
    """The score that a text of each size must have."""
    different, where = np.unique(sizes, return_inverse=True)
    least = np.full(len(different), _HIGHEST + 1, np.int64)
    for place, words in enumerate(different.tolist()):
        low, high = 0, _HIGHEST + 1
        while low < high:
            middle = (low + high) // 2
            if _probability(tail, middle, words, times) <= most:
                high = middle
            else:
                low = middle + 1
        least[place] = low
    return least[where]


@njit(cache=True, nogil=True)
def _list_words(
    ids: Array,
    code_of: Array,
    starts: Array,
    ends: Array,
    none: int,
    words: Array,
    counts: Array,
    last: Array,
) -> None:
    """The different words of each text but `none`, where they end, and in how many texts each
    word is."""
    filled = 0
    for text in range(len(starts)):
        first = filled
        for place in range(starts[text], ends[text]):
            code = code_of[ids[place]]
            if code != none:
                words[filled] = code
                filled += 1
        different = np.unique(words[first:filled])
        words[first : first + len(different)] = different
        filled = first + len(different)
        for code in different:
            counts[code] += 1
        last[text] = filled


@njit(cache=True, nogil=True)
def _sort_words(words: Array, ends: Array, weights: Array, totals: Array) -> None:
    first = 0
    for text in range(len(ends)):
        words[first : ends[text]] = np.sort(words[first : ends[text]])
        for place in range(first, ends[text]):
            totals[text] += weights[words[place]]
        first = ends[text]


@njit(cache=True, nogil=True)
def _score(
    words: Array, ends: Array, weights: Array, totals: Array, vectors: Array, one: int, other: int
) -> tuple[int, int]:
    """The score of two texts, and how much of their words they share, in thousandths."""
    place, end = ends[one - 1] if one else 0, ends[one]
    there, there_end = ends[other - 1] if other else 0, ends[other]
    most = max(totals[one], totals[other])
    if most == 0:
        return 0, 0
    sum_shared = np.int64(0)
    while place < end and there < there_end:
        if words[place] == words[there]:
            sum_shared += weights[words[place]]
            place += 1
            there += 1
        elif words[place] < words[there]:
            place += 1
        else:
            there += 1
    product = np.int32(0)
    for column in range(vectors.shape[1]):
        product += np.int32(vectors[one, column]) * np.int32(vectors[other, column])
    shared = sum_shared * 1000 // most
    return np.int64(product) * 1000 // _SQUARE + shared, shared


@njit(cache=True, nogil=True)
def _best_of_others(texts: tuple[Array, ...], rows: Array, columns: Array, best: Array) -> None:
    words, ends, weights, totals, vectors = texts
    for number in range(len(rows)):
        for column in columns:
            if column != rows[number]:
                score, _ = _score(words, ends, weights, totals, vectors, rows[number], column)
                best[number] = max(best[number], score)


@njit(cache=True, nogil=True)
def _prefix_ends(
    words: Array, ends: Array, weights: Array, totals: Array, least: int, prefixes: Array
) -> None:
    """By how many of its rarest words each text is looked up: what follows them weighs less than
    the least share (in thousandths) of the text, so two that share that much share one of these."""
    first = 0
    for text in range(len(ends)):
        rest, place = totals[text], first
        while place < ends[text] and rest * 1000 >= least * totals[text]:
            rest -= weights[words[place]]
            place += 1
        prefixes[text] = place - first
        first = ends[text]


@njit(cache=True, nogil=True)
def _near_texts(
    texts: tuple[Array, ...],
    prefixes: Array,
    least: Array,
    least_shared: int,
    room_to_work: tuple[Array, ...],
    scores: Array,
    earlier: Array,
) -> None:
    """Of each text the earlier ones that reach its least score, as many as `scores` has room for,
    the lowest being left out. Room to work: `heads` (all -1), `links` and `owners`."""
    words, ends, weights, totals, vectors = texts
    heads, links, owners = room_to_work
    compared = np.full(len(ends), -1, np.int64)
    used, room = 0, scores.shape[1]
    for text in range(len(ends)):
        first = ends[text - 1] if text else 0
        for place in range(first, first + prefixes[text]):
            at = heads[words[place]]
            while at >= 0:
                candidate = owners[at]
                at = links[at]
                if compared[candidate] == text:
                    continue
                compared[candidate] = text
                small, large = (
                    min(totals[text], totals[candidate]),
                    max(totals[text], totals[candidate]),
                )
                if small * 1000 < least_shared * large:
                    continue
                score, shared = _score(words, ends, weights, totals, vectors, text, candidate)
                if score < least[text] or shared < least_shared:
                    continue
                lowest = 0
                for column in range(1, room):
                    if (scores[text, column], -earlier[text, column]) < (
                        scores[text, lowest],
                        -earlier[text, lowest],
                    ):
                        lowest = column
                if (score, -candidate) > (scores[text, lowest], -earlier[text, lowest]):
                    scores[text, lowest], earlier[text, lowest] = score, candidate
        for place in range(first, first + prefixes[text]):
            links[used], owners[used] = heads[words[place]], text
            heads[words[place]] = used
            used += 1
