"""Train the parser's network in float: the loop around `network.forward`.

A `Trees` is a set of sentences with tags and gold trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from features import PARSER_NAMES, word_rows
from network import Parameters, backward, forward, seed_kernel
from numba import njit
from numpy.typing import NDArray
from parser_oracle import prices

from rote.annotate._hashing import KEY, LOWER
from rote.annotate.parsing import (
    JOINED,
    SHIFT,
    STATE,
    TAG_ROLES,
    VIEW,
    attach,
    begin,
    front_rows,
    look,
    mixed_rows,
    positions,
    stack_rows,
    tag_rows,
)

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Grammar:
    """The tag sets, the labels and the actions: SHIFT, then LEFT, then RIGHT for each label."""

    penn: tuple[str, ...]
    universal: tuple[str, ...]
    relations: tuple[str, ...]
    named: Ids  # label of each action, from 1; 0 for SHIFT
    lefts: int
    kinds: NDArray[np.uint8]

    @property
    def actions(self) -> tuple[Ids, Ids]:
        """The LEFT and the RIGHT action of each label from 1, or -1."""
        found = np.full((2, len(self.relations) + 1), -1, np.int32)
        for action in range(1, len(self.named)):
            found[int(action > self.lefts), self.named[action]] = action
        return found[0].copy(), found[1].copy()


@dataclass(frozen=True, slots=True)
class Trees:
    """Sentences: words, tags (Penn and UPOS as one number from 1), ends, gold heads and labels."""

    ids: Ids
    tags: Ids
    ends: NDArray[np.int64]
    table: NDArray[np.uint64]
    heads: Ids  # within the sentence, -1 for the root
    labels: Ids  # from 1


@dataclass(frozen=True, slots=True)
class Options:
    """How to train one phase."""

    epochs: int
    rate: float = 0.04
    feature_dropout: float = 0.05
    word_dropout: float = 0.1
    hidden_dropout: float = 0.2
    explore: float = 0.9
    explore_from: int = 1
    seed: int = 1


def train(
    weights: Parameters,
    templates: Ids,
    grammar: Grammar,
    trees: Trees,
    options: Options,
) -> None:
    """Change the weights in place."""
    generator = np.random.default_rng(options.seed)
    seed_kernel(options.seed)
    features = _features(weights, templates, grammar, trees)
    word_like = np.isin(templates[:, 1], (LOWER, KEY))
    joined_like = np.zeros(JOINED, bool)
    joined_like[list(PARSER_NAMES)] = True
    steps = options.epochs * len(trees.ids) * 2
    done = 0
    for epoch in range(options.epochs):
        order = generator.permutation(len(trees.ends))
        explore = options.explore if epoch >= options.explore_from else 0.0
        done = _epoch(
            weights.arrays(),
            (trees.ids, trees.tags, trees.ends, trees.table, trees.heads, trees.labels, order),
            features,
            (word_like, joined_like),
            (grammar.named, grammar.lefts, *grammar.actions, len(grammar.universal), grammar.kinds),
            (options.feature_dropout, options.word_dropout, options.hidden_dropout),
            (explore, options.rate, done, steps),
        )


def _features(weights: Parameters, templates: Ids, grammar: Grammar, trees: Trees):  # type: ignore[no-untyped-def]
    bits = len(weights.rows).bit_length() - 1
    indices = word_rows(trees.table, templates, bits)
    tags = tag_rows(len(grammar.penn), len(grammar.universal), len(templates), bits)
    return indices, templates[:, 0].copy(), tags, bits


@njit(cache=True, nogil=True)
def _collect(words, marks, at, indices, roles, tags, index):  # type: ignore[no-untyped-def]
    count = 0
    for number in range(len(roles)):
        index[count] = indices[words[at[roles[number]]], number]
        count += 1
    for role in range(TAG_ROLES):
        index[count] = tags[role, marks[at[role]], 0]
        index[count + 1] = tags[role, marks[at[role]], 1]
        count += 2
    return count


@njit(cache=True, nogil=True)
def best_of(scores, first, last):  # type: ignore[no-untyped-def]
    """The first of the highest scores in a range of actions."""
    best = first
    for action in range(first + 1, last):
        if scores[action] > scores[best]:
            best = action
    return best


@njit
def joined_rows(view, between, state, sets, at, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join places, tags, labels and distances."""
    front_rows(view, at, base, bits, out)
    stack_rows(view, between, state, sets, at, base, bits, out)
    mixed_rows(view, between, state, sets, at, base, bits, out)


