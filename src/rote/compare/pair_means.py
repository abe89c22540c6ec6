"""The mean over all pairs of a similarity that is an inner product, without looking at pairs.

With unit vectors u and their sum S, the similarities of all ordered pairs of different things
add up to |S|^2 - n: exact, and linear in n. Things belong to texts; the interval leaves out one
text at a time, since sentences of one text are not independent, and pairs still less.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rote.compare.intervals import left_out_error

Floats = NDArray[np.float64]


def mean_similarity(square: float, count: int) -> float:
    """Mean over pairs; `square` is |S|^2 of `count` unit vectors. nan with fewer than two."""
    return (square - count) / (count * (count - 1)) if count > 1 else math.nan


def clustered_error(square: float, products: Floats, squares: Floats, counts: Floats) -> float:
    """Jackknife standard error, over texts, of the mean similarity (and so of 1 minus it).

    For each text: `products`, S times the sum of its own vectors; `squares`, the squared length
    of that sum; `counts`, how many vectors it has. Texts without any are left out.
    """
    held = counts > 0
    products, squares, counts = products[held], squares[held], counts[held]
    texts, left = len(counts), counts.sum() - counts
    if texts < 2 or (left < 2).any():
        return math.nan
    return left_out_error((square - 2 * products + squares - left) / (left * (left - 1)))
