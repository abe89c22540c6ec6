"""The panel as one figure: which way is up, in which order tasks stand, what each mark says."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rote.cli._output import OutputOptions, deliver
from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report.figures.draw import save
from rote.report.figures.looks import Ticks, round_ticks
from rote.report.figures.panel import panel_chart
from tests.report.drawn import as_data
from tests.report.made import ASPECTS, made_panel

_DRAWN: dict[str, dict[str, Any]] = {}


def drawn_of(results: list[Result]) -> dict[str, Any]:
    """The figure as data. Drawing takes long, so nothing is drawn twice."""
    key = "".join(result.to_json() for result in results)
    if key not in _DRAWN:
        _DRAWN[key] = as_data(panel_chart(results))
    return _DRAWN[key]


def cells(results: list[Result]) -> list[dict[str, Any]]:
    """The cells of the figure, row by row, without the heads of the columns."""
    chart = drawn_of(results)
    assert chart["columns"] == len(ASPECTS)
    return list(chart["concat"][len(ASPECTS) :])


def marks(cell: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """What the layers of one kind of mark show."""
    layers = [layer for layer in cell["layer"] if layer["mark"]["type"] == kind]
    return [row for layer in layers for row in layer["data"]["values"]]


def points(cell: dict[str, Any], *, filled: bool) -> dict[str, dict[str, Any]]:
    (layer,) = (
        layer
        for layer in cell["layer"]
        if layer["mark"]["type"] == "point" and layer["mark"]["filled"] == filled
    )
    return {row["source"]: row for row in layer["data"]["values"]}


def said(results: list[Result]) -> str:
    return " ".join(drawn_of(results)["title"]["subtitle"])


def titles(results: list[Result]) -> list[str]:
    return [cell["title"]["text"] for cell in cells(results)[:: len(ASPECTS)]]


def test_every_source_stands_in_every_cell_the_reference_first() -> None:
    found = cells(made_panel())
    assert len(found) == 2 * len(ASPECTS)
    for cell in found:
        shown = points(cell, filled=True)
        assert set(shown) == {"human", "input documents", "one", "two"}
        order = cell["layer"][-1]["encoding"]["y"]["scale"]["domain"]
        assert order == ["human", "input documents", "one", "two"]


def test_right_is_more_diverse_in_every_column() -> None:
    reversed_ = [
        cell["layer"][-1]["encoding"]["x"]["scale"]["reverse"] for cell in cells(made_panel())[:3]
    ]
    assert reversed_ == [False, True, True]
    assert "right to left" in said(made_panel())
    assert "right to left" not in said(made_panel()[:1])


def test_a_column_has_the_same_scale_for_all_tasks() -> None:
    found = cells(made_panel(("a", "b", "c")))
    for column in range(len(ASPECTS)):
        scales = {
            tuple(layer["encoding"]["x"]["scale"]["domain"])
            for cell in found[column :: len(ASPECTS)]
            for layer in cell["layer"]
        }
        ((low, high),) = scales
        for cell in found[column :: len(ASPECTS)]:
            for row in points(cell, filled=True).values():
                assert low < row["low"] < row["high"] < high


def test_tasks_go_from_the_least_to_the_most_diverse_reference() -> None:
    results = made_panel(("a", "b", "c"))
    assert titles(results) == ["a", "b", "c"]
    turned = [replace(r, sources=dict(reversed(r.sources.items()))) for r in results]
    assert titles(turned) == ["a", "b", "c"]
    assert "less to more diverse human" in said(results)


def test_a_task_without_a_reference_comes_last_and_has_no_line() -> None:
    results = [
        replace(r, sources={g: s for g, s in r.sources.items() if g != "a|human"})
        for r in made_panel(("a", "b"), inputs=False)
    ]
    assert titles(results) == ["b", "a"]
    last = cells(results)[-1]
    assert not any("strokeDash" in layer["mark"] for layer in last["layer"])


def test_reference_and_inputs_are_lines() -> None:
    first = cells(made_panel())[0]
    dashed = [layer for layer in first["layer"] if "strokeDash" in layer["mark"]]
    values = [layer["data"]["values"][0]["value"] for layer in dashed]
    own = points(first, filled=True)
    assert values == [own["human"]["value"], own["input documents"]["value"]]
    assert marks(first, "rect") == [{"low": own["human"]["low"], "high": own["human"]["high"]}]
    assert "Dotted line" in said(made_panel())
    assert "Dotted line" not in said(made_panel(inputs=False))


def test_what_may_not_differ_is_pale() -> None:
    for filled in (True, False):
        shown = points(cells(made_panel())[0], filled=filled)
        roles = {source: row["role"] for source, row in shown.items()}
        assert roles == {
            "human": "reference",
            "input documents": "input",
            "one": "differs",
            "two": "may not differ",
        }


def test_what_was_not_tested_is_neither_pale_nor_different() -> None:
    made = made_panel()
    untested: dict[str, Any] = {"tested": False, "matched_tested": False}
    too_few = [[{**row, **untested} for row in result.comparisons] for result in made]
    undefined = [
        [
            {**row, "p_corrected": math.nan, "matched_p_corrected": None}
            for row in result.comparisons
        ]
        for result in made
    ]
    old = [[{**row, "permutations": 39} for row in result.comparisons] for result in made]
    for rows in ([()] * len(made), too_few, undefined, old):
        results = [replace(result, comparisons=own) for result, own in zip(made, rows)]
        for filled in (True, False):
            every = [points(cell, filled=filled).values() for cell in cells(results)]
            roles = {row["role"] for own in every for row in own}
            assert roles == {"reference", "input", "not tested"}
        assert "Pale" not in said(results)
        assert "Grey: not tested" in said(results)


def test_values_at_equal_size_are_rings() -> None:
    first = cells(made_panel())[0]
    own, equal = points(first, filled=True), points(first, filled=False)
    assert equal["one"]["value"] == pytest.approx(own["one"]["value"] + 0.01)
    plain = [replace(r, tables={**r.tables, "matched": ()}) for r in made_panel()]
    assert not any(
        layer["mark"].get("filled") is False for cell in cells(plain) for layer in cell["layer"]
    )
    assert "Ring" not in said(plain)


def test_without_facets_there_is_one_row_of_cells() -> None:
    found = cells(made_panel(("",)))
    assert len(found) == len(ASPECTS)
    assert "title" not in found[0]
    assert "mean rank" not in said(made_panel(("",)))
    alone = made_panel(("",), reference=None, inputs=False)
    assert set(points(cells(alone)[0], filled=True)) == {"human", "one", "two"}
    assert "Dashed" not in said(alone)


def test_an_undefined_value_leaves_its_place_empty_and_an_undefined_aspect_its_column() -> None:
    results = made_panel()
    group = "news|one"
    hole = replace(results[0].sources[group], values={"unique": math.nan}, intervals={})
    holed = replace(results[0], sources={**results[0].sources, group: hole})
    first = cells([holed, *results[1:]])[0]
    assert "one" not in points(first, filled=True)
    assert "one" in first["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    nothing = [
        replace(
            r,
            sources={
                g: replace(s, values=dict.fromkeys(s.values, math.nan))
                for g, s in r.sources.items()
            },
        )
        for r in results
    ]
    chart = as_data(panel_chart([nothing[0], *results[1:]]))
    assert chart["columns"] == 2
    with pytest.raises(OptionError, match="nothing to draw"):
        panel_chart(nothing)


def test_a_measure_without_a_usual_value_shows_its_first() -> None:
    results = made_panel()
    heads = as_data(panel_chart([replace(results[0], measure="own")]))["concat"][0]["title"]
    assert heads["text"] == "own"
    assert heads["subtitle"] == ["title of unique"]


def test_json_is_enough() -> None:
    again = [Result.from_json(result.to_json()) for result in made_panel()]
    assert as_data(panel_chart(again)) == drawn_of(made_panel())


def test_names_cannot_steer_the_figure_and_are_not_cut(tmp_path: Path) -> None:
    name = "a rather long name of a system / trained on one thing / decoded on another"
    save(panel_chart(made_panel(("x\u202e",), (name, "b\x1b"))), tmp_path / "f.svg")
    drawn = (tmp_path / "f.svg").read_text()
    assert name in drawn
    assert "\u202e" not in drawn
    assert "b␛" in drawn


def test_the_command_draws_the_panel(tmp_path: Path) -> None:
    options = OutputOptions(figure=tmp_path / "f.json", figures=tmp_path / "all", json=True)
    deliver(made_panel(), options, panel=True)
    assert "Right is more diverse" in (tmp_path / "f.json").read_text()
    assert {path.stem for path in (tmp_path / "all").iterdir()} == {"panel", "values", "curve"}
    assert (tmp_path / "all" / "panel.png").read_bytes().startswith(b"\x89PNG")


# -- labels of the axes ----------------------------------------------------------------------

_DIGIT = 5.6


def drawn(ticks: Ticks, low: float, high: float, width: float) -> list[tuple[float, float]]:
    """From where to where each label reaches, in pixels."""
    found = []
    for value in ticks.values:
        middle = (value - low) / (high - low) * width
        half = len(format(value, ticks.format)) * _DIGIT / 2
        found.append((middle - half, middle + half))
    return found


@given(
    st.floats(-1e6, 1e6),
    st.floats(-9, 6).map(lambda power: 10.0**power),
    st.integers(60, 400),
)
def test_labels_stand_apart_and_within_their_cell(middle: float, span: float, width: int) -> None:
    assume(span > 2e-6 * abs(middle))
    low, high = middle - span / 2, middle + span / 2
    ticks = round_ticks(low, high, width, 5)
    labels = [format(value, ticks.format) for value in ticks.values]
    assert len(set(labels)) == len(labels) >= 1
    places = drawn(ticks, low, high, width)
    assert all(start >= -5.01 and end <= width + 5.01 for start, end in places)
    assert all(end + 4.99 <= start for (_, end), (start, _) in pairwise(places))
    step = max(abs(float(label) - value) for label, value in zip(labels, ticks.values))
    assert step <= 1e-6 * span + 1e-15 * abs(middle) or len(labels) == 1  # nothing is rounded away


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.0, 1.0, ["0.2", "0.4", "0.6", "0.8"]),
        (2.9, 3.6, ["3.0", "3.2", "3.4"]),
        (950.0, 1050.0, ["960", "1000", "1040"]),
        (4.00045, 4.00053, ["4.00048", "4.00052"]),
        (-0.04, 0.04, ["-0.02", "0.00", "0.02"]),
        (5.6e-8, 7.3e-8, ["6e-08", "7e-08"]),
    ],
)
def test_labels_are_round_numbers(low: float, high: float, labels: list[str]) -> None:
    ticks = round_ticks(low, high, 132, 5)
    assert [format(value, ticks.format) for value in ticks.values] == labels


def test_values_that_differ_in_the_seventh_digit_are_drawn_as_equal() -> None:
    result = made_panel(("",), inputs=False)[0]
    for spread, equal in ((1e-9, True), (1e-3, False)):
        sources = {
            name: replace(held, values={"unique": 0.4 + spread * place}, intervals={})
            for place, (name, held) in enumerate(result.sources.items())
        }
        close = replace(result, sources=sources, tables={**result.tables, "matched": ()})
        chart = as_data(panel_chart([close]))
        low, high = chart["concat"][-1]["layer"][-1]["encoding"]["x"]["scale"]["domain"]
        assert (high - low > 0.01) == equal
