"""The loops of `_nearest`: the largest numbers of a row, distances, the first of a list inside."""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit

_LANES = 8


@njit(cache=True, nogil=True)
def largest(likeness: Array, among: Array, numbers: Array) -> None:
    """By row: which of `among` have the largest numbers; of equal ones the first."""
    length = numbers.shape[1]
    held = np.empty(length, np.float32)
    for row in range(len(likeness)):
        count = 0
        for place in range(likeness.shape[1]):
            number = likeness[row, place]
            if count == length and number <= held[count - 1]:
                continue
            slot = count if count < length else length - 1
            count = min(count + 1, length)
            while slot > 0 and held[slot - 1] < number:
                held[slot] = held[slot - 1]
                numbers[row, slot] = numbers[row, slot - 1]
                slot -= 1
            held[slot] = number
            numbers[row, slot] = among[place]


@njit(cache=True, nogil=True)
def apart(vectors: Array, of: Array, to: Array) -> Array:
    """Half the squared distance of vectors `of[r]` and `to[r, c]`: exactly 0 for equal ones."""
    found = np.empty(to.shape)
    lanes = np.empty(_LANES)
    dimensions = vectors.shape[1]
    whole = dimensions - dimensions % _LANES
    for row in range(len(of)):
        one = vectors[of[row]]
        for column in range(to.shape[1]):
            other = vectors[to[row, column]]
            lanes[:] = 0
            for begin in range(0, whole, _LANES):
                for lane in range(_LANES):
                    gap = np.float64(one[begin + lane]) - np.float64(other[begin + lane])
                    lanes[lane] += gap * gap
            for place in range(whole, dimensions):
                gap = np.float64(one[place]) - np.float64(other[place])
                lanes[place - whole] += gap * gap
            total = 0.0
            for lane in range(_LANES):
                total += lanes[lane]
            found[row, column] = total / 2
    return found


@njit(cache=True, nogil=True)
def first_inside(rows: Array, numbers: Array, distances: Array, inside: Array) -> Array:
    """The distance of the first of each list that is inside; infinite where none is."""
    found = np.full(len(rows), np.inf)
    for place in range(len(rows)):
        row = rows[place]
        for column in range(numbers.shape[1]):
            if inside[numbers[row, column]]:
                found[place] = distances[row, column]
                break
    return found
