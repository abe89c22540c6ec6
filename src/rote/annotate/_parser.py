"""The parser's moves and its kernel: arc-hybrid, greedy, from left to right.

Words wait in a buffer; SHIFT puts the first on the stack, LEFT makes the top of the
stack a child of the buffer's first word, RIGHT a child of the word below it. When the
buffer is empty only RIGHT is left, and the last word on the stack is the root, so every
sentence becomes one tree with one root, in 2n - 1 moves.

A move changes the stack, the buffer or both; what depends on one alone is summed anew only
when it has changed. After a LEFT the stack is as it was before its last word came, and that
sum is still there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.annotate._lanes import LANES, shares, span
from rote.annotate._network import CEILING
from rote.annotate._parser_features import (
    B0_LEFT,
    FRONT_JOINED,
    FRONT_ROLES,
    HEAD,
    JOINED,
    LABEL,
    LEFT,
    LEFT_2,
    LEFTS,
    MIXED_JOINED,
    RIGHT,
    RIGHT_2,
    RIGHTS,
    STACK_JOINED,
    STACK_ROLES,
    STATE,
    TAG_ROLES,
    VIEW,
    WORD_ROLES,
    front_rows,
    look,
    mixed_rows,
    positions,
    stack_rows,
)
from rote.annotate._vectors import chooser, fetch, padded, row_adder, sum_adder
from rote.core.kernels import lean, part
from rote.core.layer import Ids

HIDDEN, LABELS = 128, 86
TOGETHER = 6  # rows added in 8 bits; of a tag's rows, which are sums of two, half as many
SHIFT = 0  # then the LEFT actions, one per label, then the RIGHT actions
ANY, NO_RIGHT, ONLY_RIGHT = range(3)  # which actions there are
_MOST = 7  # children that are counted on each side
_KEPT = 16  # depths of the stack whose sums are kept

# What is known of a lane: its sentence, whether that is begun, how deep the stack is, which word is
# the buffer's first, and whether what either shows is to be summed anew.
_SENTENCE, _BEGUN, _DEPTH, _FRONT, _NEW_STACK, _NEW_FRONT = range(6)

_STACK_WORDS = np.array([role for role in STACK_ROLES if role < WORD_ROLES])
_FRONT_WORDS = np.array([role for role in FRONT_ROLES if role < WORD_ROLES])
_MIXED_WORDS = np.array([B0_LEFT])
_STACK_JOINED, _FRONT_JOINED = np.array(STACK_JOINED), np.array(FRONT_JOINED)
_MIXED_JOINED = np.array(MIXED_JOINED)
_stack_words, _front_words, _mixed_words = (
    sum_adder(HIDDEN, WORD_ROLES, which.tolist())
    for which in (_STACK_WORDS, _FRONT_WORDS, _MIXED_WORDS)
)
_stack_tags, _front_tags, _mixed_tags = (
    row_adder(HIDDEN, TOGETHER // 2, which) for which in (STACK_ROLES, FRONT_ROLES, [B0_LEFT])
)
_stack_joined, _front_joined, _mixed_joined = (
    row_adder(HIDDEN, TOGETHER, which) for which in (STACK_JOINED, FRONT_JOINED, MIXED_JOINED)
)
_add_kept = sum_adder(HIDDEN, 1, [0])
_choose = chooser(HIDDEN, LABELS, CEILING)
_WIDTH = padded(LABELS)


@part
def begin(state, sets, count):  # type: ignore[no-untyped-def]
    """Forget the last sentence; `count` stands for "none" wherever a word is named."""
    for i in range(count + 1):
        state[i, LEFT] = state[i, LEFT_2] = state[i, RIGHT] = state[i, RIGHT_2] = count
        state[i, LEFTS] = state[i, RIGHTS] = state[i, LABEL] = 0
        state[i, HEAD] = -1
        sets[i] = np.uint64(0)


@part
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


def parse_tokens(
    of: Any, partial: Any, weights: Any, grammar: Any, heads: Ids, labels: Ids
) -> None:
    """Head (item number, -1 for the root) and label of every token, sentence by sentence.

    `of`: words, tags, sentence ends, attributes of the words. `partial`: sums of words in each
    role, and rows of tags in each role. `grammar`: label of each action (from 1), bias of each
    action by what actions there are, number of LEFT actions, label of a root, number of UPOS
    tags, kind of each UPOS tag.
    """
    first, longest = shares(of[2])
    rooms = np.concatenate((np.zeros(1, np.int64), np.cumsum(longest + 1)))
    size = rooms[LANES]
    lanes = np.zeros((LANES, 6), np.int64)
    lanes[:, _SENTENCE] = first[:LANES]
    work = (
        np.empty((size, VIEW), np.uint64),
        np.empty((size, 3), np.int32),  # what stands between
        np.empty((size, STATE), np.int32),
        np.empty(size, np.uint64),  # sets of labels
        np.empty(size, np.int32),  # the stack
        np.empty(size, np.int32),  # words
        np.empty(size, np.int32),  # tags
    )
    sees = (
        np.empty((LANES, TAG_ROLES), np.int64),  # the place of each role,
        np.empty((LANES, WORD_ROLES), np.int64),  # its word,
        np.empty((LANES, TAG_ROLES), np.int64),  # the row of its tag,
        np.empty((LANES, JOINED), np.int64),  # the rows of what is joined
    )
    summed = (
        np.empty((LANES, HIDDEN), np.int16),  # what the buffer shows,
        np.empty((LANES * _KEPT, HIDDEN), np.int16),  # the stack at each depth,
        np.zeros(LANES * _KEPT, np.int64),  # the depth that such a sum is of,
        np.empty(1, np.int64),  # the number of the one to be used,
        np.zeros(HIDDEN, np.int16),  # nothing,
        np.empty(HIDDEN, np.int16),  # and everything
        np.empty(_WIDTH, np.int32),
    )
    tree = (heads, labels)
    _walk(of, partial, weights, grammar, (first[1:], rooms), lanes, work, sees, summed, tree)


@lean
def _walk(of, partial, weights, grammar, shares_, lanes, work, sees, summed, tree):  # type: ignore[no-untyped-def]
    """One move in each lane, in turn, until all sentences are parsed."""
    ends, (last, rooms) = of[2], shares_
    view, between, state, sets, stack, words, marks = work
    left_over = last[LANES - 1]
    while left_over > 0:
        for lane in range(LANES):
            now = lanes[lane]
            if now[_SENTENCE] == last[lane]:
                continue
            start, end = span(ends, now[_SENTENCE])
            count = end - start
            a, b = rooms[lane], rooms[lane] + count + 1
            views = (view[a:b], between[a:b], state[a:b], sets[a:b])
            held = (stack[a:b], words[a:b], marks[a:b])
            if now[_BEGUN]:
                action = _judge(partial, weights, grammar, count, lane, now, sees, summed)
                _move(action, grammar, lane, now, views, held, summed)
            else:
                _begin(of, start, count, grammar, now, views, held)
            if now[_DEPTH] == 0:
                _shift(now, held)
            if now[_FRONT] == count and now[_DEPTH] == 1:
                _give(start, count, grammar, views, tree)
                now[_SENTENCE] += 1
                now[_BEGUN] = 0
                left_over -= 1
                continue
            _look(partial, weights, count, lane, now, views, held, sees)


@part
def _begin(of, start, count, grammar, now, views, held):  # type: ignore[no-untyped-def]
    ids, tags, _, table = of
    (view, between, state, sets), (_, words, marks) = views, held
    for i in range(count):
        words[i], marks[i] = ids[start + i], tags[start + i]
    words[count], marks[count] = len(table) - 2, 0
    look(words[:count], marks, table, grammar[4], grammar[5], view, between)
    begin(state, sets, count)
    now[_BEGUN], now[_DEPTH], now[_FRONT] = 1, 0, 0


@part
def _shift(now, held):  # type: ignore[no-untyped-def]
    held[0][now[_DEPTH]] = now[_FRONT]
    now[_DEPTH] += 1
    now[_FRONT] += 1
    now[_NEW_STACK] = now[_NEW_FRONT] = 1


@part
def _look(partial, weights, count, lane, now, views, held, sees):  # type: ignore[no-untyped-def]
    """Find what the next move depends on, and ask memory for what has changed."""
    (sums, _), (rows, _, _, _, base, bits) = partial, weights
    (view, between, state, sets), (stack, words, marks) = views, held
    at, entries, tagged, joined = sees[0][lane], sees[1][lane], sees[2][lane], sees[3][lane]
    positions(state, stack, now[_DEPTH], now[_FRONT], count, at)
    for role in range(TAG_ROLES):
        tagged[role] = np.int64(marks[at[role]]) * TAG_ROLES + role
    for role in range(WORD_ROLES):
        entries[role] = words[at[role]]
    number = base + 2 * TAG_ROLES
    mixed_rows(view, between, state, sets, at, number, bits, joined)
    _fetch_rows(rows, joined, _MIXED_JOINED)
    _fetch_words(sums, entries, _MIXED_WORDS)
    if now[_NEW_STACK]:
        stack_rows(view, between, state, sets, at, number, bits, joined)
        _fetch_rows(rows, joined, _STACK_JOINED)
        _fetch_words(sums, entries, _STACK_WORDS)
    if now[_NEW_FRONT]:
        front_rows(view, at, number, bits, joined)
        _fetch_rows(rows, joined, _FRONT_JOINED)
        _fetch_words(sums, entries, _FRONT_WORDS)


@part
def _fetch_rows(rows, joined, which):  # type: ignore[no-untyped-def]
    for number in which:
        fetch(rows, joined[number] * HIDDEN, HIDDEN)


@part
def _fetch_words(sums, entries, which):  # type: ignore[no-untyped-def]
    for role in which:
        fetch(sums, (entries[role] * WORD_ROLES + role) * HIDDEN, HIDDEN)


@part
def _judge(partial, weights, grammar, count, lane, now, sees, summed):  # type: ignore[no-untyped-def]
    """The best action."""
    (sums, tag_rows), (rows, bias, output, _, _, _) = partial, weights
    entries, tagged, joined = sees[1][lane], sees[2][lane], sees[3][lane]
    fronts, stacks, depths, one, nothing, total, scores = summed
    front, slot = fronts[lane], lane * _KEPT + now[_DEPTH] % _KEPT
    if now[_NEW_FRONT]:
        _front_words(front, bias, sums, entries)
        _front_tags(front, tag_rows, tagged)
        _front_joined(front, rows, joined)
    if now[_NEW_STACK]:
        depths[slot] = now[_DEPTH]
        _stack_words(stacks[slot], nothing, sums, entries)
        _stack_tags(stacks[slot], tag_rows, tagged)
        _stack_joined(stacks[slot], rows, joined)
    one[0] = slot
    _add_kept(total, front, stacks, one)
    _mixed_words(total, total, sums, entries)
    _mixed_tags(total, tag_rows, tagged)
    _mixed_joined(total, rows, joined)
    which = ONLY_RIGHT if now[_FRONT] == count else NO_RIGHT if now[_DEPTH] == 1 else ANY
    action, _ = _choose(total, output, grammar[1][which], 0, scores)
    return action


@part
def _move(action, grammar, lane, now, views, held, summed):  # type: ignore[no-untyped-def]
    if action == SHIFT:
        _shift(now, held)
        return
    named, _, lefts, _, _, _ = grammar
    stack, depths = held[0], summed[2]
    depth = now[_DEPTH] - 1
    left = action <= lefts
    head = now[_FRONT] if left else np.int64(stack[depth - 1])
    attach(views[2], views[3], stack[depth], head, named[action])
    now[_DEPTH] = depth
    now[_NEW_STACK] = not left or depths[lane * _KEPT + depth % _KEPT] != depth
    now[_NEW_FRONT] = 0


@part
def _give(start, count, grammar, views, tree):  # type: ignore[no-untyped-def]
    state, (heads, labels) = views[2], tree
    for i in range(count):
        head = state[i, HEAD]
        heads[start + i] = start + head if head >= 0 else -1
        labels[start + i] = state[i, LABEL] - 1 if head >= 0 else grammar[3]
