"""The tagger's features and its kernel: Penn tags, read from both ends of a sentence.

Word features are templates over the attribute table, in five roles (the word, the
one before, the one after, two before, two after); their sums come from
`_network.sums`. What depends on several words or on the tags before stands in
`token_rows`, which the trainer calls too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rote.annotate._hashing import (
    CAPITAL,
    CLUSTER_64,
    CLUSTER_256,
    FLAGS,
    HAS_LOWER,
    HAS_UPPER,
    LOWER,
    SHAPE,
    SUFFIX_3,
    Hashes,
    pair,
    place,
)
from rote.annotate._network import CEILING, LANES, NEVER, SCORE_UNIT, sentence_span, split_lanes
from rote.annotate._vectors import chooser, fetch, padded, row_adder, sum_adder
from rote.core.kernels import lean, part
from rote.core.layer import Ids, Offsets

OFFSETS = (0, -1, 1, -2, 2)  # role r is the word at OFFSETS[r]
ROLES = len(OFFSETS)
HIDDEN, LABELS = 96, 49
TOGETHER = 7  # rows added in 8 bits
# A label that one reader finds so much less likely (in log-chances) is not scored by the other.
MARGIN = 4 * SCORE_UNIT
_OFFSETS = np.array(OFFSETS)
TOKEN_ROWS = 14


@part
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


@part
def entry(ids, i, offset, step, start, end, padding):  # type: ignore[no-untyped-def]
    """The vocabulary entry at i + offset, or a padding row where the sentence has none.

    A reader from the right (step -1) meets the first padding row behind the sentence.
    """
    place = i + offset
    if start <= place < end:
        return np.int64(ids[place])
    return np.int64(padding) if (place < start) == (step > 0) else np.int64(padding + 1)


@part
def tag_at(tags, i, start, end):  # type: ignore[no-untyped-def]
    """The number of a tag from 1, or 0 outside the sentence."""
    return np.uint64(tags[i] + 1) if start <= i < end else np.uint64(0)


@part
def token_rows(table, around, context, history, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words and earlier tags.

    `around` are the entries by role, `context` the place in the sentence (not used
    here), `history` how the sentence is written and the two earlier tags (numbers from
    1, 0 is none).
    """
    me, before, after = around[0], around[1], around[2]
    style, tag_1, tag_2 = history
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


_add_sums = sum_adder(HIDDEN, ROLES, range(ROLES))
_add_rows = row_adder(HIDDEN, TOGETHER, range(TOKEN_ROWS))
_choose = chooser(HIDDEN, LABELS, CEILING)
_WIDTH = padded(LABELS)


def tag_tokens(ids: Ids, ends: Offsets, table: Hashes, left: Any, right: Any, out: Ids) -> None:
    """The tag of every token, sentence by sentence.

    `right` reads from the end of the sentence to its beginning and leaves its scores;
    `left` reads from the beginning, and the sum of both decides, among the labels that
    `right` has not ruled out; where that leaves one, nothing more is computed. Each is the
    words' partial sums and a network's weights.
    """
    first, longest = split_lanes(ends)
    rooms = np.concatenate((np.zeros(1, np.int64), np.cumsum(longest)))
    # Of each lane: its sentence, its turn, the place of its first score.
    lanes = (first[:LANES].copy(), np.full(LANES, -1), rooms)
    # Of each lane, and one more for the left reader: entries, rows; how the sentence is written
    # and the two tags before.
    inputs = (np.empty((LANES + 1, ROLES), np.int64), np.empty((LANES + 1, TOKEN_ROWS), np.int64))
    history = np.zeros((LANES + 1, 3), np.uint64)
    scores = np.empty((rooms[LANES] + 1, _WIDTH), np.int32)
    scratch = (np.empty(HIDDEN, np.int16), scores, np.empty(rooms[LANES], np.bool_))
    _read(ids, ends, table, left, right, first[1:], lanes, (*inputs, history), scratch, out)


