"""Trees: the head of every word and its relation to it, in Universal Dependencies.

A greedy transition parser over hashed features, shipped with the package;
docs/models/parser.md says what it was trained on and how good it is. Every sentence
becomes one tree: one root, no cycles, no crossing arcs.

Words wait in a buffer; SHIFT puts the first on the stack, LEFT makes the top of the
stack a child of the buffer's first word, RIGHT a child of the word below it. When the
buffer is empty only RIGHT is left, and the last word on the stack is the root, so every
sentence becomes one tree with one root, in 2n - 1 moves.

A move changes the stack, the buffer or both; what depends on one alone is summed anew only
when it has changed. After a LEFT the stack is as it was before its last word came, and that
sum is still there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import CLUSTER_256, LOWER, pair, place
from rote.annotate._network import (
    CEILING,
    LANES,
    MAX_TOKENS,
    NEVER,
    Fitted,
    Subbatch,
    aligned,
    fitted,
    network,
    sentence_span,
    split_lanes,
    split_subbatches,
)
from rote.annotate._vectors import chooser, fetch, padded, row_adder, sum_adder
from rote.annotate._weights import load
from rote.core.kernels import lean, njit, part
from rote.core.layer import Ids, Layer

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
    parser = weights()
    labels, heads = parse_with(parser, word, pos, upos)
    return replace(word, name="dep", ids=labels, vocabulary=parser.relations), heads


def parse_with(
    parser: Parser, word: Layer, pos: Layer, upos: Layer, *, size: int | None = None
) -> tuple[Ids, Ids]:
    """Relations (numbers in `parser.relations`) and heads, in pieces of about `size` words."""
    # Penn tag and UPOS as one number from 1; 0 where the model knows neither.
    penn = {tag: number for number, tag in enumerate(parser.about["penn"])}
    universal = {tag: number for number, tag in enumerate(parser.about["universal"])}
    fine = np.array([penn.get(tag, -1) for tag in pos.vocabulary], np.int32)[pos.ids]
    coarse = np.array([universal.get(tag, -1) for tag in upos.vocabulary], np.int32)[upos.ids]
    pairs = 1 + fine * np.int32(len(universal)) + coarse
    tags = np.where((fine >= 0) & (coarse >= 0), pairs, 0).astype(np.int32)
    relations, *rest = parser.grammar
    grammar = (relations, parser.biases, *rest)
    heads = np.empty(len(word.ids), np.int32)
    labels = np.empty(len(word.ids), np.int32)
    for piece in split_subbatches(word, size or MAX_TOKENS):
        partial = (parser.net.sums(piece.table, WORD_ROLES), parser.tag_rows)

        def read(piece: Subbatch, partial: tuple[Any, ...] = partial) -> None:
            part = slice(piece.first, piece.last)
            words = (piece.ids, tags[part], piece.ends, piece.table)
            parse_tokens(words, partial, parser.net.weights, grammar, heads[part], labels[part])
            heads[part] += np.where(heads[part] >= 0, np.int32(piece.first), np.int32(0))

        piece.read(read)
    return labels, heads


def make(arrays: dict[str, Any], about: dict[str, Any]) -> Parser:
    net = fitted(network(arrays), HIDDEN, LABELS, TOGETHER)
    rows, _, _, output_bias, templates, bits = net.weights
    penn, universal = about["penn"], tuple(about["universal"])
    relations, lefts = tuple(about["relations"]), about["lefts"]
    # A tag's two rows in each role as one; what is added in 8 bits must stay in them.
    places = tag_rows(len(penn), len(universal), templates, bits).transpose(1, 0, 2)
    tags = aligned((places.shape[0] * places.shape[1], HIDDEN), np.int8)
    tags[...] = (rows[places[..., 0]] + rows[places[..., 1]]).reshape(tags.shape)
    biases = np.tile(output_bias, (3, 1))
    biases[NO_RIGHT, 1 + lefts :] = NEVER
    biases[ONLY_RIGHT, : 1 + lefts] = NEVER
    grammar = (arrays["named"], lefts, relations.index("root"), len(universal), kinds_of(universal))
    return Parser(net, tags, biases, grammar, relations, about)


@cache
def weights() -> Parser:
    return make(*load("parser"))


HIDDEN, LABELS = 128, 86
TOGETHER = 6  # rows added in 8 bits; of a tag's rows, which are sums of two, half as many
SHIFT = 0  # then the LEFT actions, one per label, then the RIGHT actions
ANY, NO_RIGHT, ONLY_RIGHT = range(3)  # which actions there are
_MOST = 7  # children that are counted on each side
_KEPT = 16  # depths of the stack whose sums are kept

# What is known of a lane: its sentence, whether that is begun, how deep the stack is, which word is
# the buffer's first, and whether what either shows is to be summed anew.
_SENTENCE, _BEGUN, _DEPTH, _FRONT, _NEW_STACK, _NEW_FRONT = range(6)


# What the parser looks at: places around the stack and the buffer, and features over them.
#
# A configuration is seen as a row of places (roles) in the sentence: the top of the stack
# and of the buffer, their outermost children, their neighbours in the text. Word features
# of a role come from `Fitted.sums`, tag features from `tag_table`; what joins several
# places stands in three functions of rows. The trainer calls the same functions.

# Roles that look at words and tags, ...
S0, S1, S2, B0, B1, B2, S0_LEFT, S0_RIGHT, S1_LEFT, S1_RIGHT, B0_LEFT = range(11)
WORD_ROLES = 11
# ... and those that look at tags alone.
B3, S3, S0_BEFORE, S0_AFTER, S1_BEFORE, S1_AFTER, B0_BEFORE, S0_LEFT_2, S0_RIGHT_2 = range(11, 20)
TAG_ROLES = 20
# What changes with the stack alone, and with the buffer alone; B0_LEFT changes with either.
STACK_ROLES = (
    *(S0, S1, S2, S0_LEFT, S0_RIGHT, S1_LEFT, S1_RIGHT),
    *(S3, S0_BEFORE, S0_AFTER, S1_BEFORE, S1_AFTER, S0_LEFT_2, S0_RIGHT_2),
)
FRONT_ROLES = (B0, B1, B2, B3, B0_BEFORE)
JOINED = 60
STACK_JOINED = (
    *(1, 6, 9, 12, 13, 17, 20, 21, 23, 24, 27, 28, 29, 31, 32, 33, 36, 42, 44, 45),
    *range(51, 58),
)
FRONT_JOINED = (3, 7, 34, 48, 49)
MIXED_JOINED = tuple(n for n in range(JOINED) if n not in (*STACK_JOINED, *FRONT_JOINED))

# Columns of the state of a word: its outermost children on each side, how many it has.
LEFT, LEFT_2, RIGHT, RIGHT_2, LEFTS, RIGHTS, LABEL, HEAD = range(8)
STATE = 8

# Columns of what is known of a word before parsing.
V_LOWER, V_CLUSTER, V_TAG, V_UPOS, V_AHEAD = range(5)
VIEW = 5


@njit(cache=True, nogil=True)
def tag_rows(penn, universal, base, bits):  # type: ignore[no-untyped-def]
    """Where a tag's two features stand: (roles, 1 + penn * universal, 2); tag 0 is none."""
    out = np.empty((TAG_ROLES, 1 + penn * universal, 2), np.int32)
    for role in range(TAG_ROLES):
        for tag in range(out.shape[1]):
            fine = 0 if tag == 0 else 1 + (tag - 1) // universal
            coarse = 0 if tag == 0 else 1 + (tag - 1) % universal
            out[role, tag, 0] = place(base + 2 * role, np.uint64(fine), bits)
            out[role, tag, 1] = place(base + 2 * role + 1, np.uint64(coarse), bits)
    return out


