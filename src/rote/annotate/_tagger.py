"""The tagger's features and its kernel: Penn tags from left to right, in one pass.

Word features are templates over the attribute table, in five roles (the word, the
one before, the one after, two before, two after); their sums come from
`_network.partials`. What depends on several words or on the tags before stands in
`token_rows`, which the trainer calls too.
"""

from __future__ import annotations

import numpy as np

from rote.annotate._hashing import (
    FLAGS,
    HAS_LOWER,
    HAS_UPPER,
    KEY,
    LOWER,
    PREFIX_1,
    PREFIX_2,
    PREFIX_3,
    PREFIX_4,
    SHAPE,
    SUFFIX_1,
    SUFFIX_2,
    SUFFIX_3,
    SUFFIX_4,
    SUFFIX_5,
    WORD,
    pair,
    place,
)
from rote.annotate._lexicon import CAPITAL, CLUSTER_64, CLUSTER_256, CLUSTER_1024, CODES
from rote.annotate._network import CEILING, SCORE_UNIT, add
from rote.core.kernels import njit

OFFSETS = (0, -1, 1, -2, 2)  # role r is the word at OFFSETS[r]
ROLES = len(OFFSETS)
HIDDEN = 96
# A label that one reader finds so much less likely (in log-chances) is not scored by the other.
MARGIN = 4 * SCORE_UNIT
_OFFSETS = np.array(OFFSETS)
TOKEN_ROWS = 14
WORD_LIKE = (2, 5, 6, 11)  # token rows that name the word itself

_CODES = tuple(range(CODES, CODES + 8))
_SELF = (
    *((c, -1) for c in (WORD, LOWER, KEY, SUFFIX_1, SUFFIX_2, SUFFIX_3, SUFFIX_4, SUFFIX_5)),
    *((c, -1) for c in (PREFIX_1, PREFIX_2, PREFIX_3, PREFIX_4, SHAPE, FLAGS, CAPITAL)),
    *((c, -1) for c in (CLUSTER_64, CLUSTER_256, CLUSTER_1024)),
    (SHAPE, CAPITAL),
    (SUFFIX_2, FLAGS),
    (SUFFIX_3, CLUSTER_64),
    *((c, -1) for c in _CODES),
)
_NEAR = (
    *((c, -1) for c in (LOWER, SUFFIX_2, SUFFIX_3, SHAPE, FLAGS, CAPITAL)),
    *((c, -1) for c in (CLUSTER_64, CLUSTER_256, CLUSTER_1024)),
    *((c, -1) for c in _CODES),
)
_FAR = tuple((c, -1) for c in (LOWER, SUFFIX_3, FLAGS, CLUSTER_64, CLUSTER_256, CLUSTER_1024))


def templates() -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Role, column and second column of each word feature."""
    by_role = (_SELF, _NEAR, _NEAR, _FAR, _FAR)
    rows = [(role, *columns) for role, group in enumerate(by_role) for columns in group]
    return np.array(rows, np.int32)


@njit(cache=True, nogil=True)
def case(table, ids, start, end):  # type: ignore[no-untyped-def]
    """How a sentence is written: 0 as usual, 1 without capitals, 2 in capitals only."""
    upper = lower = 0
    for i in range(start, end):
        flags = np.int64(table[ids[i], FLAGS])
        upper += (flags & HAS_UPPER) != 0
        lower += (flags & HAS_LOWER) != 0
    if upper == 0:
        return np.uint64(1)
    return np.uint64(2) if lower == 0 and upper > 1 else np.uint64(0)


@njit(cache=True, nogil=True)
def entry(ids, i, offset, step, start, end, padding):  # type: ignore[no-untyped-def]
    """The vocabulary entry at i + offset, or a padding row where the sentence has none.

    A reader from the right (step -1) meets the first padding row behind the sentence.
    """
    place = i + offset
    if start <= place < end:
        return np.int64(ids[place])
    return np.int64(padding) if (place < start) == (step > 0) else np.int64(padding + 1)


@njit(cache=True, nogil=True)
def token_rows(table, around, context, said, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words and earlier tags.

    `around` are the entries by role, `context` the place in the sentence (not used
    here), `said` how the sentence is written and the two earlier tags (numbers from
    1, 0 is none).
    """
    me, before, after = around[0], around[1], around[2]
    style, tag_1, tag_2 = said
    lower, lower_before, lower_after = table[me, LOWER], table[before, LOWER], table[after, LOWER]
    both = pair(tag_1, tag_2)
    out[0] = place(base, tag_1, bits)
    out[1] = place(base + 1, both, bits)
    out[2] = place(base + 2, pair(tag_1, lower), bits)
    out[3] = place(base + 3, pair(tag_1, table[me, SUFFIX_3]), bits)
    out[4] = place(base + 4, pair(both, table[me, CLUSTER_64]), bits)
    out[5] = place(base + 5, pair(lower_before, lower), bits)
    out[6] = place(base + 6, pair(lower, lower_after), bits)
    out[7] = place(base + 7, pair(tag_1, lower_after), bits)
    out[8] = place(base + 8, pair(tag_1, table[after, CLUSTER_256]), bits)
    out[9] = place(base + 9, pair(style, table[me, SHAPE]), bits)
    out[10] = place(base + 10, pair(style, table[me, CAPITAL]), bits)
    out[11] = place(base + 11, pair(tag_2, lower), bits)
    out[12] = place(base + 12, pair(tag_1, table[me, CLUSTER_256]), bits)
    out[13] = place(base + 13, pair(table[before, CLUSTER_256], table[after, CLUSTER_256]), bits)


