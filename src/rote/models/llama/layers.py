"""The layers of a Llama decoder, over the tokens of many sequences side by side.

There is no padding: the products run over all tokens as one matrix, and only attention, which
is handed in, knows where a sequence begins.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rote.core.model import Ints
from rote.models.llama.safetensors import Single
from rote.models.llama.weights import Weights

Attend = Callable[[int, Single, Single, Single], Single]
"""(number of the layer, queries, keys, values) -> what is seen; all of them token by head."""


def run_layers(weights: Weights, ids: Ints, positions: Ints, attend: Attend) -> Single:
    """The normed states behind the last layer, one row for each token."""
    shape = weights.shape
    cosines, sines = weights.cosines[positions][:, None], weights.sines[positions][:, None]
    queries, keys = shape.heads * shape.head, shape.groups * shape.head
    x = weights.embedding[ids]
    for number, layer in enumerate(weights.layers):
        side_by_side = layer.looking(_normed(x, layer.norm, shape.epsilon))
        q = side_by_side[:, :queries].reshape(len(ids), shape.heads, shape.head)
        k = side_by_side[:, queries : queries + keys].reshape(len(ids), shape.groups, shape.head)
        v = side_by_side[:, queries + keys :].reshape(len(ids), shape.groups, shape.head)
        _turn(q, cosines, sines)
        _turn(k, cosines, sines)
        q *= np.float32(shape.head**-0.5)
        x += layer.out(attend(number, q, k, v).reshape(len(ids), queries))
        both = layer.inner(_normed(x, layer.second_norm, shape.epsilon))
        x += layer.down(_gated(both[:, : shape.inner], both[:, shape.inner :]))
    return _normed(x, weights.norm, shape.epsilon)


def weighted(scores: Single, values: Single) -> Single:
    """The values weighted by the softmax of their scores, which are overwritten."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    total = scores.sum(axis=-1, keepdims=True)
    # Divided afterwards: there are fewer sums than scores.
    found: Single = scores @ values
    found /= total
    return found


def _normed(x: Single, weight: Single, epsilon: float) -> Single:
    square = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
    found: Single = x * (1 / np.sqrt(square + np.float32(epsilon)))[:, None]
    found *= weight
    return found


def _turn(x: Single, cosines: Single, sines: Single) -> None:
    """Each head's first half against its second, by the token's position, in place."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    turned = first * cosines - second * sines
    second *= cosines
    second += first * sines
    first[...] = turned


def _gated(gate: Single, values: Single) -> Single:
    """SiLU of the gate times the values."""
    with np.errstate(over="ignore"):  # far below zero the gate is shut: x / inf is 0
        found = np.exp(-gate)
    found += 1
    np.divide(gate, found, out=found)
    found *= values
    return found
