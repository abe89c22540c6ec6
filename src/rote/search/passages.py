"""The passage of a corpus that comes nearest to a part of an item; and items as texts of a layer,
one for each of their parts.

Runs of words that a part shares with a document lead to passages; the matcher of `decontaminate`
(`search/part_matcher.py`) says which of them hold it, and which parts can be judged at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rote.annotate.folded_words import FoldedWords, fold_words
from rote.core.array_types import Integers
from rote.core.layer import Layer, concatenate
from rote.core.sample import SEVERAL, RawText, some_texts
from rote.index.grams import END
from rote.search.part_matcher import SAMPLE, MatchOptions, PartMatcher, holds_run

if TYPE_CHECKING:
    from rote.index.columns.layer_column import LayerColumn
    from rote.index.index import Index
    from rote.search.trace.alignment import Runs


EXACT, FOLDED, NEAR = "exact", "folded", "near"
SEED = 3
"""Words in a row, punctuation included, that lead to a passage: fewer than the matcher asks for."""
_MAX_HITS = 100
"""Runs of which no three words in a row are rarer than this lead nowhere: they stand everywhere."""
_CANDIDATES = 5
"""Passages of a part that are looked at closely."""
_TOLD = 0.5
"""Scores below this are not told."""
_BATCH_WORDS = 1 << 20
_SLACK = 3
"""So many words, and an eighth of the part, may have been added between two runs."""
_NO_IDS, _NO_SPANS = np.empty(0, np.int64), np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class MatchedPassage:
    """Words of a part that weigh `score` of it stand between two places of a segment."""

    score: float
    folded: bool
    """Whether all its words stand there one behind another, punctuation apart."""
    segment: int
    first: int
    last: int


def find_passages(
    index: Index, layer: Layer, unsure: Integers, options: MatchOptions
) -> tuple[NDArray[np.bool_], dict[int, MatchedPassage]]:
    """Which texts of a layer can be judged, and the passage that comes nearest to each of some."""
    sample, folded = _sample(index, layer.name), fold_words(layer)
    judged = np.zeros(len(layer), np.bool_)
    passages: dict[int, MatchedPassage] = {}
    for first, last in _batches(layer):
        matcher = PartMatcher.build(folded.texts(first, last), sample, options)
        judged[first:last] = matcher.judged
        in_batch = unsure[(unsure >= first) & (unsure < last)]
        in_batch = in_batch[judged[in_batch]]
        if len(in_batch):
            nearest = _nearest(index, some_texts(layer, in_batch), in_batch - first, matcher)
            passages |= {first + part: passage for part, passage in nearest.items()}
    return judged, passages


def _batches(layer: Layer) -> Iterator[tuple[int, int]]:
    """Texts of about so many words; where one batch ends depends on the texts alone."""
    first = 0
    while first < len(layer):
        words = layer.text_starts[first] + _BATCH_WORDS
        last = max(first + 1, int(np.searchsorted(layer.text_ends, words, side="right")))
        yield first, last
        first = last


def _sample(index: Index, layer: str) -> FoldedWords:
    """The words of the first documents, as many as `decontaminate` weighs words by."""
    room, layers = SAMPLE, []
    for segment in index.segments:
        sizes = segment.documents.texts.ends
        ends = segment.positions_of(layer).document_ends[: int(np.searchsorted(sizes, room)) + 1]
        if len(ends):
            column = segment.columns[layer]
            ids = column.ids.slice(0, int(ends[-1]) + 1)
            ids, ends = ids[ids != END], ends - np.arange(len(ends))
            layers.append(_layer(layer, column.vocabulary, ids, ends))
            room -= int(sizes[len(ends) - 1])
        if room <= 0:
            break
    return fold_words(concatenate(layers) if layers else _layer(layer, (), _NO_IDS, _NO_IDS))


def _windows(column: LayerColumn, name: str, low: Integers, high: Integers) -> Layer:
    """Places `low` to `high` of a segment, which lie within documents, each as a text."""
    ids = [column.ids.slice(first, last) for first, last in zip(low.tolist(), high.tolist())]
    return _layer(name, column.vocabulary, np.concatenate([_NO_IDS, *ids]), np.cumsum(high - low))


def _layer(name: str, vocabulary: Sequence[str], ids: Integers, text_ends: Integers) -> Layer:
    """Numbers of a segment as a layer, whose vocabulary has no more than these."""
    used, numbers = np.unique(ids, return_inverse=True)
    strings = tuple(vocabulary[i] for i in used.tolist())
    return Layer(name, numbers.astype(np.int32), strings, _NO_SPANS, _NO_SPANS, text_ends)


def _nearest(
    index: Index, layer: Layer, parts: Integers, matcher: PartMatcher
) -> dict[int, MatchedPassage]:
    """Of each text of a layer the passage with the highest score, by the part that it is."""
    from rote.search.trace.alignment import find_shared_runs

    shared = find_shared_runs(index.lookups(layer.name), layer, SEED, _MAX_HITS)
    best = _best(
        [_candidates(index, layer, number, runs) for number, runs in enumerate(shared) if len(runs)]
    )
    least = min(_TOLD, matcher.options.share)
    passages: dict[int, MatchedPassage] = {}
    for number, segment in enumerate(index.segments):
        texts, _, _, low, high = best[:, best[2] == number]
        windows = _windows(segment.columns[layer.name], layer.name, low, high)
        folded = fold_words(windows)
        words = matcher.number(folded)
        for match in matcher.find(words, folded.text_ends, parts[texts], least):
            if match.part in passages and passages[match.part].score >= match.score:
                continue
            # Places within a window follow one another as those of the segment do.
            offset = int(low[match.text] - windows.text_starts[match.text])
            first, last = (int(folded.places[word]) + offset for word in (match.first, match.last))
            window = words[folded.slice(match.text)]
            is_exact = holds_run(window, matcher.words_of(match.part))
            passages[match.part] = MatchedPassage(match.score, is_exact, number, first, last + 1)
    return passages


def _best(candidates: Sequence[Integers]) -> Integers:
    """By text, the most words first; of equal ones by place, so that the answer is one."""
    if not candidates:
        return np.empty((5, 0), np.int64)
    every = np.concatenate(candidates, axis=1)
    text, count, *place = every
    ordered = every[:, np.lexsort((*reversed(place), -count, text))]
    # Of each text those that come first.
    begin = np.searchsorted(ordered[0], ordered[0])
    return np.asarray(ordered[:, np.arange(len(begin)) - begin < _CANDIDATES])


def _candidates(index: Index, layer: Layer, segment: int, runs: Runs) -> Integers:
    """Rows of text, words in runs, segment, first and last place of passages of documents.

    Runs of one text and one document, whose diagonals are near each other, make a passage.
    """
    texts = np.searchsorted(layer.text_ends, runs.first, side="right")
    documents = index.segments[segment].positions_of(layer.name).document_of(runs.place)
    diagonal = runs.place - (runs.first - layer.text_starts[texts])
    order = np.lexsort((diagonal, documents, texts))
    texts, documents, diagonal = texts[order], documents[order], diagonal[order]
    sizes = layer.text_ends[texts] - layer.text_starts[texts]
    apart = np.diff(diagonal) > (_SLACK + sizes[1:] // 8)
    new = (np.diff(texts) != 0) | (np.diff(documents) != 0) | apart
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    total = np.add.reduceat(runs.length[order], starts)
    # As far as the matcher looks on either side, and some more for punctuation.
    slack = 12 + sizes[starts] // 2
    low = np.minimum.reduceat(diagonal, starts) - slack
    high = np.maximum.reduceat(diagonal, starts) + sizes[starts] + slack
    # Never into another document.
    positions, of_passage = index.segments[segment].positions_of(layer.name), documents[starts]
    begins = np.where(of_passage > 0, positions.document_ends[of_passage - 1] + 1, 0)
    first, last = np.maximum(low, begins), np.minimum(high, positions.document_ends[of_passage])
    columns = (texts[starts], total, np.full(len(starts), segment), first, last)
    return np.stack(columns).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ItemParts:
    """A layer with a text for each part; which item it is of, and where it begins there."""

    layer: Layer
    item: Integers
    offset: Integers
    number: Integers
    """1 for the first part of an item."""


def split_parts(layer: Layer, raw: RawText) -> ItemParts:
    """Items are texts whose parts stand one behind another, with a mark between them."""
    ends, items, offsets, numbers = [], [], [], []
    for item in range(len(layer)):
        items_of_text = layer.slice(item)
        begin = 0
        for number, part in enumerate(raw.string(item).split(SEVERAL)):
            last = begin + len(part)
            ends.append(
                items_of_text.start + int(np.searchsorted(layer.starts[items_of_text], last))
            )
            items.append(item)
            offsets.append(begin)
            numbers.append(number + 1)
            begin = last + len(SEVERAL)
    split = replace(layer, text_ends=np.array(ends, np.int64), sentence_ends=None)
    return ItemParts(split, *(np.array(column, np.int64) for column in (items, offsets, numbers)))
