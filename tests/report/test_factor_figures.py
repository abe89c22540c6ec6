"""A factor as small multiples and tables: what they show, and that they can be opened."""

from __future__ import annotations

from typing import Any

import rote
from rote.core.result import Result
from rote.report.charts import draw_figures
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
