"""Correlations as figures and tables: what they show, and that they can be opened."""

from __future__ import annotations

import numpy as np
import pytest

import rote
from rote.core.result import Result
from rote.report.charts import draw_figures
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


def test_names_that_would_act_on_a_figure_or_terminal_do_not() -> None:
    held = {f"[red]{n}\x1b[31m": {"x": float(n), "y": float(n % 3)} for n in range(4)}
    found = rote.correlate(made(held), values="all")
    assert "\x1b" not in results_text([found])
    assert "\x1b" not in str(as_data(draw_figures(found)["pairs"]))


def test_a_wide_matrix_goes_on_below() -> None:
    rng = np.random.default_rng(0)
    many = {f"value{n}": rng.normal(size=5).tolist() for n in range(14)}
    found = rote.correlate(columns(**many), values="all")
    text = results_text([found], width=80)
    assert text.count("\n 14   lexical.value13") == 2
    assert max(map(len, text.split("note:")[0].splitlines()[:60])) <= 80


def test_a_name_is_not_said_twice() -> None:
    assert short_name("self-repetition.self_repetition") == "self-repetition"
    assert short_name("lexical.unique") == "lexical.unique"
    assert short_name("comet") == "comet"
