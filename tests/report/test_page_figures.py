"""Figures and tables as they go into a page: what is known of a drawing, and first rows."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from rote.core.table import Column
from rote.report import fragments, svg
from rote.report.cells import Cell, Sheet, text_cell
from rote.report.charts import VALUES, draw_chart, save_figure
from rote.report.export import sheet_csv, sheet_latex
from rote.report.report import Figure
from rote.report.sections import curve_figures, shorten_names
from rote.report.svg import FONT, text_width, widen_margins
from rote.report.value_tables import values_sheet
from tests.report import made_report as made

HOSTILE = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"
 width="80.4" height="20" viewBox="0 0 80 20"><rect width="80" height="20" fill="white"/>
<script>alert(1)</script><style>* { fill: red }</style><foreignObject><b>no</b></foreignObject>
<g onclick="alert(1)" style="fill:url(http://away)" fill="none">
<a xlink:href="javascript:1"><text>no</text></a>
<text x="1" fill="url(http://away)">a &lt;b&gt; \u202e</text></g>
<defs><clipPath id="clip0"><rect x="0" width="9" height="9"/></clipPath></defs>
<g clip-path="url(#clip0)"><image href="http://away"/><path d="M0,0h1" stroke="#000"/></g>
<g><path class="background" d="M0,0h9v9h-9Z"/></g><path d="M1,1h1" opacity="0"/></svg>"""


def test_of_a_drawing_only_known_elements_and_attributes_remain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(svg, "render_svg", lambda spec: HOSTILE)
    assert svg.svg_element("", "here", "A <title>", "says & does") == (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="here-t here-d" '
        'width="80" height="20" viewBox="0 0 80 20"><title id="here-t">A &lt;title&gt;</title>'
        '<desc id="here-d">says &amp; does</desc><g fill="none">\n\n'
        '<text x="1" fill="none">a &lt;b&gt; </text></g>'
        '<defs><clipPath id="here-clip0"><rect x="0" width="9" height="9"/></clipPath></defs>'
        '<g clip-path="url(#here-clip0)"><path d="M0,0h1" stroke="#000"/></g></svg>'
    )


def test_a_mark_that_is_pointed_at_shows_its_values() -> None:
    shown = svg.svg_element(svg.chart_spec(draw_chart(VALUES, made.panel())), "here", "A", "b")
    titles = re.findall("<title>([^<]*)</title>", shown)
    points = [one for one in titles if one.startswith("estimate: ")]
    assert any("source: human" in one and "role: reference" in one for one in points)
    assert all(len(number) <= 6 for one in titles for number in re.findall(r"\.\d+", one))
    assert "role: source" not in "".join(titles)


@pytest.mark.parametrize("name", ["if", "constructor", "valueOf", "__lookupSetter__"])
def test_a_name_that_the_drawing_tool_takes_for_its_own_is_drawn(name: str) -> None:
    import altair as alt

    rows = [{"phrase": one, "z": 1} for one in (name, "other")]
    order = alt.Y("phrase:N", sort=[name, "other"])
    drawn = svg.render_svg(
        svg.chart_spec(alt.Chart(alt.Data(values=rows)).mark_bar().encode(y=order))
    )
    texts = [one.text for one in ElementTree.fromstring(drawn).iter() if one.tag.endswith("}text")]
    assert name in texts


@pytest.mark.parametrize("name", ["if", "valueOf", "so"])
def test_a_saved_figure_has_no_such_name_either(name: str, tmp_path: Path) -> None:
    import altair as alt

    rows = [{"phrase": one, "z": 1} for one in (name, "other")]
    order = alt.Y("phrase:N", sort=[name, "other"])
    chart = alt.Chart(alt.Data(values=rows)).mark_bar().encode(y=order)
    for ending in ("json", "html"):
        chart.save(str(tmp_path / f"plain.{ending}"))
        save_figure(chart, tmp_path / f"own.{ending}")
        plain, own = ((tmp_path / f"{n}.{ending}").read_text() for n in ("plain", "own"))
        named = name if name == "so" else f"{name}\\u00a0"
        assert own == plain.replace(f'"{name}"', f'"{named}"'), "all else is as Altair writes it"
    texts = svg.render_svg((tmp_path / "own.json").read_text())
    assert f">{name}" in texts


WIDE = """<svg xmlns="http://www.w3.org/2000/svg" width="100" height="40" viewBox="0 0 100 40">
<rect width="100" height="40" fill="white"/><g transform="translate(50,20)">
<text text-anchor="end" font-family="sans-serif" font-size="10px">twenty letters at all</text>
<g transform="translate(40,0)"><text font-family="monospace" font-size="10px">MMM</text></g>
<text transform="translate(0,15) rotate(-90)" text-anchor="end" font-size="10px"><tspan>aa</tspan>
<tspan x="0" dy="12">bbbb</tspan></text>
<text display="none">not seen, however long it may be, whatever it says</text></g></svg>"""


