"""How spread out unit vectors are: sums for the mean over pairs, and the Vendi score."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_BLOCK = 4096  # vectors that are held with full precision at once

Floats = NDArray[np.float64]


def sums_by_text(
    vectors: NDArray[np.float32], texts: NDArray[np.int64], count: int
) -> NDArray[np.float64]:
    """The sum of the vectors of each of `count` texts; `texts` (ascending) says whose they are.

    Lengths are made one again with full precision: a pair mean subtracts exactly one for every
    vector.
    """
    sums = np.zeros((count, vectors.shape[1]))
    for start in range(0, len(vectors), _BLOCK):
        some = vectors[start : start + _BLOCK].astype(np.float64)
        some /= np.linalg.norm(some, axis=1, keepdims=True)
        own = texts[start : start + _BLOCK]
        firsts = np.flatnonzero(np.append(True, np.diff(own) > 0))
        sums[own[firsts]] += np.add.reduceat(some, firsts, axis=0)
    return sums


def vendi(vectors: NDArray[np.float32]) -> float:
    """exp of the entropy of the eigenvalues of K / n, where K holds the cosines of all pairs.

    The products of dimensions have the same eigenvalues as those of vectors, so the smaller of
    the two matrices is taken; K itself is never made for many vectors.
    """
    count, dimensions = vectors.shape
    if not count:
        return math.nan
    if count <= dimensions:
        own = vectors.astype(np.float64)
        products = own @ own.T
    else:
        products = np.zeros((dimensions, dimensions))
        for start in range(0, count, _BLOCK):
            some = vectors[start : start + _BLOCK].astype(np.float64)
            products += some.T @ some
    shares = np.linalg.eigvalsh(products)
    shares = shares[shares > 0] / np.trace(products)
    return float(np.exp(-(shares * np.log(shares)).sum()))
