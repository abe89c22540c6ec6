"""Tokenizers that are one regular expression: its matches are the words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rote.core.layer import Layer


def matches(pattern: re.Pattern[str], texts: Sequence[str]) -> Layer:
    """The `word` layer of everything the pattern matches, left to right."""
    from rote.annotate.words._batch import layer_of_spans

    return layer_of_spans(texts, ([m.span() for m in pattern.finditer(t)] for t in texts))
