"""The default tokens of the rouge-score package: lower case, a-z and 0-9 only.

Papers compute ROUGE-L with it. It works on the lower-cased text; here the
original is searched, so that spans point at it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.layer import Layer

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    from rote.annotate.words._batch import encode_texts, layer_of_bytes
    from rote.annotate.words._split_kernels import between_other_than_ascii_alnum

    of = encode_texts(texts)
    spans = between_other_than_ascii_alnum(of.data, of.begins, of.stops)
    return layer_of_bytes(of, *spans).map("word", lambda word: word.lower().rstrip("\u0307"))
