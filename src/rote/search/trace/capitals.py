"""Lemmas of words in capitals, spelled as the corpus spells them.

A lemma keeps the capitals of a name, and nothing in the word HEAVEN says that it is none, nor in
GOD that it is no acronym. What the corpus holds most often says it well enough: of HEAVEN, Heaven
and heaven that one. But where the word as it stands is part of a longer match, it stays. The
lemmas of other words are left alone (*Rose* is no *rose*) unless the corpus lacks them, when
nothing can be lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rote.core.layer import Layer, number
from rote.index.grams import Grams
from rote.index.index import Index
from rote.search.trace.runs import Numbers
from rote.search.trace.spans import maximal

_SPELLINGS = (str, str.lower, str.capitalize, str.upper)
_AROUND = 16
"""Words on either side of one in capitals among which its matches are compared."""


def as_the_corpus_spells(index: Index, lemmas: Layer) -> Layer:
    """The layer with the most frequent spelling of every lemma in capitals or unknown."""
    spelled = _most_frequent(index, lemmas)
    other = np.array([new != old for new, old in zip(spelled, lemmas.vocabulary)], bool)
    words = np.flatnonzero(other[lemmas.ids])
    if not len(words):
        return lemmas
    vocabulary, numbers = number([*lemmas.vocabulary, *spelled])
    ids = lemmas.ids.copy()
    ids[words] = numbers[len(lemmas.vocabulary) + ids[words]]
    changed = replace(lemmas, ids=ids, vocabulary=vocabulary)
    near = _near(lemmas, words)
    stay = _longest_around(index, lemmas, near) > _longest_around(index, changed, near)
    stay &= other[lemmas.ids[near]]
    ids[near[stay]] = lemmas.ids[near[stay]]
    return changed


def _near(layer: Layer, words: Numbers) -> Numbers:
    """These words and those around them, as far as a match is looked at."""
    edges = np.zeros(len(layer.ids) + 1, np.int64)
    np.add.at(edges, np.maximum(words - _AROUND, 0), 1)
    np.add.at(edges, np.minimum(words + _AROUND + 1, len(layer.ids)), -1)
    return np.flatnonzero(np.cumsum(edges[:-1]))


def _longest_around(index: Index, layer: Layer, near: Numbers) -> Numbers:
    """For each of these words how long the longest match among them is that holds it."""
    texts = np.searchsorted(layer.text_ends, near, side="right")
    apart = (np.diff(near) > 1) | (np.diff(texts) > 0)
    ends = np.append(np.flatnonzero(apart) + 1, len(near))
    part = replace(layer, ids=layer.ids[near], text_ends=ends, sentence_ends=None)
    first, last = maximal(index.lengths(part, layer.name), part)
    # Both rise, so that the matches that hold a word stand next to each other.
    words = np.arange(len(near))
    begin = np.searchsorted(last, words, side="right")
    end = np.searchsorted(first, words, side="right")
    lengths = np.append(last - first, 0)
    found = np.maximum.reduceat(lengths, np.stack((begin, end), axis=1).ravel())[::2]
    return np.asarray(np.where(begin < end, found, 0), np.int64)


def _most_frequent(index: Index, lemmas: Layer) -> list[str]:
    """For each lemma of the vocabulary itself, or another spelling of it."""
    known = _counts(index, lemmas.name, lemmas.vocabulary).tolist()
    asked = [
        place
        for place, (lemma, count) in enumerate(zip(lemmas.vocabulary, known))
        if (len(lemma) > 1 and lemma.isupper()) or not count
    ]
    variants = [[spelling(lemmas.vocabulary[place]) for spelling in _SPELLINGS] for place in asked]
    counts = _counts(index, lemmas.name, [variant for row in variants for variant in row])
    found = list(lemmas.vocabulary)
    # Of spellings that are equally frequent the first, which is the lemma as it stands.
    best = counts.reshape(-1, len(_SPELLINGS)).argmax(axis=1).tolist()
    for place, row, most in zip(asked, variants, best):
        found[place] = row[most]
    return found


def _counts(index: Index, layer: str, items: Sequence[str]) -> Numbers:
    return index.counts(Grams.of([(item,) for item in items]), layer)
