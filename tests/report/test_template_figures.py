"""Figures of the templates measure: one for each table that holds something, from JSON too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rote.core.result import Result
from rote.report.charts import draw_figure, draw_figures, save_figure
from tests.report.drawn import as_data
from tests.report.made import made, names, template

NAMES = {"lengths", "coverage", "ranks", "distinctive", "overlap"}


def data(chart: Any) -> list[dict[str, Any]]:
    """All rows that a chart, or what it was written as, draws."""

    def found(part: Any) -> list[dict[str, Any]]:
        if isinstance(part, dict):
            values = part.get("values")
            own = values if isinstance(values, list) and values else []
            rows = [row for row in own if isinstance(row, dict)]
            return rows + [row for inner in part.values() for row in found(inner)]
        if isinstance(part, list):
            return [row for inner in part for row in found(inner)]
        return []

    return found(chart if isinstance(chart, dict) else as_data(chart))


def own(result: Result) -> dict[str, Any]:
    """The figures that a measure has beside those of all measures."""
    return {name: c for name, c in draw_figures(result).items() if name not in ("values", "curve")}


def without(result: Result, **tables: Any) -> Result:
    return replace(result, tables={**result.tables, **tables})


@pytest.mark.parametrize("sources", [2, 12])
def test_every_table_has_its_figure_and_json_is_enough(sources: int) -> None:
    result = made(sources)
    drawn = own(result)
    assert set(drawn) == NAMES
    again = own(Result.from_json(result.to_json()))
    assert json.dumps([as_data(c) for c in again.values()], sort_keys=True) == json.dumps(
        [as_data(c) for c in drawn.values()], sort_keys=True
    )


def test_charts_render(tmp_path: Path) -> None:
    for name, chart in own(made(3)).items():
        save_figure(chart, tmp_path / f"{name}.svg")
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert names(3)[2] in drawn or name == "ranks"


def test_neither_side_crowds_out_the_other() -> None:
    rows = [{**row, "z": row["z"] + 5} for row in made(2).tables["distinctive"]]
    drawn = data(draw_figure(without(made(2), distinctive=rows), "distinctive"))
    least = {row["template"] for row in drawn if row["side"] == "reference"}
    assert least == {template(rank) for rank in range(17, 21)}


def test_an_interval_that_is_missing_has_no_width() -> None:
    row = {"corpus": "c", "source": "human", "kind": "templates", "n_grams": 3}
    rows = [{**row, "among_frequent": None, "found": 0.5, "low": None, "high": float("nan")}]
    found = data(draw_figure(without(made(2), coverage=rows), "coverage"))
    (drawn,) = {(row["low"], row["high"]) for row in found}
    assert drawn == (0.5, 0.5)


def test_empty_and_undefined_tables_give_no_figure() -> None:
    empty = without(made(2), **dict.fromkeys(NAMES, ()))
    assert own(empty) == {}
    undefined = [{"source": "a", "other": "b", "shared": 0, "jaccard": None}]
    assert "overlap" not in own(without(made(2), overlap=undefined))
    zero = [{"source": "a", "other": "b", "shared": 0, "jaccard": 0.0}]
    assert "overlap" in own(without(made(2), overlap=zero))


def test_without_a_reference_all_is_drawn_but_what_needs_one() -> None:
    alone = without(made(2, reference=None), distinctive=())
    assert set(own(alone)) == NAMES - {"distinctive"}


def test_names_cannot_steer_a_figure() -> None:
    rows = [{"source": "a\u202e\x1b", "n": 4, "rate": 0.5, "per_token": 0.1}]
    chart = draw_figure(without(made(2), lengths=rows), "lengths")
    assert {row["source"] for row in data(chart)} == {"a␛"}


def test_favoured_patterns_point_to_the_side_that_favours_them() -> None:
    rows = [
        {"source": "m", "favoured_by": side, "n": 3, "pattern": name, "z": z, "p_corrected": 0.01}
        for side, name, z in (("m", "A B C", 5.0), ("human", "D E F", 4.0), ("m", "G H I", None))
    ]
    favoured = replace(made(2, measure="keyness"), tables={"grammar": rows})
    chart = draw_figure(favoured, "grammar")
    drawn = {row["template"]: (row["z"], row["side"]) for row in data(chart)}
    assert drawn == {"A B C": (5.0, "source"), "D E F": (-4.0, "reference")}
