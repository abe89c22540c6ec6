"""A layer: one integer column over many texts, the thing that every measure counts.

Words, lower-cased words, tags and so on are layers. Layers made from the same
words align one to one: item i of `lower` and item i of `word` stand at the same
characters of the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rote.core.errors import UnknownName

Ids = NDArray[np.int32]
Offsets = NDArray[np.int64]
_WORDS = {
    "text": "the raw texts",
    "pos": "the part-of-speech tags",
    "upos": "the universal part-of-speech tags",
    "dep": "the dependency labels",
    "lower": "lower-cased words",
    "word": "words",
}


def layer_words(name: str) -> str:
    """What a layer is called in a sentence."""
    return _WORDS.get(name, name)


@dataclass(frozen=True, slots=True)
class Layer:
    """Integer ids with a vocabulary, their character spans, and where texts end.

    Item i is `vocabulary[ids[i]]` and stands at characters `starts[i]:ends[i]` of
    its own text. Text t holds the items `text_ends[t-1]:text_ends[t]` (from 0 for
    t = 0); a text may hold none. `sentence_ends`, where known, are item numbers
    too: every text end at which the text holds items is also a sentence end.
    """

    name: str
    ids: Ids
    vocabulary: Sequence[str]
    starts: Ids
    ends: Ids
    text_ends: Offsets
    sentence_ends: Offsets | None = None

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.text_ends)

    @property
    def text_starts(self) -> Offsets:
        return starts_of(self.text_ends)

    def slice(self, text: int) -> slice:
        """Where the items of one text stand in the columns."""
        return slice(int(self.text_ends[text - 1]) if text else 0, int(self.text_ends[text]))

    def items(self, text: int) -> list[str]:
        return [self.vocabulary[i] for i in self.ids[self.slice(text)]]

    def spans(self, text: int) -> list[tuple[int, int]]:
        place = self.slice(text)
        return list(zip(self.starts[place].tolist(), self.ends[place].tolist()))

    def map(self, name: str, function: Callable[[str], str]) -> Layer:
        """An aligned layer whose items depend only on the items of this one.

        The function is called once per vocabulary entry, not once per item.
        """
        vocabulary, new_ids = number(function(entry) for entry in self.vocabulary)
        return replace(self, name=name, ids=new_ids[self.ids], vocabulary=vocabulary)


def starts_of(ends: Offsets) -> Offsets:
    """Where things begin that stand one behind another and end there."""
    return np.concatenate((np.zeros(1, np.int64), ends[:-1]))[: len(ends)]


def items_of(starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    """The items of some runs one after another, and where each run ends there."""
    lengths = ends - starts
    new_ends = np.cumsum(lengths)
    offset = np.repeat(starts - (new_ends - lengths), lengths)
    return np.arange(len(offset), dtype=np.int64) + offset, new_ends


def n_gram_starts(layer: Layer, n: int) -> Offsets:
    """The items at which an n-gram begins that ends in the same text."""
    lengths = layer.text_ends - layer.text_starts
    items_left = np.repeat(layer.text_ends, lengths) - np.arange(len(layer.ids))
    return np.flatnonzero(items_left >= n)


def number(entries: Iterable[str]) -> tuple[tuple[str, ...], Ids]:
    """Number strings in order of first appearance: the vocabulary, and each entry's number."""
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(entry, len(numbers)) for entry in entries]
    return tuple(numbers), np.array(ids, dtype=np.int32)


def concatenate(layers: Sequence[Layer]) -> Layer:
    """The texts of several layers as one, with one vocabulary.

    The result depends on the order of the layers alone, not on who made them, so
    it is the same at any number of workers.
    """
    first = layers[0]
    numbers: dict[str, int] = {}
    ids, text_ends, sentence_ends, base = [], [], [], 0
    for layer in layers:
        table = np.array([numbers.setdefault(e, len(numbers)) for e in layer.vocabulary], np.int32)
        ids.append(table[layer.ids] if len(table) else layer.ids)
        text_ends.append(layer.text_ends + base)
        if layer.sentence_ends is not None:
            sentence_ends.append(layer.sentence_ends + base)
        base += len(layer.ids)
    return Layer(
        name=first.name,
        ids=np.concatenate(ids),
        vocabulary=tuple(numbers),
        starts=np.concatenate([layer.starts for layer in layers]),
        ends=np.concatenate([layer.ends for layer in layers]),
        text_ends=np.concatenate(text_ends),
        sentence_ends=np.concatenate(sentence_ends) if len(sentence_ends) == len(layers) else None,
    )


def shape(word: str) -> str:
    """What a word looks like: Xxxx, dd, X.X.; runs of the same kind end at four."""
    out: list[str] = []
    for character in word:
        if character.isalpha():
            kind = "X" if character.isupper() else "x"
        else:
            kind = "d" if character.isdigit() else character
        if out[-4:] != [kind] * 4:
            out.append(kind)
    return "".join(out)


DERIVED: dict[str, Callable[[str], str]] = {"lower": str.lower, "shape": shape}


def derive(word: Layer, name: str) -> Layer:
    """The layer of this name made from the `word` layer; `word` is itself."""
    if name == "word":
        return word
    if name not in DERIVED:
        raise UnknownName("layer", name, ["word", *DERIVED])
    return word.map(name, DERIVED[name])
