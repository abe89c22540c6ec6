"""Overlap and entity scores for the eye, also from a result read from JSON."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from rote.core.result import Result, SourceResult
from rote.core.signature import Signature
from rote.measure._overlap_tables import bin_name
from rote.report.charts import draw_figures
from rote.report.result_tables import print_tables

SOURCES = ("learner", "control\x1b[31m")


def bins(controlled: bool = False) -> list[dict[str, Any]]:
    found = []
    for source in SOURCES:
        for score in ("rouge_2", "grade"):
            for bin, name, low, high in (
                (1, "T_nov", 0.0, 0.1),
                (2, None, 0.1, 0.35),
                (3, "T_sim", 0.35, 1.0),
                (None, "all", 0.0, 1.0),
            ):
                row = {"source": source, "score": score, "bin": bin, "name": name}
                row |= {"low": low, "high": high, "texts": 4}
                row |= {"mean": 0.25, "mean_low": 0.125, "mean_high": 0.375}
                if controlled:
                    own = 0.5 if source == "learner" else None
                    row |= {"excess": own, "excess_low": None, "excess_high": None}
                found.append(row)
    return found


def trends(controlled: bool = False) -> list[dict[str, Any]]:
    row: dict[str, Any] = {"score": "rouge_2", "texts": 9, "nov": 0.1, "sim": 0.3, "p": 0.0001}
    row |= {"ratio": 3.0, "ratio_low": 1.5, "ratio_high": 4.5}
    row |= {"trend": 0.5, "trend_low": None, "trend_high": None}
    if controlled:
        row |= {"rise": 0.2, "rise_low": 0.1, "rise_high": 0.3}
        row |= {"excess_trend": None, "excess_trend_low": None, "excess_trend_high": None}
        row |= {"excess_p": None}
    return [{"source": source, **row} for source in SOURCES]


def result(measure: str = "overlap", **tables: Any) -> Result:
    made = Result(
        measure=measure,
        signature=Signature.of({"measure": "overlap", "control": "control"}),
        by=("source",),
        reference=None,
        interval=None,
        by_source={name: SourceResult(4, 40, {"overlap": 0.5}) for name in SOURCES},
        tables=tables,
    )
    return Result.from_json(made.to_json())


def printed(name: str, rows: list[dict[str, Any]], width: int = 120) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    measure = "score" if name == "types" else "overlap"
    print_tables(result(measure, **{name: rows}), console)
    assert "\x1b" not in out.getvalue()
    return out.getvalue()


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"bin": 1, "low": 0.0, "high": 0.15, "name": "T_nov"}, "0-15"),
        ({"bin": 2, "low": 0.15, "high": 0.35, "name": None}, "15-35"),
        ({"bin": 3, "low": 0.35, "high": 1.0, "name": "T_sim"}, ">35"),
        ({"bin": 1, "low": 0.0, "high": 1.0, "name": None}, "0-100"),
        ({"bin": None, "low": None, "high": None, "name": "too short"}, "too short"),
    ],
)
def test_bins_are_named_as_in_the_paper(row: dict[str, Any], name: str) -> None:
    assert bin_name(row) == name


def test_scores_are_printed_bin_by_bin_with_their_reach() -> None:
    shown = printed("bins", bins())
    assert "ROUGE-2" in shown
    assert ">35" in shown
    assert "0.2500 ±0.1250" in shown
    assert "above the control" not in shown


def test_the_control_has_no_line_in_its_own_table() -> None:
    shown = printed("bins", bins(controlled=True)[:8] + bins(controlled=True)[8:])
    after = shown.split("above the control")[1].split("grade")[0]
    assert "learner" in after
    assert "control" not in after


def test_trends_are_printed_under_each_source() -> None:
    assert "3.00 ±1.50" in printed("trends", trends())
    shown = printed("trends", trends(controlled=True))
    assert "rise above control" in shown
    assert "0.200 ±0.100" in shown
    assert "< 0.001" in shown


def test_the_partition_shows_items_and_both_ends() -> None:
    rows = [
        {"source": "a", "bin": 1, "name": "T_nov", "low": 0.0, "high": 0.1, "items": 1200},
        {"source": "a", "bin": 2, "name": "T_sim", "low": 0.1, "high": 1.0, "items": 7},
        {"source": "a", "bin": None, "name": "too short", "low": None, "high": None, "items": 3},
    ]
    shown = printed("partition", rows)
    assert "1,200" in shown
    assert "T_sim" in shown
    assert shown.count("too short") == 1


def test_entities_are_printed_by_type_and_a_source_without_any_says_so() -> None:
    row = {"type": "PER", "texts": 2, "tokens": 5, "entity_recall": None}
    row |= {"entity_precision": 0.5, "entity_remembered": 0.25}
    shown = printed("types", [{"source": "a", **row}, {"source": "b", **row, "tokens": 0}])
    assert "0.500" in shown
    assert shown.rstrip().splitlines()[-1].split() == ["b", "no", "entities", *"––––"]


def test_a_type_that_only_references_have_is_printed_for_its_recall() -> None:
    row = {"source": "a", "type": "NUM", "texts": 0, "tokens": 0, "entity_recall": 0.0}
    row |= {"entity_precision": None, "entity_remembered": None}
    assert "NUM" in printed("types", [row])


def test_every_score_has_a_panel_and_undefined_points_are_left_out() -> None:
    charts = draw_figures(result(bins=bins(controlled=True)))
    assert list(charts) == ["bins", "excess"]
    drawn = charts["bins"].to_dict()
    assert [panel["title"]["text"] for panel in drawn["concat"]] == ["ROUGE-2", "grade"]
    excess = charts["excess"].to_dict()["concat"][0]
    points = excess["data"]["values"]
    assert {point["source"] for point in points} == {"learner"}
    assert excess["title"]["text"] == "ROUGE-2 above that of control"
    assert "\x1b" not in charts["bins"].to_json()


def test_other_measures_and_empty_tables_have_no_such_figures() -> None:
    assert draw_figures(result()) == {}
    assert draw_figures(result(bins=[])) == {}
