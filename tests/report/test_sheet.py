"""From declared tables to cells, and how they are drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from rote.core.result import Result, SourceResult
from rote.core.signature import Signature
from rote.core.table import Column, Pivot, Table, source_rows, value_ends
from rote.report.cells import (
    infer_columns,
    make_cell,
    make_sheets,
    rows_sheet,
)
from rote.report.export import sheet_csv, sheet_latex
from rote.report.screen import plain_text, print_sheet


def result(**tables: Any) -> Result:
    return Result(
        measure="mine",
        signature=Signature.of({"measure": "mine"}),
        by=("source",),
        reference="b",
        interval=None,
        by_source={name: SourceResult(1, 10, {"x": 0.5}, {"x": (0.25, 0.75)}) for name in "ab"},
        tables=tables,
    )


@pytest.mark.parametrize(
    ("column", "row", "shown"),
    [
        (Column("x", kind="number", decimals=2, ends=("l", "h")), (0.5, 0.25, 0.75), "0.50 ±0.25"),
        (Column("x", kind="number", ends=("l", "h")), (0.5, 0.1, 0.6), "0.5000 [0.1000 to 0.6000]"),
        (Column("x", kind="share", ends=("l", "h")), (0.5, 0.25, 0.75), "50.0% ±25.0"),
        (Column("x", kind="share", ends=("l", "h")), (1.0, 0.25, 1.0), "100.0% [25.0 to 100.0]"),
        (Column("x", kind="number", signed=True), (0.5,), "+0.5000"),
        (Column("x", kind="number", spread="l"), (12.5, 0.25), "12.50 ±0.25"),
        (Column("x", kind="number", ends=("l", "h")), (0.5, None, None), "0.5000"),
        (Column("x", kind="number", ends=("l", "h")), (math.nan, 0.1, 0.2), "–"),
        (Column("x", kind="number"), (math.inf,), "∞"),
        (Column("x", kind="number"), (1.5e8,), "1.5e8"),
        (Column("x", kind="number"), (0.00001,), "1e-05"),
        (Column("x", kind="number"), (12345,), "12,345"),
        (Column("x", kind="p"), (0.0001,), "< 0.001"),
        (Column("x", kind="count", also=Column("l", kind="share")), (3, 0.5), "3 (50.0%)"),
        (Column("x", kind="number"), ("too few",), "too few"),
        (Column("x"), (["a", "b"],), "a · b"),
        (Column("x"), (True,), "yes"),
        (Column("x"), ({"a": 1},), '{"a": 1}'),
    ],
)
def test_a_cell_in_one_line(column: Column, row: tuple[Any, ...], shown: str) -> None:
    assert make_cell(dict(zip("xlh", row)), column).line == shown


def test_on_a_page_the_interval_is_below_and_behind_it_stand_unrounded_numbers() -> None:
    made = make_cell({"x": 1 / 3, "l": 0.25, "h": 0.5}, Column("x", kind="share", ends=("l", "h")))
    assert made.below == ("[25.0%, 50.0%]",)
    assert made.values == (1 / 3, 0.25, 0.5)


def test_rows_stand_side_by_side_the_reference_first() -> None:
    rows = [
        {"source": source, "n": n, "x": x, "low": x, "high": x}
        for source, n, x in (("a", 1, 0.5), ("a", 2, 0.25), ("b", 2, 0.75))
    ]
    pivot = Pivot("n", Column("x", kind="number", decimals=2, ends=("low", "high")), {2: "two"})
    table = Table("t", "Mine", (Column("source"),), by="source", pivot=pivot)
    (sheet,) = make_sheets(table, result(t=rows))
    assert [column.heading for column in sheet.columns] == ["source", "two", "1"]
    assert sheet_csv(sheet).splitlines() == [
        "source,2_x,2_low,2_high,1_x,1_low,1_high",
        "b,0.75,0.75,0.75,,,",
        "a,0.25,0.25,0.25,0.5,0.5,0.5",
    ]
    assert [own for own, _ in sheet.rows()] == [True, False]


def test_a_split_table_is_one_for_each_value_and_optional_columns_need_a_value() -> None:
    rows = [{"of": of, "x": 1, "y": None if of == "a" else 2} for of in "aab"]
    columns = (Column("x", kind="count"), Column("y", kind="count", optional=True))
    table = Table("t", lambda own, _: f"Of {own[0]['of']}", columns, split=("of",))
    first, second = make_sheets(table, result(t=rows))
    assert (first.title, len(first.data), len(first.columns)) == ("Of a", 2, 1)
    assert (second.title, len(second.data), len(second.columns)) == ("Of b", 1, 2)
    assert (first.id, second.id) == ("mine-t-a", "mine-t-b")


def test_values_may_be_a_table_of_sources() -> None:
    columns = (Column("source"), Column("x", kind="number", ends=value_ends("x")))
    (sheet,) = make_sheets(Table("values", "Values", columns), result())
    assert [cell.line for cell in sheet.make(sheet.data[0])] == ["a", "0.5000 ±0.2500"]
    # A value may have the name that others would give to the end of an interval.
    named = SourceResult(1, 10, {"x": 0.5, "x_low": 9.0}, {"x": (0.25, 0.75)})
    (row,) = source_rows(replace(result(), by_source={"a": named}))
    assert (row["x_low"], row["x low"]) == (9.0, 0.25)


def test_fields_of_rows_become_columns() -> None:
    rows = [{"name": "a", "n": 1, "none": None}, {"name": "b", "n": None, "more": [1, 2]}]
    assert [(c.field, c.kind) for c in infer_columns(rows)] == [
        *(("name", "text"), ("n", "number"), ("more", "text"))
    ]


@pytest.mark.parametrize("width", [30, 50, 80])
def test_whatever_is_in_it_a_table_fits_the_screen(width: int) -> None:
    rows = [
        {
            "name": f"a name that is long {n} " * 4,
            **{f"x{k}": 10.0**k for k in range(5)},
            "t": "w " * 90,
        }
        for n in range(3)
    ]
    columns = [Column("name"), *(Column(f"x{k}", kind="number") for k in range(5))]
    sheet = rows_sheet("t", "T" * 200, [*columns, Column("t", kind="text")], rows, terminal=9)
    text = plain_text(lambda shown, console: print_sheet(shown, console), sheet, width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert text.replace("\n", "").count("10,000") == 3
    assert text.count("x4") == 1


def test_groups_stand_under_their_names_and_share_the_screen() -> None:
    rows = [{"g": f"group {g}", "n": n} for g in range(9) for n in range(50)]
    sheet = rows_sheet(
        "t", "T", [Column("g"), Column("n", kind="count")], rows, by="g", terminal=10
    )
    lines = plain_text(lambda shown, console: print_sheet(shown, console), sheet).splitlines()
    assert [line for line in lines if line.endswith(":")] == [f" group {g}:" for g in range(9)]
    assert len(lines) <= 45


def test_a_latex_table_has_names_to_the_left_and_comments_below() -> None:
    columns = [Column("a_b"), Column("n", kind="share", ends=("low", "high"))]
    rows = [{"a_b": "x_1 < y", "n": 0.5, "low": 0.25, "high": 0.75}]
    assert sheet_latex(rows_sheet("t", "T", columns, rows, note="50% of it")).splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a b & n \\",
        r"\midrule",
        r"x\_1 $<$ y & 50.0\% $\pm$25.0 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% 50% of it",
    ]
