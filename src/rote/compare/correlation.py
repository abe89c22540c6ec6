"""How two things go together over a handful of sources: coefficients, intervals, exact tests.
p-values come from all orders of the sources, or from many random ones where there are too many.

A source that occurs in several facets (tasks, genres) is still one source: numbers are centred
within each facet, and tests exchange whole sources, in all facets at once.

Rank correlations of items where some belong together know what every cluster adds to them
(`clusters.py`), so that two over the same items can be subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, permutations
from statistics import NormalDist

import numpy as np

from rote.compare.clusters import ClusterEstimate
from rote.compare.resampling import generator
from rote.core.arrays import Array, Flags, Floats, Integers
from rote.core.progress import several

MIN_ITEMS = 3
"""Two items always lie on a line."""
_SINGULAR = 1e-9


def ranked(values: Array) -> Floats:
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
    a, b = (ranked(places) / n for places in (x_places, y_places))
    a, b = a - a.mean(), b - b.mean()
    a2, b2 = (a * a).mean(), (b * b).mean()
    over, under = float((a * b).mean()), math.sqrt(float(a2 * b2))
    # An item moves the products by its own, and by raising the ranks of all above it.
    product = a * b + _weights_above(x_places, b) + _weights_above(y_places, a)
    sides = ((a, a2, x_places), (b, b2, y_places))
    spreads = [(c * c + 2 * _weights_above(places, c)) / c2 for c, c2, places in sides]
    spread = spreads[0] + spreads[1]
    each = (product - product.mean()) / under - over / under / 2 * (spread - spread.mean())
    influence = np.bincount(items, each, minlength=count) / n
    return ClusterEstimate(over / under, influence * math.sqrt(least / (least - 1)), least)


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
    influence *= math.sqrt((least - 1) / (free - 1))
    return ClusterEstimate(float(-p01 / under), influence, free)


MIN_SOURCES = 3
"""Two sources always lie on a line."""
MIN_FOR_INTERVAL = 4
MAX_EXACT = 8
"""Up to so many sources every order is tried: 40,320 of them."""
DRAWS = 49_999
_SAME = 1e-10
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Coefficient:
    estimate: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """Two columns over the sources that have both; `reason` says why a number is undefined."""

    a: int
    b: int
    sources: int
    pearson: Coefficient
    spearman: Coefficient
    exact: bool
    reason: str | None
    weakest: float = math.nan
    """Pearson's r without the one source that holds it up the most."""
    weakest_without: int | None = None


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r; nan where one of the two is constant."""
    scaled = _scaled(np.stack((x, y), axis=-1)[None])
    return float(scaled[..., 0].ravel() @ scaled[..., 1].ravel())


def spearman(x: Floats, y: Floats) -> float:
    """Pearson's r of the ranks; equal numbers share the mean of their ranks."""
    return pearson(ranked(x), ranked(y))


def fisher_interval(r: float, n: int, level: float) -> tuple[float, float]:
    """The interval of Pearson's r by Fisher's z, whose standard error is 1 / sqrt(n - 3)."""
    return _back_from_z(r, n, 1.0, level)


def bonett_wright_interval(rho: float, n: int, level: float) -> tuple[float, float]:
    """The interval of Spearman's rho: Fisher's z, with the wider error of Bonett and Wright."""
    return _back_from_z(rho, n, 1 + rho * rho / 2, level)


def correlate_columns(block: Floats, *, level: float, seed: int) -> list[ColumnPair]:
    """Every two columns of `block` (facets x sources x columns; nan where there is no number).

    A source counts for a pair where it has both columns in every facet.
    """
    present = np.asarray(~np.isnan(block).any(axis=0), np.bool_)
    columns = block.shape[2]
    pairs: dict[tuple[int, int], ColumnPair] = {}
    for a in range(columns):
        partners: dict[bytes, list[int]] = {}
        for b in range(a + 1, columns):
            partners.setdefault((present[:, a] & present[:, b]).tobytes(), []).append(b)
        for others in partners.values():
            both = present[:, a] & present[:, others[0]]
            places = np.flatnonzero(both)
            for pair in _correlate_first(block[:, both][:, :, [a, *others]], level, seed):
                b, gone = others[pair.b], pair.weakest_without
                without = None if gone is None else int(places[gone])
                pairs[a, b] = replace(pair, a=a, b=b, weakest_without=without)
    return [pairs[key] for key in sorted(pairs)]


