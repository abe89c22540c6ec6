"""The verdicts as a figure for files: what stands where, and what each mark says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rote.cli._output import PanelOutput, deliver
from rote.core.errors import OptionError
from rote.core.result import PanelResults, Result
from rote.report.charts import draw_verdicts, save_figure
from rote.report.verdicts import judge_facets
from tests.report.drawn import as_data
from tests.report.made_results import result, study
from tests.report.test_ranks import each
from tests.report.test_verdicts import OPEN, SURE, every_state, two


def panels(results: list[Result]) -> dict[str, dict[str, Any]]:
    """The panels of one facet by the name of their aspect."""
    chart = as_data(draw_verdicts(results))
    return {panel["title"]["text"]: panel for panel in chart["concat"]}


def marks(panel: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def test_every_aspect_has_a_panel_with_its_effects_and_sizes() -> None:
    report = every_state()
    found = panels(list(report.results))
    (facet,) = judge_facets(report.results)
    assert list(found) == [aspect.name for aspect in facet.drawn]
    for aspect in facet.drawn:
        (text,) = marks(found[aspect.name], "text")
        (row,) = text["data"]["values"]
        (one,) = aspect.comparisons
        assert (row["source"], row["size"], row["state"]) == (one.source, one.size, one.state)
        assert row["at"] == pytest.approx(one.effect)
        assert row["low"] <= row["at"] <= row["high"]


def test_zero_is_a_line_and_directions_are_words() -> None:
    found = panels(list(every_state().results))
    assert marks(found["Words"], "rule")[0]["data"]["values"] == [{"at": 0.0}]
    axis = marks(found["Words"], "point")[0]["encoding"]["x"]["title"]
    assert axis.startswith("← more diverse")
    assert axis.endswith("more repetitive →")
    assert "more involved" in marks(found["Style"], "point")[0]["encoding"]["x"]["title"]


def test_filled_holds_and_a_borderline_one_is_a_ring_with_a_point() -> None:
    def sizes(test: dict[str, float]) -> list[tuple[bool, int]]:
        (panel,) = panels([two("templates", "per_token", 0.6, test)]).values()
        layers = marks(panel, "point")
        return [(bool(one["mark"].get("filled")), one["mark"]["size"]) for one in layers]

    assert sizes(SURE) == [(True, 55)]
    assert sizes(OPEN) == [(False, 75), (True, 14)]


def test_the_caption_says_only_what_is_there() -> None:
    chart = as_data(draw_verdicts([two("templates", "per_token", 0.6, SURE)]))
    said = " ".join(chart["title"]["subtitle"])
    assert "Line at 0: human." in said
    assert "Filled: holds after correction." in said
    assert "borderline" not in said
    assert "no difference" not in said


def test_facets_stand_below_each_other() -> None:
    names = {f"{task}|{who}": (0.04, 0.001) for task in ("news", "tales") for who in ("human", "a")}
    tests = {name: {"p": 0.9, "p_corrected": 0.9} for name in names if name.endswith("|a")}
    chart = as_data(draw_verdicts([result("templates", "per_token", names, tests)]))
    titles = [part["title"]["text"] for part in chart["vconcat"]]
    assert titles == ["Differences from human: news", "Differences from human: tales"]


def test_without_a_reference_values_stand_with_their_letters() -> None:
    (panel,) = panels([each()]).values()
    (text,) = marks(panel, "text")
    assert [row["size"] for row in text["data"]["values"]] == ["0.9000 a", "0.6000 b", "0.5000 b"]
    assert not any(one["data"]["values"] == [{"at": 0.0}] for one in marks(panel, "rule"))


def test_a_report_and_a_panel_draw_the_same_and_nothing_compared_draws_values() -> None:
    results = [two("templates", "per_token", 0.6, SURE)]
    drawn = as_data(draw_verdicts(results))
    assert as_data(study(results).figure()) == as_data(PanelResults(results).figure()) == drawn
    alone = result("templates", "per_token", {"a": (0.04, 0.002)}, reference=None)
    with pytest.raises(OptionError, match="no sources were compared"):
        draw_verdicts([alone])
    assert "per_token" in json.dumps(as_data(PanelResults([alone]).figure()))


def test_names_cannot_steer_the_figure(tmp_path: Path) -> None:
    name = "a rather long name of a system / trained on one thing\u202e"
    made = result(
        *("templates", "per_token", {"human": (0.5, 0.01), name: (0.6, 0.01)}), {name: SURE}
    )
    save_figure(draw_verdicts([made]), tmp_path / "f.svg")
    drawn = (tmp_path / "f.svg").read_text()
    assert name[:-1] in drawn
    assert "\u202e" not in drawn


def test_the_command_draws_it(tmp_path: Path) -> None:
    options = PanelOutput(figure=tmp_path / "f.json", figures=tmp_path / "all", json=True)
    deliver([two("templates", "per_token", 0.6, SURE)], options, panel=True)
    assert "more repetitive" in (tmp_path / "f.json").read_text()
    names = {path.stem for path in (tmp_path / "all").iterdir()}
    assert {"verdicts", "values"} <= names
    assert (tmp_path / "all" / "verdicts.png").read_bytes().startswith(b"\x89PNG")
