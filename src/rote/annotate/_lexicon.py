"""What the models know of a word from raw text: classes of words that stand alike.

Counted once over public-domain novels (`training/lexicon.py`): for each word, in
lower case and with every digit read as 0, the clusters it falls into by its
neighbours and how often it is capitalized within a sentence. Words are kept as
64-bit hashes, so the table holds no text. Class 0 is a word that is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rote.annotate._hashing import KEY, LETTER_COLUMNS, Hashes, attributes
from rote.annotate._weights import load
from rote.core.kernels import njit

# Columns that the lexicon adds to the attribute table.
CAPITAL, CLUSTER_64, CLUSTER_256, CLUSTER_1024, CODES = range(LETTER_COLUMNS, LETTER_COLUMNS + 5)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Hashes of known words, ascending, and the classes of each."""

    keys: Hashes
    classes: NDArray[np.uint16]


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package."""
    arrays, _ = load("lexicon")
    return Lexicon(arrays["keys"], arrays["classes"])


def describe(vocabulary: tuple[str, ...] | list[str], known: Lexicon | None = None) -> Hashes:
    """All attributes of each entry, letters and lexicon, and of the two padding rows."""
    known = lexicon() if known is None else known
    letters = attributes(vocabulary)
    width = known.classes.shape[1]
    table = np.zeros((len(letters), LETTER_COLUMNS + width), np.uint64)
    table[:, :LETTER_COLUMNS] = letters
    _look_up(letters[: len(vocabulary), KEY], known.keys, known.classes, table)
    return table


@njit(cache=True, nogil=True)
def _look_up(wanted, keys, classes, table):  # type: ignore[no-untyped-def]
    for entry in range(len(wanted)):
        place, behind = 0, len(keys)
        while place < behind:
            middle = (place + behind) // 2
            if keys[middle] < wanted[entry]:
                place = middle + 1
            else:
                behind = middle
        if place < len(keys) and keys[place] == wanted[entry]:
            for column in range(classes.shape[1]):
                table[entry, LETTER_COLUMNS + column] = classes[place, column]