@njit(cache=True, nogil=True)
def tag_tokens(ids, ends, table, left, right, out):  # type: ignore[no-untyped-def]
    """The tag of every token, sentence by sentence.

    `right` reads from the end of the sentence to its beginning and leaves its scores;
    `left` reads from the beginning, and the sum of both decides, among the labels that
    `right` has not ruled out; where that leaves one, nothing more is computed. Each is the
    words' partial sums and a network's weights.
    """
    longest = 0
    start = np.int64(0)
    for end in ends:
        longest = max(longest, end - start)
        start = end
    scores = np.empty((longest, len(left[1][3])), np.int32)
    start = np.int64(0)
    for end in ends:
        style = case(table, ids, start, end)
        scores[: end - start] = 0
        _read(ids, start, end, -1, table, style, right[0], right[1], scores, out)
        _read(ids, start, end, 1, table, style, left[0], left[1], scores, out)
        start = end


@njit(cache=True, nogil=True)
def _read(ids, start, end, step, table, written, sums, weights, scores, out):  # type: ignore[no-untyped-def]
    """Read one sentence in one direction, adding to the scores; tags are the best so far."""
    rows, bias, output, output_bias, base, bits = weights
    padding = len(table) - 2
    # A length that the compiler knows makes loops without a rest.
    total = np.empty(HIDDEN, np.int16)
    joined = np.empty(TOKEN_ROWS, np.int64)
    around = np.empty(ROLES, np.int64)
    tag_1, tag_2 = np.uint64(0), np.uint64(0)
    for turn in range(end - start):
        i = start + turn if step > 0 else end - 1 - turn
        summed = scores[i - start]
        best, least = _likely(summed)
        if best < 0:
            total[:] = bias
            for role in range(ROLES):
                around[role] = entry(ids, i, step * _OFFSETS[role], step, start, end, padding)
                add(total, sums[around[role], role])
            style = written + np.uint64(4 if turn == 0 else 0)
            token_rows(table, around, (i,), (style, tag_1, tag_2), base, bits, joined)
            for number in range(TOKEN_ROWS):
                add(total, rows[joined[number]])
            best = _decide(total, output, output_bias, summed, least)
        out[i] = best
        tag_2 = tag_1
        tag_1 = np.uint64(best + 1)


@njit(cache=True, nogil=True, inline="always")
def _likely(summed):  # type: ignore[no-untyped-def]
    """The only label within MARGIN of the best (-1 if there are several), and that limit."""
    highest = summed[0]
    for label in range(len(summed)):
        highest = max(highest, summed[label])
    least = highest - MARGIN
    best = -2
    for label in range(len(summed)):
        if summed[label] >= least:
            best = label if best == -2 else -1
    return best, least


@njit(cache=True, nogil=True, inline="always")
def _decide(total, output, output_bias, summed, least):  # type: ignore[no-untyped-def]
    """Add the scores of the labels that reach the limit; the label with the highest sum."""
    for unit in range(HIDDEN):
        total[unit] = min(max(total[unit], 0), CEILING)
    best, most = 0, np.int64(-(2**62))
    for label in range(len(summed)):
        if summed[label] < least:
            continue
        weights = output[label]
        # Kept in 32 bits, where int16 products have an instruction of their own.
        found = np.int32(0)
        for unit in range(HIDDEN):
            found = np.int32(found + np.int32(total[unit]) * np.int32(weights[unit]))
        summed[label] += output_bias[label] + found
        if summed[label] > most:
            best, most = label, np.int64(summed[label])
    return best
