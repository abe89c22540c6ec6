"""Permutation tests: exact cases by hand, the right size under no difference, Holm by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.compare.permutation import (
    PermutedTest,
    balance_groups,
    holm,
    least_p,
    make_exchange,
    permuted_differences,
    shared_strata,
)
from rote.core.arrays import Floats
from rote.core.metric import Values
from rote.core.sample import Take


def p_value(permuted: Floats, observed: float) -> float:
    return PermutedTest.of("a", observed, permuted, 0.0).p


def mean_test(a, b, strata=None, count=499, seed=0, jobs=1):  # type: ignore[no-untyped-def]
    data = np.concatenate((a, b)).astype(float)
    left, right = np.arange(len(a)), np.arange(len(a), len(data))
    strata = np.full(len(data), -1) if strata is None else np.array(strata)

    def reduce(take, rng):  # type: ignore[no-untyped-def]
        return {"mean": float(data[take].mean())}

    found = permuted_differences(
        reduce, left, right, strata=strata, numbers=range(count), seed=seed, purpose="t", jobs=jobs
    )
    return p_value(found["mean"], float(data[left].mean() - data[right].mean()))


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_groups_at_once_are_the_groups_one_by_one(jobs: int) -> None:
    data = np.random.default_rng(2).normal(size=30)
    how: Any = {
        "strata": np.repeat(np.arange(15), 2),
        "numbers": range(120),
        "seed": 4,
        "purpose": "t",
    }
    left, right = np.arange(0, 30, 2), np.arange(1, 30, 2)

    def many(takes: Sequence[Take]) -> dict[str, Floats]:
        return {"first": np.array([float(data[take[0]]) for take in takes])}

    one = permuted_differences(lambda take, rng: {"first": data[take[0]]}, left, right, **how)
    found = permuted_differences(one_by_one, left, right, **how, many=many, jobs=jobs)
    assert found.keys() == one.keys()
    assert found["first"].tolist() == one["first"].tolist()


def one_by_one(take: Take, rng: np.random.Generator) -> Values:
    raise AssertionError("many groups are taken at once")


def test_labels_move_within_a_doc_id_only() -> None:
    # Prompts differ hugely, sources by 1 in every pair: only the paired test can see it.
    prompts = np.arange(10) * 1000.0
    ids = list(range(10))
    assert mean_test(prompts + 1, prompts, [*ids, *ids], count=499) < 0.01
    assert mean_test(prompts + 1, prompts, count=499) > 0.5


@given(st.lists(st.tuples(st.booleans(), st.integers(-1, 3)), min_size=1, max_size=20))
def test_every_stratum_keeps_its_number_of_labels(pairs: list[tuple[bool, int]]) -> None:
    labels = np.array([label for label, _ in pairs])
    strata = np.array([stratum for _, stratum in pairs])
    a, b = np.flatnonzero(labels)[::-1], np.flatnonzero(~labels)
    ours, theirs = make_exchange(a, b, strata)(np.random.default_rng(0))
    assert sorted([*ours, *theirs]) == list(range(len(pairs)))
    assert (np.diff(ours) > 0).all()
    assert (np.diff(theirs) > 0).all()
    assert len(ours) == len(a)
    for stratum in set(strata[a].tolist()) & set(strata[b].tolist()) - {-1}:
        assert (strata[ours] == stratum).sum() == (strata[a] == stratum).sum()


def test_under_no_difference_p_is_uniform() -> None:
    rng = np.random.default_rng(5)
    p = [mean_test(rng.normal(size=12), rng.normal(size=12), count=39) for _ in range(300)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.035)
    assert np.mean(p) == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("shared", [1, 6])
def test_under_no_difference_p_is_uniform_where_some_doc_ids_are_shared(shared: int) -> None:
    # Were the others to keep their labels, permuted differences would all be near the observed.
    own = list(range(12))
    theirs = [*range(shared), *range(100, 112 - shared)]
    found = []
    for seed in range(300):
        data = np.random.default_rng(seed).normal(size=24)
        left, right = np.arange(12), np.arange(12, 24)
        permuted = permuted_differences(
            lambda take, rng, data=data: {"mean": float(data[take].mean())},
            left,
            right,
            strata=np.array(own + theirs),
            numbers=range(19),  # more would not make the level finer
            seed=seed,
            purpose="null",
        )["mean"]
        observed = float(data[left].mean() - data[right].mean())
        found.append(p_value(permuted, observed))
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.035)


def test_a_value_that_grows_with_the_number_of_texts_is_tested_all_the_same() -> None:
    # How many different numbers there are: many more in 40 texts than in 10. The larger group
    # repeats itself, which only shows against what its size would lead one to expect.
    rng = np.random.default_rng(3)
    data = np.concatenate((rng.integers(0, 12, 40), rng.integers(100, 10_000, 10)))
    left, right = np.arange(40), np.arange(40, 50)

    def kinds(take, rng):  # type: ignore[no-untyped-def]
        return {"kinds": float(len(np.unique(data[take])))}

    def p() -> float:
        permuted = permuted_differences(
            kinds, left, right, strata=np.full(50, -1), numbers=range(199), seed=1, purpose="size"
        )["kinds"]
        observed = kinds(left, rng)["kinds"] - kinds(right, rng)["kinds"]
        return p_value(permuted, observed)

    assert p() < 0.02
    data = rng.integers(0, 1000, 50)
    assert p() > 0.05


def test_a_part_is_permuted_as_the_whole_that_it_belongs_to() -> None:
    strata = np.array([0, 1, 2, 3, -1, -1, 0, 1, 2, 9, -1, -1])
    whole = (np.arange(6), np.arange(6, 12))
    part = (np.array([0, 2, 3, 5]), np.array([6, 8, 9, 10]))
    for seed in range(20):
        ours, _ = make_exchange(*whole, strata)(np.random.default_rng(seed))
        some, others = make_exchange(*part, strata, whole)(np.random.default_rng(seed))
        assert (len(some), len(others)) == (4, 4)
        # Both answers to 0 and to 2 are in the part: they change places here if they do there.
        for text in (0, 2, 6, 8):
            assert (text in some) == (text in ours)


def test_texts_without_a_partner_are_exchanged_too() -> None:
    # One shared doc_id, and a clear difference: it is found.
    a, b = np.arange(10) + 100, np.arange(10)
    ids = [*range(10), 0, *range(20, 29)]
    assert mean_test(a, b, ids, count=199) <= 2 / 200


def test_p_does_not_depend_on_jobs() -> None:
    a, b = np.arange(8), np.arange(8) + 1
    assert mean_test(a, b, jobs=1) == mean_test(a, b, jobs=2)


def test_shared_doc_ids_are_counted_once_and_missing_ones_never() -> None:
    strata = np.array([0, 1, -1, 0, 2, -1])
    assert len(shared_strata(np.array([0, 1, 2]), np.array([3, 4, 5]), strata)) == 1


def test_holm_by_hand() -> None:
    # sorted: 0.01*4, 0.02*3, 0.03*2 -> not below the one before, 0.5*1
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    corrected = holm([0.01, math.nan])
    assert corrected[0] == 0.01
    assert math.isnan(corrected[1])


def test_a_difference_is_held_against_the_middle_of_all() -> None:
    # All permuted differences lie near 5: the effect of unequal numbers, not of the source.
    permuted = np.array([4.9, 5.0, 5.1, 5.0])
    # Around the mean of all five, 5.01: deviations 0.11, 0.01, 0.09, 0.01, and 0.04 observed.
    assert p_value(permuted, 5.05) == 3 / 5


def test_texts_of_a_prompt_that_one_source_has_keep_together() -> None:
    # a: prompts 0 (twice), 1 (twice), 2, 3; b: prompts 4 (twice), 5, 6, and 3 too.
    strata = np.array([0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 3])
    a, b = np.arange(6), np.arange(6, 11)
    exchange, seen = make_exchange(a, b, strata), set()
    for seed in range(300):
        ours, theirs = exchange(np.random.default_rng(seed))
        assert (len(ours), len(theirs)) == (6, 5)
        for pair in ((0, 1), (2, 3), (6, 7)):
            assert len(set(pair) & set(ours.tolist())) in (0, 2)
        assert len({5, 10} & set(ours.tolist())) == 1
        seen.add(tuple(ours.tolist()))
    # 3 ways for the pairs, 3 for the single ones, 2 for the prompt that both have.
    assert len(seen) == 18
    assert least_p(a, b, strata) == pytest.approx(1 / 18)


def test_prompts_that_one_source_has_several_texts_of_raise_no_false_alarms() -> None:
    rng = np.random.default_rng(6)
    prompts = np.repeat(np.arange(30), 3)
    a, b = np.arange(45), np.arange(45, 90)
    wrong = 0
    for seed in range(400):
        values = rng.normal(size=30)[prompts] + 0.5 * rng.normal(size=90)

        def mean(take: Any, _: Any, values: Any = values) -> dict[str, float]:
            return {"x": float(values[take].mean())}

        how: dict[str, Any] = {
            "strata": prompts,
            "numbers": range(19),
            "seed": seed,
            "purpose": "x",
        }
        found = permuted_differences(mean, a, b, **how)["x"]
        wrong += p_value(found, values[a].mean() - values[b].mean()) <= 0.05
    assert 0.03 <= wrong / 400 <= 0.07


def _found_of(
    prompts: int, counts: Sequence[Any], alike: float, apart: float = 0.0, studies: int = 200
) -> float:
    """How often p <= 0.05 where prompts differ, answers of a source to a prompt are more or less
    alike, and sources are so far apart. `counts`: answers of each source to a prompt, or a list of
    numbers that prompts have in turn."""
    found = 0
    numbers = [np.resize(count, prompts) for count in counts]
    strata = np.concatenate([np.repeat(np.arange(prompts), own) for own in numbers])
    whole = np.split(np.arange(len(strata)), [numbers[0].sum()])
    # Who is chosen has nothing to do with values: some choices serve all studies.
    pairs = [balance_groups(*whole, strata, np.random.default_rng(choice)) for choice in range(25)]
    exchanging = [make_exchange(*pair, strata) for pair in pairs]
    for study in range(studies):
        rng = np.random.default_rng(study)
        asked = rng.normal(0, 2, prompts)
        answers = [np.repeat(asked + rng.normal(0, alike, prompts), own) for own in numbers]
        values = np.concatenate(answers) + rng.normal(0, 1, len(strata))
        values[whole[0]] += apart
        (a, b), exchange = pairs[study % 25], exchanging[study % 25]
        ones, others = map(np.stack, zip(*(exchange(rng) for _ in range(19))))
        permuted = values[ones].mean(axis=1) - values[others].mean(axis=1)
        found += p_value(permuted, values[a].mean() - values[b].mean()) <= 0.05
    return found / studies


@pytest.mark.parametrize(("prompts", "count"), [(30, 2), (12, 2), (30, 5)])
@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_several_answers_to_shared_prompts_hold_the_level(
    prompts: int, count: int, alike: float
) -> None:
    # One by one, answers that are alike make 15 to 32 %. 200 studies: a standard error of 1.5.
    assert 0.01 <= _found_of(prompts, (count, count), alike) <= 0.095


UNEQUAL = [(1, 5), (2, 3), (3, [1, 2, 3, 4, 6])]


@pytest.mark.parametrize("counts", UNEQUAL)
@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_unequal_numbers_of_answers_hold_the_level(counts: Sequence[Any], alike: float) -> None:
    # One by one, answers that are alike make 13 to 19 %. 300 studies: a standard error of 1.3.
    assert 0.02 <= _found_of(30, counts, alike, studies=300) <= 0.085


@pytest.mark.parametrize("counts", UNEQUAL)
def test_a_difference_is_found_where_numbers_of_answers_are_unequal(counts: Sequence[Any]) -> None:
    # One and a half standard deviations of an answer: pairs of single ones find it most rarely.
    assert _found_of(30, counts, 1.0, 1.5, studies=100) >= 0.7


def _as_many_slowly(a: Any, b: Any, strata: Any, key: Any) -> tuple[list[int], list[int]]:
    """One text at a time, in the order of the keys."""
    numbers = [{n: int((strata[own] == n).sum()) for n in strata.tolist()} for own in (a, b)]
    shared = {n for n in strata.tolist() if n >= 0 and numbers[0][n] and numbers[1][n]}
    kept: tuple[list[int], list[int]] = ([], [])
    for own, into in zip((a, b), kept):
        left = {n: min(numbers[0][n], numbers[1][n]) for n in shared}
        for text in sorted(own.tolist(), key=lambda t: key[t]):
            n = int(strata[text])
            if n in left and len(shared) >= 10:
                if not left[n]:
                    continue
                left[n] -= 1
            into.append(text)
    return sorted(kept[0]), sorted(kept[1])


@given(st.integers(0, 10**6), st.integers(8, 14))
def test_as_many_of_both_are_chosen_by_their_keys(seed: int, prompts: int) -> None:
    rng = np.random.default_rng(seed)
    strata = rng.integers(-1, prompts, 70)
    a, b = np.split(rng.permutation(70), [rng.integers(20, 50)])
    keys = np.empty(70)
    keys[np.concatenate((a, b))] = np.random.default_rng(seed).random(70)
    one, other = balance_groups(a, b, strata, np.random.default_rng(seed))
    assert (sorted(one.tolist()), sorted(other.tolist())) == _as_many_slowly(a, b, strata, keys)
    # They keep their order, and a part chooses as the whole that it belongs to.
    assert one.tolist() == [text for text in a if text in one]
    some = a[:-5], b[:-5]
    part = balance_groups(*some, strata, np.random.default_rng(seed), (a, b))
    assert tuple(sorted(own.tolist()) for own in part) == _as_many_slowly(*some, strata, keys)


def test_answers_of_one_source_to_a_shared_prompt_keep_together() -> None:
    strata = np.repeat(np.arange(12), 4)
    ours = np.tile([True, True, False, False], 12)
    a, b = np.flatnonzero(ours), np.flatnonzero(~ours)
    exchange, seen = make_exchange(a, b, strata), set()
    for draw in range(60):
        one, other = exchange(np.random.default_rng(draw))
        assert sorted([*one, *other]) == list(range(48))
        assert len(one) == len(other) == 24
        # Both of a source's answers to a prompt move, or none.
        assert set(np.bincount(one // 2).tolist()) <= {0, 2}
        seen.add(tuple(one))
    assert len(seen) == 60
    assert least_p(a, b, strata) == 2 / 2**12
    # Few prompts are exchanged one by one.
    assert least_p(a[:18], b[:18], strata) == 2 / 6**9
