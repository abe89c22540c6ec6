"""The parser's moves and its kernel: arc-hybrid, greedy, from left to right.

Words wait in a buffer; SHIFT puts the first on the stack, LEFT makes the top of the
stack a child of the buffer's first word, RIGHT a child of the word below it. When the
buffer is empty only RIGHT is left, and the last word on the stack is the root, so every
sentence becomes one tree with one root, in 2n - 1 moves.
"""

from __future__ import annotations

import numpy as np

from rote.annotate._network import add, score
from rote.annotate._parser_features import (
    HEAD,
    JOINED,
    LABEL,
    LEFT,
    LEFT_2,
    LEFTS,
    RIGHT,
    RIGHT_2,
    RIGHTS,
    STATE,
    TAG_ROLES,
    VIEW,
    WORD_ROLES,
    joined_rows,
    look,
    positions,
)
from rote.core.kernels import njit

SHIFT = 0  # then the LEFT actions, one per label, then the RIGHT actions
_MOST = 7  # children that are counted on each side


@njit(cache=True, nogil=True)
def begin(state, sets, count):  # type: ignore[no-untyped-def]
    """Forget the last sentence; `count` stands for "none" wherever a word is named."""
    for i in range(count + 1):
        state[i, LEFT] = state[i, LEFT_2] = state[i, RIGHT] = state[i, RIGHT_2] = count
        state[i, LEFTS] = state[i, RIGHTS] = state[i, LABEL] = 0
        state[i, HEAD] = -1
        sets[i] = np.uint64(0)


@njit(cache=True, nogil=True)
def attach(state, sets, child, head, label):  # type: ignore[no-untyped-def]
    """Make one word the child of another; `label` is a number from 1."""
    state[child, HEAD] = head
    state[child, LABEL] = label
    sets[head] |= np.uint64(1) << np.uint64(label)
    if child < head:
        state[head, LEFT_2] = state[head, LEFT]
        state[head, LEFT] = child
        state[head, LEFTS] = min(state[head, LEFTS] + 1, _MOST)
    else:
        state[head, RIGHT_2] = state[head, RIGHT]
        state[head, RIGHT] = child
        state[head, RIGHTS] = min(state[head, RIGHTS] + 1, _MOST)


@njit(cache=True, nogil=True, inline="always")
def _add_four(total, first, second, third, fourth):  # type: ignore[no-untyped-def]
    """Four rows at once: the sum is read and written a quarter as often."""
    for unit in range(len(total)):
        total[unit] += first[unit] + second[unit] + third[unit] + fourth[unit]


@njit(cache=True, nogil=True)
def best_of(scores, first, last):  # type: ignore[no-untyped-def]
    """The first of the highest scores in a range of actions."""
    best = first
    for action in range(first + 1, last):
        if scores[action] > scores[best]:
            best = action
    return best


@njit(cache=True, nogil=True)
def parse_tokens(of, partial, weights, grammar, heads, labels):  # type: ignore[no-untyped-def]
    """Head (item number, -1 for the root) and label of every token, sentence by sentence.

    `of`: words, tags, sentence ends, attributes of the words. `partial`: sums of words
    and of tags in each role. `grammar`: label of each action (from 1), number of LEFT
    actions, label of a root, number of UPOS tags, kind of each UPOS tag.
    """
    ids, tags, ends, table = of
    sums, tag_table = partial
    rows, bias, output, output_bias, base, bits = weights
    named, lefts, root, universal, kinds = grammar
    padding = len(table) - 2
    joined_base = base + 2 * TAG_ROLES
    longest = 0
    start = np.int64(0)
    for end in ends:
        longest = max(longest, end - start)
        start = end
    view = np.empty((longest + 1, VIEW), np.uint64)
    between = np.empty((longest + 1, 3), np.int32)
    state = np.empty((longest + 1, STATE), np.int32)
    sets = np.empty(longest + 1, np.uint64)
    stack = np.empty(longest + 1, np.int32)
    words = np.empty(longest + 1, np.int32)
    marks = np.empty(longest + 1, np.int32)
    at = np.empty(TAG_ROLES, np.int64)
    joined = np.empty(JOINED, np.int64)
    half = rows.shape[1] // 2
    touched = np.zeros(1, np.int64)
    total = np.empty(len(bias), np.int16)
    scores = np.empty(len(output_bias), np.int32)
    start = np.int64(0)
    for end in ends:
        count = end - start
        words[:count] = ids[start:end]
        marks[:count] = tags[start:end]
        words[count], marks[count] = padding, 0
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
            total[:] = bias
            joined_rows(view[: count + 1], between, state, sets, at, joined_base, bits, joined)
            # Ask for the rows before they are needed: they are far away in memory.
            for number in range(JOINED):
                row = rows[joined[number]]
                touched[0] += row[0] + row[half]
            for role in range(WORD_ROLES):
                add(total, sums[words[at[role]], role])
            for role in range(0, TAG_ROLES, 4):
                _add_four(
                    total,
                    tag_table[role, marks[at[role]]],
                    tag_table[role + 1, marks[at[role + 1]]],
                    tag_table[role + 2, marks[at[role + 2]]],
                    tag_table[role + 3, marks[at[role + 3]]],
                )
            for number in range(0, JOINED, 4):
                _add_four(
                    total,
                    rows[joined[number]],
                    rows[joined[number + 1]],
                    rows[joined[number + 2]],
                    rows[joined[number + 3]],
                )
            score(total, output, output_bias, scores)
            if front == count:
                action = best_of(scores, 1 + lefts, len(scores))
            elif depth == 1:
                action = best_of(scores, 0, 1 + lefts)
            else:
                action = best_of(scores, 0, len(scores))
            if action == SHIFT:
                stack[depth] = front
                depth += 1
                front += 1
            else:
                depth -= 1
                head = front if action <= lefts else stack[depth - 1]
                attach(state, sets, stack[depth], head, named[action])
        for i in range(count):
            head = state[i, HEAD]
            heads[start + i] = start + head if head >= 0 else -1
            labels[start + i] = state[i, LABEL] - 1 if head >= 0 else root
        start = end
