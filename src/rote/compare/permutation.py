"""Does a source differ from the reference? Labels are permuted, and p-values corrected.

Where sources answer the same prompts (`doc_id`), labels are exchanged only among
texts with the same doc_id, so that what the prompts themselves demand cannot look
like a difference between sources. Texts whose prompt only one of the two has exchange
labels among themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rote.compare._resample import draws
from rote.core.metric import Values
from rote.core.progress import Advance
from rote.core.sample import Take

Strata = NDArray[np.int64]
"""For every text the number of its doc_id; -1 where it has none."""
Groups = tuple[Take, Take]


def shared_strata(a: Take, b: Take, strata: Strata) -> int:
    """How many doc_ids have texts in both groups."""
    common = np.intersect1d(strata[a], strata[b])
    return int((common >= 0).sum())


def permuted_differences(
    reduce: Callable[[Take, np.random.Generator], Values],
    a: Take,
    b: Take,
    *,
    strata: Strata,
    count: int,
    seed: int,
    purpose: str,
    jobs: int = 1,
    advance: Advance = lambda amount: None,
) -> dict[str, NDArray[np.float64]]:
    """value(a) - value(b) for every value, `count` times with the labels permuted."""
    exchange = exchanges(a, b, strata)

    def one(rng: np.random.Generator) -> Values:
        ours, theirs = exchange(rng)
        left, right = reduce(ours, rng), reduce(theirs, rng)
        return {name: left[name] - right[name] for name in left}

    return draws(one, count=count, seed=seed, purpose=purpose, jobs=jobs, advance=advance)


def exchanges(a: Take, b: Take, strata: Strata) -> Callable[[np.random.Generator], Groups]:
    """A function that gives two groups of the same sizes, with their labels permuted.

    Labels move within a doc_id that both groups share, and among all texts that share none.
    """
    pooled = np.concatenate((a, b))
    labels = np.concatenate((np.ones(len(a), bool), np.zeros(len(b), bool)))
    common = np.intersect1d(strata[a], strata[b])
    stratum = np.where(np.isin(strata[pooled], common[common >= 0]), strata[pooled], -1)

    def exchange(rng: np.random.Generator) -> Groups:
        shuffled = _shuffled_within(labels, stratum, rng)
        return np.sort(pooled[shuffled]), np.sort(pooled[~shuffled])

    return exchange


def p_value(permuted: NDArray[np.float64], observed: float) -> float:
    """Two-sided: how often permuted labels give a difference at least as far from the middle.

    The middle is 0 where both groups have as many texts. Where they have not, a value that moves
    with the number of texts differs by that alone, under permuted labels too.
    """
    permuted = permuted[~np.isnan(permuted)]
    middle = expected_difference(permuted, observed)
    return _as_large(permuted - middle, observed - middle)


def expected_difference(permuted: NDArray[np.float64], observed: float) -> float:
    """What two groups of these sizes differ by if labels mean nothing: the middle of all."""
    permuted = permuted[~np.isnan(permuted)]
    return float((permuted.sum() + observed) / (len(permuted) + 1))


def matched_p_value(permuted: NDArray[np.float64], observed: float) -> float:
    """The same for a difference between length-matched values.

    Permuted groups are of about equal length where doc_ids pair them, so their
    differences are free of the effect of length; where they are not (unequal
    numbers of texts), that effect is their mean, and is taken out.
    """
    permuted = permuted[~np.isnan(permuted)]
    return _as_large(permuted - permuted.mean(), observed) if len(permuted) else float("nan")


def _as_large(permuted: NDArray[np.float64], observed: float) -> float:
    """How often a permuted difference is as large as the observed one, which counts as one."""
    if np.isnan(observed) or len(permuted) == 0:
        return float("nan")
    # Differences equal up to rounding count as equal, else p would depend on the order of sums.
    at_least = np.abs(permuted) >= abs(observed) - 1e-12 * max(1.0, abs(observed))
    return float((1 + at_least.sum()) / (1 + len(permuted)))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction; undefined p-values stay undefined and do not count."""
    values = np.asarray(p, dtype=np.float64)
    corrected = np.full(len(values), np.nan)
    defined = np.flatnonzero(~np.isnan(values))
    highest = 0.0
    for rank, index in enumerate(defined[np.argsort(values[defined], kind="stable")]):
        highest = max(highest, min(1.0, (len(defined) - rank) * values[index]))
        corrected[index] = highest
    return [float(value) for value in corrected]


def _shuffled_within(
    labels: NDArray[np.bool_], stratum: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Labels permuted among the texts of each stratum; those without one are a stratum too."""
    keys = rng.random(len(labels))
    by_stratum = np.argsort(stratum, kind="stable")
    by_key = np.lexsort((keys, stratum))
    shuffled = np.empty_like(labels)
    shuffled[by_stratum] = labels[by_key]
    return shuffled
