"""Words as texts are compared by: case, Unicode forms and punctuation do not tell them apart.

What is looked for in other texts (test items, copies of documents) is often written there with
other capitals, quotes or dashes, or without any. Punctuation is left out, so folded words do not
align with the words of a layer one to one; `places` says where each of them stands.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Ids, Layer, Offsets, number

VERSION = "folded/1"
"""For the signatures of results: another rule, another version."""
_HYPHENS = "-\u2010\u2011"
_CONNECTORS = frozenset((*_HYPHENS, *"'\u2019.,&"))
"""Punctuation that stands within words: *well-known*, *1,000*, *U.S.*"""


def fold_word(word: str) -> str:
    """A word without case, Unicode forms and punctuation; empty if no letter or digit is left.

    >>> fold_word("N\u2019T"), fold_word("U.S."), fold_word("\ufb01ne"), fold_word("--")
    ('nt', 'us', 'fine', '')
    """
    if word.isascii() and word.isalnum():
        return word.lower()
    # Marks are parts of letters, as the vowels of Hindi are.
    kept = [
        (character, kind)
        for character in unicodedata.normalize("NFKC", word).casefold()
        if (kind := unicodedata.category(character)[0]) in "LMN"
    ]
    return "".join(c for c, _ in kept) if any(kind != "M" for _, kind in kept) else ""


@dataclass(frozen=True, slots=True)
class FoldedWords:
    """The folded words of some texts: `vocabulary[ids[i]]` is word i, text t ends before word
    `text_ends[t]`, and `places[i]` is the item of the layer at which word i begins."""

    ids: Ids
    vocabulary: tuple[str, ...]
    text_ends: Offsets
    places: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.text_ends)

    def slice(self, text: int) -> slice:
        """Where the words of one text stand."""
        return slice(int(self.text_ends[text - 1]) if text else 0, int(self.text_ends[text]))

    def texts(self, first: int, last: int) -> FoldedWords:
        """Some texts that follow one another."""
        own = slice(self.slice(first).start, self.slice(last - 1).stop)
        ends = self.text_ends[first:last] - own.start
        return FoldedWords(self.ids[own], self.vocabulary, ends, self.places[own])


def fold_words(layer: Layer) -> FoldedWords:
    """The words of a layer, each for itself."""
    vocabulary, table = number(map(fold_word, layer.vocabulary))
    is_word = np.array([entry != "" for entry in vocabulary] or [False], np.bool_)
    ids = table[layer.ids] if len(table) else layer.ids
    places = np.flatnonzero(is_word[ids]) if len(ids) else np.empty(0, np.int64)
    return FoldedWords(
        ids[places], vocabulary, np.searchsorted(places, layer.text_ends).astype(np.int64), places
    )


def fold_joined_words(layer: Layer) -> FoldedWords:
    """The words of a layer, those as one that only punctuation parts: *do|n't* is *dont*, and
    *well|-|known* is *wellknown*, as in a text whose punctuation was taken out.

    A mark joins what it touches where both sides are letters with case, or digits: in scripts
    that write without spaces it stands between words. The layer needs its spans.
    """
    words = fold_words(layer)
    continues = _continues(layer, words)
    if not continues.any():
        return words
    first = np.flatnonzero(~continues)
    ends = np.append(first[1:], len(words.ids))
    ids = words.ids[first]
    numbers = {entry: place for place, entry in enumerate(words.vocabulary)}
    several = np.flatnonzero(ends - first > 1)
    for place, start, end in zip(several.tolist(), first[several].tolist(), ends[several].tolist()):
        entry = "".join(words.vocabulary[i] for i in words.ids[start:end].tolist())
        ids[place] = numbers.setdefault(entry, len(numbers))
    return FoldedWords(
        ids,
        tuple(numbers),
        np.searchsorted(first, words.text_ends).astype(np.int64),
        words.places[first],
    )


def _continues(layer: Layer, words: FoldedWords) -> NDArray[np.bool_]:
    """Of each word whether it is part of the one before it."""
    size = len(layer.ids)
    if not size:
        return np.zeros(0, np.bool_)
    is_word = np.zeros(size, np.bool_)
    is_word[words.places] = True
    touches = np.zeros(size, np.bool_)
    touches[1:] = layer.starts[1:] == layer.ends[:-1]
    touches[layer.text_starts[layer.text_starts < size]] = False
    inner, connector, opens, closes = (
        np.array(flags, np.bool_)[layer.ids] for flags in zip(*map(_traits, layer.vocabulary))
    )
    found = np.zeros(size, np.bool_)
    # do|n't: nothing stands between them, and the mark is in one of them.
    found[1:] = touches[1:] & is_word[1:] & is_word[:-1] & (inner[1:] | inner[:-1])
    # well|-|known
    found[2:] |= (
        (touches[2:] & touches[1:-1] & connector[1:-1])
        & (is_word[2:] & is_word[:-2])
        & (opens[2:] & closes[:-2])
    )
    return found[words.places]


def _traits(entry: str) -> tuple[bool, bool, bool, bool]:
    """Whether a mark stands in it, whether it is one that joins, and whether its first and its last
    character may be joined."""
    marks = not entry.isalnum()
    joins = len(entry) == 1 and entry in _CONNECTORS
    return marks, joins, _has_case(entry[:1]), _has_case(entry[-1:])


def _has_case(character: str) -> bool:
    return character.isdigit() or character.lower() != character.upper()


def fold_text(text: str) -> Sequence[str]:
    """The folded words of a text that stand between spaces, for a few texts."""
    return [word for word in map(fold_word, text.split()) if word]