@part
def look(words, tags, table, universal, kinds, view, between):  # type: ignore[no-untyped-def]
    """Fill what is known of each word of a sentence; entry `len(words)` is "no word".

    `tags` are numbers from 1 for Penn tag and UPOS together; `between` counts verbs,
    marks and conjunctions from the beginning, so that any stretch is two look-ups.
    """
    count = len(words)
    ahead = np.uint64(0)
    for i in range(count - 1, -1, -1):
        coarse = (tags[i] - 1) % universal if tags[i] > 0 else -1
        view[i, V_LOWER] = table[words[i], LOWER]
        view[i, V_CLUSTER] = table[words[i], CLUSTER_256]
        view[i, V_TAG] = np.uint64(tags[i])
        view[i, V_UPOS] = np.uint64(coarse + 1)
        view[i, V_AHEAD] = ahead
        if coarse >= 0 and kinds[coarse] == 1:
            ahead = np.uint64(tags[i])
    view[count, :] = np.uint64(0)
    between[0, :] = 0
    for i in range(count):
        kind = kinds[(tags[i] - 1) % universal] if tags[i] > 0 else 0
        for column in range(3):
            between[i + 1, column] = between[i, column] + (kind == column + 1)


@part
def positions(state, stack, depth, front, count, at):  # type: ignore[no-untyped-def]
    """The place of each role; `count` where there is none."""
    s0 = stack[depth - 1] if depth > 0 else count
    s1 = stack[depth - 2] if depth > 1 else count
    at[S0], at[S1] = s0, s1
    at[S2] = stack[depth - 3] if depth > 2 else count
    at[S3] = stack[depth - 4] if depth > 3 else count
    at[B0] = front
    at[B1] = min(front + 1, count)
    at[B2] = min(front + 2, count)
    at[B3] = min(front + 3, count)
    at[S0_LEFT], at[S0_RIGHT] = state[s0, LEFT], state[s0, RIGHT]
    at[S1_LEFT], at[S1_RIGHT] = state[s1, LEFT], state[s1, RIGHT]
    at[S0_LEFT_2], at[S0_RIGHT_2] = state[s0, LEFT_2], state[s0, RIGHT_2]
    at[B0_LEFT] = state[front, LEFT]
    at[S0_BEFORE] = s0 - 1 if 0 < s0 < count else count
    at[S0_AFTER] = min(s0 + 1, count)
    at[S1_BEFORE] = s1 - 1 if 0 < s1 < count else count
    at[S1_AFTER] = min(s1 + 1, count)
    at[B0_BEFORE] = front - 1 if front > 0 else count


