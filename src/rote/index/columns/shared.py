"""One vocabulary for all segments, where numbers of different segments have to meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.index.columns.parts import ABSENT, Column

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Shared:
    """All strings in order, the document's end as entry 0, and how each segment numbers them.

    `up[s][i]` is the shared number of the segment's own number i; `down[s]` is the reverse,
    ABSENT where the segment does not hold the string.
    """

    strings: Sequence[str]
    up: Sequence[Numbers]
    down: Sequence[Numbers]


def share(columns: Sequence[Column]) -> Shared:
    """The shared vocabulary of one layer's columns."""
    own = [column.vocabulary.strings()[1:] for column in columns]
    strings = sorted(set().union(*own))
    number = {string: i for i, string in enumerate(strings, 1)}
    up = [np.array([0, *map(number.__getitem__, each)], np.int32) for each in own]
    down = []
    for table in up:
        back = np.full(len(strings) + 1, ABSENT, np.int32)
        back[table] = np.arange(len(table), dtype=np.int32)
        down.append(back)
    return Shared(["", *strings], up, down)
