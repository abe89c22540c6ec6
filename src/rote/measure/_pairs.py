"""The scores of all pairs of texts in one array, and sums over the pairs of a group."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rote.core.kernels import njit

Array: TypeAlias = NDArray[Any]


@njit(cache=True, nogil=True)
def keep_rows(triangle: Array, scores: Array, first: int) -> None:
    """Store rows of the pair matrix: pairs (i, j > i), row after row."""
    texts = scores.shape[1]
    for row in range(len(scores)):
        one = first + row
        begin = one * texts - one * (one + 1) // 2
        triangle[begin : begin + texts - one - 1] = scores[row, one + 1 :]


@njit(cache=True, nogil=True)
def row_sums(triangle: Array, texts: int, take: Array) -> Array:
    """For each chosen text the sum of its scores with all other chosen texts."""
    sums = np.zeros(len(take))
    for number in range(len(take)):
        one = take[number]
        begin = one * texts - one * (one + 1) // 2 - one - 1
        for later in range(number + 1, len(take)):
            score = triangle[begin + take[later]]
            sums[number] += score
            sums[later] += score
    return sums
