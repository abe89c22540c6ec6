"""Sentences of texts beside the sentences of a corpus that say the same, in chains.

Two sentences score their cosine and, for every word that they share, how rare it is: 0.01 for each
nat of -ln(share of the corpus's sentences). So "In the beginning" needs a nearer vector than a
sentence with a name in it. Consecutive sentences that lead to consecutive sentences of one document
are one chain: what each scores above `BASE` is added up, less for sentences left out or out of step
(a local alignment). All scores are whole thousandths, so that no last digit decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rote.annotate.folded_words import lower_word
from rote.core.arrays import Integers
from rote.core.kernels import njit
from rote.core.layer import Layer, starts_of

VERSION = "chains/1"
UNIT = 1000
"""Scores are thousandths."""
BASE = 500
"""What a sentence must score to add to a chain."""
WORD_WEIGHT = 10
"""Thousandths for each nat of a shared word's rarity."""
NEAREST = 100
"""Sentences of the corpus that are looked at for each sentence of a text."""
_LOWEST = -250
"""A sentence that scores so much below `BASE` joins no chain."""
_DRIFT, _SKIPPED, _STEP_COST = 4, 2, 20
"""Sentences that a chain may run ahead in the corpus for each one of the text, sentences of the
text it may leave out, and what each sentence out of step costs."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextSentences:
    """Sentences of texts, in order; sentence s is the words `first[s]` to `last[s]` of a layer, in
    text `texts[s]`."""

    strings: Sequence[str]
    """With single spaces, as an index embeds them."""
    words: Sequence[frozenset[str]]
    """Their different words in lower case, without punctuation."""
    texts: Integers
    first: Integers
    last: Integers
    vectors: Vectors

    def __len__(self) -> int:
        return len(self.strings)

    @property
    def sizes(self) -> Integers:
        """Words of each sentence, punctuation included."""
        return self.last - self.first


def split_sentences(
    texts: Sequence[str], word: Layer, embed: Callable[[Sequence[str]], Vectors]
) -> TextSentences:
    first, last = sentence_bounds(word)
    numbers = np.searchsorted(word.text_ends, first, side="right").astype(np.int64)
    strings = span_strings(texts, word, numbers, first, last)
    words = word_sets(word.ids, word.vocabulary, first, last)
    return TextSentences(strings, words, numbers, first, last, embed(strings))


def sentence_bounds(layer: Layer) -> tuple[Integers, Integers]:
    assert layer.sentence_ends is not None
    first, last = starts_of(layer.sentence_ends), layer.sentence_ends
    return first[last > first], last[last > first]


def span_strings(
    texts: Sequence[str], layer: Layer, numbers: Integers, first: Integers, last: Integers
) -> list[str]:
    """The words `first` to `last` of texts as they are written, with single spaces."""
    starts, ends = layer.starts[first].tolist(), layer.ends[last - 1].tolist()
    spans = zip(numbers.tolist(), starts, ends)
    return [" ".join(texts[text][start:end].split()) for text, start, end in spans]


def word_sets(
    ids: NDArray[np.integer[Any]], vocabulary: Sequence[str], starts: Integers, ends: Integers
) -> list[frozenset[str]]:
    """The different words of spans in lower case, without punctuation."""
    names = {
        item: lower_word(string)
        for item in np.unique(ids).tolist()
        if (string := vocabulary[item]) is not None
    }
    spans = zip(starts.tolist(), ends.tolist())
    sets = ({names[item] for item in ids[start:end].tolist()} for start, end in spans)
    return [frozenset(words - {""}) for words in sets]


class SentenceSource(Protocol):
    """The sentences of a corpus, numbered document by document."""

    def nearest(self, vectors: Vectors, k: int) -> tuple[Integers, Integers]:
        """The k nearest sentences of each vector: cosines in thousandths, numbers (-1: none)."""

    def documents(self, numbers: Integers) -> Integers:
        """The document of each sentence."""

    def words(self, numbers: Integers) -> list[frozenset[str]]:
        """The different words of sentences."""

    def weights(self, words: Sequence[str]) -> list[int]:
        """What each word adds to a score if two sentences share it, in thousandths."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Sentences of a text and the sentences of the corpus that they lead to."""

    text: int
    score: int
    sentences: tuple[int, ...]
    """Numbers of the text's sentences, rising."""
    numbers: tuple[int, ...]
    """The sentence of the corpus that each of them leads to."""
    cosines: tuple[int, ...]
    """In thousandths."""

    @property
    def similarity(self) -> float:
        return round(sum(self.cosines) / len(self.cosines) / UNIT, 3)


def word_weight(share: float) -> int:
    """Thousandths for a word that this share of a corpus's sentences holds.

    >>> word_weight(0.001), word_weight(0.5)
    (69, 7)
    """
    return max(0, round(-WORD_WEIGHT * float(np.log(min(1.0, share)))))


@dataclass(frozen=True, slots=True)
class Candidates:
    """What sentences may lead to: sentence s to those from `starts[s]` to `starts[s + 1]`.

    `gains` are the scores above `BASE`, `cosines` are in thousandths.
    """

    starts: Integers
    numbers: Integers
    documents: Integers
    cosines: Integers
    gains: Integers


