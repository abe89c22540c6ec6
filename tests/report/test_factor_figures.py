"""A factor as small multiples and tables: what they show, and that they can be opened."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.result import Result
from rote.report.charts import draw_figures, save_figure
from rote.report.export import results_csv, results_latex
from rote.report.result_tables import results_text
from tests.report.drawn import as_data
from tests.studies.saved import made


def swept(*, human: tuple[str, ...] = ("none",), **options: Any) -> Result:
    held: dict[str, Any] = {}
    for place, source in enumerate(("m", "n", "o")):
        for level in ("0.2", "0.6", "1.0"):
            value = 0.5 + place / 10 + float(level) / 10
            held[f"{source}|{level}"] = {"unique": (value, 0.01), "mtld": 100 * value}
    for level in human:
        held[f"human|{level}"] = {"unique": (0.9, 0.01), "mtld": 90.0}
    result = made(held, by=("source", "temperature"), reference="human" if human else None)
    return rote.factors(result, values="all", over="temperature", **options)


def panels(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = as_data(draw_figures(result)["factors"])["concat"]
    return found


def test_every_value_is_a_panel_with_a_line_per_source() -> None:
    found = panels(swept())
    assert [panel["title"]["text"] for panel in found] == ["lexical.unique", "lexical.mtld"]
    assert found[0]["title"]["subtitle"] == ["higher: more diverse", "W = 1.00, dashed: human"]
    rule, reach, line, _points = found[0]["layer"]
    assert rule["mark"]["type"] == "rule"
    assert [row["estimate"] for row in rule["data"]["values"]] == [0.9]
    data = line["data"]["values"]
    assert {row["source"] for row in data} == {"m", "n", "o"}
    assert data[0]["high"] - data[0]["low"] == pytest.approx(0.02)
    assert reach["encoding"]["y2"]["field"] == "high"


def test_a_reference_at_every_level_is_a_line_of_its_own() -> None:
    panel = panels(swept(human=("0.2", "0.6", "1.0")))[0]
    assert [layer["mark"]["type"] for layer in panel["layer"]] == ["area", "line", "point"]
    own = [row for row in panel["data"]["values"] if row["source"] == "human"]
    assert [row["level"] for row in own] == [0.2, 0.6, 1.0]
    assert {row["role"] for row in own} == {"reference"}
    assert len(panels(swept(human=()))[0]["layer"]) == 3


def test_numbers_stand_to_scale_and_names_side_by_side() -> None:
    line = panels(swept())[0]["layer"][2]
    assert line["encoding"]["x"]["type"] == "quantitative"
    line = panels(swept(order=("1.0", "0.2")))[0]["layer"][2]
    assert line["encoding"]["x"]["type"] == "nominal"
    assert line["encoding"]["x"]["sort"] == ["1.0", "0.2"]


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_figures_can_be_opened(tmp_path: Path, ending: str) -> None:
    again = Result.from_json(swept().to_json())
    path = tmp_path / f"factors{ending}"
    save_figure(draw_figures(again)["factors"], path)
    assert path.read_bytes()[:4] in (b"\x89PNG", b"<svg")


def test_the_table_shows_levels_change_trend_and_agreement() -> None:
    text = results_text([swept()], width=160)
    assert "0.5200 ±0.0100" in text
    # 0.08 over the levels, with an interval of sqrt 2 times 0.01.
    assert "0.0800 ±0.0141▲" in text
    assert "1.00 (0.333)" in text
    assert "per unit" in text
    assert "human (reference)" in text
    assert "0.2 to 1.0" in text
    assert "note: the reference is not counted" in text


def test_what_is_undefined_takes_no_room() -> None:
    text = results_text([swept(pair=("0.2", "1.0"))], width=160)
    assert "rho" not in text
    assert "per unit" not in text
    assert "change" in text


def test_many_levels_go_on_below() -> None:
    held = {f"{s}|{n}": {"unique": (0.5, 0.1)} for s in "ab" for n in range(1, 12)}
    found = rote.factors(made(held, by=("source", "step")), values="all", over="step")
    lines = results_text([found], width=100).splitlines()
    assert sum(line.startswith(" source  ") for line in lines) >= 3
    assert max(map(len, lines[:20])) <= 100


def test_csv_has_a_line_per_cell_unrounded() -> None:
    every = list(csv.DictReader(io.StringIO(results_csv([swept()]))))
    rows = [row for row in every if row["table"] == "cells"]
    assert len(rows) == 2 * 10
    assert rows[0]["source"] == "m"
    assert float(rows[0]["estimate"]) == 0.52
    judged = [row for row in every if row["table"] == "agreement"]
    assert float(judged[0]["w"]) == pytest.approx(1)
    assert [row["reference"] for row in rows].count("True") == 2


def test_latex_has_a_table_per_value() -> None:
    text = results_latex([swept()])
    assert text.count("% factors: cells") == 2
    assert r"0.5200 $\pm$0.0100" in text
    assert r"human (reference)" in text
