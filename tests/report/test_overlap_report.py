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


def test_the_control_has_no_line_in_its_own_table() -> None:
    shown = printed("bins", bins(controlled=True)[:8] + bins(controlled=True)[8:])
    after = shown.split("above the control")[1].split("grade")[0]
    assert "learner" in after
    assert "control" not in after


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
