"""Words between white space, as Python's str.split() sees them."""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.layer import Layer

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts."""
    from rote.annotate.words._batch import encode_texts, layer_of_bytes
    from rote.annotate.words._split_kernels import between_white_space

    of = encode_texts(texts)
    return layer_of_bytes(of, *between_white_space(of.data, of.begins, of.stops))