def find_chains(sentences: TextSentences, source: SentenceSource) -> list[Chain]:
    """The best chains, each sentence in one at most, by text and place."""
    return link_candidates(find_candidates(sentences, source), sentences.texts)


def find_candidates(
    sentences: TextSentences,
    source: SentenceSource,
    without: tuple[Integers, Integers] | None = None,
) -> Candidates:
    """The nearest sentences of the corpus; `without` names a range of its sentences for each
    sentence that it may not lead to."""
    wanted = NEAREST if without is None else 2 * NEAREST
    cosines, numbers = source.nearest(sentences.vectors, wanted)
    if without is not None:
        low, high = (bounds[:, None] for bounds in without)
        numbers = np.where((numbers >= low) & (numbers < high), -1, numbers)
    is_there = numbers >= 0
    is_there &= np.cumsum(is_there, axis=1) <= NEAREST
    rows, columns = np.nonzero(is_there)
    there, near = numbers[rows, columns], cosines[rows, columns].astype(np.int64)
    order = np.lexsort((there, rows))
    rows, there, near = rows[order], there[order], near[order]
    gains = near + _shared_words(sentences, source, rows, there) - BASE
    keep = gains >= _LOWEST
    rows, there, near, gains = rows[keep], there[keep], near[keep], gains[keep]
    starts = np.searchsorted(rows, np.arange(len(sentences) + 1)).astype(np.int64)
    return Candidates(starts, there, source.documents(there), near, gains)


def select_sentences(
    sentences: TextSentences, rows: Integers, texts: Integers | None = None
) -> TextSentences:
    """Some of the sentences, as parts of other `texts` where these are given."""
    return TextSentences(
        [sentences.strings[row] for row in rows.tolist()],
        [sentences.words[row] for row in rows.tolist()],
        sentences.texts[rows] if texts is None else texts,
        sentences.first[rows],
        sentences.last[rows],
        sentences.vectors[rows],
    )


def _shared_words(
    sentences: TextSentences, source: SentenceSource, rows: Integers, numbers: Integers
) -> Integers:
    """What the words add that a sentence and its candidate share."""
    used, places = np.unique(numbers, return_inverse=True)
    there = source.words(used)
    vocabulary = sorted(frozenset().union(*sentences.words))
    weights = dict(zip(vocabulary, source.weights(vocabulary)))
    pairs = zip(rows.tolist(), places.tolist())
    shared = (
        sum(weights[word] for word in sentences.words[row] & there[place]) for row, place in pairs
    )
    return np.fromiter(shared, np.int64, len(rows))


def link_candidates(candidates: Candidates, texts: Integers) -> list[Chain]:
    """The best chains first; what leads to a sentence that has one already is left out."""
    numbers, gains = candidates.numbers, candidates.gains
    best, before = gains.copy(), np.full(len(gains), -1, np.int64)
    columns = candidates.starts, numbers, candidates.documents, gains
    _link(columns, texts, best, before)
    rows = np.repeat(np.arange(len(texts)), np.diff(candidates.starts))
    ends = np.flatnonzero(best >= 1)
    chains: list[Chain] = []
    ended: set[int] = set()
    for end in ends[np.lexsort((numbers[ends], rows[ends], -best[ends]))].tolist():
        path: list[int] = []
        place = end
        while place >= 0:
            path.append(place)
            place = int(before[place])
        path.reverse()
        chosen = rows[path].tolist()
        span = range(chosen[0], chosen[-1] + 1)
        if not ended.isdisjoint(span):
            continue
        ended.update(span)
        text, score = int(texts[chosen[0]]), int(best[end])
        where = tuple(numbers[path].tolist())
        cosines = tuple(candidates.cosines[path].tolist())
        chains.append(Chain(text, score, tuple(chosen), where, cosines))
    return sorted(chains, key=lambda chain: chain.sentences)


@njit(cache=True, nogil=True)
def _link(
    candidates: tuple[Integers, ...], texts: Integers, best: Integers, before: Integers
) -> None:
    """The best chain that ends in each candidate, and the candidate before it (-1: none).

    Candidates of sentence s are `starts[s]` to `starts[s + 1]`, by number.
    """
    starts, numbers, documents, gains = candidates
    for sentence in range(len(starts) - 1):
        for back in range(1, _SKIPPED + 2):
            earlier = sentence - back
            if earlier < 0 or texts[earlier] != texts[sentence]:
                break
            low = starts[earlier]
            for place in range(starts[sentence], starts[sentence + 1]):
                while low < starts[earlier + 1] and numbers[low] < numbers[place] - _DRIFT - back:
                    low += 1
                source = low
                while source < starts[earlier + 1] and numbers[source] <= numbers[place]:
                    if documents[source] == documents[place]:
                        step = abs(numbers[place] - numbers[source] - back) + 2 * (back - 1)
                        value = best[source] + gains[place] - _STEP_COST * step
                        if value > best[place]:
                            best[place], before[place] = value, source
                    source += 1
