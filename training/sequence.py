"""Train and run sequence models in float: the loops around `network.forward`.

A `Data` is a set of sentences ready for the kernels. Reversed, the same loops make a
tagger that reads from right to left, which the ensemble of teachers needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from features import word_rows
from network import Parameters, backward, forward, seed_kernel
from numba import njit
from numpy.typing import NDArray

from rote.annotate._hashing import Lexicon, describe
from rote.annotate._tagger import case, entry
from rote.core.layer import Layer


@dataclass(frozen=True, slots=True)
class Data:
    """Sentences: vocabulary numbers, their ends, attributes of the vocabulary."""

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]
    table: NDArray[np.uint64]
    extra: Any = ()  # what else the model's joined features look at


@dataclass(frozen=True, slots=True)
class Options:
    """How to train one phase."""

    epochs: int
    rate: float = 0.04
    feature_dropout: float = 0.05
    word_dropout: float = 0.15
    hidden_dropout: float = 0.2
    seed: int = 1


def data(layer: Layer, known: Lexicon, backwards: bool = False) -> Data:
    """A layer with sentence ends as data for the loops."""
    assert layer.sentence_ends is not None
    made = Data(layer.ids, layer.sentence_ends, describe(layer.vocabulary, known))
    return replace(made, ids=turned(made.ids, made.ends)) if backwards else made


def turned(column: NDArray[Any], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Each sentence from its end to its beginning."""
    starts = np.concatenate(([0], ends[:-1]))
    lengths = ends - starts
    places = np.repeat(starts + ends - 1, lengths) - np.arange(len(column))
    return column[places]


@dataclass(frozen=True, slots=True)
class Kind:
    """What distinguishes one model from another: its features."""

    token_rows: Any
    token_count: int
    offsets: tuple[int, ...]
    templates: NDArray[np.int32]
    word_like: NDArray[np.bool_]  # per template, then per joined feature

    def loops(self) -> tuple[Any, Any]:
        return loops(self.token_rows, self.token_count, self.offsets)


def train(
    kind: Kind,
    weights: Parameters,
    of: Data,
    targets: tuple[NDArray[np.int32], NDArray[np.float32]],
    options: Options,
) -> None:
    """Change the weights in place. Targets: hard labels, and soft ones (or no rows)."""
    generator = np.random.default_rng(options.seed)
    seed_kernel(options.seed)
    bits = len(weights.rows).bit_length() - 1
    indices = word_rows(of.table, kind.templates, bits)
    steps = options.epochs * len(of.ids)
    done = 0
    for _ in range(options.epochs):
        done = kind.loops()[0](
            weights.arrays(),
            (of.ids, of.ends, of.table, of.extra, generator.permutation(len(of.ends))),
            (indices, kind.templates[:, 0].copy(), kind.word_like, bits),
            targets,
            (options.feature_dropout, options.word_dropout, options.hidden_dropout),
            (options.rate, done, steps),
        )


def chances(kind: Kind, weights: Parameters, of: Data) -> NDArray[np.float32]:
    """The chances of every label for each word."""
    bits = len(weights.rows).bit_length() - 1
    indices = word_rows(of.table, kind.templates, bits)
    found: NDArray[np.float32] = kind.loops()[1](
        weights.arrays(),
        (of.ids, of.ends, of.table, of.extra),
        (indices, kind.templates[:, 0].copy(), bits),
    )
    return found


@cache
def loops(token_rows: Any, token_count: int, offsets: tuple[int, ...]) -> tuple[Any, Any]:
    """The training loop and the prediction loop of a model with these joined features.

    Compiled anew in every process: they hold the model's function inside.
    """
    around_at = np.array(offsets)
    roles_count = len(offsets)

    @njit(nogil=True)
    def train_epoch(arrays, of, features, targets, dropouts, pace):  # type: ignore[no-untyped-def]
        ids, ends, table, extra, order = of
        indices, roles, word_like, bits = features
        hard, soft = targets
        drop_feature, drop_word, drop_hidden = dropouts
        rate, done, steps = pace
        base = len(roles)
        padding = len(table) - 2
        index = np.empty(base + token_count, np.int64)
        joined = np.empty(token_count, np.int64)
        hidden = np.empty(len(arrays[1]), np.float32)
        inner = np.empty(len(arrays[1]), np.float32)
        slope = np.empty(len(arrays[3]), np.float32)
        around = np.empty(roles_count, np.int64)
        for sentence in order:
            start = ends[sentence - 1] if sentence else 0
            end = ends[sentence]
            written = case(table, ids, start, end)
            label_1, label_2 = np.uint64(0), np.uint64(0)
            for i in range(start, end):
                for role in range(roles_count):
                    around[role] = entry(ids, i, around_at[role], 1, start, end, padding)
                said = (written + np.uint64(4 if i == start else 0), label_1, label_2)
                token_rows(table, around, (i, start, end, extra), said, base, bits, joined)
                count = 0
                no_word = np.random.random() < drop_word
                for number in range(base + token_count):
                    if no_word and word_like[number]:
                        continue
                    if np.random.random() < drop_feature:
                        continue
                    if number < base:
                        index[count] = indices[around[roles[number]], number]
                    else:
                        index[count] = joined[number - base]
                    count += 1
                forward(arrays, index, count, drop_hidden, hidden, slope)
                best = slope.argmax()
                if len(soft):
                    slope -= soft[i]
                else:
                    slope[hard[i]] -= np.float32(1)
                now = rate * (1.0 - done / steps)
                backward(arrays, index, count, drop_hidden, hidden, slope, now, inner)
                label_2 = label_1
                label_1 = np.uint64(best + 1)
                done += 1
        return done

    @njit(nogil=True)
    def predict(arrays, of, features):  # type: ignore[no-untyped-def]
        ids, ends, table, extra = of
        indices, roles, bits = features
        base = len(roles)
        padding = len(table) - 2
        index = np.empty(base + token_count, np.int64)
        joined = np.empty(token_count, np.int64)
        hidden = np.empty(len(arrays[1]), np.float32)
        around = np.empty(roles_count, np.int64)
        out = np.empty((len(ids), len(arrays[3])), np.float32)
        start = np.int64(0)
        for end in ends:
            written = case(table, ids, start, end)
            label_1, label_2 = np.uint64(0), np.uint64(0)
            for i in range(start, end):
                for role in range(roles_count):
                    around[role] = entry(ids, i, around_at[role], 1, start, end, padding)
                said = (written + np.uint64(4 if i == start else 0), label_1, label_2)
                token_rows(table, around, (i, start, end, extra), said, base, bits, joined)
                for number in range(base):
                    index[number] = indices[around[roles[number]], number]
                index[base:] = joined
                forward(arrays, index, len(index), 0.0, hidden, out[i])
                label_2 = label_1
                label_1 = np.uint64(out[i].argmax() + 1)
            start = end
        return out

    return train_epoch, predict
