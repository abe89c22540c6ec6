"""Everything between single spaces, empty strings too, as str.split(' ').

Some published packages count words this way; their variants of a measure use it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rote.core.layer import Layer

VERSION = "1"


def tokenize(texts: Sequence[str]) -> Layer:
    """The word layer of a batch of texts; an empty text holds one empty item."""
    from rote.annotate.words._batch import encode_texts, layer_of_bytes
    from rote.annotate.words._split_kernels import between_single_spaces

    of = encode_texts(texts)
    return layer_of_bytes(of, *between_single_spaces(of.data, of.begins, of.stops))
