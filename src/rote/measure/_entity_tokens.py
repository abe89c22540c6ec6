"""The words of entities in a text, its reference and its document, and which of them stand where.

A token is a word inside a mention of an entity that is neither a stop word nor punctuation. It is
"in" a text if it is among its words, in lower case. Tokens are counted as often as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer
from rote.core.sample import Need, Sample
from rote.measure._stop_words import says_something

Numbers: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Variant: TypeAlias = Literal["exact", "paper"]

TITLES = {
    "entity_recall": "E_Rec",
    "entity_precision": "E_Prc",
    "entity_remembered": "E_Rem",
}
OUTSIDE = "O"
_TEXTS_AT_A_TIME = 2_000


@dataclass(frozen=True, slots=True)
class Tokens:
    """The entity tokens of all texts, one after another: the text and the type of each.

    `in_document`, `in_other`: whether the document, and the other one of text and reference,
    have the word too.
    """

    text: Integers
    type: Integers
    in_document: Flags
    in_other: Flags

    def per_text(self, chosen: Flags, texts: int) -> Integers:
        """How many of the chosen tokens each text has."""
        return np.bincount(self.text[chosen], minlength=texts)


@dataclass(frozen=True, slots=True)
class Entities:
    """The tokens of the texts and of their references; types by number."""

    own: Tokens
    reference: Tokens
    types: tuple[str, ...]
    texts: int

    def scores(self, variant: Variant, type: int | None = None) -> dict[str, Numbers]:
        """The three scores of every text, of all entities or of one type; nan where undefined."""
        own, other = (_of_type(tokens, type) for tokens in (self.own, self.reference))
        have = own.in_document
        every = self._count(own, np.ones(len(own.text), np.bool_))
        if variant == "paper":
            recalled, to_recall = self._count(own, have & own.in_other), every
        else:
            to_recall = self._count(other, other.in_document)
            recalled = self._count(other, other.in_document & other.in_other)
        return {
            "entity_recall": _share(recalled, to_recall),
            "entity_precision": _share(self._count(own, have), every),
            "entity_remembered": _share(self._count(own, ~have & own.in_other), every),
        }

    def tokens(self, type: int) -> Integers:
        """How many tokens of a type each text has."""
        return self._count(self.own, self.own.type == type)

    def _count(self, tokens: Tokens, chosen: Flags) -> Integers:
        return tokens.per_text(chosen, self.texts)


def needs(reference: str, document: str) -> tuple[Need, ...]:
    """Words and entities of the text and its reference, and the words of its document."""
    return (
        Need("lower"),
        Need("entity"),
        Need("lower", field=reference),
        Need("entity", field=reference),
        Need("lower", field=document),
    )


def entities(sample: Sample, reference: str, document: str) -> Entities:
    """Find the entity tokens of every text and of its reference, and where else they stand."""
    text, own, other, others, source = (sample.layer(n) for n in needs(reference, document))
    types = tuple(sorted({_type(label) for layer in (own, others) for label in layer.vocabulary}))
    types = tuple(type for type in types if type)
    numbers: dict[str, int] = {}
    words = [_numbered(layer, numbers) for layer in (text, other, source)]
    sides = []
    for layer, labels, here, there in (
        (text, own, words[0], words[1]),
        (other, others, words[1], words[0]),
    ):
        kind = np.array([types.index(t) if (t := _type(e)) else -1 for e in labels.vocabulary])
        telling = np.array([says_something(word) for word in layer.vocabulary], np.bool_)
        places = np.flatnonzero((kind[labels.ids] >= 0) & telling[layer.ids])
        texts = np.searchsorted(layer.text_ends, places, side="right")
        other_layer = other if layer is text else text
        sides.append(
            Tokens(
                text=texts,
                type=kind[labels.ids[places]],
                in_document=_among(here[places], texts, words[2], source, len(numbers)),
                in_other=_among(here[places], texts, there, other_layer, len(numbers)),
            )
        )
    return Entities(sides[0], sides[1], types, len(sample))


def _type(label: str) -> str:
    """PER of B-PER and I-PER; nothing of O."""
    return "" if label == OUTSIDE else label.partition("-")[2] or label


def _numbered(layer: Layer, numbers: dict[str, int]) -> Integers:
    """The words of a layer in numbers that several layers share."""
    table = [numbers.setdefault(word, len(numbers)) for word in layer.vocabulary]
    return np.array(table, np.int64)[layer.ids] if table else np.empty(0, np.int64)


def _among(words: Integers, texts: Integers, there: Integers, layer: Layer, kinds: int) -> Flags:
    """Whether each word of a text is among those of the same text in another layer."""
    found = np.zeros(len(words), np.bool_)
    for first, last in _blocks(len(layer)):
        part = slice(*np.searchsorted(texts, (first, last)).tolist())
        begin = int(layer.text_ends[first - 1]) if first else 0
        end = int(layer.text_ends[last - 1])
        owner = np.searchsorted(layer.text_ends, np.arange(begin, end), side="right")
        held = owner * kinds + there[begin:end]
        found[part] = np.isin(texts[part] * kinds + words[part], held)
    return found


def _blocks(texts: int) -> Iterator[tuple[int, int]]:
    """Documents are long: a few thousand at a time."""
    for first in range(0, texts, _TEXTS_AT_A_TIME):
        yield first, min(first + _TEXTS_AT_A_TIME, texts)


def _of_type(tokens: Tokens, type: int | None) -> Tokens:
    if type is None:
        return tokens
    chosen = tokens.type == type
    return Tokens(
        tokens.text[chosen],
        tokens.type[chosen],
        tokens.in_document[chosen],
        tokens.in_other[chosen],
    )


def _share(found: Integers, every: Integers) -> Numbers:
    undefined = np.full(len(every), np.nan)
    np.divide(found, every, out=undefined, where=every > 0)
    return undefined
