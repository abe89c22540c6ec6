"""Equal sizes: how long windows are, who is drawn, and that neither order nor source decides it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.compare.equal_sizes import (
    DRAWS,
    MANY_TEXTS,
    MAX_WINDOW,
    MIN_WINDOW,
    DrawOrder,
    Unit,
    has_unequal_sizes,
    plan_sizes,
)
from rote.core.sample import Take


def order_of(strata: list[int], groups: dict[str, list[int]]) -> DrawOrder:
    taken = {source: np.array(own, np.int64) for source, own in groups.items()}
    return DrawOrder.of(np.arange(len(strata)), np.array(strata, np.int64), taken)


def test_nine_of_ten_texts_of_every_source_hold_a_window() -> None:
    sizes = np.concatenate((np.arange(100, 200), np.arange(50, 150)))
    groups = {"long": np.arange(100), "short": np.arange(100, 200)}
    plan = plan_sizes(groups, sizes, "words")
    assert plan is not None
    assert plan.size == 60
    assert plan.left_out == {"long": 0, "short": 10}


def test_every_source_gives_as_many_windows_and_short_texts_are_counted() -> None:
    sizes = np.array([5, *range(50, 59), *range(80, 110)])
    groups = {"few": np.arange(10), "many": np.arange(10, 40)}
    plan = plan_sizes(groups, sizes, "words")
    assert plan is not None
    assert (plan.size, plan.windows, plan.draws) == (50, 9, DRAWS)
    assert plan.left_out == {"few": 1, "many": 0}
    assert {source: len(take) for source, take in plan.groups.items()} == {"few": 9, "many": 30}
    assert plan.row("few", 9) == {"words": 450, "window": 50, "windows": 9, "left_out": 1}
    assert plan.curve() == [9, 18]


def test_of_many_texts_a_draw_takes_one_in_four() -> None:
    groups = {"a": np.arange(400), "b": np.arange(400, 1000)}
    plan = plan_sizes(groups, np.full(1000, 90), "words")
    assert plan is not None
    assert (plan.windows, plan.draws) == (100, DRAWS)
    few = plan_sizes({"a": np.arange(90), "b": np.arange(90, 200)}, np.full(200, 90), "words")
    assert few is not None
    assert few.windows == MANY_TEXTS


def test_one_draw_is_like_the_next_where_all_texts_are_windows() -> None:
    plan = plan_sizes({"a": np.arange(9), "b": np.arange(9, 18)}, np.full(18, 50), "words")
    assert plan is not None
    assert plan.draws == 1


def test_whole_texts_are_matched_by_their_number_alone() -> None:
    groups = {"few": np.arange(4), "many": np.arange(4, 20)}
    plan = plan_sizes(groups, np.full(20, 7), "texts")
    assert plan is not None
    assert (plan.size, plan.windows, plan.row("few", 4)) == (None, 4, {"texts": 4})


def test_a_source_of_short_texts_does_not_prevent_comparing_the_others() -> None:
    least = MIN_WINDOW["words"]
    sizes = np.concatenate((np.full(20, least - 1), np.full(20, 90), np.full(20, 120)))
    groups = {name: np.arange(20 * n, 20 * n + 20) for n, name in enumerate("abc")}
    plan = plan_sizes(groups, sizes, "words")
    assert plan is not None
    assert (plan.size, list(plan.too_short), list(plan.groups)) == (90, ["a"], ["b", "c"])


@pytest.mark.parametrize("unit", ["words", "sentences"])
def test_windows_of_long_texts_are_no_longer_than_it_takes(unit: Unit) -> None:
    groups = {"a": np.arange(20), "b": np.arange(20, 40)}
    plan = plan_sizes(groups, np.full(40, 9_000), unit)
    assert plan is not None
    assert (plan.size, plan.draws) == (MAX_WINDOW[unit], DRAWS)


def test_sources_of_about_the_same_size_need_no_matching() -> None:
    groups = {"a": np.arange(100), "b": np.arange(100, 200)}
    sizes = np.repeat([300, 303], 100)
    assert not has_unequal_sizes(groups, sizes, "words")
    assert has_unequal_sizes(groups, np.repeat([300, 310], 100), "words")
    assert not has_unequal_sizes(groups, np.repeat([300, 310], 100), "texts")
    assert has_unequal_sizes({"a": np.arange(90), "b": np.arange(100, 200)}, sizes, "texts")
    assert not has_unequal_sizes({"a": np.arange(7)}, sizes, "words")


def test_what_all_sources_answer_comes_first_and_one_answer_of_each() -> None:
    # Source a has two answers to each of 0, 1, 2, one to 8 and 9; source b one to 0, 1, 2 alone.
    strata = [0, 0, 1, 1, 2, 2, 8, 9, 0, 1, 2]
    groups = {"a": list(range(8)), "b": [8, 9, 10]}
    order = order_of(strata, groups)
    every, other = np.arange(8), np.array([8, 9, 10])
    first, second, *_ = order.blocks(every, 3, 2)
    assert sorted(strata[t] for t in first) == [0, 1, 2]
    assert sorted(strata[t] for t in second) == [0, 1, 2]
    assert set(first).isdisjoint(second)
    two, others = order.blocks(every, 2, 1)[0], order.blocks(other, 2, 1)[0]
    assert {strata[t] for t in two} == {strata[t] for t in others}


@given(st.integers(1, 40), st.integers(1, 12))
def test_every_text_comes_about_equally_often(texts: int, count: int) -> None:
    order = order_of([-1] * texts, {"a": [*range(texts)]})
    blocks = order.blocks(np.arange(texts), count, DRAWS)
    assert len(blocks) == DRAWS
    assert {len(block) for block in blocks} == {min(count, texts)}
    assert all(np.array_equal(block, np.unique(block)) for block in blocks)
    if texts % count == 0 and count < texts <= DRAWS * count:
        whole = blocks[: DRAWS // (texts // count) * (texts // count)]
        assert len(set(Counter(np.concatenate(whole).tolist()).values())) <= 1


def drawn_one_by_one(order: DrawOrder, take: Take, count: int, draws: int) -> list[list[int]]:
    if len(take) <= count:
        return [take.tolist()] * draws
    blocks: list[list[int]] = []
    for ranks in order.ranks:
        ordered = sorted(take.tolist(), key=lambda text: ranks[text])
        for first in range(0, len(ordered) - count + 1, count):
            blocks.append(sorted(ordered[first : first + count]))
    return blocks[:draws]


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, DRAWS))
def test_groups_are_drawn_from_together_as_one_by_one(seed: int, count: int, draws: int) -> None:
    rng = np.random.default_rng(seed)
    order = order_of([-1] * 20, {"a": [*range(20)]})
    takes = [np.sort(rng.choice(20, rng.integers(1, 20), replace=False)) for _ in range(6)]
    together = order.blocks_of_groups(takes, count, draws)
    for take, blocks in zip(takes, together, strict=True):
        assert blocks.tolist() == drawn_one_by_one(order, take, count, draws)


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_who_is_drawn_does_not_depend_on_the_order_of_the_input(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    strata, places = rng.integers(-1, 5, 14), np.arange(14)
    groups = {"a": np.arange(8), "b": np.arange(8, 14)}
    order = DrawOrder.of(places, strata, groups)
    mixed = rng.permutation(14)
    at = np.argsort(mixed)
    turned = DrawOrder.of(mixed, strata[mixed], {s: np.sort(at[t]) for s, t in groups.items()})
    for take in groups.values():
        here = [set(block.tolist()) for block in order.blocks(take, count, 3)]
        there = [set(mixed[b].tolist()) for b in turned.blocks(np.sort(at[take]), count, 3)]
        assert here == there
        assert mixed[turned.canonical(np.sort(at[take]))].tolist() == take.tolist()


def test_over_all_draws_a_text_shows_every_part_of_itself() -> None:
    count, size = 400, 10
    order = order_of([-1] * count, {"a": [*range(count)]})
    lengths = np.full(count, size + DRAWS - 1)
    firsts = np.stack(
        [order.cut(np.arange(count), lengths, size, draw).firsts for draw in range(DRAWS)]
    )
    assert (np.sort(firsts, axis=0) == np.arange(DRAWS)[:, None]).all()
    # In one draw they stand anywhere.
    assert np.bincount(firsts[0]).min() > 5
    whole = order.cut(np.arange(count), np.full(count, size), size, 3)
    assert not whole.firsts.any()


def test_where_a_window_stands_has_nothing_to_do_with_who_is_drawn() -> None:
    count = 2000
    order = order_of([-1] * count, {"a": [*range(count)]})
    cut = order.cut(np.arange(count), np.full(count, 110), 10, 0)
    first = order.blocks(np.arange(count), 1000, 1)[0]
    assert cut.firsts[first].mean() == pytest.approx(50, abs=4)
