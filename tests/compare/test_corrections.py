"""Holm, Benjamini and Hochberg, what tests could have shown, and tests of equivalence."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from rote.compare.intervals import interval_error, interval_from_error
from rote.compare.multiple_testing import (
    POWER,
    Correction,
    Margin,
    adjust_p_values,
    correct,
    equivalence_p,
    min_p_factor,
)
from rote.compare.permutation import LEVEL, PermutedTest
from rote.core.errors import OptionError

CORRECTIONS: list[Correction] = ["westfall-young", "holm", "bh"]


def test_p_values_are_corrected_as_by_hand() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    # Holm: 4 × 0.005, 3 × 0.01, 2 × 0.03, and no less than the one before.
    assert adjust_p_values(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # Benjamini and Hochberg: 4 / 1 × 0.005, 4 / 2 × 0.01, 4 / 3 × 0.03, 4 / 4 × 0.04.
    assert adjust_p_values(p, "bh") == pytest.approx([0.02, 0.04, 0.04, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_false_discoveries_are_controlled_as_by_scipy(p: list[float]) -> None:
    assert adjust_p_values(p, "bh") == pytest.approx(false_discovery_control(p))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_rejects_one_by_one(p: list[float]) -> None:
    left, found, highest = list(range(len(p))), {}, 0.0
    while left:
        least = min(left, key=lambda n: p[n])
        highest = max(highest, min(1.0, len(left) * p[least]))
        found[least] = highest
        left.remove(least)
    assert adjust_p_values(p, "holm") == pytest.approx([found[n] for n in range(len(p))])


def made(rng: np.random.Generator, tests: int, draws: int) -> list[PermutedTest]:
    return [
        PermutedTest(str(n % 3), float(rng.normal() * 2), rng.normal(size=draws))
        for n in range(tests)
    ]


@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_a_family_is_corrected_over_all_its_tests(correction: Correction) -> None:
    tests = made(np.random.default_rng(2), 9, 99)
    tests.insert(4, PermutedTest("0", math.nan, np.zeros(99)))
    found = correct(tests, correction)
    defined = [test.p for test in tests if not math.isnan(test.observed)]
    corrected = adjust_p_values(defined, correction)
    assert [out.p for out in found if not math.isnan(out.p)] == pytest.approx(corrected)
    assert math.isnan(found[4].p)


def test_the_floor_is_the_smallest_p_that_a_family_could_have() -> None:
    far = [PermutedTest(source, 9.0, np.linspace(-1, 1, 99)) for source in "aabb"]
    floors = {c: [out.floor for out in correct(far, c)] for c in CORRECTIONS}
    assert floors["westfall-young"] == [0.01] * 4
    assert floors["holm"] == [0.04] * 4
    assert floors["bh"] == [0.01] * 4  # all of them may be differences
    for correction, own in floors.items():
        assert own[0] == pytest.approx(min_p_factor(correction, 4) / 100)
        assert [out.p for out in correct(far, correction)] == own


# Texts are vectors of values; a source's value is the mean of its texts.

SOURCES, VALUES, TEXTS = 3, 4, 40
DRAWS = 499  # enough for Holm over 12 tests
Study = tuple[list[PermutedTest], np.ndarray]


def study(rng: np.random.Generator) -> Study:
    """Every source against one reference without a difference, and what one of 1 in the first value
    of the first source would add to its permuted ones."""
    shape = (SOURCES + 1, TEXTS, VALUES)
    texts = rng.normal(size=shape) + rng.normal(size=(*shape[:2], 1))
    labels = np.repeat([1.0, -1.0], TEXTS)
    tests, added = [], None
    for source in range(1, SOURCES + 1):
        chosen = rng.permuted(np.tile(labels, (DRAWS, 1)), axis=1) / TEXTS
        drawn = chosen @ np.concatenate((texts[source], texts[0]))
        added = chosen[:, :TEXTS].sum(axis=1) if added is None else added
        seen = texts[source].mean(axis=0) - texts[0].mean(axis=0)
        tests += [
            PermutedTest(str(source), float(seen[v]), drawn[:, v], widening=1 / (2 * TEXTS - 1))
            for v in range(VALUES)
        ]
    assert added is not None
    return tests, added


def differing(made: Study, effect: float) -> list[PermutedTest]:
    """The same study where the first value of the first source differs by this much."""
    (first, *others), added = made
    observed, permuted = first.observed + effect, first.permuted + effect * added
    return [replace(first, observed=observed, permuted=permuted), *others]


@pytest.fixture(scope="module")
def studies() -> list[Study]:
    rng = np.random.default_rng(11)
    return [study(rng) for _ in range(170)]


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_smallest_detectable_difference_is_found_four_times_in_five(
    correction: Correction, studies: list[Study]
) -> None:
    effect = float(np.mean([correct(tests, correction)[0].detectable for tests, _ in studies[:20]]))
    # Theory for one test of two means: (1.96 + 0.84) × sqrt(2 × 2 / 40); more where corrected.
    assert effect > 2.8 * math.sqrt(0.1)
    found = [correct(differing(one, effect), correction)[0].p < LEVEL for one in studies[20:]]
    # Of 150 studies: a standard error of 3 points.
    assert np.mean(found) == pytest.approx(POWER, abs=0.1)


def test_what_could_not_be_found_has_no_smallest_difference_to_show() -> None:
    constant = PermutedTest("a", 0.0, np.zeros(99))
    assert math.isnan(correct([constant])[0].detectable)


@pytest.mark.parametrize(("sizes", "spreads"), [((12, 12), (1, 1)), ((10, 40), (3, 1))])
def test_equivalence_holds_its_level_at_the_edge_of_the_margin(
    sizes: tuple[int, int], spreads: tuple[float, float]
) -> None:
    rng = np.random.default_rng(5)
    errors = [s / math.sqrt(n) for s, n in zip(spreads, sizes)]
    margin = 4 * math.hypot(*errors)
    hits = 0
    for _ in range(1_000):
        own, other = (rng.normal(0, s, n) for s, n in zip(spreads, sizes))
        own += margin
        seen = [float(x.std(ddof=1)) / math.sqrt(len(x)) for x in (own, other)]
        hits += equivalence_p(own.mean() - other.mean(), margin, seen, sizes) < LEVEL
    # A standard error of 0.7 points.
    assert 0.03 <= hits / 1_000 <= 0.07


def test_equivalence_of_shares_holds_its_level_with_the_errors_of_their_intervals() -> None:
    rng = np.random.default_rng(6)
    texts, margin, hits = 300, 0.08, 0
    for _ in range(600):
        counts = rng.binomial(texts, (0.88, 0.80))
        shares = counts / texts
        ends = [
            interval_from_error(p, math.sqrt(p * (1 - p) / texts), 0.95, texts, share=True)
            for p in shares
        ]
        errors = [interval_error(p, both, 0.95, texts) for p, both in zip(shares, ends)]
        hits += equivalence_p(shares[0] - shares[1], margin, errors, (texts, texts)) < LEVEL
    # The farther end of an interval is taken: cautious.
    assert 0.01 <= hits / 600 <= 0.06


def test_equivalence_is_shown_where_values_are_close_and_never_without_an_error() -> None:
    assert equivalence_p(0.1, 1.0, (0.1, 0.1), (50, 50)) < 1e-6
    assert equivalence_p(-0.1, 1.0, (0.1, 0.1), (50, 50)) < 1e-6
    assert equivalence_p(1.2, 1.0, (0.1, 0.1), (50, 50)) > 0.5
    for undefined in (
        equivalence_p(0.0, 1.0, (0.0, 0.0), (50, 50)),
        equivalence_p(0.0, 0.0, (0.1, 0.1), (50, 50)),
        equivalence_p(0.0, 1.0, (math.nan, 0.1), (50, 50)),
        equivalence_p(0.0, 1.0, (0.1, 0.1), (1, 50)),
    ):
        assert math.isnan(undefined)


def test_a_margin_is_a_share_or_a_number() -> None:
    assert Margin.of("5%").at(-40.0) == pytest.approx(2.0)
    assert Margin.of("5 %").at(10.0) == pytest.approx(0.5)
    assert Margin.of("0.02").at(10.0) == 0.02
    for wrong in ("", "much", "-1", "0", "0%", "inf", "nan"):
        with pytest.raises(OptionError, match="a margin is"):
            Margin.of(wrong)
