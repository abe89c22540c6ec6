"""Matches of meaning between texts and the sentences of an index, each with its probability."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rote.annotate import sentences, words
from rote.core.arrays import Integers
from rote.core.cache import DiskCache
from rote.core.errors import OptionError
from rote.core.json_reader import parse_json
from rote.core.layer import Layer
from rote.core.progress import Reporter, Silent
from rote.index.answers import Occurrence, describe_occurrence, occurrence_at
from rote.index.grams import Grams
from rote.index.index import Index
from rote.index.segments.meanings import sentence_positions
from rote.search.meaning import chains, chance, facts
from rote.search.meaning.chains import (
    UNIT,
    TextSentences,
    Vectors,
    find_chains,
    select_sentences,
    split_sentences,
    word_sets,
    word_weight,
)
from rote.search.meaning.chance import BLOCK, BLOCKS, Chance, draw_blocks, estimate_chance
from rote.search.meaning.facts import compare_pairs

VERSION = f"{chains.VERSION}+{chance.VERSION}+facts/{facts.VERSION}"
HELD = 0.5
"""The share of an item's words that the sentences of a match hold at least."""
WORD, LOWER = "word", "lower"
_UNRELATED = 4_000_000
"""Characters of unrelated texts that are read."""
_NEIGHBOURHOOD = 50
"""Sentences around a held-out one that it may not lead to where one document is half the corpus."""


