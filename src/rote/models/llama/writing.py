"""Token by token: keys and values of what was read are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rote.core.model import Ints
from rote.models.continuing import Writing
from rote.models.llama.layers import run_layers, weighted
from rote.models.llama.reading import read_states
from rote.models.llama.safetensors import Single
from rote.models.llama.weights import Weights


def write(weights: Weights, texts: Sequence[Writing]) -> None:
    """Continue all of them until each is done."""
    # The shortest first: prompts of one length are read together.
    going = sorted(texts, key=lambda one: len(one.before))
    lengths = np.array([len(one.before) for one in going])
    keys, values = (_room(weights, going) for _ in range(2))
    read = [np.array(one.before, np.int64) for one in going]
    states = read_states(weights, read, keys, values)[np.cumsum(lengths) - 1]
    while True:
        _choose(weights, going, states)
        left = [place for place, one in enumerate(going) if one.done is None]
        if not left:
            return
        if len(left) < len(going):
            going = [going[place] for place in left]
            lengths = lengths[left]
            for layer in range(len(keys)):
                keys[layer], values[layer] = keys[layer][left], values[layer][left]
        last = np.array([one.ids[-1] for one in going], np.int64)
        states = _step(weights, last, lengths, keys, values)
        lengths = lengths + 1


def _room(weights: Weights, texts: Sequence[Writing]) -> list[Single]:
    shape = weights.shape
    longest = max(len(one.before) + one.decoding.max_tokens for one in texts)
    form = (len(texts), min(longest, shape.longest), shape.groups, shape.head)
    # Zeros, since what is behind the end of a row is multiplied by a weight of 0.
    return [np.zeros(form, np.float32) for _ in range(shape.layers)]


def _choose(weights: Weights, going: Sequence[Writing], states: Single) -> None:
    logits = states @ weights.head
    for one, row in zip(going, logits):
        one.go_on(row)


def _step(
    weights: Weights, ids: Ints, lengths: Ints, keys: Sequence[Single], values: Sequence[Single]
) -> Single:
    """One token further in every row; `lengths` are those before."""
    rows = np.arange(len(ids))
    end = int(lengths.max()) + 1
    behind = np.where(np.arange(end) > lengths[:, None], np.float32(-np.inf), np.float32(0))

    def attend(number: int, q: Single, k: Single, v: Single) -> Single:
        keys[number][rows, lengths] = k
        values[number][rows, lengths] = v
        # Row by group by head of the group.
        grouped = q.reshape(len(ids), k.shape[1], -1, q.shape[-1])
        scores = grouped @ keys[number][:, :end].transpose(0, 2, 3, 1)
        scores += behind[:, None, None]
        found = weighted(scores, values[number][:, :end].transpose(0, 2, 1, 3))
        return found.reshape(q.shape)

    return run_layers(weights, ids, lengths, attend)
