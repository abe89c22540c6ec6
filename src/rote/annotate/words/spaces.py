"""Everything between single spaces, empty strings too, as str.split(' ').

Some published packages count words this way; their variants of a measure use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.layer import Layer

VERSION = "1"


def _spans(text: str) -> list[tuple[int, int]]:
    spans, start = [], 0
    for item in text.split(" "):
        spans.append((start, start + len(item)))
        start += len(item) + 1
    return spans


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts; an empty text holds one empty item."""
    from rote.annotate.words._batch import layer_of_spans

    return layer_of_spans(texts, map(_spans, texts))
