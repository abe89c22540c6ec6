"""The entity finder's features and its kernel: names as B, I, L, U and O, left to right.

The labels are `O` and, for each type, B (begins), I (inside), L (last), U (the only
word); what cannot follow the label before is not considered. Joined features look at
the tags around the word too; the trainer calls `token_rows` as the kernel does.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from rote.annotate._hashing import (
    CAPITAL,
    CLUSTER_64,
    CLUSTER_256,
    CLUSTER_1024,
    CODES,
    FLAGS,
    KEY,
    LOWER,
    PREFIX_2,
    PREFIX_3,
    PREFIX_4,
    SHAPE,
    SUFFIX_2,
    SUFFIX_3,
    SUFFIX_4,
    WORD,
    Hashes,
    pair,
    place,
)
from rote.annotate._network import CEILING, NEVER
from rote.annotate._tagger import case, entry
from rote.annotate._vectors import chooser, padded, row_adder, sum_adder
from rote.core.kernels import lean, part
from rote.core.layer import Ids, Offsets

NAMES = ("PER", "ORG", "LOC")
LABELS = ("O", *(f"{mark}-{name}" for name in NAMES for mark in "BILU"))
OFFSETS = (0, -1, 1, -2, 2)
ROLES = len(OFFSETS)
_OFFSETS = np.array(OFFSETS)
HIDDEN = 64
TOGETHER = 7  # rows added in 8 bits
TOKEN_ROWS = 20
WORD_LIKE = (6, 10, 11)

_CODES = tuple(range(CODES, CODES + 8))
_SELF = (
    *((c, -1) for c in (WORD, LOWER, KEY, SUFFIX_2, SUFFIX_3, SUFFIX_4, SHAPE, FLAGS, CAPITAL)),
    *((c, -1) for c in (PREFIX_2, PREFIX_3, PREFIX_4, CLUSTER_64, CLUSTER_256, CLUSTER_1024)),
    (SHAPE, CAPITAL),
    (FLAGS, CLUSTER_256),
    (SUFFIX_3, FLAGS),
    *((c, -1) for c in _CODES),
)
_NEAR = (
    *((c, -1) for c in (WORD, LOWER, SUFFIX_3, SHAPE, FLAGS, CAPITAL)),
    *((c, -1) for c in (CLUSTER_64, CLUSTER_256, CLUSTER_1024)),
    (SHAPE, CAPITAL),
    *((c, -1) for c in _CODES),
)
_FAR = tuple((c, -1) for c in (LOWER, SHAPE, CAPITAL, CLUSTER_64, CLUSTER_256, CLUSTER_1024))


def templates() -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Role, column and second column of each word feature."""
    by_role = (_SELF, _NEAR, _NEAR, _FAR, _FAR)
    rows = [(role, *columns) for role, group in enumerate(by_role) for columns in group]
    return np.array(rows, np.int32)


@part
def _tag(tags, i, start, end):  # type: ignore[no-untyped-def]
    return np.uint64(tags[i] + 1) if start <= i < end else np.uint64(0)


