"""Tables and figures: rounding, marks, blocks, escapes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import rote
from rote.core.document import Document
from rote.core.errors import UnknownName
from rote.report import result_tables as tables
from rote.report.charts import save_figure
from rote.report.grid import make_grid, round_like, round_number

THINGS = "tea rain dogs maps glass rope bread salt ferries moss drums paper chalk eels".split()
PLAIN = [
    " ".join(f"{a} beside {b}, {b}less {a} or {a}like {b}." for b in THINGS[place : place + 7])
    for a in THINGS
    for place in range(4)
]
SAME = ["It is important to remember that every text is a testament. " * 5] * 50


@pytest.fixture(scope="module")
def result() -> rote.Result:
    return rote.lexical({"plain_1": PLAIN, "same": SAME}, reference="plain_1")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0.123456, "0.1235"),
        (1.23456, "1.235"),
        (12.3456, "12.35"),
        (123.456, "123.5"),
        (12345.6, "12,346"),
        (-0.5, "-0.5000"),
        (math.nan, "–"),
    ],
)
def test_about_four_digits_are_shown(number: float, shown: str) -> None:
    assert round_number(number) == shown


def test_an_interval_has_the_decimals_of_its_value() -> None:
    assert round_like(0.00123, 12.5) == "0.00"
    assert round_like(7.0, 12345.6) == "7"
    assert round_like(math.nan, 1.0) == ""


def test_cells_carry_what_the_result_holds(result: rote.Result) -> None:
    row = next(row for row in make_grid(result) if row.value == "ttr")
    cell = row.cells["same"]
    assert cell.estimate == result.by_source["same"].values["ttr"]
    assert (cell.low, cell.high) == result.by_source["same"].intervals["ttr"]
    assert (cell.mark, cell.matched.mark) == ("", "▼"), "tested at equal length"
    assert row.matched_at.endswith("words")
    assert not math.isnan(cell.matched.estimate)


def test_sets_of_texts_are_not_called_texts() -> None:
    texts = {"a": [Document(f"{n}", f"Text {n} of a few.", {"set": n % 2}) for n in range(4)]}
    plain, within = (
        tables.results_text([rote.lexical(texts, within=name)]) for name in (None, "set")
    )
    assert [line.split() for line in plain.splitlines() if line.split()[:1] == ["texts"]] == [
        ["texts", "4"]
    ]
    assert [line.split() for line in within.splitlines() if line.split()[:1] == ["sets"]] == [
        ["sets", "2"]
    ]


def test_many_sources_are_split_into_blocks_that_repeat_the_reference() -> None:
    sources = {f"source {n}": PLAIN for n in range(8)}
    found = rote.lexical(sources, reference="source 3", permutations=1, matched=False)
    text = tables.results_text([found], width=100)
    heads = [line for line in text.splitlines() if "source 3" in line and "above" not in line]
    assert len(heads) >= 2
    for n in range(8):
        assert f"source {n}" in text


def test_figures_draw_every_value_and_source(result: rote.Result, tmp_path: Path) -> None:
    save_figure(result.figure(), tmp_path / "f.json")
    drawn = (tmp_path / "f.json").read_text()
    assert "type-token ratio" in drawn
    assert "plain_1" in drawn
    save_figure(result.figure("curve"), tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_a_curve_needs_equal_sizes() -> None:
    plain = rote.lexical(PLAIN, matched=False)
    with pytest.raises(UnknownName, match="unknown figure 'curve': known: values"):
        plain.figure("curve")
