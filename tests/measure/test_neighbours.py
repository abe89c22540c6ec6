"""Points, balls and what they hold, against the definitions written out pair by pair."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.metric import Work
from rote.measure import _neighbour_points
from rote.measure._neighbour_balls import (
    SCORES,
    Effort,
    Pair,
    Rule,
    equal_size,
    matching_half,
    members_of,
    of_equal_size,
    outside,
    pair,
    scores_of_texts,
    strange_halves,
)
from rote.measure._neighbour_points import (
    Members,
    Points,
    VectorPoints,
    different,
    nearest,
    projected,
    same,
    squared_distances,
    tree_points,
)
from rote.measure._sentences import Sentences, ranks
from rote.measure._tree_histograms import Histograms
from tests.examples import Maker, dear, drawn, some

Distance = Callable[[Any, Any], Any]
Histogram = dict[int, int]


# The definitions, as they stand.


def plain_scores(
    source: Sequence[Any], reference: Sequence[Any], far: Distance, k: int, strict: bool
) -> dict[str, float]:
    """Points one by one; `far` grows with the distance and is exact."""
    size = len(source)
    if size <= k:
        return dict.fromkeys(SCORES, math.nan)

    def radii(points: Sequence[Any]) -> list[Any]:
        return [
            sorted(far(centre, p) for j, p in enumerate(points) if j != i)[k - 1]
            for i, centre in enumerate(points)
        ]

    def inside(point: Any, centre: Any, radius: Any) -> bool:
        away = far(centre, point)
        return bool(away < radius if strict else away <= radius)

    real, made = list(zip(reference, radii(reference))), list(zip(source, radii(source)))
    held = [sum(inside(point, *ball) for ball in real) for point in source]
    return {
        "precision": sum(count > 0 for count in held) / size,
        "recall": sum(any(inside(point, *ball) for ball in made) for point in reference) / size,
        "density": sum(held) / (k * size),
        "coverage": sum(any(inside(point, *ball) for point in source) for ball in real) / size,
    }


def tree_distance(a: Histogram, b: Histogram) -> Fraction:
    """Minus the squared kernel: no root, so nothing is rounded."""
    product = sum(count * b.get(label, 0) for label, count in a.items())
    return -Fraction(product**2, _norm(a) * _norm(b))


def _norm(histogram: Histogram) -> int:
    return sum(count**2 for count in histogram.values())


def square_distance(a: Sequence[float], b: Sequence[float]) -> float:
    total = 0.0
    for x, y in zip(a, b):
        total += (x - y) * (x - y)
    return total


# Samples made of lists.


def members(number: Sequence[int], texts: Sequence[int] | None = None) -> Members:
    points, which = np.unique(np.array(number, np.int64), return_inverse=True)
    order = np.arange(len(number))
    return Members(
        points, which.astype(np.int64), order if texts is None else np.array(texts), order
    )


def made_histograms(every: Sequence[Histogram]) -> Histograms:
    ordered = [sorted(histogram.items()) for histogram in every]
    return Histograms(
        labels=np.array([label for h in ordered for label, _ in h], np.int32),
        counts=np.array([count for h in ordered for _, count in h], np.int32),
        ends=np.cumsum([len(h) for h in ordered], dtype=np.int64),
        norms=np.array([_norm(h) for h in every], np.int64),
        kinds=1 + max((label for h in every for label in h), default=0),
    )


def tree_space(every: Sequence[Histogram], common: float) -> tuple[Points, list[int]]:
    with mock.patch.object(_neighbour_points, "_COMMON", common):
        space, number = tree_points(made_histograms(every), np.arange(len(every)))
    return space, number.tolist()


def vector_space(every: Sequence[Sequence[float]]) -> tuple[Points, list[int]]:
    rows = np.array(every, np.float64)
    first, number = same(row.tobytes() for row in rows)
    return VectorPoints(rows[first]), number.tolist()


def paired(space: Points, source: list[int], reference: list[int], rule: Rule) -> Pair:
    return pair(space, members(source), members(reference), rule, Effort())


# Many points are the same, many distances equal.
RULES = st.builds(Rule, st.integers(1, 5), st.booleans())


def histogram(chance: random.Random) -> Histogram:
    labels = chance.sample(range(6), chance.randint(1, 3))
    return {label: chance.randint(1, 3) for label in labels}


def vector(chance: random.Random) -> tuple[float, ...]:
    return tuple(float(chance.randint(-2, 2)) for _ in range(3))


def samples(point: Maker) -> st.SearchStrategy[tuple[list[Any], int, Any, Any]]:
    """A source and a reference of equal size, one behind the other; equally large parts of both."""

    def made(chance: random.Random) -> tuple[list[Any], int, Any, Any]:
        kinds, size = some(point, 8, least=1)(chance), chance.randint(1, 14)
        part = chance.randint(0, size)
        ours, theirs = (np.array(chance.sample(range(size), part), np.int64) for _ in range(2))
        return chance.choices(kinds, k=2 * size), size, ours, theirs

    return drawn(made)


@dear(50)
@given(samples(histogram), RULES, st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1, 3, 32]))
def test_scores_of_trees_are_those_of_the_definition(
    made: tuple[list[Histogram], int, Any, Any], rule: Rule, common: float, kept: int
) -> None:
    every, size, ours, theirs = made
    space, number = tree_space(every, common)
    # Few kept neighbours: in a half, many centres have to be measured again.
    with mock.patch.object(Rule, "neighbours_kept", max(kept, rule.k)):
        found = paired(space, number[:size], number[size:], rule)
    _compare(found, every[:size], every[size:], (ours, theirs), tree_distance)


@dear(50)
@given(samples(vector), RULES, st.sampled_from([1, 3, 32]))
def test_scores_of_vectors_are_those_of_the_definition(
    made: tuple[list[Any], int, Any, Any], rule: Rule, kept: int
) -> None:
    every, size, ours, theirs = made
    space, number = vector_space(every)
    with mock.patch.object(Rule, "neighbours_kept", max(kept, rule.k)):
        found = paired(space, number[:size], number[size:], rule)
    _compare(found, every[:size], every[size:], (ours, theirs), square_distance)


def _compare(
    found: Pair, source: list[Any], reference: list[Any], parts: tuple[Any, Any], far: Distance
) -> None:
    k, strict = found.rule.k, found.rule.strict
    whole = plain_scores(source, reference, far, k, strict)
    assert found.scores() == pytest.approx(whole, abs=1e-12, nan_ok=True)
    ours, theirs = ([points[i] for i in part] for points, part in zip((source, reference), parts))
    part = plain_scores(ours, theirs, far, k, strict)
    assert found.scores(*parts) == pytest.approx(part, abs=1e-12, nan_ok=True)


def test_scores_of_more_points_than_fit_in_a_block() -> None:
    rng, known = np.random.default_rng(5), dict[tuple[int, int], Fraction]()
    every = [
        {int(label): int(rng.integers(1, 4)) for label in rng.choice(40, 5) ** 2 // 40}
        for _ in range(280)
    ]
    halves = rng.choice(140, 80, replace=False), rng.choice(140, 80, replace=False)
    ours, theirs = [every[i] for i in halves[0]], [every[140 + i] for i in halves[1]]

    def far(a: Histogram, b: Histogram) -> Fraction:
        both = min(id(a), id(b)), max(id(a), id(b))
        if both not in known:
            known[both] = tree_distance(a, b)
        return known[both]

    for strict in (False, True):
        whole = plain_scores(every[:140], every[140:], far, 3, strict)
        part = plain_scores(ours, theirs, far, 3, strict)
        for common in (0.0, 0.05, 1.0):
            space, number = tree_space(every, common)
            found = pair(
                space, members(number[:140]), members(number[140:]), Rule(3, strict), Effort(jobs=2)
            )
            assert found.scores() == pytest.approx(whole, abs=1e-12)
            assert found.scores(*halves) == pytest.approx(part, abs=1e-12)


def test_scores_worked_out_by_hand() -> None:
    source, reference = [(0.5,), (9.0,), (30.0,), (31.0,)], [(0.0,), (1.0,), (2.0,), (10.0,)]
    space, number = vector_space(source + reference)
    found = paired(space, number[:4], number[4:], Rule(1, strict=False)).scores()
    # Radii of the reference: 1, 1, 1, 8; of the source: 8.5, 8.5, 1, 1.
    assert found == {"precision": 2 / 4, "recall": 4 / 4, "density": 3 / 4, "coverage": 3 / 4}


def test_a_point_at_the_radius_is_inside_unless_strictly_so() -> None:
    source, reference = [(1.0,), (9.0,), (9.0,)], [(0.0,), (0.0,), (-1.0,)]
    space, number = vector_space(source + reference)
    loose, strict = (paired(space, number[:3], number[3:], Rule(2, s)) for s in (False, True))
    # Every ball around 0 reaches to -1, and so to 1.
    assert loose.scores()["precision"] == 1 / 3
    assert loose.scores()["density"] == 2 / 6
    assert strict.scores()["precision"] == 0


def test_copies_of_one_sentence_hold_each_other_unless_strictly_inside() -> None:
    space, number = tree_space([{1: 2, 3: 1}] * 20, 0.0)
    loose, strict = (paired(space, number[:10], number[10:], Rule(4, s)) for s in (False, True))
    assert loose.scores() == {"precision": 1, "recall": 1, "density": 10 / 4, "coverage": 1}
    assert strict.scores() == dict.fromkeys(SCORES, 0)


@given(samples(vector), RULES)
def test_two_parts_of_one_sample_are_compared_as_two_samples_are(
    made: tuple[list[Any], int, Any, Any], rule: Rule
) -> None:
    every, size, *_ = made
    space, number = vector_space(every)
    one = members(number)
    found = pair(space, one, one, rule, Effort())
    halves = np.arange(size), np.arange(size, 2 * size)
    expected = plain_scores(every[:size], every[size:], square_distance, rule.k, rule.strict)
    assert found.scores(*halves) == pytest.approx(expected, abs=1e-12, nan_ok=True)


# Distances


@given(drawn(some(histogram, 8, least=1)), st.sampled_from([0.0, 0.3, 1.0]))
def test_trees_are_ordered_as_their_distances_are(every: list[Histogram], common: float) -> None:
    space, number = tree_space(every, common)
    here = np.unique(number)
    far = space.chosen(here)(here)
    assert far.diagonal().tolist() == space.from_itself(here).tolist()
    for centre, one in zip(number, every):
        exact = [tree_distance(one, other) for other in every]
        seen = [far[centre, other] for other in number]
        for i in range(len(every)):
            for j in range(len(every)):
                assert (seen[i] < seen[j]) == (exact[i] < exact[j])
                assert (seen[i] == seen[j]) == (exact[i] == exact[j])


def test_histograms_too_large_for_small_floats_are_still_exact() -> None:
    every = [{0: 5001, 1: 1}, {0: 5001, 1: 2}, {0: 5001, 2: 1}, {0: 1}]
    space, number = tree_space(every, 0.0)
    far = space.chosen(np.array(number))(np.array(number))
    product, norm = 5001**2 + 2, 5001**2 + 4
    assert far[0, 1] == -(product**2 / norm)


fractions = some(lambda chance: tuple(chance.uniform(-1, 1) for _ in range(5)), 9, least=1)


@given(drawn(fractions), drawn(fractions))
def test_squared_distances_are_the_same_to_the_last_bit_in_any_company(
    rows: list[Any], columns: list[Any]
) -> None:
    one, other = np.array(rows), np.array(columns)
    found = squared_distances(one, other.T.copy())
    assert found.tolist() == [[square_distance(a, b) for b in columns] for a in rows]
    assert squared_distances(other, one.T.copy()).T.tolist() == found.tolist()


@given(drawn(some(some(range(5), 6, least=6), 6)), st.integers(0, 5))
def test_the_nearest_come_first_and_a_point_is_not_its_own_neighbour(
    rows: list[list[int]], count: int
) -> None:
    far = np.array(rows, np.float64).reshape(len(rows), 6)
    places = np.zeros((len(rows), count + 1), np.int32)
    distances = np.zeros(places.shape)
    nearest(far, 0, places, distances)
    for row, values in enumerate(rows):
        others = sorted((value, place) for place, value in enumerate(values) if place != row)
        assert distances[row, 1:].tolist() == [value for value, _ in others[:count]]
        assert places[row, 1:].tolist() == [place for _, place in others[:count]]


def test_equal_vectors_are_one_point_whatever_the_sign_of_their_zeros() -> None:
    first, number = different(np.array([[1, 0], [0, 1], [1, -0.0]], np.float32))
    assert sorted(first.tolist()) == [0, 1]
    assert number[0] == number[2] != number[1]


# Principal components


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_components_are_those_of_the_singular_values(share: float) -> None:
    rng = np.random.default_rng(2)
    different_rows = (rng.normal(size=(30, 6)) * [5, 3, 2, 1, 1, 1]).astype(np.float32)
    counts = rng.integers(1, 4, 30)
    every = np.repeat(different_rows.astype(np.float64), counts, axis=0)
    every -= every.mean(axis=0)
    _, singular, axes = np.linalg.svd(every, full_matrices=False)
    held = np.cumsum(singular**2) / (singular**2).sum()
    kept = 6 if share == 1 else 1 + int((held < share).sum())
    found = projected(different_rows, counts, share)
    assert found.shape == (30, kept)
    expected = every @ axes[:kept].T
    assert np.abs(np.repeat(found, counts, axis=0)) == pytest.approx(np.abs(expected), abs=1e-6)


# Samples


def sentences_in(texts: Sequence[int]) -> Sentences:
    order = np.arange(len(texts), dtype=np.int64)
    return Sentences(order, order + 1, np.array(texts, np.int64))


def test_all_samples_are_as_large_as_the_smallest_that_has_neighbours() -> None:
    sentences = sentences_in([0] * 9 + [1] * 7 + [2] * 2)
    groups = {name: np.array([text]) for text, name in enumerate(("human", "model", "tiny"))}
    work = Work(groups=groups, reference="human", ids=["a", "b", "c"])
    assert equal_size(sentences, work, 4, 100) == 7
    assert equal_size(sentences, work, 4, 5) == 5
    assert equal_size(sentences, work, 1, 100) == 2
    assert equal_size(sentences, work, 7, 100) == 0
    assert equal_size(sentences, Work(groups=groups), 4, 100) == 0
    kept = of_equal_size(sentences, work, 7)
    assert np.bincount(sentences.texts[kept], minlength=3).tolist() == [7, 7, 0]
    found = members_of(sentences.chosen(kept), np.arange(14) % 3, work)
    assert {name: len(sample) for name, sample in found.items()} == {"human": 7, "model": 7}
    assert found["model"].counts().tolist() == [2, 3, 2]


@dear(50)
@given(samples(histogram), RULES)
def test_what_a_source_does_not_reach_lies_outside_every_ball(
    made: tuple[list[Histogram], int, Any, Any], rule: Rule
) -> None:
    every, size, *_ = made
    sentences = sentences_in([0] * size + [1] * size)
    work = Work(
        groups={"model": np.array([0]), "human": np.array([1])}, reference="human", ids=["a", "b"]
    )
    k, strict = rule.k, rule.strict
    here = np.array([0]), np.array([1])
    runs = {"model": [here, here[::-1]]}
    found = outside(made_histograms(every), sentences, work, runs, rule=rule)
    if size <= k:
        assert (found.size, found.measured.tolist(), found.by_source) == (0, [], {})
        return
    recall = plain_scores(every[:size], every[size:], tree_distance, k, strict)["recall"]
    assert found.measured.tolist() == list(range(size, 2 * size))
    missed, exchanged = found.by_source["model"]
    assert set(missed) <= set(found.measured)
    assert 1 - len(missed) / size == pytest.approx(recall)
    # With the labels exchanged it is the other way round.
    back = plain_scores(every[size:], every[:size], tree_distance, k, strict)["recall"]
    assert not set(exchanged) & set(found.measured)
    assert 1 - len(exchanged) / size == pytest.approx(back)


def test_what_is_tested_is_one_sample_whatever_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five sentences a text, three texts a side; seven sentences of each side are compared."""
    rng = np.random.default_rng(3)
    every = [dict(zip(rng.permutation(9)[:3].tolist(), [1, 2, 3])) for _ in range(30)]
    sentences = sentences_in(np.repeat(np.arange(6), 5).tolist())
    groups = {"model": np.arange(3), "human": np.arange(3, 6)}
    work = Work(groups=groups, reference="human", ids=list("abcdef"))
    here, permuted = tuple(groups.values()), (np.array([0, 4, 5]), np.array([1, 2, 3]))
    drawn: list[tuple[Any, Any]] = []
    monkeypatch.setattr(
        "rote.measure._neighbour_balls._missed",
        lambda histograms, pool, runs, rule, effort: drawn.extend(runs),
    )
    made, rule = made_histograms(every), Rule(1, strict=False)
    outside(made, sentences, work, {"model": [here, here, permuted]}, rule=rule, count=7)
    rank = ranks(sentences, np.arange(30), work)
    sample = np.argsort(rank)[:14]
    for groups_of_run, (ours, theirs) in zip((here, permuted), drawn[1:], strict=True):
        of_sides = [[n for n in sample if sentences.texts[n] in take] for take in groups_of_run]
        fewest = min(map(len, of_sides))
        assert [sorted(side[:fewest]) for side in of_sides] == [ours.tolist(), theirs.tolist()]
    # What is shown without a test is as much as there is of either side.
    assert [len(side) for side in drawn[0]] == [7, 7]


