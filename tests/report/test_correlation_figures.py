"""Correlations as figures and tables: what they show, and that they can be opened."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest

import rote
from rote.core.result import Result
from rote.report.charts import draw_figures, save_figure
from rote.report.export import results_csv, results_latex
from rote.report.result_tables import results_text
from rote.studies._source_table import short_name
from tests.report.drawn import as_data
from tests.studies.saved import columns, made


@pytest.fixture(scope="module")
def faceted() -> Result:
    rng = np.random.default_rng(2)
    held = {}
    for task in ("news", "stories"):
        for name in ("human", *(f"model-{n}" for n in range(6))):
            x = float(rng.normal())
            held[f"{task}|{name}"] = {"x": x, "y": x + float(rng.normal()) / 9, "same": 1.0}
    return rote.correlate(made(held, by=("task", "source"), reference="human"), values="all")


def test_every_facet_and_the_pooled_sources_have_a_matrix(faceted: Result) -> None:
    chart = as_data(draw_figures(faceted)["correlations"])
    titles = [panel["title"]["text"] for panel in chart["concat"]]
    assert titles == ["news", "stories", "pooled"]
    cells = chart["concat"][0]["data"]["values"]
    held = {(cell["a"], cell["b"]): cell for cell in cells}
    row = faceted.tables["correlations"][0]
    # Pearson stands below the diagonal, Spearman above it.
    assert held["lexical.y", "lexical.x"]["r"] == row["pearson"]
    assert held["lexical.x", "lexical.y"]["r"] == row["spearman"]
    assert held["lexical.y", "lexical.x"]["shown"].endswith("*")
    assert held["lexical.same", "lexical.x"]["shown"] == "–"


def test_the_strongest_pairs_show_their_sources(faceted: Result) -> None:
    chart = as_data(draw_figures(faceted)["pairs"])
    points = chart["concat"][0]["data"]["values"]
    assert sorted(point["source"] for point in points) == [f"model-{n}" for n in range(6)]
    assert len(chart["concat"]) == 2


def with_comet(sources: int) -> Result:
    """Five values that go together, and a quality that goes with none of them much."""
    rng = np.random.default_rng(4)
    names = [f"model-{n:02}" for n in range(sources)]
    x = {name: float(rng.normal()) for name in names}
    values = {
        name: {f"v{n}": x[name] + float(rng.normal()) / 50 for n in range(5)} for name in names
    }
    comet = [{"source": name, "comet": float(rng.normal())} for name in names]
    return rote.correlate(made(values), values="all", quality=comet)


def test_pairs_with_a_quality_column_are_drawn_and_listed_before_stronger_ones() -> None:
    found = with_comet(8)
    chart = as_data(draw_figures(found)["pairs"])
    axes = [panel["encoding"]["y"]["title"] for panel in chart["concat"]]
    assert axes[:5] == ["comet"] * 5
    assert len(axes) == 6
    assert axes[5] != "comet"
    text = results_text([found], width=160)
    quality, strongest = text.split("with quality")[1].split("strongest")
    assert quality.count("comet") == 5
    assert strongest.split("measure:")[0].count("lexical.") == 20
    again = results_text([Result.from_json(found.to_json())], width=160)
    assert again == text


def test_many_sources_have_no_legend_and_one_colour() -> None:
    few = as_data(draw_figures(with_comet(15))["pairs"])["concat"][0]["encoding"]
    many = as_data(draw_figures(with_comet(16))["pairs"])["concat"][0]["encoding"]
    assert few["color"]["legend"] is not None
    assert many["color"] == {"value": "#2f5d8a"}
    assert "shape" not in many
    assert many["tooltip"]["field"] == "source"


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_figures_can_be_opened(faceted: Result, tmp_path: Path, ending: str) -> None:
    again = Result.from_json(faceted.to_json())
    for name, chart in draw_figures(again).items():
        path = tmp_path / (name + ending)
        save_figure(chart, path)
        start = path.read_bytes()[:8]
        assert start.startswith(b"\x89PNG" if ending == ".png" else b"<svg")


def test_names_that_would_act_on_a_figure_or_terminal_do_not() -> None:
    held = {f"[red]{n}\x1b[31m": {"x": float(n), "y": float(n % 3)} for n in range(4)}
    found = rote.correlate(made(held), values="all")
    assert "\x1b" not in results_text([found])
    assert "\x1b" not in str(as_data(draw_figures(found)["pairs"]))


def test_the_table_shows_matrix_intervals_and_what_holds_a_pair_up(faceted: Result) -> None:
    text = results_text([faceted], width=160)
    assert "news (6 sources)" in text
    row = max(faceted.tables["correlations"], key=lambda r: abs(_number(r["pearson"])))
    low, high = row["pearson_low"], row["pearson_high"]
    assert f"{row['pearson']:.2f} [{low:.2f} to {high:.2f}]" in text
    assert f"({row['weakest_without']})" in text
    assert "note: the reference is not counted as a source" in text
    assert "measure:correlate|" in text


def test_a_wide_matrix_goes_on_below() -> None:
    rng = np.random.default_rng(0)
    many = {f"value{n}": rng.normal(size=5).tolist() for n in range(14)}
    found = rote.correlate(columns(**many), values="all")
    text = results_text([found], width=80)
    assert text.count("\n 14   lexical.value13") == 2
    assert max(map(len, text.split("note:")[0].splitlines()[:60])) <= 80


def test_csv_has_a_line_per_pair_unrounded(faceted: Result) -> None:
    every = list(csv.DictReader(io.StringIO(results_csv([faceted]))))
    rows = [row for row in every if row["table"] == "correlations"]
    assert [row["facet"] for row in rows] == ["news"] * 3 + ["stories"] * 3
    assert len([row for row in every if row["table"] == "pooled"]) == 3
    assert float(rows[0]["pearson"]) == faceted.tables["correlations"][0]["pearson"]
    assert rows[1]["pearson"] == ""
    assert rows[1]["note"] == "the second is the same in all sources"


def test_latex_has_a_matrix_per_facet(faceted: Result) -> None:
    text = results_latex([faceted])
    assert text.count(r"\begin{tabular}{llrrr}") == 3
    assert "1.00*" in text
    assert "lexical.same" in text


def test_a_name_is_not_said_twice() -> None:
    assert short_name("self-repetition.self_repetition") == "self-repetition"
    assert short_name("lexical.unique") == "lexical.unique"
    assert short_name("comet") == "comet"


def _number(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value
