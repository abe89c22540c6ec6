"""Which texts say in other words what a part of a test item says; texts may be a stream.

A sieve comes first: the cosine of static vectors, and how rare the words are that two sentences
share. Of all sentences those go on that score more than all but `_PASS` of a sample's sentences of
their size, with the sentence before and behind each. Only these meet the encoder. Their chains
(`chains.py`) lead to the sentences of a part; a chain counts that holds half of the part's words,
and that chance reaches seldom enough (`chance.py`, from the sample's own sentences). Products of
static vectors are whole numbers that single precision adds exactly, so the sieve lets the same
sentences pass on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rote.annotate import glyphs, sentences, words
from rote.annotate.embeddings import Embedder, static
from rote.core.array_types import Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, starts_of
from rote.search.meaning import chains, chance, facts
from rote.search.meaning.chains import (
    Chain,
    SentenceTable,
    TextSentences,
    Vectors,
    find_candidates,
    leave_out,
    link_candidates,
    split_sentences,
    take_rows,
    word_sets,
    word_weight,
)
from rote.search.meaning.chance import Chance, draw_blocks, estimate_chance
from rote.search.meaning.facts import compare_facts, read_facts

VERSION = f"parts/1+{chains.VERSION}+{chance.VERSION}+facts/{facts.VERSION}"
_PASS = 0.003
"""The share of a sample's sentences that passes the sieve."""
_SAMPLED = 20_000
"""Sentences of the sample that are compared for that."""
_SURE = 900
"""A sentence with this score passes in any case."""
_NEAR = 0.35
"""The cosine from which on shared words are looked at."""
_ROWS = 256
_SIZES = np.array([4, 8, 16, 32])
"""Words of sentences that are compared with their like."""
_WEIGHTY = 0.2
"""Sentences with a smaller share of a part's words are not in the sieve."""
HELD = 0.5
"""The share of a part's words that the sentences of a match hold at least."""


@dataclass(frozen=True, slots=True)
class PartMeaning:
    """Characters `start` to `end` of a text, whole sentences, that say what a part says; `p` is the
    probability that a passage which has nothing to do with the parts does as well."""

    text: int
    part: int
    start: int
    end: int
    words: int
    similarity: float
    p: float
    differing: tuple[str, ...]
    """Facts (numbers, names, negation) in which both differ."""