@part
def token_rows(table, around, context, labels, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words, tags and earlier labels (as in `_tagger`)."""
    me, before, after = around[0], around[1], around[2]
    i, start, end, tags = context
    style, label_1, label_2 = labels
    tag, left, right = (
        _tag(tags, i, start, end),
        _tag(tags, i - 1, start, end),
        _tag(tags, i + 1, start, end),
    )
    left_2, right_2 = _tag(tags, i - 2, start, end), _tag(tags, i + 2, start, end)
    lower, shape = table[me, LOWER], table[me, SHAPE]
    out[0] = place(base, label_1, bits)
    out[1] = place(base + 1, pair(label_1, label_2), bits)
    out[2] = place(base + 2, tag, bits)
    out[3] = place(base + 3, pair(left, tag), bits)
    out[4] = place(base + 4, pair(tag, right), bits)
    out[5] = place(base + 5, pair(pair(left, tag), right), bits)
    out[6] = place(base + 6, pair(label_1, lower), bits)
    out[7] = place(base + 7, pair(label_1, tag), bits)
    out[8] = place(base + 8, pair(label_1, shape), bits)
    out[9] = place(base + 9, pair(label_1, table[me, CLUSTER_256]), bits)
    out[10] = place(base + 10, pair(table[before, LOWER], lower), bits)
    out[11] = place(base + 11, pair(lower, table[after, LOWER]), bits)
    out[12] = place(base + 12, pair(style, shape), bits)
    out[13] = place(base + 13, pair(style, pair(shape, table[me, CAPITAL])), bits)
    out[14] = place(base + 14, pair(pair(label_1, tag), right), bits)
    out[15] = place(base + 15, pair(table[before, LOWER], shape), bits)
    out[16] = place(base + 16, pair(shape, table[after, LOWER]), bits)
    out[17] = place(base + 17, pair(pair(left_2, left), tag), bits)
    out[18] = place(base + 18, pair(pair(tag, right), right_2), bits)
    out[19] = place(base + 19, pair(tag, table[me, CLUSTER_256]), bits)


def may_follow(before: int, label: int, *, last: bool) -> bool:
    """Whether a label may stand after another (numbers in LABELS; `last`: the sentence ends)."""
    part = (label - 1) % 4  # B, I, L, U
    opened = before > 0 and (before - 1) % 4 <= 1
    if label == 0:
        return not opened
    if last and part <= 1:
        return False
    if part == 0 or part == 3:
        return not opened
    return opened and (before - 1) // 4 == (label - 1) // 4


_add_sums = sum_adder(HIDDEN, ROLES, range(ROLES))
_add_rows = row_adder(HIDDEN, TOGETHER, range(TOKEN_ROWS))
_choose = chooser(HIDDEN, len(LABELS), CEILING)
_WIDTH = padded(len(LABELS))


def name_tokens(ids: Ids, ends: Offsets, table: Hashes, tags: Ids, net: Any, out: Ids) -> None:
    """The label of every token, as a number in LABELS."""
    output_bias = net[1][3]
    # What cannot follow has a bias that nothing makes up for: by label before, and at the end.
    allowed = np.full((len(LABELS), 2, _WIDTH), NEVER, np.int32)
    for before, last, label in product(range(len(LABELS)), range(2), range(len(LABELS))):
        if may_follow(before, label, last=last == 1):
            allowed[before, last, label] = output_bias[label]
    inputs = (np.empty(ROLES, np.int64), np.empty(TOKEN_ROWS, np.int64))
    scratch = (np.empty(HIDDEN, np.int16), np.empty(_WIDTH, np.int32))
    _read(ids, ends, table, tags, net, allowed, inputs, scratch, out)


@lean
def _read(ids, ends, table, tags, net, allowed, inputs, scratch, out):  # type: ignore[no-untyped-def]
    sums, (rows, bias, output, _, base, bits) = net
    (around, row_numbers), (total, scores) = inputs, scratch
    padding = len(table) - 2
    start = np.int64(0)
    for end in ends:
        letter_case = case(table, ids, start, end)
        label_1, label_2 = np.uint64(0), np.uint64(0)
        before = 0
        for i in range(start, end):
            for role in range(ROLES):
                around[role] = entry(ids, i, _OFFSETS[role], 1, start, end, padding)
            labels = (letter_case + np.uint64(4 if i == start else 0), label_1, label_2)
            token_rows(table, around, (i, start, end, tags), labels, base, bits, row_numbers)
            _add_sums(total, bias, sums, around)
            _add_rows(total, rows, row_numbers)
            last = 1 if i + 1 == end else 0
            best, _ = _choose(total, output, allowed[before, last], 0, scores)
            out[i] = before = best
            label_2 = label_1
            label_1 = np.uint64(best + 1)
        start = end
