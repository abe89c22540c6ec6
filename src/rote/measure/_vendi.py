"""The Vendi score (Friedman and Dieng, 2023), and what it is without each text in turn.

exp of the entropy of the eigenvalues of K / n, where K holds the cosines of all pairs of n unit
vectors. Their products by dimension, M, have the same eigenvalues; for many vectors K is not made.

Without a text whose vectors are the rows of W, M becomes M - W'W. What that does to the sum of
x log x over the eigenvalues x needs no eigenvalues: log x is the integral over s > 0 of
1 / (1 + s) - 1 / (x + s), and the sums over 1 / (x + s) change by the derivative of the log of
det(I - A(s)), where A(s) = W (M + s)^-1 W' has as many rows as the text has vectors. So

    f(M - W'W) = f(M) - |W|^2 - integral of |W|^2 / (1 + s) + log det(I - A(s)),

f being that sum, which the trapezoidal rule over log s gives to nine digits with some forty s.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rote.core.array_types import Floats, Integers

Vectors = NDArray[np.float32]
_BLOCK = 4096
"""Vectors that are held with full precision at once."""
_SHIFTS = np.exp(np.arange(-21.0, 25.0))
"""The s of the integral; finer steps, or smaller and larger s, change nothing in nine digits."""


def vendi(vectors: Vectors) -> float:
    """The score; nan without vectors."""
    if not len(vectors):
        return math.nan
    products = _products(vectors)
    whole = float(np.trace(products))
    return whole * math.exp(-_entropy(np.linalg.eigvalsh(products)) / whole)


def vendi_without(vectors: Vectors, texts: Integers) -> Floats:
    """The score without the vectors of each text in turn; `texts` says whose they are, those of one
    text in a row. nan where nothing is left.
    """
    if not len(vectors):
        return np.empty(0)
    values, directions = np.linalg.eigh(_products(vectors))
    values = np.maximum(values, 0)
    # K's have a number for each vector; M's are directions that vectors are seen from.
    seen = directions * np.sqrt(values) if len(vectors) <= vectors.shape[1] else None
    whole, entropy = float(values.sum()), _entropy(values)
    firsts = np.flatnonzero(np.append(True, np.diff(texts) != 0))
    counts = np.diff(np.append(firsts, len(texts)))
    found = np.empty(len(firsts))
    for some, rows in _alike(firsts, counts):
        own = vectors[rows].astype(np.float64) @ directions if seen is None else seen[rows]
        lengths = np.einsum("tvd,tvd->t", own, own)
        change = np.zeros(len(some))
        for shift in _SHIFTS:
            left = np.eye(rows.shape[1]) - (own / (values + shift)) @ own.swapaxes(1, 2)
            change += shift * (lengths / (1 + shift) + np.linalg.slogdet(left)[1])
        rest = whole - lengths if rows.shape[1] < len(texts) else np.full(len(some), np.nan)
        found[some] = rest * np.exp((lengths + change - entropy) / rest)
    return found


def _products(vectors: Vectors) -> Floats:
    """Of vectors or of dimensions, whichever are fewer."""
    count, dimensions = vectors.shape
    if count <= dimensions:
        own = vectors.astype(np.float64)
        return np.asarray(own @ own.T)
    products = np.zeros((dimensions, dimensions))
    for start in range(0, count, _BLOCK):
        some = vectors[start : start + _BLOCK].astype(np.float64)
        products += some.T @ some
    return products


def _entropy(values: NDArray[np.floating[Any]]) -> float:
    """The sum of x log x."""
    some = values[values > 0]
    return float((some * np.log(some)).sum())


def _alike(firsts: Integers, counts: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Texts with as many vectors, some at a time: their numbers, and those of their vectors."""
    for count in np.unique(counts).tolist():
        alike = np.flatnonzero(counts == count)
        step = max(1, _BLOCK // count)
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            yield some, firsts[some, None] + np.arange(count)
