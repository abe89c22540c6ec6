"""Tests on pairs: worked out by hand, and against scipy and a slow twin."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rote.compare.exact_tests import mcnemar, signed_ranks


def test_answers_lost_and_gained_worked_out_by_hand() -> None:
    before = np.array([True] * 6 + [False] * 3 + [True])
    after = np.array([False] * 5 + [True] + [True] + [False] * 2 + [True])
    found = mcnemar(before, after)
    assert (found.lost, found.gained) == (5, 1)
    # Of 6 changes 1 or fewer, or 5 or more, go one way: 2 * (1 + 6) / 64.
    assert found.p == pytest.approx(14 / 64)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_mcnemar_agrees_with_all_ways_changes_fall(pairs: list[tuple[bool, bool]]) -> None:
    before, after = (np.array(column, bool) for column in (zip(*pairs) if pairs else ((), ())))
    found = mcnemar(before, after)
    changed = found.lost + found.gained
    if not changed:
        assert math.isnan(found.p)
        return
    gap = abs(found.lost - found.gained)
    ways = [abs(2 * sum(way) - changed) >= gap for way in product((0, 1), repeat=changed)]
    assert found.p == pytest.approx(sum(ways) / len(ways))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=10))
def test_signed_ranks_agree_with_all_ways_signs_fall(pairs: list[tuple[int, int]]) -> None:
    before, after = np.array(pairs, float).reshape(-1, 2).T
    found = signed_ranks(before, after)
    differences = [d for d in (after - before).tolist() if d]
    assert found.pairs == len(differences)
    if not differences:
        assert math.isnan(found.p)
        return
    ranks = stats.rankdata(np.abs(differences))
    total = ranks.sum()
    sums = [sum(r for r, up in zip(ranks, way) if up) for way in product((0, 1), repeat=len(ranks))]
    smaller = [min(one, total - one) for one in sums]
    assert found.p == pytest.approx(np.mean([one <= found.statistic + 1e-9 for one in smaller]))


def test_many_pairs_agree_with_scipy_and_undefined_ones_do_not_count() -> None:
    rng = np.random.default_rng(1)
    before = rng.integers(1, 30, 400).astype(float)
    after = before + rng.integers(-3, 3, 400)
    before[7] = np.nan
    found = signed_ranks(before, after)
    kept = ~np.isnan(before)
    expected = stats.wilcoxon(after[kept] - before[kept])
    assert found.p == pytest.approx(float(expected.pvalue))
    assert found.statistic == pytest.approx(float(expected.statistic))


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), max_size=12))
def test_signs_of_twins_are_turned_together(items: list[tuple[bool, bool, int]]) -> None:
    before, after, clusters = (
        np.array([item[place] for item in items], kind)
        for place, kind in enumerate((bool, bool, int))
    )
    found = mcnemar(before, after, clusters)
    if not found.lost + found.gained:
        assert math.isnan(found.p)
        return
    sums = [sum(int(a) - int(b) for b, a, c in items if c == own) for own in set(clusters.tolist())]
    totals = [
        abs(sum(s * d for s, d in zip(way, sums))) for way in product((-1, 1), repeat=len(sums))
    ]
    gap = abs(found.gained - found.lost)
    assert found.p == pytest.approx(np.mean([total >= gap for total in totals]))


def test_twins_do_not_make_a_change_surer() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=80), rng.normal(0.3, 1, size=80)
    once = signed_ranks(before, after)
    twins = np.repeat(np.arange(80), 2)
    twice = signed_ranks(np.repeat(before, 2), np.repeat(after, 2), twins)
    assert twice.p == pytest.approx(once.p, rel=0.02)
    assert signed_ranks(np.repeat(before, 2), np.repeat(after, 2)).p < once.p