def smallest_p(sources: int) -> float:
    """What p is at best: no other order comes as far as the one that was seen."""
    return 1 / math.factorial(sources) if sources <= MAX_EXACT else 1 / (1 + DRAWS)


def _correlate_first(block: Floats, level: float, seed: int) -> Iterator[ColumnPair]:
    """The first column against each of the others; no number is missing."""
    _, sources, columns = block.shape
    exact = sources <= MAX_EXACT
    undefined = ColumnPair(0, 0, sources, Coefficient(), Coefficient(), exact, None)
    if sources < MIN_SOURCES:
        few = f"{several(sources, 'source')} with both: a correlation needs {MIN_SOURCES}"
        yield from (replace(undefined, b=b, reason=few) for b in range(columns - 1))
        return
    linear, by_rank = _scaled(block), _scaled(np.apply_along_axis(ranked, 1, block))
    constant = np.isnan(linear[0, 0])
    p_linear, p_rank = _p_values(linear, seed), _p_values(by_rank, seed)
    r, rho = _products(linear), _products(by_rank)
    for b in range(columns - 1):
        if constant[0] or constant[b + 1]:
            constant_column = "the first is" if constant[0] else "the second is"
            which = "both are" if constant[0] and constant[b + 1] else constant_column
            yield replace(undefined, b=b, reason=f"{which} the same in all sources")
            continue
        yield ColumnPair(
            0,
            b,
            sources,
            Coefficient(r[b], *fisher_interval(r[b], sources, level), p_linear[b]),
            Coefficient(rho[b], *bonett_wright_interval(rho[b], sources, level), p_rank[b]),
            exact,
            _no_interval(r[b], rho[b], sources) if level else None,
            *_leave_one_out(block[:, :, [0, b + 1]], r[b]),
        )


def _leave_one_out(block: Floats, r: float) -> tuple[float, int | None]:
    """r of two columns without the source that brings it nearest to 0, or furthest beyond."""
    sources = block.shape[1]
    if sources <= MIN_SOURCES:
        return math.nan, None
    others = (np.delete(block, gone, axis=1) for gone in range(sources))
    correlations = [_products(_scaled(rest))[0] for rest in others]
    towards = [value if r > 0 else -value for value in correlations]
    # A column that is constant without a source has no correlation left.
    place = int(np.argmin([-math.inf if math.isnan(value) else value for value in towards]))
    return correlations[place], place


def _scaled(block: Floats) -> Floats:
    """Columns centred within each facet and of length 1 over all; nan where constant."""
    centred = block - block.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=(0, 1)))
    # What is left of a constant after subtracting its mean is rounding, not variation.
    rounding = 1e-12 * np.abs(block).max(axis=(0, 1)) * math.sqrt(block.shape[0] * block.shape[1])
    size = np.where(size > rounding, size, np.nan)
    return np.asarray(centred / size, np.float64)


def _products(scaled: Floats) -> list[float]:
    products = np.einsum("fs,fsc->c", scaled[..., 0], scaled[..., 1:])
    return [float(value) for value in np.clip(products, -1, 1)]