def test_a_drawing_has_room_for_the_letters_of_a_wide_font() -> None:
    root = ElementTree.fromstring(WIDE)
    widen_margins(root)
    left, top, across, down = map(float, root.get("viewBox", "").split())
    assert left == math.floor(50 - 10 * text_width("twenty letters at all"))
    assert left + across == math.ceil(90 + 10 * text_width("MMM"))
    assert (top, top + down) == (0, math.ceil(35 + 10 * text_width("bbbb")))
    assert (float(root.get("width", "0")), float(root.get("height", "0"))) == (across, down)
    paper, _ = root
    assert [float(paper.get(name, "0")) for name in ("x", "y")] == [left, top]
    fonts = [one.get("font-family") for one in root.iter() if one.tag.endswith("}text")]
    assert fonts == [FONT, "monospace", None, None]


def test_a_drawing_with_room_stays_as_it_is() -> None:
    root = ElementTree.fromstring(WIDE.replace("10px", "1px"))
    widen_margins(root)
    assert root.get("viewBox") == "0 0 100 40"


def test_a_figure_that_is_too_long_becomes_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragments, "_LARGEST", 10)
    figure = Figure("f", "A", "b", svg.chart_spec(draw_chart(VALUES, made.panel())))
    html = str(fragments.render_blocks([figure]))
    assert '<img src="data:image/png;base64,iVBOR' in html
    assert "<svg" not in html


def test_more_sources_than_anyone_can_read_are_not_drawn() -> None:
    many = made.panel(tuple(f"s{number}" for number in range(90)))
    assert curve_figures(many) == []


def test_long_names_are_cut_and_stay_different() -> None:
    long = {"human": "h" * 90, "one": "h" * 91}
    result = made.said(made.panel()[0], lambda name: f"news|{long.get(name, name)}")
    cut = shorten_names(result)
    assert list(cut.by_source) == [f"news|{'h' * 60}… (1)", f"news|{'h' * 60}… (2)"]
    assert cut.reference == next(iter(cut.by_source))
    assert {row["source"] for row in cut.tables["curve"]} == set(cut.by_source)
    assert shorten_names(made.panel()[0]) == made.panel()[0]


def rows(groups: dict[str, int]) -> list[dict[str, Any]]:
    return [{"source": g, "n": number} for g, count in groups.items() for number in range(count)]


def table(groups: dict[str, int], **more: Any) -> Sheet:
    columns = [Column("source"), Column("n", kind="number", spread="low")]
    return Sheet(
        "here",
        "Numbers",
        columns,
        rows(groups),
        lambda row: [
            text_cell(row["source"]),
            Cell(str(row["n"]), (row["n"], None), "▲", ("[1]",)),
        ],
        **more,
    )


@pytest.mark.parametrize(
    ("groups", "by", "shown", "said"),
    [
        ({"a": 9}, "source", 9, ""),
        ({"a": 30}, "source", 10, "The first 10 of 30 rows"),
        ({"a": 30, "b": 2}, "", 10, "The first 10 of 32 rows"),
        ({"a": 30, "b": 2}, "source", 7, "The first 5 of each source: 7 of 32 rows"),
        (
            {"a": 4, "b": 4, "c": 4, "d": 4},
            "source",
            10,
            "The first 3 of each source: 10 of 16 rows",
        ),
    ],
)
def test_every_group_keeps_its_first_rows(
    groups: dict[str, int], by: str, shown: int, said: str
) -> None:
    made_table = table(groups, by=by, limit=10)
    assert len(list(made_table.rows(10))) == shown
    assert made_table.cut() == said
    assert len(list(made_table.rows())) == sum(groups.values())


def test_a_csv_file_has_every_row_and_number_unrounded() -> None:
    result = made.panel()[0]
    found = list(csv.DictReader(io.StringIO(sheet_csv(values_sheet(result)))))
    assert [row["source"] for row in found] == ["human", "one"]
    assert float(found[1]["unique"]) == result.by_source["one"].values["unique"]
    assert float(found[1]["unique_high"]) == result.by_source["one"].intervals["unique"][1]
    assert found[0]["unique_p_corrected"] == ""
    assert len(sheet_csv(table({"a": 250}, limit=10)).splitlines()) == 251


def test_a_latex_table_has_its_first_rows_and_says_what_is_missing() -> None:
    latex = sheet_latex(table({"50% & more_": 12}, limit=10))
    assert latex.count(r"50\% \& more\_ & 0 [1]$\uparrow$ \\") == 1
    assert latex.count(r"\\") == 11
    assert "% The first 10 of 12 rows; rote table RESULT.json --csv writes all" in latex
