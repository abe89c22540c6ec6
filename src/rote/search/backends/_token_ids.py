"""Tokens as numbers, for an index that knows nothing but numbers.

A layer holds the tokenizer's own strings, each of which has one number in the tokenizer.json; so
n-grams travel as they do everywhere, and become numbers where they are counted. With `ids` texts
are numbers already: `"5613 4086 9068"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.annotate import words
from rote.core.errors import InputError, OptionError
from rote.core.layer import Layer

IDS = "ids"
UNKNOWN = -1
"""Of a token that has no number: it stands nowhere."""


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A tokenizer by the path of its tokenizer.json, or `ids`."""

    path: str
    signature: str

    def layer(self, texts: Sequence[str]) -> Layer:
        """The tokens of some texts."""
        if self.path != IDS:
            return words.get(self.path)(texts)
        layer = words.get("whitespace")(texts)
        words_of = layer.vocabulary
        wrong = next((w for w in words_of if not (w.isascii() and w.isdigit())), None)
        if wrong is not None:
            raise InputError(
                f"{wrong!r} is no number of a token",
                remedy="With --tokenizer ids texts are numbers, separated by spaces; texts in "
                "words need the tokenizer.json of the index",
            )
        return layer

    def numbers(self, vocabulary: Sequence[str]) -> NDArray[np.int64]:
        """The number of each token."""
        if self.path == IDS:
            numbers = [int(token) for token in vocabulary]
        else:
            from rote.annotate.words.subwords import load

            known = load(self.path).token_to_id
            numbers = [UNKNOWN if (i := known(token)) is None else i for token in vocabulary]
        return np.array(numbers, np.int64).reshape(len(vocabulary))


def token_ids(tokenizer: str | None, corpus: str) -> TokenIds:
    """The tokenizer that was given; an index of numbers says nothing of its own."""
    if tokenizer is None:
        raise OptionError(
            f"{corpus} holds numbers of tokens: --tokenizer names the tokenizer.json that made "
            "them (or ids, if the texts are such numbers)"
        )
    if tokenizer == IDS:
        return TokenIds(IDS, IDS)
    return TokenIds(tokenizer, words.get(tokenizer).signature)