def _p_values(scaled: Floats, seed: int) -> list[float]:
    """Two-sided, of the first column against each other one: its sources in every order."""
    facets, sources, columns = scaled.shape
    observed = np.abs(np.array(_products(scaled)))
    others = scaled[..., 1:].reshape(facets * sources, columns - 1)
    orders = _orders(sources, seed)
    at_least = np.zeros(columns - 1, np.int64)
    step = max(1, _CHUNK // (facets * sources))
    for start in range(0, len(orders), step):
        order = orders[start : start + step]
        moved = scaled[:, order, 0].transpose(1, 0, 2).reshape(len(order), -1)
        with np.errstate(invalid="ignore"):
            at_least += (np.abs(moved @ others) >= observed - _SAME).sum(axis=0)
    extra = 0 if sources <= MAX_EXACT else 1
    return [float(p) for p in (at_least + extra) / (len(orders) + extra)]


@lru_cache(maxsize=8)
def _orders(sources: int, seed: int) -> Integers:
    if sources <= MAX_EXACT:
        return np.array(list(permutations(range(sources))), np.int64)
    rng = generator(seed, f"orders of {sources}")
    return rng.permuted(np.tile(np.arange(sources), (DRAWS, 1)), axis=1)


def _back_from_z(r: float, n: int, spread: float, level: float) -> tuple[float, float]:
    if not level or n < MIN_FOR_INTERVAL or math.isnan(r) or 1 - abs(r) < 1e-12:
        return math.nan, math.nan
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(spread / (n - 3))
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def _no_interval(r: float, rho: float, sources: int) -> str | None:
    if sources < MIN_FOR_INTERVAL:
        return f"{several(sources, 'source')}: an interval needs {MIN_FOR_INTERVAL}"
    perfect = [name for name, x in (("Pearson", r), ("Spearman", rho)) if 1 - abs(x) < 1e-12]
    return f"a perfect correlation has no interval ({', '.join(perfect)})" if perfect else None


MAX_ARRANGEMENTS = 50_000
"""Up to so many arrangements of the ranks all of them are tried."""
ARRANGEMENTS = 9_999
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
    placed = np.apply_along_axis(ranked, 1, scores)
    tied = [np.unique(row, return_counts=True)[1] for row in placed]
    ties = sum(int((counts**3 - counts).sum()) for counts in tied)
    most = judges**2 * (things**3 - things) - judges * ties
    return float(12 * _spread(placed.sum(axis=0)) / most) if most > 0 else math.nan


def agreement(scores: Floats, *, seed: int, purpose: str = "") -> Agreement:
    """W with its p-value: how often orders that have nothing in common agree as much."""
    judges, things = scores.shape
    w = kendall_w(scores)
    if math.isnan(w):
        return Agreement(w, math.nan, True, _reason(judges, things))
    placed = np.apply_along_axis(ranked, 1, scores)
    observed = _spread(placed.sum(axis=0)) - 1e-9
    if math.factorial(things) ** (judges - 1) <= MAX_ARRANGEMENTS:
        # The first judge may stay, only the others' orders matter.
        sums = placed[:1]
        for row in placed[1:]:
            sums = (sums[:, None] + np.array(list(permutations(row)))[None]).reshape(-1, things)
        return Agreement(w, float((_spread(sums) >= observed).mean()), True)
    rng = generator(seed, f"agreement {purpose}")
    shuffled = rng.permuted(np.tile(placed, (ARRANGEMENTS, 1, 1)), axis=2)
    above = int((_spread(shuffled.sum(axis=1)) >= observed).sum())
    return Agreement(w, (1 + above) / (1 + ARRANGEMENTS), False)


def largest_block(present: Flags, least: int = 2) -> tuple[list[int], list[int]]:
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
        cells = (len(rows) * len(things), len(things))
        if len(rows) > 1 and len(things) >= least and cells > worth:
            best, worth = (list(rows), things), cells
    return best


def _spread(sums: Floats) -> Floats:
    return np.asarray(((sums - sums.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1), np.float64)


def _reason(judges: int, things: int) -> str:
    if judges < 2:
        return "the stability of an order needs at least two levels"
    return "fewer than two sources" if things < 2 else "all sources are equal in every level"
