"""Rank correlations where some observations belong together.

Each is an estimate that knows what every cluster adds to it (`clusters.py`), so that two
correlations over the same items can be subtracted, and one be freed of what others explain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rote.compare.clusters import ClusterEstimate
from rote.core.array_types import Floats, Integers

MIN_ITEMS = 3
"""Two items always lie on a line."""
_SINGULAR = 1e-9


def ranked(values: Floats) -> Floats:
    """From 1 on; equal values share the middle of theirs. Permutations ask thousands of times."""
    ordered = np.sort(values)
    ranks: Floats = (ordered.searchsorted(values) + ordered.searchsorted(values, "right") + 1) / 2
    return ranks


def rank_estimate(x: Floats, y: Floats, items: Integers) -> ClusterEstimate:
    """Spearman's correlation with what each item adds to it, the ranks of the others included."""
    count = int(items.max(initial=-1)) + 1
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y, items = x[defined], y[defined], items[defined]
    least = len(np.unique(items))
    x_places, y_places = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    if least < MIN_ITEMS or not x_places.any() or not y_places.any():
        return ClusterEstimate(math.nan, np.zeros(count), least)
    n = len(x)
    a, b = (_ranks(places) / n for places in (x_places, y_places))
    a, b = a - a.mean(), b - b.mean()
    a2, b2 = (a * a).mean(), (b * b).mean()
    over, under = float((a * b).mean()), math.sqrt(float(a2 * b2))
    # An item moves the products by its own, and by raising the ranks of all above it.
    product = a * b + _weights_above(x_places, b) + _weights_above(y_places, a)
    spread = (a * a + 2 * _weights_above(x_places, a)) / a2 + (
        b * b + 2 * _weights_above(y_places, b)
    ) / b2
    each = (product - product.mean()) / under - over / under / 2 * (spread - spread.mean())
    influence = np.bincount(items, each, minlength=count) / n
    return ClusterEstimate(over / under, influence * math.sqrt(least / (least - 1)), least)


def _ranks(places: Integers) -> Floats:
    """As `ranked`, of values that are numbered in order already."""
    sizes = np.bincount(places)
    ranks: Floats = ((2 * sizes.cumsum() - sizes + 1) / 2)[places]
    return ranks


def _weights_above(places: Integers, weights: Floats) -> Floats:
    """For each place the mean of weights where it is higher, those where it is equal half."""
    sums = np.bincount(places, weights)
    means: Floats = ((sums[::-1].cumsum()[::-1] - sums / 2) / len(places))[places]
    return means


def partial_estimate(
    x: Floats, y: Floats, controls: Sequence[Floats], items: Integers
) -> ClusterEstimate:
    """Spearman's partial correlation of x and y: of what the ranks of `controls` do not explain.

    From the inverse P of the matrix of rank correlations, -P01 / sqrt(P00 P11); a small change of
    the matrix, as each item makes one, changes P by -P change P.
    """
    columns = np.stack((x, y, *controls))
    defined = ~np.isnan(columns).any(axis=0)
    count = int(items.max(initial=-1)) + 1
    columns, clusters = columns[:, defined], items[defined]
    size, least = len(columns), len(np.unique(clusters))
    matrix, moved = np.eye(size), np.zeros((count, size, size))
    for a in range(size):
        for b in range(a):
            pair = rank_estimate(columns[a], columns[b], clusters)
            matrix[a, b] = matrix[b, a] = pair.value
            moved[: len(pair.influence), a, b] = moved[: len(pair.influence), b, a] = pair.influence
    # One that follows from the others, or does not vary, leaves nothing to correlate.
    if least <= size or np.isnan(matrix).any() or np.linalg.eigvalsh(matrix)[0] < _SINGULAR:
        return ClusterEstimate(math.nan, np.zeros(count), least)
    inverse = np.linalg.inv(matrix)
    change = -np.einsum("ai,kij,jb->kab", inverse[:2], moved, inverse[:, :2])
    (p00, p01), (_, p11) = inverse[:2, :2]
    under = math.sqrt(p00 * p11)
    influence = p01 / (2 * under) * (change[:, 0, 0] / p00 + change[:, 1, 1] / p11)
    influence = influence - change[:, 0, 1] / under
    # What is held constant takes a degree of freedom each.
    free = least - len(controls)
    return ClusterEstimate(
        float(-p01 / under), influence * math.sqrt((least - 1) / (free - 1)), free
    )
