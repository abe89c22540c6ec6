"""What the models know of a word by its letters: hashes, once per vocabulary entry.

The tagger, the parser and the entity finder see a word as a row of 64-bit hashes:
the word itself, its lower case, its ends and beginnings, its shape. A feature is
such a value under the number of its template, and its place in a table of weights
is again a hash. Whatever changes here changes every weight file.

The lexicon was counted once over public-domain novels (`training/lexicon.py`): for each word,
in lower case and with every digit read as 0, the clusters it falls into by its
neighbours and how often it is capitalized within a sentence. Words are kept as
64-bit hashes, so the table holds no text. Class 0 is a word that is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rote.annotate._weights import load
from rote.core.kernels import njit, part

Hashes = NDArray[np.uint64]

# Columns of the attribute table; the lexicon adds its own after these.
WORD, LOWER, KEY = 0, 1, 2
SUFFIX_1, SUFFIX_2, SUFFIX_3, SUFFIX_4, SUFFIX_5 = 3, 4, 5, 6, 7
PREFIX_1, PREFIX_2, PREFIX_3, PREFIX_4 = 8, 9, 10, 11
SHAPE, FLAGS = 12, 13
LETTER_COLUMNS = 14

# Bits of FLAGS, the one column that is a small number and not a hash.
HAS_UPPER, HAS_LOWER, HAS_DIGIT, HAS_MARK = 1, 2, 4, 8
FIRST_UPPER, ONE_CHARACTER, ONLY_MARKS, NOT_ASCII = 16, 32, 64, 128

# Kinds of characters.
_MARK, _UPPER, _LOWER, _DIGIT, _OTHER_LETTER = 0, 1, 2, 3, 4

_PLANE = 0x10000  # the tables cover the basic plane; characters beyond it count as marks
_SEED = np.uint64(0xCBF29CE484222325)
_STEP = np.uint64(0x100000001B3)
_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ZERO = np.uint64(48)  # every digit reads as 0
_SHAPE_LENGTH = 12
_PADDING = 2  # attribute rows after the vocabulary: before a sentence, after it


def attributes(vocabulary: Sequence[str]) -> Hashes:
    """The letter columns of each entry, then two rows for before and after a sentence."""
    lower, kinds = _characters()
    lengths = np.fromiter(map(len, vocabulary), np.int64, len(vocabulary))
    text = "".join(vocabulary).encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(text, np.uint32)
    hashes: Hashes = _attributes(points, np.cumsum(lengths), lower, kinds)
    return hashes


@cache
def _characters() -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Per character of the basic plane: its lower case, its kind."""
    lower = np.arange(_PLANE, dtype=np.uint32)
    kinds = np.zeros(_PLANE, np.uint8)
    for point in range(_PLANE):
        letter = chr(point)
        if letter.isalpha():
            lowered = letter.lower()
            if len(lowered) == 1:
                lower[point] = ord(lowered)
            if lowered != letter:
                kinds[point] = _UPPER
            else:
                kinds[point] = _LOWER if letter.islower() else _OTHER_LETTER
        elif letter.isdigit():
            kinds[point] = _DIGIT
    return lower, kinds


@part
def mix(value):  # type: ignore[no-untyped-def]
    """Spread the bits of a 64-bit number over all of it."""
    value = (value ^ (value >> _HALF)) * _FIRST
    value = (value ^ (value >> _HALF)) * _SECOND
    return value ^ (value >> _HALF)


@part
def pair(first, second):  # type: ignore[no-untyped-def]
    """One value for two, in this order."""
    return mix(first + _GOLDEN) ^ (second * _STEP + _GOLDEN)


