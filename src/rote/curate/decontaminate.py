"""Where documents hold test items: the parts of items, and what of them a document holds.

What counts as held is for the matcher to say (`search/part_matcher.py`), which `contamination`
asks as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from rote.annotate import words
from rote.annotate.folded_words import fold_words
from rote.core.layer import Ids
from rote.corpus.items import Item, ItemPart
from rote.index.columns.layer_column import END
from rote.search.part_matcher import MatchOptions, PartMatcher, holds_run

_ANSWER_WITHIN = 50


@dataclass(frozen=True, slots=True)
class ItemMatcher:
    """Looks for the parts of items in documents; travels to worker processes."""

    parts: tuple[ItemPart, ...]
    items: tuple[int, ...]
    """The number of the item that each part is of."""
    matcher: PartMatcher
    answers: dict[int, tuple[Ids, ...]]
    """The answers of each item whose question stands by itself, in the matcher's numbers."""
    tokenizer: str

    @classmethod
    def build(
        cls, items: Sequence[Item], options: MatchOptions, tokenizer: str, sample: Sequence[str]
    ) -> ItemMatcher:
        """Parts are weighed by a sample of the corpus."""
        numbered = [(n, part) for n, item in enumerate(items) for part in item.parts()]
        parts = tuple(part for _, part in numbered)
        tokenize = words.get(tokenizer)
        words_of_parts = fold_words(tokenize([part.text for part in parts]))
        matcher = PartMatcher.build(words_of_parts, fold_words(tokenize(sample)), options)
        asked = [
            (n, text) for n, item in enumerate(items) if item.question for text in item.answers
        ]
        answers: dict[int, tuple[Ids, ...]] = {}
        if asked:
            folded = fold_words(tokenize([text for _, text in asked]))
            several = np.split(matcher.number(folded), folded.text_ends[:-1])
            for (item, _), own in zip(asked, several):
                if len(own) and END not in own:  # a word that no part has
                    answers[item] = (*answers.get(item, ()), own)
        return cls(parts, tuple(n for n, _ in numbered), matcher, answers, tokenizer)

    @property
    def judged(self) -> set[int]:
        """The items of which a part is long and rare enough to convict."""
        return {self.items[n] for n in np.flatnonzero(self.matcher.judged).tolist()}

    def find(self, texts: Sequence[str]) -> list[ItemMatch]:
        """All passages of the texts that hold a part of an item, in order."""
        layer = words.get(self.tokenizer)(texts)
        folded = fold_words(layer)
        numbered = self.matcher.number(folded)
        found = []
        for held in self.matcher.find(numbered, folded.text_ends):
            end = min(int(folded.text_ends[held.text]), held.last + 1 + _ANSWER_WITHIN)
            answers = self.answers.get(self.items[held.part])
            found.append(
                ItemMatch(
                    document=held.text,
                    part=held.part,
                    score=held.score,
                    bits=held.bits,
                    words=held.words,
                    start=int(layer.starts[folded.places[held.first]]),
                    end=int(layer.ends[folded.places[held.last]]),
                    answered=None
                    if answers is None
                    else any(holds_run(numbered[held.first : end], answer) for answer in answers),
                )
            )
        return self._best(found)

    def _best(self, found: Sequence[ItemMatch]) -> list[ItemMatch]:
        """Of several parts of an item that hold one passage the one that holds most of it; of
        several items the one with the highest score. The items of the others, twins that differ by
        a word, are named with it; of equal ones all are kept."""
        kept: list[ItemMatch] = []
        by_document = attrgetter("document")
        for _, held in groupby(sorted(found, key=by_document), key=by_document):
            whole: list[ItemMatch] = []
            for match in sorted(held, key=lambda m: (-m.bits, m.start, m.part)):
                item = self.items[match.part]
                if not any(self.items[other.part] == item for other in _over(whole, match)):
                    whole.append(match)
            own: list[ItemMatch] = []
            for match in sorted(whole, key=lambda m: (-m.score, m.start, m.part)):
                nearer = next(iter(_over(own, match)), None)
                if nearer is None or nearer.score == match.score:
                    own.append(match)
                    continue
                twins = (*nearer.twins, self.items[match.part])
                own[own.index(nearer)] = replace(nearer, twins=twins)
            kept += sorted(own, key=lambda m: (m.start, m.part))
        return kept

    def describe(self, items: Sequence[tuple[str, str]], match: ItemMatch) -> dict[str, Any]:
        """What a ledger says of a match, beside the document; `items` are ids and tasks."""
        part, item = self.parts[match.part], items[self.items[match.part]]
        return {
            "item": item[0],
            "task": item[1],
            "part": part.kind,
            "score": match.score,
            "bits": match.bits,
            "words": match.words,
            "answered": match.answered,
            "twins": [items[number][0] for number in dict.fromkeys(match.twins)],
            "item_text": part.text,
        }


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """A passage of a document, in characters, that holds a part of an item."""

    document: int
    part: int
    score: float
    bits: float
    words: int
    start: int
    end: int
    answered: bool | None
    """Whether the item's answer follows within fifty words; None where it has none."""
    twins: tuple[int, ...] = ()
    """Other items that this passage is nearly."""


def _over(matches: Sequence[ItemMatch], match: ItemMatch) -> list[ItemMatch]:
    """Of matches in one document those that share more than half of the shorter passage."""
    return [
        other
        for other in matches
        if 2 * (min(other.end, match.end) - max(other.start, match.start))
        > min(other.end - other.start, match.end - match.start)
    ]


def sample_of(texts: Iterable[str], most: int) -> list[str]:
    """The first texts, so many characters of them."""
    found: list[str] = []
    size = 0
    for text in texts:
        found.append(text)
        size += len(text)
        if size >= most:
            break
    return found