@lean
def _read(ids, ends, table, left, right, last, lanes, inputs, scratch, out):  # type: ignore[no-untyped-def]
    """Read the sentences of all lanes, token by token, from the right, and each at its end again.

    Between two tokens of a lane the others are scored; so long its rows may take to come.
    """
    sums, (rows, bias, output, output_bias, _, _) = right
    (sentence, turn, rooms), (around, row_numbers, history), (total, scores, sure) = (
        lanes,
        inputs,
        scratch,
    )
    left_over = last[LANES - 1]
    while left_over > 0:
        for lane in range(LANES):
            if sentence[lane] == last[lane]:
                continue
            start, end = sentence_span(ends, sentence[lane])
            if turn[lane] >= 0:
                i = end - 1 - turn[lane]
                place = rooms[lane] + i - start
                _add_sums(total, bias, sums, around[lane])
                _add_rows(total, rows, row_numbers[lane])
                best, near = _choose(total, output, output_bias, MARGIN, scores[place])
                out[i], sure[place] = best, near == 1
                history[lane, 2], history[lane, 1] = history[lane, 1], np.uint64(best + 1)
            turn[lane] += 1
            if turn[lane] == end - start:
                _read_left(ids, start, end, table, left, rooms[lane], lane, inputs, scratch, out)
                left_over -= 1
                sentence[lane] += 1
                turn[lane] = 0
                if sentence[lane] == last[lane]:
                    continue
                start, end = sentence_span(ends, sentence[lane])
            if turn[lane] == 0:
                history[lane, 0] = case(table, ids, start, end)
                history[lane, 1] = history[lane, 2] = np.uint64(0)
            _look(ids, (start, end, turn[lane], -1), table, right, lane, inputs)


@part
def _look(ids, spot, table, reader, lane, inputs):  # type: ignore[no-untyped-def]
    """Find all that the token read at a turn is judged by, and ask memory for it.

    `spot`: the sentence's start and end, the turn, the step to the next token.
    """
    (start, end, turn, step), (around, row_numbers, history) = spot, inputs
    sums, (rows, _, _, _, base, bits) = reader
    padding = len(table) - 2
    i = start + turn if step > 0 else end - 1 - turn
    for role in range(ROLES):
        entry_number = entry(ids, i, step * _OFFSETS[role], step, start, end, padding)
        around[lane, role] = entry_number
        fetch(sums, (entry_number * ROLES + role) * HIDDEN, HIDDEN)
    style = history[lane, 0] + np.uint64(4 if turn == 0 else 0)
    tags = (style, history[lane, 1], history[lane, 2])
    token_rows(table, around[lane], (i,), tags, base, bits, row_numbers[lane])
    for number in range(TOKEN_ROWS):
        fetch(rows, row_numbers[lane, number] * HIDDEN, HIDDEN)


@part
def _read_left(ids, start, end, table, left_net, room, lane, inputs, scratch, out):  # type: ignore[no-untyped-def]
    """Read one sentence from the left; where its tag is sure already nothing is scored."""
    sums, (rows, bias, output, output_bias, _, _) = left_net
    (around, row_numbers, history), (total, scores, sure) = inputs, scratch
    history[LANES, 0] = history[lane, 0]
    history[LANES, 1] = history[LANES, 2] = np.uint64(0)
    both = scores[len(scores) - 1]
    for i in range(start, end):
        place = room + i - start
        if not sure[place]:
            _look(ids, (start, end, i - start, 1), table, left_net, LANES, inputs)
            least = scores[place, out[i]] - MARGIN
            for label in range(_WIDTH):
                score = scores[place, label]
                both[label] = score + output_bias[label] if score >= least else NEVER
            _add_sums(total, bias, sums, around[LANES])
            _add_rows(total, rows, row_numbers[LANES])
            out[i], _ = _choose(total, output, both, MARGIN, scores[place])
        history[LANES, 2], history[LANES, 1] = history[LANES, 1], np.uint64(out[i] + 1)