@njit(cache=True, nogil=True)
def _epoch(arrays, of, features, word_like, grammar, dropouts, pace):  # type: ignore[no-untyped-def]
    ids, tags, ends, table, gold_heads, gold_labels, order = of
    indices, roles, tag_index, bits = features
    names_word, names_word_joined = word_like
    named, lefts, left_of, right_of, universal, kinds = grammar
    drop_feature, drop_word, drop_hidden = dropouts
    explore, rate, done, steps = pace
    base = len(roles)
    padding = len(table) - 2
    joined_base = base + 2 * TAG_ROLES
    longest = np.diff(ends).max() + ends[0]
    view = np.empty((longest + 1, VIEW), np.uint64)
    between = np.empty((longest + 1, 3), np.int32)
    state = np.empty((longest + 1, STATE), np.int32)
    sets = np.empty(longest + 1, np.uint64)
    stack = np.empty(longest + 1, np.int32)
    words = np.empty(longest + 1, np.int32)
    marks = np.empty(longest + 1, np.int32)
    at = np.empty(TAG_ROLES, np.int64)
    full = np.empty(joined_base + JOINED, np.int64)
    index = np.empty(joined_base + JOINED, np.int64)
    hidden = np.empty(len(arrays[1]), np.float32)
    inner = np.empty(len(arrays[1]), np.float32)
    size = len(arrays[3])
    slope = np.empty(size, np.float32)
    target = np.empty(size, np.float32)
    right_moves = np.empty(size, np.bool_)
    for sentence in order:
        start = ends[sentence - 1] if sentence else 0
        end = ends[sentence]
        count = end - start
        words[:count] = ids[start:end]
        marks[:count] = tags[start:end]
        words[count], marks[count] = padding, 0
        heads, labels = gold_heads[start:end], gold_labels[start:end]
        look(words[:count], marks, table, universal, kinds, view[: count + 1], between)
        begin(state, sets, count)
        depth = 0
        front = 0
        while front < count or depth > 1:
            if depth == 0:
                stack[0] = front
                depth = 1
                front += 1
                continue
            positions(state, stack, depth, front, count, at)
            _collect(words, marks, at, indices, roles, tag_index, full)
            joined_rows(
                view[: count + 1], between, state, sets, at, joined_base, bits, full[joined_base:]
            )
            kept = 0
            no_word = np.random.random() < drop_word
            for number in range(len(full)):
                if np.random.random() < drop_feature:
                    continue
                if no_word:
                    if number < base and names_word[number]:
                        continue
                    if number >= joined_base and names_word_joined[number - joined_base]:
                        continue
                index[kept] = full[number]
                kept += 1
            forward(arrays, index, kept, drop_hidden, hidden, slope)
            first, last = 0, size
            if front == count:
                first = 1 + lefts
            elif depth == 1:
                last = 1 + lefts
            shift, left, right = prices(heads, stack, depth, front, count)
            least = min(shift, min(left, right))
            label = labels[stack[depth - 1]]
            right_moves[:] = False
            if shift == least:
                right_moves[SHIFT] = True
            if left == least:
                if left_of[label] >= 0:
                    right_moves[left_of[label]] = True
                else:
                    right_moves[1 : 1 + lefts] = True
            if right == least:
                if right_of[label] >= 0:
                    right_moves[right_of[label]] = True
                else:
                    right_moves[1 + lefts :] = True
            # All right moves are good: ask for their sum, not for one of them.
            total = np.float32(1e-9)
            for action in range(size):
                total += slope[action] * right_moves[action]
            best_right = -1
            for action in range(size):
                target[action] = slope[action] / total if right_moves[action] else np.float32(0)
                if right_moves[action] and (best_right < 0 or slope[action] > slope[best_right]):
                    best_right = action
            chosen = best_of(slope, first, last)
            for action in range(size):
                slope[action] -= target[action]
            now = rate * max(0.0, 1.0 - done / steps)
            backward(arrays, index, kept, drop_hidden, hidden, slope, now, inner)
            done += 1
            action = chosen if np.random.random() < explore else best_right
            if action == SHIFT:
                stack[depth] = front
                depth += 1
                front += 1
            else:
                depth -= 1
                head = front if action <= lefts else stack[depth - 1]
                attach(state, sets, stack[depth], head, named[action])
        done += 1
    return done