class IndexSentences:
    """The sentences of an index as a source for chains."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.embedder = index.sentence_embedder()
        self._words: dict[int, frozenset[str]] = {}
        parts = [sentence_positions(segment.positions[WORD]) for segment in index.segments]
        self._starts = [part.starts for part in parts]
        self._ends = [part.ends for part in parts]
        self._bases = np.cumsum([0, *map(len, self._starts)])
        documents = [len(segment.documents) for segment in index.segments]
        self._documents = np.cumsum([0, *documents])

    def nearest(self, vectors: Vectors, k: int) -> tuple[Integers, Integers]:
        nearest = self.index.nearest_sentences(vectors, k)
        cosines = np.rint(np.nan_to_num(nearest.similarities) * UNIT).astype(np.int64)
        return cosines, nearest.sentences

    def span(self, first: int, last: int) -> tuple[int, int, int]:
        """Segment and positions of the sentences `first` to `last`, the last one included."""
        segment = int(np.searchsorted(self._bases, first, side="right")) - 1
        base = int(self._bases[segment])
        start, end = self._starts[segment][first - base], self._ends[segment][last - base]
        return segment, int(start), int(end)

    def documents(self, numbers: Integers) -> Integers:
        out = np.zeros(len(numbers), np.int64)
        for segment, rows, places in self._by_segment(numbers):
            positions = self.index.segments[segment].positions[WORD]
            documents = positions.document_of(self._starts[segment][places])
            out[rows] = self._documents[segment] + documents
        return out

    def words(self, numbers: Integers) -> list[frozenset[str]]:
        missing = np.array([n for n in numbers.tolist() if n not in self._words], np.int64)
        for segment, rows, places in self._by_segment(missing):
            column = self.index.segments[segment].columns[LOWER]
            starts, ends = self._starts[segment][places], self._ends[segment][places]
            spans = zip(starts.tolist(), ends.tolist())
            ids = np.concatenate([column.ids.slice(start, end) for start, end in spans])
            last = np.cumsum(ends - starts)
            sets = word_sets(ids, column.vocabulary, last - (ends - starts), last)
            self._words.update(zip(missing[rows].tolist(), sets))
        return [self._words[number] for number in numbers.tolist()]

    def word_lists(self, numbers: Integers) -> list[list[str]]:
        lists: list[list[str]] = [[] for _ in numbers]
        for segment, rows, places in self._by_segment(numbers):
            column = self.index.segments[segment].columns[LOWER]
            starts, ends = self._starts[segment][places], self._ends[segment][places]
            for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist()):
                lists[row] = [column.vocabulary[n] for n in column.ids.slice(start, end).tolist()]
        return lists

    def occurrence(self, number: int) -> Occurrence:
        segment, start, end = self.span(number, number)
        return occurrence_at(self.index.segments, segment, WORD, start, end)

    def weights(self, words: Sequence[str]) -> list[int]:
        counts = self.index.counts(Grams.of([(word,) for word in words]), LOWER)
        sentence_count = self.index.sentences_held + 1
        return [word_weight((count + 0.5) / sentence_count) for count in counts.tolist()]

    def held_out(self) -> tuple[TextSentences, tuple[Integers, Integers]]:
        """Blocks of sentences from all over the index, and where each may not lead."""
        total = self.index.sentences_held
        blocks = min(BLOCKS, total // BLOCK)
        begins = np.arange(blocks) * (total - BLOCK) // max(1, blocks - 1)
        numbers = (begins[:, None] + np.arange(BLOCK)).ravel()
        documents = self.documents(numbers)
        # A block is of one document: what lies in the next one is a text of its own.
        texts = np.cumsum(np.diff(documents, prepend=-1, append=-1)[:-1] != 0) + np.repeat(
            np.arange(blocks), BLOCK
        )
        texts = np.unique(texts, return_inverse=True)[1].astype(np.int64)
        low, high = (np.empty(len(numbers), np.int64) for _ in range(2))
        sizes = np.empty(len(numbers), np.int64)
        occurrences = self.index.sentences(numbers)
        strings = [" ".join(self.index.context(each, 0).match.split()) for each in occurrences]
        for segment, rows, places in self._by_segment(numbers):
            starts, ends = self._starts[segment], self._ends[segment]
            sizes[rows] = ends[places] - starts[places]
            positions = self.index.segments[segment].positions[WORD]
            of = positions.document_of(starts[places])
            before = np.array([positions.start_of(d) for d in of.tolist()], np.int64)
            low[rows] = np.searchsorted(starts, before) + self._bases[segment]
            high[rows] = np.searchsorted(starts, positions.document_ends[of]) + self._bases[segment]
        wide = high - low > total // 2
        low = np.where(wide, np.maximum(low, numbers - _NEIGHBOURHOOD), low)
        high = np.where(wide, np.minimum(high, numbers + _NEIGHBOURHOOD + 1), high)
        last = np.cumsum(sizes)
        vectors = self.embedder(strings)
        held_out = TextSentences(strings, self.words(numbers), texts, last - sizes, last, vectors)
        return held_out, (low, high)

    def _by_segment(self, numbers: Integers) -> list[tuple[int, Integers, Integers]]:
        """Of each segment the places in `numbers` of its sentences, and their own numbers."""
        segments = np.searchsorted(self._bases, numbers, side="right") - 1
        return [
            (segment, rows, numbers[rows] - self._bases[segment])
            for segment in np.unique(segments).tolist()
            if len(rows := np.flatnonzero(segments == segment))
        ]


def index_chance(index: Index, reporter: Reporter | None = None) -> Chance:
    """How often chance does as much in this index; kept on disk by what the index holds."""
    reporter = reporter or Silent()
    source = IndexSentences(index)
    if index.manifest is None:
        return _estimate(source)
    name = f"{source.embedder.signature} {chains.VERSION} {chance.VERSION}"
    key = index.manifest.fingerprint.encode()
    with DiskCache("chance", name, reporter) as cache:
        for data in cache.read([key]).values():
            return Chance.parse(parse_json(data))
        with reporter.stage("estimating chance on held-out sentences", None):
            estimate = _estimate(source)
        cache.write([(key, json.dumps(estimate.plain()).encode())])
    return estimate


def unrelated_chance(index: Index, texts: Iterable[str]) -> Chance:
    """How often chance does as much in texts that have nothing to do with the index."""
    source = IndexSentences(index)
    some: list[str] = []
    size = 0
    for text in texts:
        some.append(text)
        size += len(text)
        if size >= _UNRELATED:
            break
    word = sentences.split(some, words.get(words.DEFAULT)(some))
    every = split_sentences(some, word, lambda strings: np.empty((len(strings), 0), np.float32))
    blocks, texts_of = draw_blocks(every.texts)
    if not len(blocks):
        raise OptionError(
            f"no unrelated text has {BLOCK} sentences: name longer texts with --unrelated"
        )
    held_out = select_sentences(every, blocks, texts_of)
    held_out = replace(held_out, vectors=source.embedder(held_out.strings))
    return estimate_chance(held_out, source, None)


def _estimate(source: IndexSentences) -> Chance:
    held_out, without = source.held_out()
    return estimate_chance(held_out, source, without)


@dataclass(frozen=True, slots=True)
class MeaningMatch:
    """Words `first` to `last` of a layer, whole sentences, and positions of a segment that say the
    same; `p` is the probability that chance does as well."""

    text: int
    first: int
    last: int
    segment: int
    start: int
    end: int
    similarity: float
    p: float
    sentences: int


def find_meanings(
    source: IndexSentences, texts: Sequence[str], word: Layer, estimate: Chance, most: float
) -> list[MeaningMatch]:
    """The matches that chance does at most that often, by text and place."""
    if word.sentence_ends is None:
        word = sentences.split(texts, word)
    split = split_sentences(texts, word, source.embedder)
    matches = []
    for chain in find_chains(split, source):
        first, last = int(split.first[chain.sentences[0]]), int(split.last[chain.sentences[-1]])
        p = estimate.probability(chain, last - first)
        if p <= most:
            place = source.span(chain.numbers[0], chain.numbers[-1])
            size = len(chain.sentences)
            matches.append(MeaningMatch(chain.text, first, last, *place, chain.similarity, p, size))
    return matches


@dataclass(frozen=True, slots=True)
class ItemMeaning:
    """What says in other words what a part of an item says."""

    part: int
    text: str
    """The part."""
    match: MeaningMatch
    differing: tuple[str, ...]
    """Facts (numbers, names, negation) in which both differ."""


def find_reworded(
    index: Index,
    parts: Sequence[str],
    items: Integers,
    most: float,
    reporter: Reporter | None = None,
) -> dict[int, ItemMeaning]:
    """Of each item, if any, the match that chance does least often; `items` are those of the parts.

    A match holds half of a part or more. An item has as many chances as it has parts.
    """
    if not len(parts) or not index.sentences_held:
        return {}
    word = sentences.split(parts, words.get(words.DEFAULT)(parts))
    sizes = np.diff(word.text_ends, prepend=0)
    chances = np.bincount(items)[items]
    best: dict[int, MeaningMatch] = {}
    estimate = index_chance(index, reporter)
    for match in find_meanings(IndexSentences(index), parts, word, estimate, most):
        item = int(items[match.text])
        match = replace(match, p=match.p * int(chances[match.text]))
        if match.p > most or match.last - match.first < HELD * sizes[match.text]:
            continue
        rival = best.get(item)
        if rival is None or (match.p, -match.similarity) < (rival.p, -rival.similarity):
            best[item] = match
    pairs = [
        (parts[match.text], index.context(_occurrence(index, match), 0).match)
        for match in best.values()
    ]
    return {
        item: ItemMeaning(match.text, parts[match.text], match, differing)
        for (item, match), differing in zip(best.items(), compare_pairs(pairs))
    }


def describe_meaning(index: Index, meaning: ItemMeaning, around: int) -> dict[str, Any]:
    """A match of an item as rows tell it: how sure it is, and where it stands."""
    match = meaning.match
    place = _occurrence(index, match)
    return {
        "p": match.p,
        "similarity": match.similarity,
        "differing": ", ".join(meaning.differing),
        "text": meaning.text,
        **describe_occurrence(place, index.context(place, around)),
    }


def _occurrence(index: Index, match: MeaningMatch) -> Occurrence:
    return occurrence_at(index.segments, match.segment, WORD, match.start, match.end)
