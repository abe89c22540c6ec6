"""What kind of character each code point is, as one table for the kernels.

Made from Python's own Unicode data on first use (some milliseconds), so that
nothing has to be kept in step with it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

SPACE = 0  # white space, control characters, marks of direction: never part of a word
LETTER = 1
DIGIT = 2
MARK = 3  # punctuation; the same mark again belongs to the same word
SINGLE = 4  # brackets, symbols, emoji: each a word
IDEOGRAPH = 5  # Han: no spaces between words, each a word
HIRAGANA = 6
KATAKANA = 7
EXTEND = 8  # accents, joiners, skin tones: belongs to what stands before it
FLAG = 9  # regional indicators: two make one

SIZE = 0x20000  # what lies above is ideographs, then tags, then private use

_BY_CATEGORY = {"L": LETTER, "M": EXTEND, "N": LETTER, "P": MARK, "S": SINGLE, "Z": SPACE}
_BY_FULL_CATEGORY = {
    "Nd": DIGIT,
    "Pc": LETTER,
    "Ps": SINGLE,
    "Pe": SINGLE,
    "Pi": SINGLE,
    "Pf": SINGLE,
    "Cc": SPACE,
    "Cf": SPACE,
    "Cs": SINGLE,
    "Co": SINGLE,
    "Cn": SINGLE,
}
_RANGES = (
    (0x3040, 0x309F, HIRAGANA),
    (0x30A1, 0x30FF, KATAKANA),
    (0x3400, 0x4DBF, IDEOGRAPH),
    (0x4E00, 0x9FFF, IDEOGRAPH),
    (0xF900, 0xFAFF, IDEOGRAPH),
    (0xFF66, 0xFF9F, KATAKANA),
    (0x1F1E6, 0x1F1FF, FLAG),
    (0x1F3FB, 0x1F3FF, EXTEND),
)
# Invisible, but inside words: soft hyphen, joiners; the Arabic number signs are not.
_INSIDE_WORDS = (0x00AD, 0x200C, 0x200D, 0x2060, 0x180E)


@lru_cache(maxsize=1)
def kinds() -> NDArray[np.uint8]:
    """The kind of every code point below SIZE."""
    table = np.empty(SIZE, np.uint8)
    for code in range(SIZE):
        category = unicodedata.category(chr(code))
        kind = _BY_FULL_CATEGORY.get(category)
        table[code] = _BY_CATEGORY[category[0]] if kind is None else kind
    for first, last, kind in _RANGES:
        table[first : last + 1] = kind
    for code in _INSIDE_WORDS:
        table[code] = EXTEND
    return table