# Halves

STRATA = st.lists(st.integers(-1, 6), min_size=2, max_size=20)


@given(STRATA, st.data())
def test_a_matching_half_shares_as_many_inputs_as_it_can(strata: list[int], data: Any) -> None:
    middle = data.draw(st.integers(1, len(strata) - 1))
    ours, theirs = np.arange(middle), np.arange(middle, len(strata))
    found = matching_half(theirs, ours, np.array(strata), np.random.default_rng(0))
    inputs = {strata[text] for text in ours} - {-1}
    shared = [text for text in theirs if strata[text] in inputs]
    assert len(set(found)) == len(found) == len(theirs) // 2
    assert set(found) <= set(theirs)
    assert sum(strata[text] in inputs for text in found) == min(len(found), len(shared))


@given(STRATA, st.data())
def test_strange_halves_share_neither_inputs_nor_texts(strata: list[int], data: Any) -> None:
    middle = data.draw(st.integers(1, len(strata) - 1))
    ours, theirs = np.arange(middle), np.arange(middle, len(strata))
    for own in (ours, theirs):
        one, other = strange_halves(own, theirs, np.array(strata), np.random.default_rng(0))
        assert set(one) <= set(own)
        assert set(other) <= set(theirs)
        assert not set(one) & set(other)
        assert not {strata[t] for t in one} & {strata[t] for t in other} - {-1}
        assert sum(strata[t] < 0 for t in other) == sum(strata[t] < 0 for t in theirs) // 2


def test_parts_of_unequal_size_are_cut_to_equal_numbers_of_sentences() -> None:
    space, number = vector_space([(float(n),) for n in range(20)])
    source = members(number[:10], texts=[0] * 2 + [1] * 8)
    reference = members(number[10:], texts=[2] * 5 + [3] * 5)
    found = pair(space, source, reference, Rule(1, False), Effort())
    with mock.patch.object(Pair, "scores", autospec=True, return_value={}) as scores:
        scores_of_texts(found, np.array([1]), np.array([2]), np.random.default_rng(0))
    _, ours, theirs = scores.call_args.args
    assert len(set(ours)) == len(set(theirs)) == 5
    assert set(source.texts[ours]) == {1}
    assert set(reference.texts[theirs]) == {2}
