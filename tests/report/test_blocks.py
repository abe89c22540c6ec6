"""What the tables share: numbers with their intervals, numbers for files, LaTeX."""

from __future__ import annotations

import math

import pytest

from rote.report.tables._blocks import number, p_value, with_interval
from rote.report.tables._latex import escaped, tabular
from rote.report.tables.cells import unrounded
from rote.report.tables.style_memorization import seen


@pytest.mark.parametrize(
    ("estimate", "low", "high", "form", "shown"),
    [
        (0.5, 0.25, 0.75, ".2f", "0.50 [0.25, 0.75]"),
        (0.5, 0.25, 0.75, ".0%", "50% [25%, 75%]"),
        (0.5, -0.25, 0.75, "+.2f", "+0.50 [-0.25, +0.75]"),
        (0.5, None, None, ".1f", "0.5"),
        (0.5, math.nan, math.nan, ".1f", "0.5"),
        (None, 0.25, 0.75, ".1f", "–"),
        (math.nan, math.nan, math.nan, ".1f", "–"),
    ],
)
def test_an_interval_stands_behind_its_number(
    estimate: float | None, low: float | None, high: float | None, form: str, shown: str
) -> None:
    assert with_interval(estimate, low, high, form) == shown


def test_what_is_undefined_is_a_dash_on_the_screen_and_nothing_in_a_file() -> None:
    for nothing in (None, math.nan):
        assert number(nothing) == p_value(nothing) == "–"
        assert unrounded(nothing) == ""
    assert unrounded(1 / 3) == "0.3333333333333333"
    assert (unrounded(3), unrounded("a"), unrounded(True)) == (3, "a", True)


def test_a_bin_of_one_frequency_is_one_number() -> None:
    assert seen({"least": 1000.0, "most": 1000.0}) == "1,000"
    assert seen({"least": 1.0, "most": 12.0}) == "1 - 12"


def test_a_latex_table_has_names_to_the_left_and_comments_below() -> None:
    assert tabular(["a", "b", "c"], [[escaped("x_1"), "1", "2"]], said=["signature"]) == [
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"a & b & c \\",
        r"\midrule",
        r"x\_1 & 1 & 2 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% signature",
    ]