@part
def _stretch(low, high, count, between):  # type: ignore[no-untyped-def]
    """The distance of two places and what stands between them, as one small number."""
    if low >= count:
        return np.uint64(0)
    distance = high - low
    if distance > 4:
        distance = 5 if distance < 7 else (6 if distance < 11 else 7)
    verbs = between[high, 0] - between[low + 1, 0]
    marks = between[high, 1] - between[low + 1, 1]
    joins = between[high, 2] - between[low + 1, 2]
    bits = (min(verbs, 2) * 3 + min(marks, 2)) * 2 + min(joins, 1)
    return np.uint64(1 + distance + 8 * bits)


@part
def front_rows(view, at, base, bits, out):  # type: ignore[no-untyped-def]
    """Those that look at the buffer alone, and at no children."""
    b0, b1 = at[B0], at[B1]
    b0w, b1w = view[b0, V_LOWER], view[b1, V_LOWER]
    b0t, b1t, b2t = view[b0, V_TAG], view[b1, V_TAG], view[at[B2], V_TAG]
    b0b1 = pair(b0t, b1t)
    out[3] = place(base + 3, b0b1, bits)
    out[7] = place(base + 7, pair(b0b1, b2t), bits)
    out[34] = place(base + 34, pair(b0w, b0t), bits)
    out[48] = place(base + 48, pair(b0w, b1w), bits)
    out[49] = place(base + 49, pair(b0w, b1t), bits)


