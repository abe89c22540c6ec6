"""Points and the samples that are made of them.

Sentences with the same tree, or with the same vector, are one point. Distances are taken between
points, so that two copies are never a rounding error apart; a sample says how often it holds each
point, and so does any half of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


class Far(Protocol):
    """How far chosen points lie from any others."""

    def __call__(self, centres: Numbers) -> Floats:
        """One row for each centre, one column for each chosen point; smaller is nearer.

        Within a row equal distances are equal numbers, and the order is that of the distances.
        Numbers of different rows need not be comparable.
        """


class Points(Protocol):
    """Different points, by number."""

    def chosen(self, others: Numbers) -> Far:
        """How far these lie from any centre."""

    def from_itself(self, centres: Numbers) -> Floats:
        """What `Far` says of the distance 0."""


@dataclass(frozen=True, slots=True)
class Members:
    """The sentences of one sample: sentence i is the point `points[which[i]]` of text `texts[i]`.

    `points` are different and ascending; `sentences` are the sentences' own numbers.
    """

    points: Numbers
    which: Numbers
    texts: Numbers
    sentences: Numbers

    def __len__(self) -> int:
        return len(self.sentences)

    def counts(self, kept: Numbers | None = None) -> Numbers:
        """How often each point stands among the kept sentences (places in the sample), or all."""
        which = self.which if kept is None else self.which[kept]
        return np.bincount(which, minlength=len(self.points)).astype(np.int64)


def same(things: Iterable[bytes]) -> tuple[Numbers, Numbers]:
    """Number different things: where each stands first, and the number of every thing.

    Numbers follow the order of the bytes, so the order in which things come cannot be seen in
    anything that is summed over them.
    """
    keys: Sequence[bytes] = list(things)
    first: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        first.setdefault(key, place)
    ordered = sorted(first)
    numbers = {key: number for number, key in enumerate(ordered)}
    return (
        np.array([first[key] for key in ordered], np.int64),
        np.array([numbers[key] for key in keys], np.int64),
    )
