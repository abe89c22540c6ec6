"""What an alignment could gain at most beyond a run: most runs are nobody's beginning.

Each word of the text is either the same as a word of the document, and adds its bits, or it is an
edit. So no alignment has more bits than one that could take every word which the document holds
anywhere near, in any order, and had no other edits. How near follows from the bits too: whoever
is so many words off has left so many out. That takes one look at each word, until the edits are
too many, and shows of nearly all runs that they are not worth an alignment (`alignment.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit
from rote.index.columns.packed import read

EDIT = 6.0
"""Bits that a word takes off which was exchanged, added or left out."""
SEEN = 1 << 10
"""Slots for the words of a document that were seen; what shares one is taken for the same."""
# Words after which nothing is said; the alignment will tell.
_FAR = 64
# Words of a document that are looked at together.
_TOGETHER = 4
_PER_EDIT = 1 / EDIT
SLACK = 1e-3
"""More than sums of bits can be wrong by."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What is asked of an alignment: `weights` are the bits of each word of the texts."""

    weights: NDArray[np.float64]
    least: float
    drop: int


@njit(inline="always")
def most_gained(data, bits, last, ids, weights, word, place, step, most, drop, seen, stamp):  # type: ignore[no-untyped-def]
    """No alignment from a word and a place on, in the direction of `step`, has more bits.

    For words and places beside a run, which differ; `most` words of the text are left, and `last`
    is the last place. `seen` holds the stamps of those who saw a word: this one must be new. Words
    of the next document may be seen too, which only makes the bound larger.
    """
    gained, edits, best, known = 0.0, 0, 0.0, 0
    for r in range(min(most, _FAR)):
        while known <= r + drop + np.int64((gained + SLACK) * _PER_EDIT):
            for k in range(_TOGETHER):
                at = min(max(place + step * (known + k), 0), last)
                seen[read(data, bits, at) & (SEEN - 1)] = stamp
            known += _TOGETHER
        item = ids[word + step * r]
        # Counted rather than asked: nobody could guess the answer.
        held = (item > 0) & (seen[item & (SEEN - 1)] == stamp)
        gained += weights[word + step * r] * held
        edits += 1 - held
        value = gained - EDIT * max(1, edits)
        best = max(best, value)
        if value < -EDIT * drop - SLACK:
            return best
    return best if most < _FAR else np.inf
