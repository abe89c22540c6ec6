"""Tags: Penn part-of-speech tags and UPOS for the words of a layer.

Small networks over hashed features, shipped with the package; docs/models/tagger.md
says what they were trained on and how good they are. Words without sentence ends
cannot be tagged: features do not cross from one sentence into the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate import _tagger
from rote.annotate._hashing import LOWER, Hashes, pair, place
from rote.annotate._network import CEILING, Fitted, Subbatch, fitted, network, split_subbatches
from rote.annotate._tagger import entry, tag_at
from rote.annotate._vectors import chooser, padded, row_adder, sum_adder
from rote.annotate._weights import load
from rote.core.kernels import lean, part
from rote.core.layer import Ids, Layer, Offsets

VERSION = "1"
SIGNATURE = f"rote-en/{VERSION}"


def tag(word: Layer) -> tuple[Layer, Layer]:
    """The layers `pos` (Penn tags) and `upos`, aligned with the words."""
    upos = np.empty(len(word.ids), np.int32)
    pos = _read_batch(word, upos)
    return pos, replace(word, name="upos", ids=upos, vocabulary=_weights().universal)


def penn(word: Layer) -> Layer:
    return _read_batch(word, None)


def _read_batch(word: Layer, upos: Ids | None) -> Layer:
    """The Penn tags; UPOS go to `upos`, if they are wanted."""
    tagger = _weights()
    pos = np.empty(len(word.ids), np.int32)
    used = [(tagger.left, _tagger.ROLES), (tagger.right, _tagger.ROLES)]
    if upos is not None:
        used.append((tagger.upos, ROLES))
    for piece in split_subbatches(word):
        nets = [(net.sums(piece.table, roles), net.weights) for net, roles in used]

        def read(piece: Subbatch, nets: Sequence[Any] = nets) -> None:
            part = slice(piece.first, piece.last)
            words = (piece.ids, piece.ends, piece.table)
            _tagger.tag_tokens(*words, nets[0], nets[1], pos[part])
            if upos is not None:
                known = (pos[part], tagger.fixed, tagger.kinds)
                upos_tokens(*words, known, nets[2], upos[part])

        piece.read(read)
    return replace(word, name="pos", ids=pos, vocabulary=tagger.tags)


@dataclass(frozen=True, slots=True)
class _Tagger:
    left: Fitted
    right: Fitted
    upos: Fitted
    tags: tuple[str, ...]
    universal: tuple[str, ...]
    fixed: NDArray[np.int32]
    kinds: NDArray[np.uint8]


@cache
def _weights() -> _Tagger:
    arrays, about = load("tagger")
    tags, universal = tuple(about["tags"]), tuple(about["universal"])
    left, right = (
        fitted(network(arrays, prefix), _tagger.HIDDEN, _tagger.LABELS, _tagger.TOGETHER)
        for prefix in ("left_", "right_")
    )
    upos = fitted(network(arrays, "upos_"), HIDDEN, LABELS, TOGETHER)
    return _Tagger(left, right, upos, tags, universal, arrays["fixed"], kinds_of(tags))


# UPOS from Penn tags and words: a second, small network after the tagger.
#
# Most Penn tags have one UPOS (`fixed`); for the others (IN is ADP or SCONJ, a verb may
# be AUX, ...) the network looks at the word and at the tags on both sides.

OFFSETS = (0, -1, 1, 2)
ROLES = len(OFFSETS)
_OFFSETS = np.array(OFFSETS)
HIDDEN, LABELS = 32, 17
TOGETHER = 7  # rows added in 8 bits
TOKEN_ROWS = 13
REACH = 8  # how far ahead a verb is looked for
MARK, VERB, ADVERB, OTHER = 0, 1, 2, 3  # kinds of tags


@part
def token_rows(table, around, context, labels, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words and tags (as in `_tagger`; `labels` is not used)."""
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
    inputs = (np.empty(ROLES, np.int64), np.empty(TOKEN_ROWS, np.int64))
    scratch = (np.empty(HIDDEN, np.int16), np.empty(_WIDTH, np.int32))
    _read(ids, ends, table, known, net, inputs, scratch, out)


@lean
def _read(ids, ends, table, known, net, inputs, scratch, out):  # type: ignore[no-untyped-def]
    sums, (rows, bias, output, output_bias, base, bits) = net
    (tags, fixed, kinds), (around, row_numbers), (total, scores) = known, inputs, scratch
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
            token_rows(table, around, context, (), base, bits, row_numbers)
            _add_sums(total, bias, sums, around)
            _add_rows(total, rows, row_numbers)
            out[i], _ = _choose(total, output, output_bias, 0, scores)
        start = end
