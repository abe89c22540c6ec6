"""Levels of a factor: numbers as people write them, and orders that are given."""

from __future__ import annotations

import pytest

from rote.core.errors import OptionError, UnknownName
from rote.studies._factors import ordered_levels


@pytest.mark.parametrize(
    ("found", "names", "numbers", "unit"),
    [
        (["1.0", "0.7", "0"], ("0", "0.7", "1.0"), (0, 0.7, 1), ""),
        (["70B", "7B", "13B"], ("7B", "13B", "70B"), (7, 13, 70), "B"),
        (["1.5T", "350M", "7B"], ("350M", "7B", "1.5T"), (3.5e8, 7e9, 1.5e12), ""),
        (["2048", "4k"], ("2048", "4k"), (2048, 4000), ""),
        (["16bit", "4bit", "8bit"], ("4bit", "8bit", "16bit"), (4, 8, 16), "bit"),
        (["step-1000", "step-20"], ("step-20", "step-1000"), (20, 1000), "step"),
        (["-1", "1e-3", "2"], ("-1", "1e-3", "2"), (-1, 0.001, 2), ""),
    ],
)
def test_numbers_are_put_in_order(
    found: list[str], names: tuple[str, ...], numbers: tuple[float, ...], unit: str
) -> None:
    levels = ordered_levels(found, "x")
    assert levels.kind == "numeric"
    assert levels.names == names
    assert levels.numbers == pytest.approx(numbers)
    assert levels.unit == unit


@pytest.mark.parametrize("found", [["low", "high"], ["7B", "base"], ["4bit", "8byte"], ["v1.2.3"]])
def test_what_is_no_number_keeps_its_order_and_has_none(found: list[str]) -> None:
    levels = ordered_levels(found, "x")
    assert levels.kind == "unordered"
    assert levels.names == tuple(found)


def test_an_order_and_a_pair_may_be_given() -> None:
    found = ["high", "low", "mid", "odd"]
    levels = ordered_levels(found, "x", order=("low", "mid", "high"))
    assert (levels.kind, levels.names) == ("ordered", ("low", "mid", "high"))
    levels = ordered_levels(["16bit", "4bit"], "x", pair=("4bit", "16bit"))
    assert (levels.kind, levels.numbers) == ("paired", (0, 1))


def test_an_order_that_makes_no_sense_is_refused() -> None:
    found = ["low", "high"]
    with pytest.raises(UnknownName, match="level of 'x': 'hgh': did you mean 'high'"):
        ordered_levels(found, "x", order=("low", "hgh"))
    with pytest.raises(OptionError, match="two levels of 'x', not 1"):
        ordered_levels(found, "x", pair=("low",))
    with pytest.raises(OptionError, match="choose one of --order and --pair"):
        ordered_levels(found, "x", order=("low", "high"), pair=("low", "high"))
    with pytest.raises(OptionError, match="each once"):
        ordered_levels(found, "x", order=("low", "low"))
