"""Sentences read side by side: while one is scored, rows of the others come from memory.

A model that reads a sentence word by word cannot know the rows of the next word before it has
judged this one, and waiting for them takes as long as judging. So a piece is cut into LANES runs
of sentences, and every lane takes a step in turn. Sentences do not know of each other, so
results are the same.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rote.core.kernels import part
from rote.core.layer import Offsets

LANES = 4


def shares(ends: Offsets) -> tuple[Offsets, Offsets]:
    """The first sentence of each lane and, at last, their number; the longest of each lane."""
    starts = np.concatenate((np.zeros(1, np.int64), ends))[:-1]
    first = np.searchsorted(starts * LANES, np.arange(LANES + 1) * (ends[-1] if len(ends) else 0))
    lengths = ends - starts
    longest = [lengths[a:b].max(initial=0) for a, b in pairwise(first)]
    return first, np.array(longest, np.int64)


@part
def span(ends, sentence):  # type: ignore[no-untyped-def]
    """Where a sentence starts and ends."""
    return ends[sentence - 1] if sentence > 0 else np.int64(0), ends[sentence]
