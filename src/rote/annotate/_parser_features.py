"""What the parser looks at: places around the stack and the buffer, and features over them.

A configuration is seen as a row of places (roles) in the sentence: the top of the stack
and of the buffer, their outermost children, their neighbours in the text. Word features
of a role come from `Fitted.sums`, tag features from `tag_table`; what joins several
places stands in `joined_rows`. The trainer calls the same functions.
"""

from __future__ import annotations

import numpy as np

from rote.annotate._hashing import (
    FLAGS,
    KEY,
    LOWER,
    PREFIX_2,
    SUFFIX_2,
    SUFFIX_3,
    pair,
    place,
)
from rote.annotate._lexicon import CAPITAL, CLUSTER_64, CLUSTER_256, CLUSTER_1024, CODES
from rote.core.kernels import njit, part

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
WORD_JOINED = (8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 23, 24, 25, 32, 33, 34, 42, 43, 44, 46, 48, 49)

# Columns of the state of a word: its outermost children on each side, how many it has.
LEFT, LEFT_2, RIGHT, RIGHT_2, LEFTS, RIGHTS, LABEL, HEAD = range(8)
STATE = 8

# Columns of what is known of a word before parsing.
V_LOWER, V_CLUSTER, V_TAG, V_UPOS, V_AHEAD = range(5)
VIEW = 5

_CODES = tuple(range(CODES, CODES + 8))
_MAIN = (
    *(LOWER, KEY, SUFFIX_2, SUFFIX_3, PREFIX_2, FLAGS, CAPITAL),
    *(CLUSTER_64, CLUSTER_256, CLUSTER_1024, *_CODES),
)
_NEAR = (LOWER, SUFFIX_3, FLAGS, CLUSTER_64, CLUSTER_256, CLUSTER_1024, *_CODES)
_CHILD = (LOWER, CLUSTER_256, CLUSTER_1024)
_BY_ROLE = (_MAIN, _MAIN, _NEAR, _MAIN, _MAIN, _NEAR, _CHILD, _CHILD, _CHILD, _CHILD, _CHILD)


def templates() -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Role, column and second column of each word feature."""
    rows = [(role, column, -1) for role, group in enumerate(_BY_ROLE) for column in group]
    return np.array(rows, np.int32)


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
def joined_rows(view, between, state, sets, at, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join places, tags, labels and distances."""
    front_rows(view, at, base, bits, out)
    stack_rows(view, between, state, sets, at, base, bits, out)
    mixed_rows(view, between, state, sets, at, base, bits, out)


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
