"""UPOS from Penn tags and words: a second, small network after the tagger.

Most Penn tags have one UPOS (`fixed`); for the others (IN is ADP or SCONJ, a verb may
be AUX, ...) the network looks at the word and at the tags on both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.annotate._hashing import KEY, LOWER, SHAPE, SUFFIX_3, Hashes, pair, place
from rote.annotate._lexicon import CAPITAL, CLUSTER_256, CLUSTER_1024
from rote.annotate._network import CEILING
from rote.annotate._tagger import entry
from rote.annotate._vectors import chooser, padded, row_adder, sum_adder
from rote.core.kernels import lean, part
from rote.core.layer import Ids, Offsets

OFFSETS = (0, -1, 1, 2)
ROLES = len(OFFSETS)
_OFFSETS = np.array(OFFSETS)
HIDDEN, LABELS = 32, 17
TOGETHER = 7  # rows added in 8 bits
TOKEN_ROWS = 13
REACH = 8  # how far ahead a verb is looked for
MARK, VERB, ADVERB, OTHER = 0, 1, 2, 3  # kinds of tags

_SELF = (LOWER, KEY, SUFFIX_3, SHAPE, CLUSTER_256, CLUSTER_1024, CAPITAL)
_NEAR = (LOWER, CLUSTER_256, CLUSTER_1024)


def templates() -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Role, column and second column of each word feature."""
    by_role = (_SELF, _NEAR, _NEAR, _NEAR)
    return np.array([(r, c, -1) for r, group in enumerate(by_role) for c in group], np.int32)


@part
def tag_at(tags, i, start, end):  # type: ignore[no-untyped-def]
    """The number of a tag from 1, or 0 outside the sentence."""
    return np.uint64(tags[i] + 1) if start <= i < end else np.uint64(0)


@part
def token_rows(table, around, context, said, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words and tags (as in `_tagger`; `said` is not used)."""
    i, start, end, (tags, kinds) = context
    lower = table[around[0], LOWER]
    me = tag_at(tags, i, start, end)
    left, left_2 = tag_at(tags, i - 1, start, end), tag_at(tags, i - 2, start, end)
    right, right_2 = tag_at(tags, i + 1, start, end), tag_at(tags, i + 2, start, end)
    # The next verb before a mark, and what follows when adverbs are passed over: they
    # tell a clause from a phrase, and an auxiliary from a verb.
    verb, solid = np.uint64(0), np.uint64(0)
    for j in range(i + 1, min(end, i + 1 + REACH)):
        kind = kinds[tags[j]]
        if solid == 0 and kind != ADVERB:
            solid = np.uint64(tags[j] + 1)
        if kind == VERB:
            verb = np.uint64(tags[j] + 1)
        if kind in (VERB, MARK):
            break
    mine = pair(me, lower)
    out[0] = place(base, me, bits)
    out[1] = place(base + 1, mine, bits)
    out[2] = place(base + 2, pair(me, right), bits)
    out[3] = place(base + 3, pair(me, left), bits)
    out[4] = place(base + 4, pair(mine, right), bits)
    out[5] = place(base + 5, pair(pair(mine, right), right_2), bits)
    out[6] = place(base + 6, pair(mine, left), bits)
    out[7] = place(base + 7, pair(pair(left, me), right), bits)
    out[8] = place(base + 8, pair(lower, table[around[2], LOWER]), bits)
    out[9] = place(base + 9, pair(mine, verb), bits)
    out[10] = place(base + 10, pair(mine, solid), bits)
    out[11] = place(base + 11, pair(pair(mine, left), left_2), bits)
    out[12] = place(base + 12, pair(pair(me, right), verb), bits)


def kinds_of(tags: tuple[str, ...]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Per Penn tag, what `token_rows` asks of it."""
    verbs = ("VBD", "VBP", "VBZ", "MD", "VB", "VBN", "VBG", "TO")
    marks = (".", ",", ":", "-LRB-", "-RRB-", "``", "''", "CC", "NFP")
    kinds = [
        VERB if t in verbs else ADVERB if t == "RB" else MARK if t in marks else OTHER for t in tags
    ]
    return np.array(kinds, np.uint8)


_add_sums = sum_adder(HIDDEN, ROLES, range(ROLES))
_add_rows = row_adder(HIDDEN, TOGETHER, range(TOKEN_ROWS))
_choose = chooser(HIDDEN, LABELS, CEILING)
_WIDTH = padded(LABELS)


def upos_tokens(ids: Ids, ends: Offsets, table: Hashes, known: Any, net: Any, out: Ids) -> None:
    """The UPOS of every token; `known`: its Penn tags, the UPOS some tags always have, kinds."""
    seen = (np.empty(ROLES, np.int64), np.empty(TOKEN_ROWS, np.int64))
    found = (np.empty(HIDDEN, np.int16), np.empty(_WIDTH, np.int32))
    _read(ids, ends, table, known, net, seen, found, out)


@lean
def _read(ids, ends, table, known, net, seen, found, out):  # type: ignore[no-untyped-def]
    sums, (rows, bias, output, output_bias, base, bits) = net
    (tags, fixed, kinds), (around, joined), (total, scores) = known, seen, found
    padding = len(table) - 2
    start = np.int64(0)
    for end in ends:
        for i in range(start, end):
            if fixed[tags[i]] >= 0:
                out[i] = fixed[tags[i]]
                continue
            for role in range(ROLES):
                around[role] = entry(ids, i, _OFFSETS[role], 1, start, end, padding)
            context = (i, start, end, (tags, kinds))
            token_rows(table, around, context, (), base, bits, joined)
            _add_sums(total, bias, sums, around)
            _add_rows(total, rows, joined)
            out[i], _ = _choose(total, output, output_bias, 0, scores)
        start = end
