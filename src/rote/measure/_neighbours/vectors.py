"""Embeddings as points: squared Euclidean distances, the same to the last bit for the same pair.

Differences are squared and added up in the order of the dimensions, for many pairs side by side:
neither the pair's neighbours in a block nor its own order can be seen in the number, and a point
is at exactly 0 from itself. That is what a test with <= on a radius needs, and what
|a|^2 + |b|^2 - 2 ab does not give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rote.measure._neighbours.points import Floats, Numbers, same


@dataclass(frozen=True, slots=True)
class VectorPoints:
    """Different vectors, one in each row."""

    vectors: Floats

    def chosen(self, others: Numbers) -> VectorsChosen:
        return VectorsChosen(self, self.vectors[others].T.copy())

    def from_itself(self, centres: Numbers) -> Floats:
        return np.zeros(len(centres))


@dataclass(frozen=True, slots=True)
class VectorsChosen:
    points: VectorPoints
    columns: Floats

    def __call__(self, centres: Numbers) -> Floats:
        from rote.measure._neighbours.ball_kernels import squared_distances

        return squared_distances(self.points.vectors[centres], self.columns)


def different(vectors: NDArray[np.float32]) -> tuple[Numbers, Numbers]:
    """Where each of the different rows stands first, and the number of every row's."""
    return same(row.tobytes() for row in vectors + np.float32(0))  # so that -0 is 0
