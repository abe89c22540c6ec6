"""Spans of texts that an index holds nearly word for word: the soft matches of DJ Search (Lu et al.
2025), for the creativity index.

Two spans match if each content word of one has on average a word of the other at least `least`
near it (cosine of static vectors), and the other way round: the relaxed form of the Word Mover's
Distance. A span has two content words or more, and the function words around them. The authors take
Llama 3's input embeddings and the documents that share most n-grams with a text; here the places
looked at are the sentences of the index nearest in meaning, and no span crosses a sentence's end.
Cosines are whole thousandths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rote.annotate.embeddings import static
from rote.annotate.folded_words import fold_word
from rote.core.arrays import Array, Integers
from rote.core.kernels import njit
from rote.core.layer import Layer
from rote.core.sample import RawText
from rote.search.meaning.chains import NEAREST, UNIT, split_sentences
from rote.search.meaning.index_matches import IndexSentences

VERSION = "near-verbatim/1"
CONTENT_WORDS = 2
"""Content words of a span that is compared."""
_SENTENCES = 256


@dataclass(frozen=True, slots=True)
class NearSpans:
    """For each word of a layer how long the longest span is that begins there (0: none), the number
    of the sentence of the index that holds it, and how similar they are, in thousandths."""

    lengths: Integers
    places: Integers
    similar: Integers


def find_near_spans(
    source: IndexSentences,
    texts: RawText,
    layer: Layer,
    function_words: frozenset[str],
    least: float,
) -> NearSpans:
    """The spans of a layer of words with spans and sentence ends that the index nearly holds."""
    count = len(layer.ids)
    spans = NearSpans(*(np.zeros(count, np.int64) for _ in range(3)))
    strings = [texts.string(number) for number in range(len(layer))]
    sentences = split_sentences(strings, layer, source.embedder)
    threshold, look_up = round(least * UNIT), _make_look_up()
    for first in range(0, len(sentences), _SENTENCES):
        _, numbers = source.nearest(sentences.vectors[first : first + _SENTENCES], NEAREST)
        used = np.unique(numbers[numbers >= 0])
        vectors = {
            number: look_up(content)
            for number, words in zip(used.tolist(), source.word_lists(used))
            if len(content := [w for w in words if _is_content(w, function_words)]) >= CONTENT_WORDS
        }
        for row, near in enumerate(numbers.tolist(), first):
            begin, end = int(sentences.first[row]), int(sentences.last[row])
            words = [layer.vocabulary[item].lower() for item in layer.ids[begin:end].tolist()]
            places = [n for n, word in enumerate(words) if _is_content(word, function_words)]
            if len(places) < CONTENT_WORDS:
                continue
            bounds = np.array([-1, *places, len(words)], np.int64)
            sought = look_up([words[place] for place in places])
            columns = (spans.lengths, spans.places, spans.similar)
            of_sentence = tuple(column[begin:end] for column in columns)
            for number in near:
                if number in vectors:
                    cosines = _similarities(sought, vectors[number])
                    _match_spans(cosines, bounds, threshold, number, of_sentence)
    return spans


def _is_content(word: str, function_words: frozenset[str]) -> bool:
    return word not in function_words and bool(fold_word(word))


@dataclass(frozen=True, slots=True)
class WordVectors:
    """Numbers of words, the same for the same word, and their vectors, if any."""

    numbers: Integers
    rows: Array
    lengths: Array
    unknown: Array


def _make_look_up() -> Callable[[Sequence[str]], WordVectors]:
    table, numbers = static.table(), dict[str, int]()

    def look_up(words: Sequence[str]) -> WordVectors:
        places = table.find(words)
        return WordVectors(
            np.array([numbers.setdefault(word, len(numbers)) for word in words]),
            table.rows[places].astype(np.float32),
            table.lengths[places],
            places < 0,
        )

    return look_up


def _similarities(own: WordVectors, others: WordVectors) -> Integers:
    """Cosines of words in thousandths; a word without a vector is near itself alone."""
    products = own.rows @ others.rows.T
    lengths = own.lengths[:, None] * others.lengths[None, :]
    cosines = np.rint(UNIT * products / np.maximum(lengths, 1)).astype(np.int64)
    cosines[own.unknown] = 0
    cosines[:, others.unknown] = 0
    same = own.numbers[:, None] == others.numbers
    return np.where(same, UNIT, np.minimum(cosines, UNIT - 1))


@njit(cache=True, nogil=True)
def _match_spans(
    cosines: Array, bounds: Array, least: int, number: int, spans: tuple[Array, ...]
) -> None:
    """Keep the longest spans; content word w stands at `bounds[w + 1]` of the sentence."""
    lengths, places, similar = spans
    count, others = cosines.shape
    best = np.zeros(count, np.int64)
    for word in range(count):
        for column in range(others):
            best[word] = max(best[word], cosines[word, column])
    row_best, column_best = np.zeros(count, np.int64), np.zeros(others, np.int64)
    for first in range(count - 1):
        start = bounds[first] + 1
        for last in range(count, first + 1, -1):
            length = bounds[last + 1] - start
            if length < lengths[start]:
                break
            total = np.int64(0)
            for word in range(first, last):
                total += best[word]
            if total < least * (last - first):
                continue
            for column in range(others):
                column_best[column] = 0
                for word in range(first, last):
                    column_best[column] = max(column_best[column], cosines[word, column])
            score = np.int64(0)
            for begin in range(others - 1):
                row_best[first:last] = 0
                back = np.int64(0)
                for column in range(begin, others):
                    back += column_best[column]
                    forth = np.int64(0)
                    for word in range(first, last):
                        row_best[word] = max(row_best[word], cosines[word, column])
                        forth += row_best[word]
                    size = column - begin + 1
                    if size < 2:
                        continue
                    score = max(score, min(forth // (last - first), back // size))
            if score >= least and (length > lengths[start] or score > similar[start]):
                lengths[start], places[start], similar[start] = length, number, score
                break
