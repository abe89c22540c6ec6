"""Entities: names of people, organizations and places, and numbers, dates, other names.

PER, ORG and LOC come from a network trained on UNER English (docs/models/entities.md);
where it finds none, rules over the tags mark numbers (NUM), dates and times (DATE)
and runs of proper nouns (MISC).

The network reads from left to right and labels words B, I, L, U and O; what cannot follow the label
before is not considered. The trainer calls `token_rows` as the kernel does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from rote.annotate._hashing import CAPITAL, CLUSTER_256, LOWER, SHAPE, Hashes, pair, place
from rote.annotate._network import CEILING, NEVER, Fitted, fitted, network, split_subbatches
from rote.annotate._tagger import case, entry, tag_at
from rote.annotate._vectors import chooser, padded, row_adder, sum_adder
from rote.annotate._weights import load
from rote.core.kernels import lean, njit, part
from rote.core.layer import Ids, Layer, Offsets

VERSION = "1"
SIGNATURE = f"rote-en-names/{VERSION}"
NAMES = ("PER", "ORG", "LOC")
TYPES = (*NAMES, "NUM", "DATE", "MISC")
LABELS = ("O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI"))


def find(word: Layer, pos: Layer) -> Layer:
    """The layer `entity` (`B-PER`, `I-PER`, ..., `O`); `pos` is what `tagging.tag` gave."""
    network, penn = _weights()
    tags = _as_trained(pos, penn)
    classes = np.fromiter(map(word_class, word.vocabulary), np.uint8, len(word.vocabulary))
    commas = np.fromiter((w == "," for w in word.vocabulary), bool, len(word.vocabulary))
    kinds = np.array([_TAG_CLASSES.get(tag, OTHER_TAG) for tag in penn], np.uint8)
    out = np.empty(len(word.ids), np.int32)
    for piece in split_subbatches(word):
        labels = out[piece.first : piece.last]
        local = tags[piece.first : piece.last]
        net = (network.sums(piece.table, ROLES), network.weights)
        name_tokens(piece.ids, piece.ends, piece.table, local, net, labels)
        labels[:] = _TO_IOB[labels]
        ids = word.ids[piece.first : piece.last]
        first = 1 + 2 * len(NAMES)
        fill(classes[ids], kinds[local], commas[ids], piece.ends, first, labels)
    return replace(word, name="entity", ids=out, vocabulary=LABELS)


# From O and B, I, L, U of each name to O and B, I.
_TO_IOB = np.array(
    [0, *(1 + 2 * kind + inside for kind in range(3) for inside in (0, 1, 1, 0))], np.int32
)


def _as_trained(pos: Layer, tags: Sequence[str]) -> Any:
    """The tags as numbers that the network knows; a foreign tag set is refused."""
    number = {tag: place for place, tag in enumerate(tags)}
    unknown = [tag for tag in pos.vocabulary if tag not in number]
    if unknown:
        raise ValueError(f"names are found with the Penn tags of rote's tagger, not {unknown[0]!r}")
    table = np.array([number[tag] for tag in pos.vocabulary], np.int32)
    return table[pos.ids] if len(table) else pos.ids


@cache
def _weights() -> tuple[Fitted, tuple[str, ...]]:
    """The network, and the Penn tags by the numbers that it knows."""
    arrays, about = load("entities")
    return fitted(network(arrays), HIDDEN, len(BILOU), TOGETHER), tuple(about["tags"])


# Classes of words, once per vocabulary entry.
PLAIN, MONTH, WEEKDAY, YEAR, CLOCK, CALENDAR, HALF_DAY, DAY_NUMBER, DECADE, PERCENT = range(10)
# Classes of tags.
OTHER_TAG, NUMBER_TAG, PROPER_TAG, MONEY_TAG = range(4)
_TAG_CLASSES = {"CD": NUMBER_TAG, "NNP": PROPER_TAG, "NNPS": PROPER_TAG, "$": MONEY_TAG}
NUM, DATE, MISC = range(3)

_MONTHS = "january february march april may june july august september october november december"
_SHORT_MONTHS = "jan feb mar apr jun jul aug sep sept oct nov dec"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_SHORT_DAYS = "mon tue tues wed thu thur thurs fri sat sun"
_NAMED = {
    **dict.fromkeys((_MONTHS + " " + _SHORT_MONTHS).split(), MONTH),
    **dict.fromkeys((_DAYS + " " + _SHORT_DAYS).split(), WEEKDAY),
    **dict.fromkeys("am pm a.m. p.m. a.m p.m o'clock noon midnight".split(), HALF_DAY),
    **dict.fromkeys(("%", "percent", "per cent"), PERCENT),
}
_PATTERNS = (
    (re.compile(r"(1[0-9]|20)\d\d"), YEAR),
    (re.compile(r"(1[0-9]|20)?\d0'?s|'\d0s"), DECADE),
    (re.compile(r"\d{1,2}:\d\d(:\d\d)?([ap]\.?m\.?)?|\d{1,2}[ap]\.?m\.?"), CLOCK),
    (re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}/\d{1,2}"), CALENDAR),
    (re.compile(r"([1-9]|[12]\d|3[01])(st|nd|rd|th)?"), DAY_NUMBER),
)


def word_class(word: str) -> int:
    """What a word may be in a date; its tag decides with it."""
    low = word.lower()
    word_kind = _NAMED.get(low.rstrip(".") if low.rstrip(".") in _NAMED else low, PLAIN)
    if word_kind or not any(map(str.isdigit, word)):
        return word_kind
    for pattern, kind in _PATTERNS:
        if pattern.fullmatch(low):
            return kind
    return PLAIN


@njit(cache=True, nogil=True)
def _is_date(words, tags, i, start, end):  # type: ignore[no-untyped-def]
    """Whether a token is part of a date by itself or by its neighbours."""
    word, tag = words[i], tags[i]
    if word in (CLOCK, CALENDAR, DECADE):
        return True
    if word == WEEKDAY:
        return tag == PROPER_TAG
    if word == YEAR:
        return tag == NUMBER_TAG
    before = words[i - 1] if i > start else PLAIN
    after = words[i + 1] if i + 1 < end else PLAIN
    if word == MONTH:
        # May, March and Jan are also other words: a capital or a number beside it is asked for.
        return tag == PROPER_TAG or before == DAY_NUMBER or after in (DAY_NUMBER, YEAR)
    if word == DAY_NUMBER:
        return before == MONTH or after in (MONTH, HALF_DAY)
    if word == HALF_DAY:
        return before in (CLOCK, DAY_NUMBER)
    return False


@njit(cache=True, nogil=True)
def fill(words, tags, commas, ends, first, out):  # type: ignore[no-untyped-def]
    """Label what is still 0 in `out`: B of type t is first + 2 * t, I is one more."""
    start = np.int64(0)
    for end in ends:
        before = -1  # the type of the mention that the token before belongs to
        for i in range(start, end):
            if out[i] != 0:
                before = -1
                continue
            kind = -1
            follows = tags[i + 1] if i + 1 < end else OTHER_TAG
            percent = words[i] == PERCENT and before == NUM
            money = tags[i] == MONEY_TAG and follows == NUMBER_TAG
            comma = commas[i] and before == DATE and i + 1 < end and words[i + 1] == YEAR
            if comma or _is_date(words, tags, i, start, end):
                kind = DATE
            elif tags[i] == NUMBER_TAG or money or percent:
                kind = NUM
            elif tags[i] == PROPER_TAG:
                kind = MISC
            if kind >= 0:
                out[i] = first + 2 * kind + (1 if kind == before else 0)
            before = kind
        start = end


BILOU = ("O", *(f"{mark}-{name}" for name in NAMES for mark in "BILU"))
OFFSETS = (0, -1, 1, -2, 2)
ROLES = len(OFFSETS)
_OFFSETS = np.array(OFFSETS)
HIDDEN = 64
TOGETHER = 7  # rows added in 8 bits
TOKEN_ROWS = 20


@part
def token_rows(table, around, context, labels, base, bits, out):  # type: ignore[no-untyped-def]
    """Rows of the features that join words, tags and earlier labels (as in `_tagger`)."""
    me, before, after = around[0], around[1], around[2]
    i, start, end, tags = context
    style, label_1, label_2 = labels
    tag = tag_at(tags, i, start, end)
    left, left_2 = tag_at(tags, i - 1, start, end), tag_at(tags, i - 2, start, end)
    right, right_2 = tag_at(tags, i + 1, start, end), tag_at(tags, i + 2, start, end)
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
    """Whether a label may stand after another (numbers in BILOU; `last`: the sentence ends)."""
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
_choose = chooser(HIDDEN, len(BILOU), CEILING)
_WIDTH = padded(len(BILOU))


def name_tokens(ids: Ids, ends: Offsets, table: Hashes, tags: Ids, net: Any, out: Ids) -> None:
    output_bias = net[1][3]
    # What cannot follow has a bias that nothing makes up for: by label before, and at the end.
    allowed = np.full((len(BILOU), 2, _WIDTH), NEVER, np.int32)
    for before, last, label in product(range(len(BILOU)), range(2), range(len(BILOU))):
        if may_follow(before, label, last=last == 1):
            allowed[before, last, label] = output_bias[label]
    inputs = (np.empty(ROLES, np.int64), np.empty(TOKEN_ROWS, np.int64))
    scratch = (np.empty(HIDDEN, np.int16), np.empty(_WIDTH, np.int32))
    _label_tokens(ids, ends, table, tags, net, allowed, inputs, scratch, out)


@lean
def _label_tokens(ids, ends, table, tags, net, allowed, inputs, scratch, out):  # type: ignore[no-untyped-def]
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
