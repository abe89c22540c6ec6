"""The loops: distances between many points, the nearest of them, and who lies in whose ball."""

from __future__ import annotations

import numpy as np

from rote.core.array_types import Array
from rote.core.kernels import njit

COLUMNS = 256
"""Points compared side by side: their coordinates stay in the cache."""


@njit(cache=True, nogil=True)
def add_products(
    products: Array,
    centres: Array,
    labels: Array,
    counts: Array,
    ends: Array,
    holder: Array,
    times: Array,
    holder_ends: Array,
) -> None:
    """Add the inner products over the labels that are kept in lists."""
    for row in range(len(centres)):
        centre = centres[row]
        sums = products[row]
        for entry in range(ends[centre - 1] if centre else 0, ends[centre]):
            label, count = labels[entry], counts[entry]
            for slot in range(holder_ends[label], holder_ends[label + 1]):
                sums[holder[slot]] += count * times[slot]


@njit(cache=True, nogil=True)
def squared_distances(rows: Array, columns: Array) -> Array:
    """Between every row and every column; dimensions are added in their order, one by one.

    Four rows at a time share what is read of the columns.
    """
    dimensions, points = columns.shape
    fours = (len(rows) + 3) // 4
    at = np.zeros((4 * fours, dimensions), np.float64)
    for row in range(len(rows)):  # to assign a slice would take a second to compile
        for dimension in range(dimensions):
            at[row, dimension] = rows[row, dimension]
    far = np.zeros((4 * fours, points), np.float64)
    for first in range(0, points, COLUMNS):
        last = min(first + COLUMNS, points)
        for row in range(0, 4 * fours, 4):
            sum0, sum1 = far[row, first:last], far[row + 1, first:last]
            sum2, sum3 = far[row + 2, first:last], far[row + 3, first:last]
            for dimension in range(dimensions):
                others = columns[dimension, first:last]
                at0, at1 = at[row, dimension], at[row + 1, dimension]
                at2, at3 = at[row + 2, dimension], at[row + 3, dimension]
                for place in range(len(others)):
                    other = others[place]
                    sum0[place] += (at0 - other) * (at0 - other)
                    sum1[place] += (at1 - other) * (at1 - other)
                    sum2[place] += (at2 - other) * (at2 - other)
                    sum3[place] += (at3 - other) * (at3 - other)
    return far[: len(rows)]


@njit(cache=True, nogil=True)
def nearest(far: Array, first: int, places: Array, distances: Array) -> None:
    """Fill in the nearest points, nearest first, behind the point itself, which is in column 0.

    Row r of `far` is that of the point at place `first` + r. Of equally near ones the first stay.
    """
    last = places.shape[1] - 1
    if last == 0:
        return
    for row in range(len(far)):
        held = 0
        for place in range(far.shape[1]):
            distance = far[row, place]
            if place == first + row or (held == last and distance >= distances[row, last]):
                continue
            if held < last:
                held += 1
            slot = held
            while slot > 1 and distances[row, slot - 1] > distance:
                distances[row, slot] = distances[row, slot - 1]
                places[row, slot] = places[row, slot - 1]
                slot -= 1
            distances[row, slot] = distance
            places[row, slot] = place


@njit(cache=True, nogil=True)
def held_points(far: Array, radii: Array, strict: bool) -> tuple[Array, Array]:
    """Who lies in which ball of a centre: its points, those of the smallest ball first.

    Row r of `radii` ascends; `ends[r, t]` is where the points within radius t end.
    """
    sizes = radii.shape[1]
    ends = np.zeros((len(far), sizes), np.int64)
    filled = 0
    for row in range(len(far)):
        for place in range(far.shape[1]):
            ball = smallest(radii[row], far[row, place], strict)
            if ball < sizes:
                ends[row, ball] += 1
        for ball in range(sizes):
            filled += ends[row, ball]
            ends[row, ball] = filled
    points = np.empty(filled, np.int32)
    slots = np.empty(sizes, np.int64)
    begin = 0
    for row in range(len(far)):
        slots[0] = begin
        for ball in range(1, sizes):
            slots[ball] = ends[row, ball - 1]
        begin = ends[row, -1]
        for place in range(far.shape[1]):
            ball = smallest(radii[row], far[row, place], strict)
            if ball < sizes:
                points[slots[ball]] = place
                slots[ball] += 1
    return points, ends


@njit(cache=True, nogil=True)
def smallest(radii: Array, distance: float, strict: bool) -> int:
    """Number of the first radius that reaches the distance; their number if none does."""
    low, high = 0, len(radii)
    if distance > radii[high - 1] or (strict and distance == radii[high - 1]):
        return high
    while low < high:
        middle = (low + high) // 2
        if radii[middle] < distance or (strict and radii[middle] == distance):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def count_balls(
    places: Array, points: Array, ends: Array, own: Array, other: Array, k: int
) -> tuple[Array, Array, Array]:
    """In how many balls each of the other points lies, which balls hold one, which are unknown.

    `own` and `other` say how often a point is there. A ball reaches to the k-th of the own points
    that are there, copies of the centre included; it is unknown if the list has fewer.
    """
    times = np.zeros(len(other), np.int64)
    holds = np.zeros(len(own), np.bool_)
    unknown = np.zeros(len(own), np.bool_)
    for centre in range(len(own)):
        if own[centre] == 0:
            continue
        reached = own[centre] - 1
        ball = 0
        while reached < k and ball + 1 < places.shape[1]:
            ball += 1
            reached += own[places[centre, ball]]
        if reached < k:
            unknown[centre] = True
            continue
        for slot in range(ends[centre - 1, -1] if centre else 0, ends[centre, ball]):
            point = points[slot]
            if other[point]:
                times[point] += own[centre]
                holds[centre] = True
    return times, holds, unknown
