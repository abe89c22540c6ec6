"""Equal sizes: which sizes are drawn, and that a draw of everything is the value itself."""

from __future__ import annotations

import numpy as np

from rote.compare.matching import (
    LARGEST_DRAW,
    Drawing,
    curve,
    curve_sizes,
    matched,
    matched_size,
    planned_draws,
    unequal,
)


def test_sizes_halve_from_the_common_one_and_double_up_to_the_largest() -> None:
    sizes = {"a": 1000, "b": 4100}
    assert curve_sizes(sizes, "words") == [250, 500, 1000, 2000, 4000]
    assert curve_sizes({"a": 12, "b": 12}, "texts") == [6, 12]


def test_no_draw_is_larger_than_a_reader_could_see() -> None:
    huge = {"a": 10**9, "b": 10**8}
    assert matched_size(huge) == LARGEST_DRAW
    assert max(curve_sizes(huge, "words")) == LARGEST_DRAW


def test_sources_of_about_the_same_size_need_no_matching() -> None:
    assert not unequal({"a": 1000, "b": 1010})
    assert unequal({"a": 1000, "b": 1100})
    assert not unequal({"a": 7})


def test_rows_hold_mean_and_spread_of_the_draws() -> None:
    calls = []

    def draw(take, size, rng):  # type: ignore[no-untyped-def]
        calls.append(size)
        return {"v": float(rng.choice(take, size, replace=False).sum())}

    groups = {"few": np.arange(8), "many": np.arange(30)}
    sizes = {"few": 8, "many": 30}
    drawing = Drawing(unit="texts", draw=draw, seed=1, jobs=1, advance=lambda amount: None)
    rows = matched(groups, sizes, drawing)
    assert [(row["source"], row["texts"]) for row in rows] == [("few", 8), ("many", 8)]
    assert rows[0]["mean"] == sum(range(8))  # all of them, every time
    assert rows[0]["sd"] == 0
    assert rows[1]["sd"] > 0
    points = {(row["source"], row["texts"]) for row in curve(groups, sizes, drawing)}
    assert points == {("few", 8), ("many", 8), ("many", 16)}
    assert len(calls) == planned_draws(sizes, "texts")
