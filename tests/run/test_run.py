"""Engines give the same results in the same order, and draw items as needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rote.core.errors import InputError
from rote.run import map_ordered


def square(number: int) -> int:
    return number * number


def fail_on_three(number: int) -> int:
    if number == 3:
        raise InputError("three", file="f", line=3)
    return number


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs: int) -> None:
    assert list(map_ordered(square, range(20), jobs)) == [n * n for n in range(20)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_piece_reaches_the_caller_whole(jobs: int) -> None:
    with pytest.raises(InputError, match="f, line 3: three"):
        list(map_ordered(fail_on_three, range(10), jobs))


@pytest.mark.parametrize("jobs", [1, 2])
def test_items_are_not_drawn_all_at_once(jobs: int) -> None:
    drawn = []

    def items() -> Iterator[int]:
        for number in range(1000):
            drawn.append(number)
            yield number

    results = map_ordered(square, items(), jobs)
    assert next(results) == 0
    assert len(drawn) <= 4
    del results
