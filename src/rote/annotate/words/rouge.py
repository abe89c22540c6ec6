"""The default tokens of the rouge-score package: lower case, a-z and 0-9 only.

Papers compute ROUGE-L with it. It works on the lower-cased text; here the
original is searched, so that spans point at it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.layer import Layer

VERSION = "1"


def _lower(word: str) -> str:
    return word.lower().rstrip("\u0307")


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    from rote.annotate.words._batch import batch, layer_of_bytes
    from rote.annotate.words._gaps import between_other_than_ascii_alnum

    of = batch(texts)
    found = between_other_than_ascii_alnum(of.data, of.begins, of.stops)
    return layer_of_bytes(of, *found).map("word", _lower)
