"""The default tokens of the rouge-score package: lower case, a-z and 0-9 only.

Papers compute ROUGE-L with it. It works on the lower-cased text; here the
original is searched, so that spans point at it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.annotate.words._pattern import matches
from rote.core.layer import Layer

VERSION = "1"

# Two characters outside ASCII become ASCII in lower case: the Kelvin sign is a `k`;
# the dotted capital I is an `i` and a combining dot, which ends the word.
_LETTER = "[a-zA-Z0-9\u212a]"
_WORD = re.compile(f"{_LETTER}*\u0130|{_LETTER}+")


def _lower(word: str) -> str:
    return word.lower().rstrip("\u0307")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    return matches(_WORD, texts).map("word", _lower)
