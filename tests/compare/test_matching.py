"""Equal sizes: how long windows are, who is drawn, and that neither order nor source decides it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.compare.matching import DRAWS, LARGEST, Order, planned, unequal, window_size


def order_of(strata: list[int], groups: dict[str, list[int]]) -> Order:
    taken = {source: np.array(own, np.int64) for source, own in groups.items()}
    return Order.of(np.arange(len(strata)), np.array(strata, np.int64), taken, seed=1)


def test_nine_of_ten_texts_of_every_source_hold_a_window() -> None:
    long, short = np.arange(100, 200), np.arange(50, 150)
    assert window_size([long, short], "words") == 60
    assert (short >= 60).mean() == 0.9
    assert window_size([np.array([3, 4, 5])], "words") == 10  # shorter ones tell nothing
    assert window_size([np.array([30])], "words") == 30


def test_every_source_gives_as_many_windows_and_short_texts_are_counted() -> None:
    sizes = np.array([5, *range(50, 59), *range(80, 110)])
    groups = {"few": np.arange(10), "many": np.arange(10, 40)}
    plan = planned(
        groups, sizes, "words", order_of([-1] * 40, {s: [*t] for s, t in groups.items()})
    )
    assert plan is not None
    assert (plan.size, plan.windows, plan.draws) == (50, 9, 3)
    assert plan.left_out == {"few": 1, "many": 0}
    assert {source: len(take) for source, take in plan.groups.items()} == {"few": 9, "many": 27}
    assert plan.row("few", 9) == {"words": 450, "window": 50, "windows": 9, "left_out": 1}
    assert plan.curve() == [9, 18]


def test_whole_texts_are_matched_by_their_number_alone() -> None:
    groups = {"few": np.arange(4), "many": np.arange(4, 20)}
    order = order_of([-1] * 20, {s: [*t] for s, t in groups.items()})
    plan = planned(groups, np.full(20, 7), "texts", order)
    assert plan is not None
    assert (plan.size, plan.windows, plan.row("few", 4)) == (None, 4, {"texts": 4})


def test_without_two_texts_that_hold_a_window_there_is_no_plan() -> None:
    groups = {"a": np.arange(3), "b": np.arange(3, 6)}
    order = order_of([-1] * 6, {s: [*t] for s, t in groups.items()})
    assert planned(groups, np.array([99, 99, 99, 4, 5, 99]), "words", order) is None


def test_no_sample_is_larger_than_a_reader_could_see() -> None:
    groups = {"a": np.arange(300), "b": np.arange(300, 600)}
    order = order_of([-1] * 600, {s: [*t] for s, t in groups.items()})
    plan = planned(groups, np.full(600, LARGEST // 100), "words", order)
    assert plan is not None
    assert (plan.windows, plan.draws) == (100, 3)


def test_sources_of_about_the_same_size_need_no_matching() -> None:
    groups = {"a": np.arange(100), "b": np.arange(100, 200)}
    sizes = np.repeat([300, 303], 100)
    assert not unequal(groups, sizes, "words")
    assert unequal(groups, np.repeat([300, 310], 100), "words")
    assert not unequal(groups, np.repeat([300, 310], 100), "texts")
    assert unequal({"a": np.arange(90), "b": np.arange(100, 200)}, sizes, "texts")
    assert not unequal({"a": np.arange(7)}, sizes, "words")


def test_what_all_sources_answer_comes_first_and_one_answer_of_each() -> None:
    # Source a has two answers to each of 0, 1, 2, one to 8 and 9; source b one to 0, 1, 2 alone.
    strata = [0, 0, 1, 1, 2, 2, 8, 9, 0, 1, 2]
    groups = {"a": list(range(8)), "b": [8, 9, 10]}
    order = order_of(strata, groups)
    own = np.arange(8)
    for draw in range(DRAWS):
        assert sorted(strata[t] for t in order.first(own, 3, draw)) == [0, 1, 2]
        two, others = order.first(own, 2, draw), order.first(np.array([8, 9, 10]), 2, draw)
        assert {strata[t] for t in two} == {strata[t] for t in others}
        assert set(order.first(own, 6, draw)) == set(range(6))


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_who_is_drawn_does_not_depend_on_the_order_of_the_input(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    strata, places = rng.integers(-1, 5, 14), np.arange(14)
    groups = {"a": np.arange(8), "b": np.arange(8, 14)}
    order = Order.of(places, strata, groups, seed=3)
    mixed = rng.permutation(14)
    at = np.argsort(mixed)
    turned = Order.of(mixed, strata[mixed], {s: np.sort(at[t]) for s, t in groups.items()}, 3)
    for take in groups.values():
        here = set(order.first(take, count, 1).tolist())
        there = set(mixed[turned.first(np.sort(at[take]), count, 1)].tolist())
        assert here == there
        assert mixed[turned.canonical(np.sort(at[take]))].tolist() == take.tolist()


def test_a_window_lies_within_its_text_and_anywhere_in_it() -> None:
    count = 400
    order = order_of([-1] * count, {"a": [*range(count)]})
    sizes = np.full(count, 14)
    cut = order.cut(np.arange(count), sizes, 10, 0)
    assert sorted(set(cut.firsts.tolist())) == [0, 1, 2, 3, 4]
    assert np.bincount(cut.firsts).min() > 50
    again = order.cut(np.arange(count), sizes, 10, 1)
    assert (cut.firsts != again.firsts).any()
    whole = order.cut(np.arange(count), np.full(count, 10), 10, 0)
    assert not whole.firsts.any()


def test_where_a_window_stands_has_nothing_to_do_with_who_is_drawn() -> None:
    count = 2000
    order = order_of([-1] * count, {"a": [*range(count)]})
    cut = order.cut(np.arange(count), np.full(count, 110), 10, 0)
    first = order.first(np.arange(count), 1000, 0)
    assert cut.firsts[first].mean() == pytest.approx(50, abs=4)