@part
def place(template, value, bits):  # type: ignore[no-untyped-def]
    """The row of a feature (a value under a template's number) in a table of 2**bits rows."""
    return np.int64(mix(value + np.uint64(template) * _GOLDEN) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _attributes(points, ends, lower, kinds):  # type: ignore[no-untyped-def]
    count = len(ends)
    out = np.zeros((count + _PADDING, LETTER_COLUMNS), np.uint64)
    start = 0
    for entry in range(count):
        end = ends[entry]
        _hash_word(points[start:end], lower, kinds, out[entry])
        start = end
    for extra in range(_PADDING):
        for column in range(LETTER_COLUMNS):
            out[count + extra, column] = mix(np.uint64(extra + 1))
        out[count + extra, FLAGS] = np.uint64(0)
    return out


@part
def _hash_word(points, lower, kinds, out):  # type: ignore[no-untyped-def]
    length = len(points)
    word, low, key, shape = _SEED, _SEED, _SEED, _SEED
    flags = 0
    marks = 0
    last = np.int64(-1)
    run = 0
    for i in range(length):
        point = np.uint64(points[i])
        kind = _MARK
        small = point
        if point < _PLANE:
            kind = kinds[point]
            small = np.uint64(lower[point])
        plain = _ZERO if kind == _DIGIT else small
        word = (word ^ point) * _STEP
        low = (low ^ small) * _STEP
        key = (key ^ plain) * _STEP
        if i < 4:
            out[PREFIX_1 + i] = mix(key)
        if kind == _UPPER:
            flags |= HAS_UPPER
            if i == 0:
                flags |= FIRST_UPPER
        elif kind in (_LOWER, _OTHER_LETTER):
            flags |= HAS_LOWER
        elif kind == _DIGIT:
            flags |= HAS_DIGIT
        else:
            flags |= HAS_MARK
            marks += 1
        if point > 127:
            flags |= NOT_ASCII
        # The shape: runs of one kind shortened to two, marks kept as they are.
        sign = np.int64(point) + 16 if kind == _MARK else np.int64(kind)
        run = run + 1 if sign == last else 1
        last = sign
        if run <= 2 and i < _SHAPE_LENGTH:
            shape = (shape ^ np.uint64(sign)) * _STEP
    if length == 1:
        flags |= ONE_CHARACTER
    if marks == length:
        flags |= ONLY_MARKS
    for i in range(length, 4):
        out[PREFIX_1 + i] = mix(key)
    end = _SEED
    for i in range(5):
        if i < length:
            point = np.uint64(points[length - 1 - i])
            if point < _PLANE:
                point = _ZERO if kinds[point] == _DIGIT else np.uint64(lower[point])
            end = (end ^ point) * _STEP
        out[SUFFIX_1 + i] = mix(end)
    out[WORD], out[LOWER], out[KEY] = mix(word), mix(low), mix(key)
    out[SHAPE], out[FLAGS] = mix(shape), np.uint64(flags)


# Columns that the lexicon adds to the attribute table.
CAPITAL, CLUSTER_64, CLUSTER_256, CLUSTER_1024, CODES = range(LETTER_COLUMNS, LETTER_COLUMNS + 5)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Hashes of known words, ascending, and the classes of each."""

    keys: Hashes
    classes: NDArray[np.uint16]


@cache
def lexicon() -> Lexicon:
    arrays, _ = load("lexicon")
    return Lexicon(arrays["keys"], arrays["classes"])


def describe(vocabulary: tuple[str, ...] | list[str], known: Lexicon | None = None) -> Hashes:
    """All attributes of each entry, letters and lexicon, and of the two padding rows."""
    known = lexicon() if known is None else known
    letters = attributes(vocabulary)
    width = known.classes.shape[1]
    table = np.zeros((len(letters), LETTER_COLUMNS + width), np.uint64)
    table[:, :LETTER_COLUMNS] = letters
    wanted = letters[: len(vocabulary), KEY]
    places = np.searchsorted(known.keys, wanted)
    listed = np.flatnonzero(places < len(known.keys))
    listed = listed[known.keys[places[listed]] == wanted[listed]]
    table[listed, LETTER_COLUMNS:] = known.classes[places[listed]]
    return table
