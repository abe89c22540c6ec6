"""Entities: names of people, organizations and places, and numbers, dates, other names.

PER, ORG and LOC come from a network trained on UNER English (docs/models/entities.md);
where it finds none, rules over the tags mark numbers (NUM), dates and times (DATE)
and runs of proper nouns (MISC).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.annotate.tagging import ModelCard
from rote.core.kernels import njit
from rote.core.layer import Layer

VERSION = "1"
SIGNATURE = f"rote-en-names/{VERSION}"
NAMES = ("PER", "ORG", "LOC")
TYPES = (*NAMES, "NUM", "DATE", "MISC")
LABELS = ("O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI"))


def find(word: Layer, pos: Layer) -> Layer:
    """The layer `entity` (`B-PER`, `I-PER`, ..., `O`); `pos` is what `tagging.tag` gave."""
    from rote.annotate import _entities
    from rote.annotate._network import split_subbatches

    weights = _weights()
    tags = _as_trained(pos, weights.tags)
    classes = np.fromiter(map(word_class, word.vocabulary), np.uint8, len(word.vocabulary))
    commas = np.fromiter((w == "," for w in word.vocabulary), bool, len(word.vocabulary))
    kinds = tag_classes(weights.tags)
    out = np.empty(len(word.ids), np.int32)
    for piece in split_subbatches(word):
        labels = out[piece.first : piece.last]
        local = tags[piece.first : piece.last]
        net = (weights.net.sums(piece.table, _entities.ROLES), weights.net.weights)
        _entities.name_tokens(piece.ids, piece.ends, piece.table, local, net, labels)
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


@dataclass(frozen=True, slots=True)
class _Finder:
    net: Any
    tags: tuple[str, ...]
    about: dict[str, Any]


@cache
def _weights() -> _Finder:
    from rote.annotate import _entities
    from rote.annotate._network import fitted, network
    from rote.annotate._weights import load

    arrays, about = load("entities")
    sizes = (_entities.HIDDEN, len(_entities.LABELS), _entities.TOGETHER)
    return _Finder(fitted(network(arrays), *sizes), tuple(about["tags"]), about)


@cache
def model() -> ModelCard:
    """What is known about the entity finder."""
    about = _weights().about
    return ModelCard(**{name: about[name] for name in ModelCard.__dataclass_fields__})


# Classes of words, once per vocabulary entry.
PLAIN, MONTH, WEEKDAY, YEAR, CLOCK, CALENDAR, HALF_DAY, DAY_NUMBER, DECADE, PERCENT = range(10)
# Classes of tags.
OTHER_TAG, NUMBER_TAG, PROPER_TAG, MONEY_TAG = range(4)
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


def tag_classes(tags: Sequence[str]) -> NDArray[np.uint8]:
    """The class of each Penn tag."""
    kinds = {"CD": NUMBER_TAG, "NNP": PROPER_TAG, "NNPS": PROPER_TAG, "$": MONEY_TAG}
    return np.array([kinds.get(tag, OTHER_TAG) for tag in tags], np.uint8)


@njit(cache=True, nogil=True)
def _dated(words, tags, i, start, end):  # type: ignore[no-untyped-def]
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
            if comma or _dated(words, tags, i, start, end):
                kind = DATE
            elif tags[i] == NUMBER_TAG or money or percent:
                kind = NUM
            elif tags[i] == PROPER_TAG:
                kind = MISC
            if kind >= 0:
                out[i] = first + 2 * kind + (1 if kind == before else 0)
            before = kind
        start = end