@part
def stack_rows(view, between, state, sets, at, base, bits, out):  # type: ignore[no-untyped-def]
    """Those that look at the stack alone."""
    count = len(view) - 1
    s0, s1 = at[S0], at[S1]
    s0l, s0r, s1l, s1r = at[S0_LEFT], at[S0_RIGHT], at[S1_LEFT], at[S1_RIGHT]
    s0w, s1w = view[s0, V_LOWER], view[s1, V_LOWER]
    s0c, s1c = view[s0, V_CLUSTER], view[s1, V_CLUSTER]
    s0t, s1t, s2t = view[s0, V_TAG], view[s1, V_TAG], view[at[S2], V_TAG]
    s0u, s1u = view[s0, V_UPOS], view[s1, V_UPOS]
    far = _stretch(s1, s0, count, between) if s0 < count else np.uint64(0)
    s0s1 = pair(s0t, s1t)
    out[1] = place(base + 1, s0s1, bits)
    out[6] = place(base + 6, pair(s0s1, s2t), bits)
    out[9] = place(base + 9, pair(s0w, s1w), bits)
    out[12] = place(base + 12, pair(s0w, s1t), bits)
    out[13] = place(base + 13, pair(s0t, s1w), bits)
    out[17] = place(base + 17, pair(s0s1, far), bits)
    out[20] = place(base + 20, pair(s0t, sets[s0]), bits)
    out[21] = place(base + 21, pair(s1t, sets[s1]), bits)
    out[23] = place(base + 23, pair(s0w, sets[s0]), bits)
    out[24] = place(base + 24, pair(s1w, sets[s1]), bits)
    out[27] = place(base + 27, pair(s0s1, sets[s1]), bits)
    out[28] = place(base + 28, pair(pair(s0t, view[s0l, V_TAG]), view[s0r, V_TAG]), bits)
    out[29] = place(base + 29, pair(s0s1, view[s1r, V_TAG]), bits)
    out[31] = place(base + 31, pair(s0s1, view[s1l, V_TAG]), bits)
    out[32] = place(base + 32, pair(s0w, s0t), bits)
    out[33] = place(base + 33, pair(s1w, s1t), bits)
    out[36] = place(base + 36, pair(s0c, s1c), bits)
    out[42] = place(base + 42, pair(s0w, view[s0r, V_LOWER]), bits)
    out[44] = place(base + 44, pair(s1w, view[s0l, V_LOWER]), bits)
    out[45] = place(base + 45, pair(s0s1, view[s0l, V_LOWER]), bits)
    out[51] = place(
        base + 51, pair(pair(s1u, view[s1r, V_UPOS]), pair(s0u, view[s0l, V_UPOS])), bits
    )
    out[52] = place(base + 52, pair(s0t, np.uint64(state[s0, LEFTS] * 8 + state[s0, RIGHTS])), bits)
    out[53] = place(base + 53, pair(s1t, np.uint64(state[s1, LEFTS] * 8 + state[s1, RIGHTS])), bits)
    out[54] = place(base + 54, np.uint64(state[s0l, LABEL]), bits)
    out[55] = place(base + 55, np.uint64(state[s0r, LABEL]), bits)
    out[56] = place(base + 56, np.uint64(state[s1l, LABEL]), bits)
    out[57] = place(base + 57, np.uint64(state[s1r, LABEL]), bits)


