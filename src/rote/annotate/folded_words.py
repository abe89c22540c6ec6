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

from rote.annotate import glyphs
from rote.core.layer import Ids, Layer, Offsets, number, starts_of

VERSION = "folded/1"
"""For the signatures of results: another rule, another version."""
_CONNECTORS = frozenset("'.,&-")
"""Punctuation that stands within words: *well-known*, *1,000*, *R&D*, *1914–1918*."""
_CLITICS = frozenset(("s", "t", "d", "m", "ll", "re", "ve"))
"""What is left of *it's* and *don't* where a space has taken the place of the apostrophe."""


def fold_word(word: str) -> str:
    """A word without case, Unicode forms and punctuation; empty if no letter or digit is left.

    >>> fold_word("N\u2019T"), fold_word("U.S."), fold_word("\ufb01ne"), fold_word("--")
    ('nt', 'us', 'fine', '')
    """
    if word.isascii() and word.isalnum():
        return word.lower()
    # Marks are parts of letters, as the vowels of Hindi are.
    letters = [
        (character, kind)
        for character in unicodedata.normalize("NFKC", word).casefold()
        if (kind := unicodedata.category(character)[0]) in "LMN"
    ]
    return "".join(c for c, _ in letters) if any(kind != "M" for _, kind in letters) else ""


def lower_word(word: str) -> str:
    """A word in lower case with plain glyphs, punctuation kept; empty for a mark.

    >>> lower_word("N\u2019T"), lower_word("U.S."), lower_word("--")
    ("n't", 'u.s.', '')
    """
    return glyphs.fold(word).lower() if fold_word(word) else ""


@dataclass(frozen=True, slots=True)
class FoldedWords:
    """The folded words of some texts: `vocabulary[ids[i]]` is word i, text t ends before word
    `text_ends[t]`, and `places[i]` is the item of the layer at which word i begins."""

    ids: Ids
    vocabulary: tuple[str, ...]
    text_ends: Offsets
    places: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.text_ends)

    def slice(self, text: int) -> slice:
        return slice(int(self.text_ends[text - 1]) if text else 0, int(self.text_ends[text]))

    def texts(self, first: int, last: int) -> FoldedWords:
        part = slice(self.slice(first).start, self.slice(last - 1).stop)
        ends = self.text_ends[first:last] - part.start
        return FoldedWords(self.ids[part], self.vocabulary, ends, self.places[part])


def fold_words(layer: Layer) -> FoldedWords:
    vocabulary, table = number(map(fold_word, layer.vocabulary))
    is_word = np.array([entry != "" for entry in vocabulary] or [False], np.bool_)
    ids = table[layer.ids] if len(table) else layer.ids
    places = np.flatnonzero(is_word[ids]) if len(ids) else np.empty(0, np.int64)
    return FoldedWords(
        ids[places], vocabulary, np.searchsorted(places, layer.text_ends).astype(np.int64), places
    )


def fold_joined_words(layer: Layer) -> FoldedWords:
    """The words of a layer, those as one that at most a mark parts: *do|n't* is *dont*, and
    *well|-|known* is *wellknown*, as in a text whose punctuation was taken out; and so is *don t*.

    What touches is joined where both sides are letters with case, or digits: scripts that write
    without spaces do so between words. The layer needs its spans.
    """
    words = fold_words(layer)
    continues = _continues(layer, words)
    if not continues.any():
        return words
    first = np.flatnonzero(~continues)
    lengths = np.diff(first, append=len(words.ids))
    ids, vocabulary = words.ids[first], list(words.vocabulary)
    numbers = {entry: place for place, entry in enumerate(vocabulary)}
    for length in np.unique(lengths[lengths > 1]).tolist():
        same_length = np.flatnonzero(lengths == length)
        # Most of them are a few that occur again and again.
        rows, which = np.unique(
            words.ids[first[same_length, None] + np.arange(length)], axis=0, return_inverse=True
        )
        entries = ("".join(vocabulary[i] for i in row) for row in rows.tolist())
        table = [numbers.setdefault(entry, len(numbers)) for entry in entries]
        ids[same_length] = np.array(table, np.int32)[which.reshape(-1)]
    return FoldedWords(
        ids,
        tuple(numbers),
        np.searchsorted(first, words.text_ends).astype(np.int64),
        words.places[first],
    )


def _continues(layer: Layer, words: FoldedWords) -> NDArray[np.bool_]:
    """Of each word whether it is part of the one before it."""
    clitic = np.array([entry in _CLITICS for entry in words.vocabulary] or [False], np.bool_)
    is_clitic = clitic[words.ids]
    is_clitic[starts_of(words.text_ends)[np.diff(words.text_ends, prepend=0) > 0]] = False
    places = words.places
    touching = np.flatnonzero(layer.starts[places[1:]] == layer.ends[places[1:] - 1]) + 1
    here = places[touching]
    before = here - 1
    connector, opens, closes = np.array(
        [_traits(entry) for entry in layer.vocabulary] or [(False,) * 3], np.bool_
    ).T
    mark = connector[layer.ids[before]]
    neighbour = np.maximum(before - mark, 0)
    text = np.searchsorted(layer.text_ends, here, side="right")
    joins = closes[layer.ids[neighbour]] & opens[layer.ids[here]]
    joins &= ~mark | (layer.ends[neighbour] == layer.starts[before])
    is_clitic[touching] |= joins & (neighbour >= layer.text_starts[text])
    return is_clitic


def _traits(entry: str) -> tuple[bool, bool, bool]:
    """Whether it is a mark that joins words, and whether its first and its last letter may be
    joined."""
    if entry.isascii() and entry.isalnum():
        return False, True, True
    word = fold_word(entry)
    return glyphs.fold(entry) in _CONNECTORS, _has_case(word[:1]), _has_case(word[-1:])


def _has_case(character: str) -> bool:
    return character.isdigit() or character.lower() != character.upper()


def fold_text(text: str) -> Sequence[str]:
    """The folded words of a text that stand between spaces, for a few texts."""
    return [word for word in map(fold_word, text.split()) if word]
