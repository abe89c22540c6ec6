"""Trees: the head of every word and its relation to it, in Universal Dependencies.

A greedy transition parser over hashed features, shipped with the package;
docs/models/parser.md says what it was trained on and how good it is. Every sentence
becomes one tree: one root, no cycles, no crossing arcs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.tagging import Model
from rote.core.layer import Ids, Layer

if TYPE_CHECKING:
    from rote.annotate._network import Fitted

VERSION = "1"
SIGNATURE = f"rote-en-dep/{VERSION}"


@dataclass(frozen=True, slots=True)
class Parser:
    """The weights, ready for the kernel; `biases` of actions by which there are."""

    net: Fitted
    tag_rows: NDArray[np.int8]
    biases: NDArray[np.int32]
    grammar: tuple[Any, ...]
    relations: tuple[str, ...]
    about: dict[str, Any]


def parse(word: Layer, pos: Layer, upos: Layer) -> tuple[Layer, Ids]:
    """The layer `dep` (relations), aligned with the words, and the head of each word.

    A head is an item number in the same columns, -1 for the root of a sentence. `pos`
    and `upos` are those of `tagging.tag`; a tag that the model does not know counts as
    none.
    """
    held = weights()
    labels, heads = parse_with(held, word, pos, upos)
    return replace(word, name="dep", ids=labels, vocabulary=held.relations), heads


def parse_with(
    held: Parser, word: Layer, pos: Layer, upos: Layer, *, size: int | None = None
) -> tuple[Ids, Ids]:
    """Relations (numbers in `held.relations`) and heads, in pieces of about `size` words."""
    from rote.annotate._parser import parse_tokens
    from rote.annotate._parser_features import WORD_ROLES
    from rote.annotate._pieces import SIZE, Piece, pieces

    tags = _tags(held, pos, upos)
    named, *rest = held.grammar
    grammar = (named, held.biases, *rest)
    heads = np.empty(len(word.ids), np.int32)
    labels = np.empty(len(word.ids), np.int32)
    for piece in pieces(word, size or SIZE):
        partial = (held.net.sums(piece.table, WORD_ROLES), held.tag_rows)

        def read(piece: Piece, partial: tuple[Any, ...] = partial) -> None:
            part = slice(piece.first, piece.last)
            words = (piece.ids, tags[part], piece.ends, piece.table)
            parse_tokens(words, partial, held.net.weights, grammar, heads[part], labels[part])
            heads[part] += np.where(heads[part] >= 0, np.int32(piece.first), np.int32(0))

        piece.read(read)
    return labels, heads


@cache
def model() -> Model:
    """What is known about the parser."""
    about = weights().about
    return Model(**{name: about[name] for name in Model.__dataclass_fields__})


def make(arrays: dict[str, Any], about: dict[str, Any]) -> Parser:
    """The parser that a weight file holds."""
    from rote.annotate import _parser
    from rote.annotate._network import NEVER, aligned, fitted, network
    from rote.annotate._parser_features import kinds_of, tag_rows

    net = fitted(network(arrays), _parser.HIDDEN, _parser.LABELS, _parser.TOGETHER)
    rows, _, _, output_bias, templates, bits = net.weights
    penn, universal = about["penn"], tuple(about["universal"])
    relations, lefts = tuple(about["relations"]), about["lefts"]
    # A tag's two rows in each role as one; what is added in 8 bits must stay in them.
    places = tag_rows(len(penn), len(universal), templates, bits).transpose(1, 0, 2)
    tags = aligned((places.shape[0] * places.shape[1], _parser.HIDDEN), np.int8)
    tags[...] = (rows[places[..., 0]] + rows[places[..., 1]]).reshape(tags.shape)
    biases = np.tile(output_bias, (3, 1))
    biases[_parser.NO_RIGHT, 1 + lefts :] = NEVER
    biases[_parser.ONLY_RIGHT, : 1 + lefts] = NEVER
    grammar = (arrays["named"], lefts, relations.index("root"), len(universal), kinds_of(universal))
    return Parser(net, tags, biases, grammar, relations, about)


@cache
def weights() -> Parser:
    """The shipped parser."""
    from rote.annotate._weights import load

    return make(*load("parser"))


def _tags(held: Parser, pos: Layer, upos: Layer) -> Ids:
    """Penn tag and UPOS as one number from 1; 0 where the model knows neither."""
    penn = {tag: number for number, tag in enumerate(held.about["penn"])}
    universal = {tag: number for number, tag in enumerate(held.about["universal"])}
    fine = np.array([penn.get(tag, -1) for tag in pos.vocabulary], np.int32)[pos.ids]
    coarse = np.array([universal.get(tag, -1) for tag in upos.vocabulary], np.int32)[upos.ids]
    joined = 1 + fine * np.int32(len(universal)) + coarse
    return np.where((fine >= 0) & (coarse >= 0), joined, 0).astype(np.int32)
