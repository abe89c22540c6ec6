"""Runs of word characters and runs of punctuation, case kept (NLTK's WordPunct)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.annotate.words._batch import matches
from rote.core.layer import Layer

VERSION = "1"

_WORD = re.compile(r"\w+|[^\w\s]+")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    return matches(_WORD, texts)
