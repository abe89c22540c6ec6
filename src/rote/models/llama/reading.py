"""Whole sequences at once: how likely every token was, given those before it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from rote.core.model import Floats, Ints
from rote.models.llama.layers import run_layers, weighted
from rote.models.llama.safetensors import Single
from rote.models.llama.weights import Weights
from rote.models.windows import Window

_QUERIES = 128
"""Tokens whose attention is computed at once: they see no further than the last of them."""
_TOGETHER = 64
"""Sequences up to this length are computed together with others of the same length."""
_LOGITS = 1 << 19
"""Logits at once: few enough to stay in the cache between two passes over them."""


def read_windows(weights: Weights, some: Sequence[Window]) -> list[Floats]:
    """For each window the columns log-probability, greedy, expected, spread of what it asks."""
    order = sorted(range(len(some)), key=lambda one: len(some[one].ids))
    read = [np.array(some[place].ids[:-1], np.int64) for place in order]
    states = read_states(weights, read)
    ends = np.cumsum([len(one) for one in read])
    asked = [len(some[place].ids) - some[place].first for place in order]
    rows = np.concatenate([np.arange(end - count, end) for end, count in zip(ends, asked)])
    targets = np.concatenate(
        [np.array(some[place].ids[some[place].first :], np.int64) for place in order]
    )
    numbers = likelihood(weights, states[rows], targets)
    parts = np.split(numbers, np.cumsum(asked)[:-1], axis=1)
    found = dict(zip(order, parts))
    return [found[place] for place in range(len(some))]


def read_states(
    weights: Weights,
    sequences: Sequence[Ints],
    keys: Sequence[Single] = (),
    values: Sequence[Single] = (),
) -> Single:
    """The states of all tokens, one sequence after the other; the shortest come first.

    `keys` and `values`, one array for each layer, are filled for what is to go on: sequence by
    position by head.
    """
    lengths = [len(one) for one in sequences]
    groups = [(length, len(list(group))) for length, group in groupby(lengths)]

    def attend(number: int, q: Single, k: Single, v: Single) -> Single:
        seen = np.empty_like(q)
        first = row = 0
        for length, count in groups:
            part = slice(first, first + length * count)
            form = (count, length, -1, q.shape[-1])
            given = q[part].reshape(form), k[part].reshape(form), v[part].reshape(form)
            if keys:
                keys[number][row : row + count, :length] = given[1]
                values[number][row : row + count, :length] = given[2]
            seen[part].reshape(form)[...] = attention(*given)
            first, row = part.stop, row + count
        return seen

    ids = np.concatenate(sequences)
    positions = np.concatenate([np.arange(length) for length in lengths])
    return run_layers(weights, ids, positions, attend)


def attention(queries: Single, keys: Single, values: Single) -> Single:
    """Causal attention of sequences of one length: sequence by position by head by width."""
    count, length, heads, width = queries.shape
    groups = keys.shape[2]
    # Group by (head of the group, position), so that shared keys are multiplied once.
    q = queries.reshape(count, length, groups, heads // groups, width).transpose(0, 2, 3, 1, 4)
    k = keys.transpose(0, 2, 3, 1)[:, :, None]
    v = values.transpose(0, 2, 1, 3)[:, :, None]
    seen = np.empty((count, length, groups, heads // groups, width), np.float32)
    step = count if length <= _TOGETHER else 1
    for row in range(0, count, step):
        rows = slice(row, row + step)
        for first in range(0, length, _QUERIES):
            end = min(first + _QUERIES, length)
            scores = q[rows, :, :, first:end] @ k[rows, ..., :end]
            scores[..., first:] += _later(end - first)
            found = weighted(scores, v[rows, :, :, :end])
            seen[rows, first:end] = found.transpose(0, 3, 1, 2, 4)
    return seen.reshape(queries.shape)


@cache
def _later(length: int) -> Single:
    """Minus infinity where a key stands behind its query."""
    behind: NDArray[np.bool_] = np.tri(length, dtype=np.bool_)
    return np.where(behind, np.float32(0), np.float32(-np.inf))


def likelihood(weights: Weights, states: Single, targets: Ints) -> Floats:
    """Log-probability, whether it is the likeliest, and mean and standard deviation of the
    log-probability under the distribution itself: four rows, a column for each target."""
    found = np.empty((4, len(targets)), np.float64)
    step = max(1, _LOGITS // weights.shape.vocabulary)
    for first in range(0, len(targets), step):
        logits = states[first : first + step] @ weights.head
        found[:, first : first + step] = _columns(logits, targets[first : first + step])
    return found


def _columns(logits: Single, targets: Ints) -> Floats:
    rows = np.arange(len(targets))
    likeliest = logits.argmax(axis=1)
    logits -= logits[rows, likeliest][:, None]
    own = logits[rows, targets].astype(np.float64)
    chances = np.exp(logits)
    total = chances.sum(axis=1)
    chances /= total[:, None]
    mean = np.einsum("ij,ij->i", chances, logits)
    # From the mean on: the difference of two large squares would lose the small spreads.
    logits -= mean[:, None]
    logits *= logits
    variance = np.einsum("ij,ij->i", chances, logits)
    normal = np.log(total.astype(np.float64))
    return np.stack([own - normal, likeliest == targets, mean - normal, np.sqrt(variance)])
