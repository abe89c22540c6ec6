"""Samples built from lists of words, for tests that need no tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rote.core.layer import Layer, number
from rote.core.sample import Need, RawText, Sample, Take


def layer_of(texts: Sequence[Sequence[str]], name: str = "lower") -> Layer:
    vocabulary, ids = number(word for text in texts for word in text)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    none = np.empty(0, np.int32)
    return Layer(name, ids, vocabulary, none, none, ends)


def sample_of(texts: Sequence[Sequence[str]], *needs: Need) -> Sample:
    """The same words under every need; raw text is the words joined by spaces."""
    encoded = [" ".join(text).encode() for text in texts]
    return Sample(
        words=np.array([len(text) for text in texts], np.int64),
        layers={need: layer_of(texts, need.layer) for need in needs},
        raws={
            None: RawText(
                np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
                np.cumsum([len(text) for text in encoded], dtype=np.int64),
            )
        },
    )


def everything(sample: Sample) -> Take:
    return np.arange(len(sample), dtype=np.int64)
