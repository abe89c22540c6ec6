"""Entities: names of people, organizations and places, and numbers, dates, other names.

PER, ORG and LOC come from a network trained on UNER English (docs/models/entities.md);
where it finds none, rules over the tags mark numbers (NUM), dates and times (DATE)
and runs of proper nouns (MISC).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from rote.annotate.tagging import Model
from rote.core.layer import Layer

VERSION = "1"
SIGNATURE = f"rote-en-names/{VERSION}"
NAMES = ("PER", "ORG", "LOC")
TYPES = (*NAMES, "NUM", "DATE", "MISC")
LABELS = ("O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI"))


def find(word: Layer, pos: Layer) -> Layer:
    """The layer `entity` (`B-PER`, `I-PER`, ..., `O`); `pos` is what `tagging.tag` gave."""
    from rote.annotate import _entities, _mentions
    from rote.annotate._pieces import pieces

    held = _weights()
    tags = _as_trained(pos, held.tags)
    classes = np.fromiter(
        map(_mentions.word_class, word.vocabulary), np.uint8, len(word.vocabulary)
    )
    commas = np.fromiter((w == "," for w in word.vocabulary), bool, len(word.vocabulary))
    kinds = _mentions.tag_classes(held.tags)
    out = np.empty(len(word.ids), np.int32)
    for piece in pieces(word):
        labels = out[piece.first : piece.last]
        local = tags[piece.first : piece.last]
        net = (held.net.sums(piece.table, _entities.ROLES), held.net.weights)
        _entities.name_tokens(piece.ids, piece.ends, piece.table, local, net, labels)
        labels[:] = _TO_IOB[labels]
        ids = word.ids[piece.first : piece.last]
        first = 1 + 2 * len(NAMES)
        _mentions.fill(classes[ids], kinds[local], commas[ids], piece.ends, first, labels)
    return replace(word, name="entity", ids=out, vocabulary=LABELS)


# From O and B, I, L, U of each name to O and B, I.
_TO_IOB = np.array(
    [0, *(1 + 2 * kind + inside for kind in range(3) for inside in (0, 1, 1, 0))], np.int32
)


def _as_trained(pos: Layer, tags: Sequence[str]) -> Any:
    """The tags as numbers that the network knows; a foreign tag set is refused."""
    number = {tag: place for place, tag in enumerate(tags)}
    unknown = [tag for tag in pos.vocabulary if tag not in number]
    if unknown:
        raise ValueError(f"names are found with the Penn tags of rote's tagger, not {unknown[0]!r}")
    table = np.array([number[tag] for tag in pos.vocabulary], np.int32)
    return table[pos.ids] if len(table) else pos.ids


@dataclass(frozen=True, slots=True)
class _Finder:
    net: Any
    tags: tuple[str, ...]
    about: dict[str, Any]


@cache
def _weights() -> _Finder:
    from rote.annotate import _entities
    from rote.annotate._network import fitted, network
    from rote.annotate._weights import load

    arrays, about = load("entities")
    sizes = (_entities.HIDDEN, len(_entities.LABELS), _entities.TOGETHER)
    return _Finder(fitted(network(arrays), *sizes), tuple(about["tags"]), about)


@cache
def model() -> Model:
    """What is known about the entity finder."""
    about = _weights().about
    return Model(**{name: about[name] for name in Model.__dataclass_fields__})