@part
def mixed_rows(view, between, state, sets, at, base, bits, out):  # type: ignore[no-untyped-def]
    """Those that look at both, and at the children of the buffer's first word."""
    count = len(view) - 1
    s0, s1, b0, b0l = at[S0], at[S1], at[B0], at[B0_LEFT]
    s0w, s1w, b0w = view[s0, V_LOWER], view[s1, V_LOWER], view[b0, V_LOWER]
    s0c, s1c, b0c = view[s0, V_CLUSTER], view[s1, V_CLUSTER], view[b0, V_CLUSTER]
    s0t, s1t, b0t, b1t = view[s0, V_TAG], view[s1, V_TAG], view[b0, V_TAG], view[at[B1], V_TAG]
    b1u = view[at[B1], V_UPOS]
    near = _stretch(s0, b0, count, between)
    far = _stretch(s1, s0, count, between) if s0 < count else np.uint64(0)
    s0b0, s1b0 = pair(s0t, b0t), pair(s1t, b0t)
    coarse = pair(pair(view[s0, V_UPOS], view[b0, V_UPOS]), view[s1, V_UPOS])
    out[0] = place(base, s0b0, bits)
    out[2] = place(base + 2, s1b0, bits)
    out[4] = place(base + 4, pair(s0b0, s1t), bits)
    out[5] = place(base + 5, pair(s0b0, b1t), bits)
    out[8] = place(base + 8, pair(s0w, b0w), bits)
    out[10] = place(base + 10, pair(s0w, b0t), bits)
    out[11] = place(base + 11, pair(s0t, b0w), bits)
    out[14] = place(base + 14, pair(s1w, b0t), bits)
    out[15] = place(base + 15, pair(s1t, b0w), bits)
    out[16] = place(base + 16, pair(s0b0, near), bits)
    out[18] = place(base + 18, pair(s0w, near), bits)
    out[19] = place(base + 19, pair(b0w, near), bits)
    out[22] = place(base + 22, pair(b0t, sets[b0]), bits)
    out[25] = place(base + 25, pair(b0w, sets[b0]), bits)
    out[26] = place(base + 26, pair(s0b0, sets[s0]), bits)
    out[30] = place(base + 30, pair(s0b0, view[b0l, V_TAG]), bits)
    out[35] = place(base + 35, pair(s0c, b0c), bits)
    out[37] = place(base + 37, pair(s1c, b0c), bits)
    out[38] = place(base + 38, pair(s0b0, view[b0, V_AHEAD]), bits)
    out[39] = place(base + 39, pair(coarse, b1u), bits)
    out[40] = place(base + 40, pair(pair(coarse, b1u), view[at[B2], V_UPOS]), bits)
    out[41] = place(base + 41, pair(coarse, view[at[S2], V_UPOS]), bits)
    out[43] = place(base + 43, pair(s1w, b0w), bits)
    out[46] = place(base + 46, pair(s0w, view[b0l, V_LOWER]), bits)
    out[47] = place(base + 47, pair(s0b0, view[b0l, V_LOWER]), bits)
    out[50] = place(base + 50, pair(coarse, far), bits)
    out[58] = place(base + 58, np.uint64(state[b0l, LABEL]), bits)
    out[59] = place(base + 59, pair(s1b0, view[b0, V_AHEAD]), bits)


