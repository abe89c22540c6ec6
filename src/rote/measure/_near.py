"""The passage of a corpus that comes nearest to an item: words changed, marks left out; and items
with each of their options as texts of a layer.

Runs of words that an item shares with a document lead to places; around the best of them the item
and the document are aligned, word by word and without marks. The share of the item's words that
occur there in the same order says how near they are (longest common subsequence).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rote.core.array_types import Integers
from rote.core.layer import Layer
from rote.core.sample import SEVERAL, RawText, some_texts

if TYPE_CHECKING:
    from rote.index.index import Index
    from rote.search.trace.runs import Runs


EXACT, FOLDED, NEAR = "exact", "folded", "near"
SEED = 3
"""Words of a run that leads to a place: one word of eight changed leaves four in a row."""
_MOST = 100
"""Runs of which no three words in a row are rarer than this lead nowhere: they stand everywhere."""
_CANDIDATES = 5
"""Places of an item that are looked at closely."""
_TEXTS_AT_ONCE = 2_000
_SLACK = 3
"""So many words, and an eighth of the item, may have been added."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`share` of an item's words stand between two places of a segment, marks apart."""

    share: float
    folded: bool
    """Whether they occur there as they are, one behind another."""
    segment: int
    first: int
    last: int


def nearest(index: Index, layer: Layer, texts: Integers) -> dict[int, Passage]:
    """Of some texts of a layer the passage that comes nearest, where there is any."""
    from rote.search.trace.runs import shared_runs

    words = [folded_word(word) for word in layer.vocabulary]
    found: dict[int, Passage] = {}
    folded: dict[int, dict[int, str]] = defaultdict(dict)
    for first in range(0, len(texts), _TEXTS_AT_ONCE):
        part = texts[first : first + _TEXTS_AT_ONCE]
        chosen = some_texts(layer, part)
        shared = shared_runs(index.lookups(layer.name), chosen, SEED, _MOST)
        stretches = [
            _candidates(index, chosen, segment, runs)
            for segment, runs in enumerate(shared)
            if len(runs)
        ]
        for text, _, segment, low, high in _best(stretches):
            own = [words[i] for i in chosen.ids[chosen.slice(text)].tolist() if words[i]]
            passage = _aligned(index, layer.name, own, segment, low, high, folded[segment])
            number = int(part[text])
            if passage and (number not in found or passage.share > found[number].share):
                found[number] = passage
    return found


def folded_word(word: str) -> str:
    """A word in lower case; nothing for a mark."""
    return word.lower() if any(character.isalnum() for character in word) else ""


def common(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence, a row of bits at a time (Hyyrö 2004)."""
    masks: dict[str, int] = {}
    for place, word in enumerate(a):
        masks[word] = masks.get(word, 0) | 1 << place
    every = (1 << len(a)) - 1
    row = every
    for word in b:
        matched = row & masks.get(word, 0)
        row = (row + matched | row - matched) & every
    return len(a) - row.bit_count()


def _best(stretches: Sequence[Integers]) -> list[list[int]]:
    """By text, the most words first; of equal ones by place, so that the answer is one."""
    if not stretches:
        return []
    every = np.concatenate(stretches, axis=1)
    text, count, *place = every
    ordered = every[:, np.lexsort((*reversed(place), -count, text))]
    # Of each text those that come first.
    begin = np.searchsorted(ordered[0], ordered[0])
    kept: list[list[int]] = ordered[:, np.arange(len(begin)) - begin < _CANDIDATES].T.tolist()
    return kept


def _candidates(index: Index, layer: Layer, segment: int, runs: Runs) -> Integers:
    """Rows of text, words in runs, segment, first and last place of stretches of documents.

    Runs of one text and one document, whose diagonals are near each other, make a stretch.
    """
    texts = np.searchsorted(layer.text_ends, runs.first, side="right")
    documents = index.segments[segment].frame_of(layer.name).document_of(runs.place)
    diagonal = runs.place - (runs.first - layer.text_starts[texts])
    order = np.lexsort((diagonal, documents, texts))
    texts, documents, diagonal = texts[order], documents[order], diagonal[order]
    sizes = layer.text_ends[texts] - layer.text_starts[texts]
    apart = np.diff(diagonal) > (_SLACK + sizes[1:] // 8)
    new = (np.diff(texts) != 0) | (np.diff(documents) != 0) | apart
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    total = np.add.reduceat(runs.length[order], starts)
    low = np.minimum.reduceat(diagonal, starts)
    high = np.maximum.reduceat(diagonal, starts) + sizes[starts]
    # Never into another document.
    frame = index.segments[segment].frame_of(layer.name)
    own, slack = documents[starts], _SLACK + (high - low) // 8
    begins = np.where(own > 0, frame.document_ends[own - 1] + 1, 0)
    first = np.maximum(low - slack, begins)
    last = np.minimum(high + slack, frame.document_ends[own])
    found = (texts[starts], total, np.full(len(starts), segment), first, last)
    return np.stack(found).astype(np.int64)


def _aligned(
    index: Index,
    layer: str,
    own: Sequence[str],
    segment: int,
    low: int,
    high: int,
    folded_words: dict[int, str],
) -> Passage | None:
    """`folded_words` are those of the segment's vocabulary that were asked for so far."""
    column = index.segments[segment].columns[layer]
    ids = column.ids.slice(low, high).tolist()
    for number in set(ids) - folded_words.keys():
        folded_words[number] = folded_word(column.vocabulary[number])
    held_words = [(place, word) for place, i in enumerate(ids, low) if (word := folded_words[i])]
    places, there = [place for place, _ in held_words], [word for _, word in held_words]
    if not own or not there:
        return None
    share = common(own, there) / len(own)
    known = set(own)
    held = [place for word, place in zip(there, places) if word in known]
    if not held:
        return None
    folded = share == 1 and any(
        there[i : i + len(own)] == list(own) for i in range(len(there) - len(own) + 1)
    )
    return Passage(share, folded, segment, held[0], held[-1] + 1)


@dataclass(frozen=True, slots=True)
class Instances:
    """A layer with a text for each instance; which item it is of, and where it begins there."""

    layer: Layer
    item: Integers
    offset: Integers
    number: Integers
    """1 for the first instance of an item."""


def instances(layer: Layer, raw: RawText) -> Instances:
    """Items are texts whose instances stand one behind another, with a mark between them."""
    ends, items, offsets, numbers = [], [], [], []
    for item in range(len(layer)):
        own = layer.slice(item)
        begin = 0
        for number, part in enumerate(raw.string(item).split(SEVERAL)):
            last = begin + len(part)
            ends.append(own.start + int(np.searchsorted(layer.starts[own], last)))
            items.append(item)
            offsets.append(begin)
            numbers.append(number + 1)
            begin = last + len(SEVERAL)
    made = replace(layer, text_ends=np.array(ends, np.int64), sentence_ends=None)
    return Instances(made, *(np.array(column, np.int64) for column in (items, offsets, numbers)))
