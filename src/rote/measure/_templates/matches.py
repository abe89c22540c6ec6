"""The words behind a template: what its places read like, and sentences that hold it.

Places are item numbers of the counted layer, so a text is decoded only where something in it is
shown. Places with the same words are counted by the words' numbers; only those that are shown
are spelled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rote.core.array_types import Integers
from rote.core.layer import Layer
from rote.core.sample import RawText

Places: TypeAlias = Integers
"""Items at which an n-gram begins."""
Read: TypeAlias = list[tuple[str, int]]
"""What an n-gram reads like and how often, most frequent first."""

MATCHES = 10
EXAMPLES = 3
# Around a match, where sentences are not known or endless.
_AROUND = 80
_LONGEST_SENTENCE = 500


def spans(layer: Layer, places: Places, n: int) -> tuple[Integers, Integers]:
    """First and last character of the n items from each place on, in its own text.

    In a tree layer items are not in the order of the text, and what they span may hold
    words of others.
    """
    starts = np.full(len(places), np.iinfo(np.int64).max, np.int64)
    ends = np.zeros(len(places), np.int64)
    for step in range(n):
        np.minimum(starts, layer.starts[places + step], out=starts)
        np.maximum(ends, layer.ends[places + step], out=ends)
    return starts, ends


@dataclass(frozen=True, slots=True)
class Example:
    """One place of an n-gram: characters of text number `text`, and the sentence around it."""

    text: int
    start: int
    end: int
    sentence: str
    sentence_start: int


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads places of n items: the layer they belong to, the words, the texts."""

    layer: Layer
    word: Layer
    raw: RawText
    n: int

    def texts(self, places: Places) -> Integers:
        """The number of the text that holds each place."""
        return np.searchsorted(self.layer.text_ends, places, side="right").astype(np.int64)

    def matches(self, groups: Sequence[Places]) -> list[Read]:
        """What each group of places reads like: the most frequent, ties in the strings' order."""
        aligned = _aligned(self.layer, self.word)
        shown, weights = [], []
        for places in groups:
            counts = np.ones(len(places), np.int64)
            if aligned:
                places, counts = self._same_words(places)
                places, counts = _most_frequent(places, counts)
            shown.append(places)
            weights.append(counts)
        spelled = iter(self._spelled(_joined(shown)))
        found = []
        for counts in weights:
            read: Counter[str] = Counter()
            for count in counts.tolist():
                read[next(spelled)] += count
            found.append(sorted(read.items(), key=lambda pair: (-pair[1], pair[0]))[:MATCHES])
        return found

    def examples(self, groups: Sequence[Places]) -> list[list[Example]]:
        """For each group of places the first ones that occur in different texts."""
        shown = []
        for places in groups:
            _, first = np.unique(self.texts(places), return_index=True)
            shown.append(places[first[:EXAMPLES]])
        every = _joined(shown)
        starts, ends = spans(self.layer, every, self.n)
        found: dict[int, Example] = {}
        for index, number, text in self.decoded(every):
            start, end = int(starts[index]), int(ends[index])
            left, right = self._sentence(int(every[index]), text, start, end)
            found[index] = Example(number, start, end, text[left:right], left)
        in_order = iter(range(len(every)))
        return [[found[next(in_order)] for _ in places] for places in shown]

    def _same_words(self, places: Places) -> tuple[Places, Integers]:
        """One place for each sequence of words, and how often it stands.

        Words that touch ("do" "n't") and words apart ("do" "not") are kept apart.
        """
        key = np.zeros(len(places), np.int64)
        words = len(self.word.vocabulary)
        for step in range(self.n):
            item = places + step
            column = self.word.ids[item].astype(np.int64)
            if step:
                touching = self.word.starts[item] <= self.word.ends[item - 1]
                column = column * 2 + touching
            # Renumbered at every step, so that the key never outgrows 64 bits.
            _, key = np.unique(key * (2 * words) + column, return_inverse=True)
        _, first, counts = np.unique(key, return_index=True, return_counts=True)
        return places[first], counts.astype(np.int64)

    def _spelled(self, places: Places) -> list[str]:
        """The raw text of each place, white space as one space."""
        starts, ends = spans(self.layer, places, self.n)
        out = [""] * len(places)
        for index, _, text in self.decoded(places):
            out[index] = " ".join(text[starts[index] : ends[index]].split())
        return out

    def decoded(self, places: Places) -> Iterator[tuple[int, int, str]]:
        """Index, text number and text of each place, text by text: each is decoded once."""
        numbers = self.texts(places)
        last, text = -1, ""
        for index in np.argsort(numbers, kind="stable").tolist():
            number = int(numbers[index])
            if number != last:
                last, text = number, self.raw.string(number)
            yield index, number, text

    def _sentence(self, place: int, text: str, start: int, end: int) -> tuple[int, int]:
        """The characters of the sentence, or sentences, that hold a match."""
        left, right = 0, len(text)
        sentences = self.layer.sentence_ends
        if sentences is not None:
            first, last = np.searchsorted(sentences, (place, place + self.n - 1), side="right")
            # Clipped to the match's own text: nothing is taken for granted of imported layers.
            items = self.layer.slice(int(self.texts(np.array([place]))[0]))
            begin = max(items.start, int(sentences[first - 1]) if first else 0)
            stop = min(items.stop, int(sentences[last]) if last < len(sentences) else items.stop)
            left = min(start, int(self.layer.starts[begin:stop].min()))
            right = max(end, int(self.layer.ends[begin:stop].max()))
            if right - left <= _LONGEST_SENTENCE:
                return left, right
        return _cut_before(text, left, start), _cut_after(text, end, right)


def _aligned(layer: Layer, word: Layer) -> bool:
    """Whether item i of both is the same word of the same text."""
    return (
        len(layer.ids) == len(word.ids)
        and np.array_equal(layer.starts, word.starts)
        and np.array_equal(layer.ends, word.ends)
        and np.array_equal(layer.text_ends, word.text_ends)
    )


def _most_frequent(places: Places, counts: Integers) -> tuple[Places, Integers]:
    """Those that can be among the most frequent: all that tie with the last stay in."""
    if len(counts) <= MATCHES:
        return places, counts
    least = np.partition(counts, len(counts) - MATCHES)[len(counts) - MATCHES]
    kept = counts >= least
    return places[kept], counts[kept]


def _joined(groups: Sequence[Places]) -> Places:
    return np.concatenate((np.empty(0, np.int64), *groups))


def _cut_before(text: str, left: int, start: int) -> int:
    """Where to begin some characters before a match: behind white space, if there is any."""
    first = max(left, start - _AROUND)
    if first == left:
        return left
    inside = next((i for i in range(first, start) if text[i - 1].isspace()), first)
    return inside


def _cut_after(text: str, end: int, right: int) -> int:
    """Where to stop some characters behind a match: before white space, if there is any."""
    last = min(right, end + _AROUND)
    if last == right:
        return right
    return next((i for i in range(last, end, -1) if text[i].isspace()), last)
