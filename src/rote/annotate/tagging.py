"""Tags: Penn part-of-speech tags and UPOS for the words of a layer.

Small networks over hashed features, shipped with the package; docs/models/tagger.md
says what they were trained on and how good they are. Words without sentence ends
cannot be tagged: features do not cross from one sentence into the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.core.layer import Ids, Layer

if TYPE_CHECKING:
    from rote.annotate._network import Fitted

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
    upos = np.empty(len(word.ids), np.int32)
    pos = _read(word, upos)
    return pos, replace(word, name="upos", ids=upos, vocabulary=_weights().universal)


def penn(word: Layer) -> Layer:
    """The layer `pos` alone."""
    return _read(word, None)


def _read(word: Layer, upos: Ids | None) -> Layer:
    """The Penn tags; UPOS go to `upos`, if they are wanted."""
    from rote.annotate import _tagger, _upos
    from rote.annotate._pieces import Piece, pieces

    held = _weights()
    pos = np.empty(len(word.ids), np.int32)
    used = [(held.left, _tagger.ROLES), (held.right, _tagger.ROLES)]
    if upos is not None:
        used.append((held.upos, _upos.ROLES))
    for piece in pieces(word):
        nets = [(net.sums(piece.table, roles), net.weights) for net, roles in used]

        def read(piece: Piece, nets: Sequence[Any] = nets) -> None:
            part = slice(piece.first, piece.last)
            words = (piece.ids, piece.ends, piece.table)
            _tagger.tag_tokens(*words, nets[0], nets[1], pos[part])
            if upos is not None:
                known = (pos[part], held.fixed, held.kinds)
                _upos.upos_tokens(*words, known, nets[2], upos[part])

        piece.read(read)
    return replace(word, name="pos", ids=pos, vocabulary=held.tags)


@cache
def model() -> Model:
    """What is known about the tagger."""
    about = _weights().about
    return Model(**{name: about[name] for name in Model.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class _Tagger:
    left: Fitted
    right: Fitted
    upos: Fitted
    tags: tuple[str, ...]
    universal: tuple[str, ...]
    fixed: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    about: dict[str, Any]


@cache
def _weights() -> _Tagger:
    from rote.annotate import _tagger, _upos
    from rote.annotate._network import fitted, network
    from rote.annotate._weights import load

    arrays, about = load("tagger")
    tags, universal = tuple(about["tags"]), tuple(about["universal"])
    left, right = (
        fitted(network(arrays, prefix), _tagger.HIDDEN, _tagger.LABELS, _tagger.TOGETHER)
        for prefix in ("left_", "right_")
    )
    upos = fitted(network(arrays, "upos_"), _upos.HIDDEN, _upos.LABELS, _upos.TOGETHER)
    kinds = _upos.kinds_of(tags)
    return _Tagger(left, right, upos, tags, universal, arrays["fixed"], kinds, about)