def kinds_of(universal: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Per UPOS tag, what is counted between two words: 1 verbs, 2 marks, 3 conjunctions."""
    kinds = {"VERB": 1, "AUX": 1, "PUNCT": 2, "CCONJ": 3}
    return np.array([kinds.get(tag, 0) for tag in universal], np.uint8)


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
    first, longest = split_lanes(of[2])
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
            start, end = sentence_span(ends, now[_SENTENCE])
            count = end - start
            a, b = rooms[lane], rooms[lane] + count + 1
            views = (view[a:b], between[a:b], state[a:b], sets[a:b])
            memory = (stack[a:b], words[a:b], marks[a:b])
            if now[_BEGUN]:
                action = _judge(partial, weights, grammar, count, lane, now, sees, summed)
                _move(action, grammar, lane, now, views, memory, summed)
            else:
                _begin(of, start, count, grammar, now, views, memory)
            if now[_DEPTH] == 0:
                _shift(now, memory)
            if now[_FRONT] == count and now[_DEPTH] == 1:
                _give(start, count, grammar, views, tree)
                now[_SENTENCE] += 1
                now[_BEGUN] = 0
                left_over -= 1
                continue
            _look(partial, weights, count, lane, now, views, memory, sees)


@part
def _begin(of, start, count, grammar, now, views, memory):  # type: ignore[no-untyped-def]
    ids, tags, _, table = of
    (view, between, state, sets), (_, words, marks) = views, memory
    for i in range(count):
        words[i], marks[i] = ids[start + i], tags[start + i]
    words[count], marks[count] = len(table) - 2, 0
    look(words[:count], marks, table, grammar[4], grammar[5], view, between)
    begin(state, sets, count)
    now[_BEGUN], now[_DEPTH], now[_FRONT] = 1, 0, 0


@part
def _shift(now, memory):  # type: ignore[no-untyped-def]
    memory[0][now[_DEPTH]] = now[_FRONT]
    now[_DEPTH] += 1
    now[_FRONT] += 1
    now[_NEW_STACK] = now[_NEW_FRONT] = 1


@part
def _look(partial, weights, count, lane, now, views, memory, sees):  # type: ignore[no-untyped-def]
    """Find what the next move depends on, and ask memory for what has changed."""
    (sums, _), (rows, _, _, _, base, bits) = partial, weights
    (view, between, state, sets), (stack, words, marks) = views, memory
    at, entries, tagged, row_numbers = sees[0][lane], sees[1][lane], sees[2][lane], sees[3][lane]
    positions(state, stack, now[_DEPTH], now[_FRONT], count, at)
    for role in range(TAG_ROLES):
        tagged[role] = np.int64(marks[at[role]]) * TAG_ROLES + role
    for role in range(WORD_ROLES):
        entries[role] = words[at[role]]
    number = base + 2 * TAG_ROLES
    mixed_rows(view, between, state, sets, at, number, bits, row_numbers)
    _fetch_rows(rows, row_numbers, _MIXED_JOINED)
    _fetch_words(sums, entries, _MIXED_WORDS)
    if now[_NEW_STACK]:
        stack_rows(view, between, state, sets, at, number, bits, row_numbers)
        _fetch_rows(rows, row_numbers, _STACK_JOINED)
        _fetch_words(sums, entries, _STACK_WORDS)
    if now[_NEW_FRONT]:
        front_rows(view, at, number, bits, row_numbers)
        _fetch_rows(rows, row_numbers, _FRONT_JOINED)
        _fetch_words(sums, entries, _FRONT_WORDS)


@part
def _fetch_rows(rows, row_numbers, which):  # type: ignore[no-untyped-def]
    for number in which:
        fetch(rows, row_numbers[number] * HIDDEN, HIDDEN)


@part
def _fetch_words(sums, entries, which):  # type: ignore[no-untyped-def]
    for role in which:
        fetch(sums, (entries[role] * WORD_ROLES + role) * HIDDEN, HIDDEN)


@part
def _judge(partial, weights, grammar, count, lane, now, sees, summed):  # type: ignore[no-untyped-def]
    (sums, tag_rows), (rows, bias, output, _, _, _) = partial, weights
    entries, tagged, row_numbers = sees[1][lane], sees[2][lane], sees[3][lane]
    fronts, stacks, depths, slot_number, nothing, total, scores = summed
    front, slot = fronts[lane], lane * _KEPT + now[_DEPTH] % _KEPT
    if now[_NEW_FRONT]:
        _front_words(front, bias, sums, entries)
        _front_tags(front, tag_rows, tagged)
        _front_joined(front, rows, row_numbers)
    if now[_NEW_STACK]:
        depths[slot] = now[_DEPTH]
        _stack_words(stacks[slot], nothing, sums, entries)
        _stack_tags(stacks[slot], tag_rows, tagged)
        _stack_joined(stacks[slot], rows, row_numbers)
    slot_number[0] = slot
    _add_kept(total, front, stacks, slot_number)
    _mixed_words(total, total, sums, entries)
    _mixed_tags(total, tag_rows, tagged)
    _mixed_joined(total, rows, row_numbers)
    which = ONLY_RIGHT if now[_FRONT] == count else NO_RIGHT if now[_DEPTH] == 1 else ANY
    action, _ = _choose(total, output, grammar[1][which], 0, scores)
    return action


@part
def _move(action, grammar, lane, now, views, memory, summed):  # type: ignore[no-untyped-def]
    if action == SHIFT:
        _shift(now, memory)
        return
    relations, _, lefts, _, _, _ = grammar
    stack, depths = memory[0], summed[2]
    depth = now[_DEPTH] - 1
    is_left = action <= lefts
    head = now[_FRONT] if is_left else np.int64(stack[depth - 1])
    attach(views[2], views[3], stack[depth], head, relations[action])
    now[_DEPTH] = depth
    now[_NEW_STACK] = not is_left or depths[lane * _KEPT + depth % _KEPT] != depth
    now[_NEW_FRONT] = 0


@part
def _give(start, count, grammar, views, tree):  # type: ignore[no-untyped-def]
    state, (heads, labels) = views[2], tree
    for i in range(count):
        head = state[i, HEAD]
        heads[start + i] = start + head if head >= 0 else -1
        labels[start + i] = state[i, LABEL] - 1 if head >= 0 else grammar[3]
