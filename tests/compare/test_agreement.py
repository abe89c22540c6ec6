"""Kendall's W against the plain formula, a worked example, and every arrangement of ranks."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from scipy import stats

from rote.compare.correlation import agreement, kendall_w, largest_block
from tests.examples import drawn


def small(chance: random.Random) -> np.ndarray:
    judges, things = chance.choice([(2, 2), (2, 3), (3, 2), (3, 3), (2, 4)])
    return np.array([[chance.randint(0, 4) for _ in range(things)] for _ in range(judges)], float)


def any_flags(chance: random.Random) -> np.ndarray:
    shape, share = (chance.randint(1, 4), chance.randint(1, 5)), chance.random()
    return np.array([[chance.random() < share for _ in range(shape[1])] for _ in range(shape[0])])


def plain_w(scores: np.ndarray) -> float:
    """W as a variance: of the mean ranks, over what it would be if all judges agreed."""
    return w_of_ranks([stats.rankdata(row).tolist() for row in scores])


def w_of_ranks(ranked: Sequence[Sequence[float]]) -> float:
    judges, things = len(ranked), len(ranked[0])
    sums = [sum(ranked[j][t] for j in range(judges)) for t in range(things)]
    mean = sum(sums) / things
    s = sum((value - mean) ** 2 for value in sums)
    ties = 0
    for row in ranked:
        for value in set(row):
            t = list(row).count(value)
            ties += t**3 - t
    most = judges**2 * (things**3 - things) - judges * ties
    return 12 * s / most if most else math.nan


def every_p(scores: np.ndarray) -> float:
    """The slow twin: the ranks of every judge in every order."""
    observed = plain_w(scores)
    ranked = [stats.rankdata(row).tolist() for row in scores]
    found = [w_of_ranks(rows) for rows in itertools.product(*map(orders, ranked))]
    return sum(w >= observed - 1e-9 for w in found) / len(found)


def orders(row: Sequence[float]) -> list[tuple[float, ...]]:
    return list(itertools.permutations(row))


def test_an_example_worked_out_by_hand() -> None:
    scores = np.array([[1.0, 2, 3, 4], [10, 30, 40, 20], [0.2, 0.4, 0.3, 0.1]])
    # Rank sums 4, 9, 10, 7 lie 3.5, 1.5, 2.5, 0.5 from 7.5: S = 21, of 9 * 60 / 12 = 45 at most.
    assert kendall_w(scores) == pytest.approx(21 / 45)


def test_judges_who_agree_give_one_and_two_who_contradict_give_zero() -> None:
    up = np.arange(5.0)
    assert kendall_w(np.array([up, up**3, up - 9])) == pytest.approx(1)
    assert kendall_w(np.array([up, -up])) == pytest.approx(0)


def test_w_of_two_judges_is_their_spearman_halfway_to_one() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(2, 7))
    rho = stats.spearmanr(*scores).statistic
    assert kendall_w(scores) == pytest.approx((rho + 1) / 2)


def test_w_goes_with_friedmans_statistic_also_with_ties() -> None:
    scores = np.array([[1.0, 2, 2, 4], [3, 1, 2, 2], [1, 1, 5, 7], [2, 3, 4, 5]])
    friedman = stats.friedmanchisquare(*scores.T).statistic
    assert kendall_w(scores) == pytest.approx(friedman / (4 * 3))


@given(drawn(small))
def test_w_and_its_p_value_are_those_of_the_plain_twin(scores: np.ndarray) -> None:
    found = agreement(scores, seed=0)
    assert found.exact
    expected = plain_w(scores)
    assert found.w == pytest.approx(expected, nan_ok=True)
    if math.isnan(expected):
        assert found.reason == "all sources are equal in every level"
    else:
        assert found.p == pytest.approx(every_p(scores))


def test_many_arrangements_are_drawn_with_the_same_outcome_each_time() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(4, 8)) + np.arange(8)
    found = agreement(scores, seed=0, purpose="x")
    assert not found.exact
    assert found == agreement(scores, seed=0, purpose="x")
    assert found.p < 0.01
    chance = agreement(rng.normal(size=(4, 8)), seed=0)
    approximate = stats.chi2.sf(chance.w * 4 * 7, 7)
    assert chance.p == pytest.approx(approximate, abs=0.1)


@pytest.mark.parametrize(
    ("shape", "reason"), [((1, 4), "at least two levels"), ((3, 1), "fewer than two sources")]
)
def test_one_level_or_one_source_has_no_agreement(shape: tuple[int, int], reason: str) -> None:
    found = agreement(np.ones(shape), seed=0)
    assert math.isnan(found.w)
    assert math.isnan(found.p)
    assert reason in str(found.reason)


def test_the_largest_part_without_gaps_is_found() -> None:
    present = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]], bool)
    assert largest_block(present) == ([2, 3], [0, 1, 2, 3, 4])
    assert largest_block(np.ones((2, 3), bool)) == ([0, 1], [0, 1, 2])
    assert largest_block(np.eye(3, dtype=bool)) == ([], [])
    assert largest_block(np.ones((3, 2), bool), least=3) == ([], [])
    assert largest_block(np.ones((1, 4), bool)) == ([], [])


@given(drawn(any_flags))
def test_no_other_part_without_gaps_is_larger(present: np.ndarray) -> None:
    rows, things = largest_block(present)
    assert present[np.ix_(rows, things)].all()
    best = 0
    for size in range(2, present.shape[0] + 1):
        for some in itertools.combinations(range(present.shape[0]), size):
            held = int(present[list(some)].all(axis=0).sum())
            best = max(best, size * held if held >= 2 else 0)
    assert len(rows) * len(things) == best
