"""Tags: Penn part-of-speech tags and UPOS for the words of a layer.

Small networks over hashed features, shipped with the package; docs/models/tagger.md
says what they were trained on and how good they are. Words without sentence ends
cannot be tagged: features do not cross from one sentence into the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Layer

VERSION = "1"
SIGNATURE = f"rote-en/{VERSION}"


@dataclass(frozen=True, slots=True)
class Model:
    """What is known about a model: for signatures, lists and model cards."""

    name: str
    version: str
    signature: str
    licence: str
    accuracy: dict[str, float]


def tag(word: Layer) -> tuple[Layer, Layer]:
    """The layers `pos` (Penn tags) and `upos`, aligned with the words."""
    from rote.annotate import _tagger, _upos
    from rote.annotate._network import sums
    from rote.annotate._pieces import pieces

    held = _weights()
    pos = np.empty(len(word.ids), np.int32)
    upos = np.empty(len(word.ids), np.int32)
    for piece in pieces(word):
        tags = pos[piece.first : piece.last]
        left = (sums(held.left, piece.table, _tagger.ROLES), held.left.weights)
        right = (sums(held.right, piece.table, _tagger.ROLES), held.right.weights)
        _tagger.tag_tokens(piece.ids, piece.ends, piece.table, left, right, tags)
        one = (sums(held.upos, piece.table, _upos.ROLES), held.upos.weights)
        known = (tags, held.fixed, held.kinds)
        out = upos[piece.first : piece.last]
        _upos.upos_tokens(piece.ids, piece.ends, piece.table, known, one, out)
    return (
        replace(word, name="pos", ids=pos, vocabulary=held.tags),
        replace(word, name="upos", ids=upos, vocabulary=held.universal),
    )


@cache
def model() -> Model:
    """What is known about the tagger."""
    about = _weights().about
    return Model(**{name: about[name] for name in Model.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class _Tagger:
    left: Any
    right: Any
    upos: Any
    tags: tuple[str, ...]
    universal: tuple[str, ...]
    fixed: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    about: dict[str, Any]


@cache
def _weights() -> _Tagger:
    from rote.annotate._network import network
    from rote.annotate._upos import kinds_of
    from rote.annotate._weights import load

    arrays, about = load("tagger")
    tags, universal = tuple(about["tags"]), tuple(about["universal"])
    left, right, upos = (network(arrays, prefix) for prefix in ("left_", "right_", "upos_"))
    kinds = kinds_of(tags)
    return _Tagger(left, right, upos, tags, universal, arrays["fixed"], kinds, about)
