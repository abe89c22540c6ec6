"""Words between white space, as Python's str.split() sees them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.annotate.words._pattern import matches
from rote.core.layer import Layer

VERSION = "1"

# `\s` and str.split() agree on every character (a test walks through them all).
_WORD = re.compile(r"\S+")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    return matches(_WORD, texts)