@dataclass(frozen=True, slots=True)
class MeaningMatcher:
    """The sentences of parts, and what is a match with them; travels to worker processes."""

    embedder: Embedder
    parts: tuple[str, ...]
    part_of: Integers
    """The part of each sentence."""
    sizes: Integers
    """Words of each sentence."""
    totals: Integers
    """Words of each part."""
    table: SentenceTable
    sieve: Sieve
    least: Integers
    """The score from which on a sentence passes, by its size."""
    chance: Chance
    most: float

    @classmethod
    def build(
        cls,
        parts: Sequence[str],
        judged: NDArray[np.bool_],
        sample: Sequence[str],
        embedder: Embedder,
        most: float,
    ) -> MeaningMatcher:
        """`judged`: the parts that are looked for. `sample`: texts that tell what chance does."""
        looked_for = [part if is_judged else "" for part, is_judged in zip(parts, judged)]
        layer = split_layer(looked_for)
        of_parts = split_sentences(looked_for, layer, embedder)
        totals = np.bincount(of_parts.texts, of_parts.sizes, minlength=len(parts)).astype(np.int64)
        # A short sentence is near to many; a part with longer ones is found by those.
        weighty = np.flatnonzero(of_parts.sizes >= _WEIGHTY * totals[of_parts.texts])
        sample_layer = split_layer(sample)
        first, last = sentence_bounds(sample_layer)
        step = max(1, len(first) // _SAMPLED)
        some = first[::step], last[::step]
        among = word_sets(sample_layer.ids, sample_layer.vocabulary, *some)
        bounds = of_parts.first[weighty], of_parts.last[weighty]
        sieve = Sieve.build(
            layer, *bounds, [of_parts.words[row] for row in weighty.tolist()], among
        )
        scores, classes = sieve.score(sample_layer, *some), _size_class(some[1] - some[0])
        least = np.array([_border(scores[classes == n]) for n in range(len(_SIZES) + 1)], np.int64)
        table = SentenceTable(of_parts.words, of_parts.texts, of_parts.vectors, among)
        # A sample may hold parts: what the sieve is sure of tells nothing about chance.
        suspect = np.zeros(len(first), np.bool_)
        suspect[::step] = scores >= _SURE
        rows, blocks = draw_blocks(
            np.searchsorted(sample_layer.text_ends, first, side="right"), without=suspect
        )
        held_out = _sentences(sample, sample_layer, first[rows], last[rows], blocks, embedder)
        return cls(
            embedder,
            tuple(parts),
            of_parts.texts,
            of_parts.sizes,
            totals,
            table,
            sieve,
            least,
            estimate_chance(held_out, table, None),
            most,
        )

    def find(self, texts: Sequence[str]) -> list[PartMeaning]:
        """All matches, by text and place; several parts may have the same."""
        layer = split_layer(texts)
        first, last = sentence_bounds(layer)
        scores = self.sieve.score(layer, first, last)
        passed = scores >= self.least[_size_class(last - first)]
        of_text = np.searchsorted(layer.text_ends, first, side="right")
        rows = np.flatnonzero(_with_neighbours(passed, of_text))
        if not len(rows):
            return []
        # Sentences in a row are a text of their own, so that no chain leaps over others.
        breaks = (np.diff(rows) > 1) | (np.diff(of_text[rows]) > 0)
        runs: Integers = np.concatenate((np.zeros(1, np.int64), np.cumsum(breaks)))
        places = _sentences(texts, layer, first[rows], last[rows], runs, self.embedder)
        matches = []
        for chain in self._chains(places):
            start, end = places.first[chain.sentences[0]], places.last[chain.sentences[-1]]
            matches.append(
                PartMeaning(
                    text=int(of_text[rows[chain.sentences[0]]]),
                    part=int(self.part_of[chain.numbers[0]]),
                    start=int(layer.starts[start]),
                    end=int(layer.ends[end - 1]),
                    words=int(end - start),
                    similarity=chain.similarity,
                    p=self._probability(places, chain),
                    differing=(),
                )
            )
        return self._compare(texts, matches)

    def _chains(self, places: TextSentences) -> list[Chain]:
        """The chains that count; several parts that one passage says are found in turn."""
        counted: list[Chain] = []
        every = find_candidates(places, self.table)
        bounds = np.flatnonzero(np.diff(places.texts, prepend=-1, append=-1)).tolist()
        for first, last in pairwise(bounds):
            candidates, texts = take_rows(every, first, last), places.texts[first:last]
            while len(candidates.numbers):
                now = (chain.move(first) for chain in link_candidates(candidates, texts))
                likely = [chain for chain in now if self._probability(places, chain) <= self.most]
                if not likely:
                    break
                counted += [chain for chain in likely if self._holds(chain)]
                answered = {int(self.part_of[chain.numbers[0]]) for chain in likely}
                candidates = leave_out(candidates, answered)
        return counted

    def _probability(self, places: TextSentences, chain: Chain) -> float:
        size = places.last[chain.sentences[-1]] - places.first[chain.sentences[0]]
        return self.chance.probability(chain, int(size))

    def _holds(self, chain: Chain) -> bool:
        numbers = np.unique(np.array(chain.numbers))
        part = self.part_of[numbers[0]]
        return bool(self.sizes[numbers].sum() >= HELD * self.totals[part])

    def _compare(self, texts: Sequence[str], matches: Sequence[PartMeaning]) -> list[PartMeaning]:
        pairs = [(texts[m.text][m.start : m.end], self.parts[m.part]) for m in matches]
        known = read_facts([text for pair in pairs for text in pair])
        compared = [
            replace(m, differing=compare_facts(known[2 * number], known[2 * number + 1]))
            for number, m in enumerate(matches)
        ]
        return sorted(compared, key=lambda m: (m.text, m.start, m.part))


def split_layer(texts: Sequence[str]) -> Layer:
    """The words of texts with the ends of their sentences."""
    return sentences.split(texts, words.get(words.DEFAULT)(texts))


def sentence_bounds(layer: Layer) -> tuple[Integers, Integers]:
    """The first word of each sentence, and the one behind its last."""
    assert layer.sentence_ends is not None
    first, last = starts_of(layer.sentence_ends), layer.sentence_ends
    return first[last > first], last[last > first]


def sum_sentences(layer: Layer, first: Integers, last: Integers) -> Vectors:
    """Static vectors of sentences in whole numbers."""
    rows = static.weighted_rows(layer.vocabulary)
    sums = static.sum_spans(rows, layer.ids, first, last)
    return static.quantize(sums).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Sieve:
    """Sentences that others are quickly compared with."""

    vectors: Vectors
    """Static vectors in whole numbers, see `embeddings/static.py`."""
    numbers: dict[str, int]
    """The different words."""
    starts: Integers
    """Where the words of each sentence begin in `words`."""
    words: Integers
    weights: Integers
    """What a shared word adds to a score, in thousandths."""

    @classmethod
    def build(
        cls,
        layer: Layer,
        first: Integers,
        last: Integers,
        own_words: Sequence[frozenset[str]],
        among: Sequence[frozenset[str]],
    ) -> Sieve:
        """Of sentences `first` to `last` with these words; rare is a word `among` others."""
        numbers = {word: n for n, word in enumerate(sorted(frozenset().union(*own_words)))}
        counts = Counter(word for each in among for word in each)
        shares = ((counts[word] + 0.5) / (len(among) + 1) for word in numbers)
        ids = [sorted(numbers[word] for word in each) for each in own_words]
        return cls(
            sum_sentences(layer, first, last),
            numbers,
            np.cumsum([0, *map(len, ids)]),
            np.array([number for each in ids for number in each], np.int64),
            np.fromiter(map(word_weight, shares), np.int64, len(numbers)),
        )

    def score(self, layer: Layer, first: Integers, last: Integers) -> Integers:
        """The best score of each sentence `first` to `last` of a layer with any of these."""
        best = np.zeros(len(first), np.int64)
        if not len(self.vectors):
            return best
        vectors = sum_sentences(layer, first, last)
        known = [self.numbers.get(glyphs.fold(word).lower(), -1) for word in layer.vocabulary]
        ids = np.array(known, np.int64)[layer.ids]
        for begin in range(0, len(first), _ROWS):
            some = slice(begin, begin + _ROWS)
            products = vectors[some] @ self.vectors.T
            spans = first[some], last[some]
            least = _NEAR * static.UNIT**2
            columns = self.starts, self.words, self.weights
            _best_scores(products, least, static.UNIT**2, ids, *spans, *columns, best[some])
        return best


@njit(cache=True, nogil=True)
def _best_scores(
    products: Vectors,
    least: float,
    unit: int,
    ids: Integers,
    first: Integers,
    last: Integers,
    starts: Integers,
    words: Integers,
    weights: Integers,
    best: Integers,
) -> None:
    """Cosines in thousandths and the weights of shared words; products below `least` are none."""
    stamps = np.full(len(weights), -1, np.int64)
    for row in range(len(products)):
        for place in range(first[row], last[row]):
            if ids[place] >= 0:
                stamps[ids[place]] = row
        for column in range(products.shape[1]):
            if products[row, column] < least:
                continue
            score = np.int64(products[row, column]) * 1000 // unit
            for place in range(starts[column], starts[column + 1]):
                if stamps[words[place]] == row:
                    score += weights[words[place]]
            best[row] = max(best[row], score)


def _size_class(sizes: Integers) -> Integers:
    return np.searchsorted(_SIZES, sizes)


def _border(reached: Integers) -> int:
    """The score that few of the sample's sentences exceed; ties at the border stay out."""
    if not len(reached):
        return _SURE
    ordered = np.sort(reached)
    return min(max(0, int(ordered[int((1 - _PASS) * (len(ordered) - 1))])) + 1, _SURE)


def _with_neighbours(passed: NDArray[np.bool_], texts: Integers) -> NDArray[np.bool_]:
    """Also the sentences before and behind each in its text."""
    beside = passed.copy()
    inside = np.diff(texts) == 0
    beside[1:] |= passed[:-1] & inside
    beside[:-1] |= passed[1:] & inside
    return beside


def _sentences(
    texts: Sequence[str],
    layer: Layer,
    first: Integers,
    last: Integers,
    runs: Integers,
    embedder: Embedder,
) -> TextSentences:
    """Some sentences of texts, in `runs`, with the encoder's vectors."""
    of_text = np.searchsorted(layer.text_ends, first, side="right").tolist()
    spans = zip(of_text, layer.starts[first].tolist(), layer.ends[last - 1].tolist())
    strings = [" ".join(texts[text][start:end].split()) for text, start, end in spans]
    own_words = word_sets(layer.ids, layer.vocabulary, first, last)
    return TextSentences(strings, own_words, runs, first, last, embedder(strings))
