"""Means over pairs of two sources, with errors over sets; the tree of sources that they make.

A set is the texts that answer one prompt. Where there are several, each counts the same, and the
error is that of a mean over sets. Where there is only one, it is the jackknife over texts: leaving
out a text leaves out its pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rote.compare._resample import generator
from rote.compare.intervals import left_out_error, mean, mean_error, shares
from rote.core.array_types import Array, Flags, Floats, Integers
from rote.measure._likeness import Pairs

DRAWS = 200
"""Of prompts with replacement, for the support of a branch."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over pairs; over how many sets and pairs, and how many independent units (sets, or
    texts of the only one) its error comes from."""

    value: float
    error: float
    sets: int
    pairs: int
    units: int


def estimate(pairs: Pairs, scores: Floats, chosen: Flags) -> Estimate:
    """The mean over sets of the mean over the chosen pairs."""
    chosen = chosen & ~np.isnan(scores)
    own, found = pairs.sets[chosen], scores[chosen]
    numbers, place = np.unique(own, return_inverse=True)
    if len(numbers) == 1:
        first, second = pairs.first[chosen], pairs.second[chosen]
        units = len(np.union1d(first, second))
        return Estimate(mean(found), left_out(found, first, second), 1, len(found), units)
    means = np.bincount(place, weights=found) / np.bincount(place)
    return Estimate(mean(means), mean_error(means), len(numbers), len(found), len(numbers))


def by_chance(pairs: Pairs, scores: Floats, chosen: Flags, sets: Integers) -> Estimate:
    """The mean over the chosen pairs of different sets; its error leaves out a set at a time."""
    chosen = chosen & ~np.isnan(scores)
    found, one, two = scores[chosen], sets[pairs.first[chosen]], sets[pairs.second[chosen]]
    units = len(np.union1d(one, two))
    return Estimate(mean(found), left_out(found, one, two), units, len(found), units)


def left_out(found: Floats, one: Integers, two: Integers) -> float:
    """Jackknife error of a mean over pairs, leaving out one unit and all its pairs at a time;
    `one` and `two` are the units that a pair belongs to."""
    units, place = np.unique(np.concatenate((one, two)), return_inverse=True)
    if len(units) < 3:
        return math.nan
    both = np.concatenate((found, found))
    total = np.bincount(place, weights=both)
    count = np.bincount(place).astype(np.float64)
    rest = len(found) - count
    if (rest <= 0).any():
        return math.nan
    return left_out_error((found.sum() - total) / rest)


def by_set(pairs: Pairs, scores: Floats, own: Integers, other: Integers, sources: int) -> Array:
    """The mean likeness of every two sources (the lower number first) in every set."""
    chosen = ~np.isnan(scores)
    numbers, place = np.unique(pairs.sets[chosen], return_inverse=True)
    one, two = own[chosen], other[chosen]
    cell = (place * sources + np.minimum(one, two)) * sources + np.maximum(one, two)
    size = len(numbers) * sources * sources
    total = np.bincount(cell, weights=scores[chosen], minlength=size)
    return shares(total, np.bincount(cell, minlength=size)).reshape(-1, sources, sources)


@dataclass(frozen=True, slots=True)
class Link:
    """Two branches of sources that join, how alike they are, and in how many draws they do."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    likeness: float
    support: float


def tree(means: Array, seed: int) -> list[Link]:
    """Average linkage of 1 - likeness; `means[s, a, b]` is the likeness of two sources in set s.

    Nothing where a pair of sources has no likeness. The support of a branch is the share of draws
    of the sets, with replacement, whose tree has the same branch.
    """
    sets, sources, _ = means.shape
    known = ~np.isnan(means)
    filled = np.where(known, means, 0.0).reshape(sets, sources * sources)
    held = known.reshape(sets, sources * sources).astype(np.float64)

    def likeness(weights: Floats) -> Floats:
        weight = weights @ held
        shape = np.full(sources * sources, np.nan)
        summed = np.divide(weights @ filled, weight, out=shape, where=weight > 0)
        return summed.reshape(sources, sources)

    links = _linked(likeness(np.ones(sets)))
    counts = dict.fromkeys((tuple(sorted((*left, *right))) for left, right, _ in links), 0)
    rng = generator(seed, "support of branches")
    drawn = 0
    for _ in range(DRAWS if sets > 1 and links else 0):
        weights = np.bincount(rng.integers(0, sets, sets), minlength=sets).astype(np.float64)
        again = _linked(likeness(weights))
        drawn += bool(again)
        for left, right, _ in again:
            branch = tuple(sorted((*left, *right)))
            if branch in counts:
                counts[branch] += 1
    return [
        Link(left, right, alike, counts[tuple(sorted((*left, *right)))] / drawn)
        if drawn
        else Link(left, right, alike, math.nan)
        for left, right, alike in links
    ]


def _linked(alike: Floats) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """The links from the most alike to the least."""
    from scipy.cluster.hierarchy import linkage

    count = len(alike)
    upper = alike[np.triu_indices(count, 1)]
    if count < 3 or np.isnan(upper).any():
        return []
    members: list[tuple[int, ...]] = [(number,) for number in range(count)]
    found = []
    for left, right, distance, _ in linkage(1 - upper, "average"):
        one, two = members[int(left)], members[int(right)]
        members.append((*one, *two))
        found.append((one, two, float(1 - distance)))
    return found


def leaves(links: Sequence[Link], sources: int) -> list[int]:
    """The sources from top to bottom of the tree."""
    if not links:
        return list(range(sources))
    return [*links[-1].left, *links[-1].right]
