"""Do several judges put the same things into the same order? Kendall's coefficient W.

Here the judges are the levels of a factor (temperatures, sizes, tasks) and the things are the
sources: W = 1 where every level orders the sources alike, near 0 where the orders have nothing to
do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from rote.compare._resample import generator
from rote.compare.correlation import ranks

Floats = NDArray[np.float64]

EXACT = 50_000
"""Up to so many arrangements of the ranks all of them are tried."""
DRAWS = 9_999
_FEW = 12


@dataclass(frozen=True, slots=True)
class Agreement:
    """W and its p-value; nan with a reason where it is undefined."""

    w: float
    p: float
    exact: bool
    reason: str | None = None


def kendall_w(scores: Floats) -> float:
    """W of `scores` (judges x things), corrected for ties; nan where there is nothing to order.

    W = 12 S / (m^2 (n^3 - n) - m T): S is the sum of squares of the things' rank sums about their
    mean, and T the sum of t^3 - t over all groups of t equal ranks of a judge.
    """
    judges, things = scores.shape
    if judges < 2 or things < 2:
        return math.nan
    ranked = np.array([ranks(row) for row in scores])
    most = _most(ranked)
    return 12 * _spread(ranked.sum(axis=0)) / most if most > 0 else math.nan


def agreement(scores: Floats, *, seed: int, purpose: str = "") -> Agreement:
    """W with its p-value: how often orders that have nothing in common agree as much."""
    judges, things = scores.shape
    w = kendall_w(scores)
    if math.isnan(w):
        return Agreement(w, math.nan, True, _reason(judges, things))
    ranked = np.array([ranks(row) for row in scores])
    observed = _spread(ranked.sum(axis=0)) - 1e-9
    if math.factorial(things) ** (judges - 1) <= EXACT:
        sums = _all_sums(ranked)
        return Agreement(w, float((_spreads(sums) >= observed).mean()), True)
    rng = generator(seed, f"agreement {purpose}")
    shuffled = rng.permuted(np.tile(ranked, (DRAWS, 1, 1)), axis=2)
    above = int((_spreads(shuffled.sum(axis=1)) >= observed).sum())
    return Agreement(w, (1 + above) / (1 + DRAWS), False)


def largest_block(present: NDArray[np.bool_], least: int = 2) -> tuple[list[int], list[int]]:
    """The judges and things of the largest part of a table without gaps (judges x things).

    It has at least two judges and `least` things, or is empty. With many judges only the things
    that all of them have are looked at.
    """
    judges = present.shape[0]
    subsets: Iterable[tuple[int, ...]] = [tuple(range(judges))]
    if judges <= _FEW and not present.all():
        sizes = range(judges, 1, -1)
        subsets = (rows for size in sizes for rows in combinations(range(judges), size))
    best: tuple[list[int], list[int]] = ([], [])
    worth = (0, 0)
    for rows in subsets:
        things = np.flatnonzero(present[list(rows)].all(axis=0)).tolist()
        # Where two parts have as many cells, the one with more things says more.
        own = (len(rows) * len(things), len(things))
        if len(rows) > 1 and len(things) >= least and own > worth:
            best, worth = (list(rows), things), own
    return best


def _spread(sums: Floats) -> float:
    return float(((sums - sums.mean()) ** 2).sum())


def _spreads(sums: Floats) -> Floats:
    return np.asarray(((sums - sums.mean(axis=1, keepdims=True)) ** 2).sum(axis=1), np.float64)


def _most(ranked: Floats) -> float:
    judges, things = ranked.shape
    ties = 0
    for row in ranked:
        _, counts = np.unique(row, return_counts=True)
        ties += int((counts**3 - counts).sum())
    return float(judges**2 * (things**3 - things) - judges * ties)


def _all_sums(ranked: Floats) -> Floats:
    """Rank sums of every arrangement; the first judge may stay, only the others' orders matter."""
    sums = ranked[:1]
    for row in ranked[1:]:
        orders = np.array(list(permutations(row)))
        sums = (sums[:, None] + orders[None]).reshape(-1, ranked.shape[1])
    return sums


def _reason(judges: int, things: int) -> str:
    if judges < 2:
        return "an order can only be stable over at least two levels"
    return "fewer than two sources" if things < 2 else "all sources are equal in every level"
