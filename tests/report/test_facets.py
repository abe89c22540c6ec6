"""Tables and figures of several tasks: each task is shown as if it were alone."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from rote.core.result import Result
from rote.report import result_tables as tables
from rote.report.cells import Sheet
from rote.report.charts import CURVE, VALUES, draw_chart, draw_figures
from rote.report.export import sheet_csv, values_csv, values_parquet
from rote.report.grid import split_facets, split_panel
from rote.report.output import html_page
from rote.report.report import BlockGroup, Report
from rote.report.result_tables import print_tables
from rote.report.sections import make_sections
from tests.report.drawn import as_data
from tests.report.made import made, made_panel
from tests.report.made_report import panel, study
from tests.report.test_template_figures import data


def in_tasks(result: Result, *tasks: str) -> Result:
    """The same result for each of several tasks, as a computation over facets would give it."""

    def named(task: str, row: Any) -> dict[str, Any]:
        renamed = {k: f"{task}|{row[k]}" for k in ("source", "other") if k in row}
        if "counts" in row:
            renamed["counts"] = {f"{task}|{name}": n for name, n in row["counts"].items()}
        return {**row, **renamed}

    return replace(
        result,
        by=("task", "source"),
        by_source={f"{t}|{name}": found for t in tasks for name, found in result.by_source.items()},
        tables={
            name: rows
            if name in ("values", "sweep")
            else [named(task, row) for task in tasks for row in rows]
            for name, rows in result.tables.items()
        },
    )


def shown(result: Result, width: int = 160) -> str:
    out = io.StringIO()
    print_tables(result, Console(file=out, width=width, color_system=None))
    return out.getvalue()


def test_a_part_is_the_result_of_its_task_alone() -> None:
    single = made(3)
    for facet, part in split_facets(in_tasks(single, "news", "tales")):
        assert facet.title in ("news", "tales")
        assert part.reference == "human"
        assert part.by_source == single.by_source
        assert part.tables == {**single.tables, "sweep": []}
        assert part.by == ("task", "source")


def test_a_result_without_facets_stays_as_it_is() -> None:
    result = made(2)
    ((facet, part),) = split_facets(result)
    assert part is result
    assert facet.title == ""
    assert split_facets(made(2, reference=None))[0][1].reference is None


def test_comparisons_are_renamed_too() -> None:
    parts = dict(split_panel(made_panel()))
    assert list(parts) == ["news", "tales"]
    for row in parts["tales"][0].comparisons:
        assert row["reference"] == "human"
        assert row["source"] in ("one", "two", "input documents")


def test_a_part_without_the_reference_has_none() -> None:
    result = made_panel()[0]
    rest = {group: s for group, s in result.by_source.items() if group != "news|human"}
    (_, news), (_, tales) = split_facets(replace(result, by_source=rest))
    assert news.reference is None
    assert tales.reference == "human"


def test_a_task_without_a_reference_says_so() -> None:
    result = made_panel()[0]
    rest = {group: s for group, s in result.by_source.items() if group != "news|human"}
    text = tables.results_text([replace(result, by_source=rest)])
    assert "news  without a reference" in text


def test_a_note_about_everyone_does_not_list_everyone() -> None:
    result = made_panel()[0]
    noted = {group: replace(s, notes=("short texts",)) for group, s in result.by_source.items()}
    assert "short texts (all)" in tables.results_text([replace(result, by_source=noted)])
    few = {**result.by_source, "news|one": noted["news|one"]}
    assert "short texts (news|one)" in tables.results_text([replace(result, by_source=few)])


def test_parquet_has_every_value_with_its_aspect() -> None:
    import polars as pl

    frame = pl.read_parquet(io.BytesIO(values_parquet(made_panel())))
    rows = list(csv.DictReader(io.StringIO(values_csv(made_panel()))))
    assert frame.height == len(rows)
    assert frame["estimate"].to_list() == [float(row["estimate"]) for row in rows]
    assert set(frame["aspect"]) == {"Words", "Compression", "Compression of tags"}


def test_further_tables_come_task_by_task_and_the_sweep_once() -> None:
    result = in_tasks(made(2), "news", "tales")
    text = shown(result)
    lines = [line.strip() for line in text.splitlines()]
    assert lines.index("news") < lines.index("tales")
    assert text.count("Templates by length") == 2
    assert text.count("Over temperature") == 1
    assert "news|" not in text
    once = shown(made(2))
    assert text.count("▲") - 2 * once.count("▲") == 0


def test_a_measure_without_further_tables_prints_no_titles() -> None:
    assert shown(replace(made_panel()[0], tables={"values": ()})) == ""


def test_values_and_curves_are_drawn_task_by_task() -> None:
    for kind in (VALUES, CURVE):
        chart = as_data(draw_chart(kind, made_panel()))
        parts = chart["vconcat"]
        assert [part["title"]["text"] for part in parts] == ["news", "tales"]
        assert {row["source"] for row in data(chart) if "source" in row} == {
            *("human", "one", "two", "input documents")
        }


def test_the_reference_of_every_task_is_marked_in_the_values() -> None:
    rows = [row for row in data(draw_chart(VALUES, made_panel())) if "role" in row]
    assert {row["source"] for row in rows if row["role"] == "reference"} == {"human"}


def test_figures_of_templates_are_drawn_task_by_task() -> None:
    drawn = draw_figures(in_tasks(made(2), "news", "tales"))
    assert set(drawn) == set(draw_figures(made(2)))
    for chart in (one.to_dict() for one in drawn.values()):
        parts = chart["vconcat"]
        assert [part["title"]["text"] for part in parts] == ["news", "tales"]
        assert not any("|" in row.get("source", "") for row in data(chart))


def test_a_report_sets_a_field_side_by_side() -> None:
    results = [in_tasks(result, "news", "tales") for result in panel()]
    report = replace(study(results=results), across="task")
    assert Report.from_json(report.to_json()) == report
    titles = [section.title for section in make_sections(report)]
    assert titles[titles.index("Diversity") + 1] == "Side by side: task"
    headlines, every = make_sections(report)[titles.index("Side by side: task")].blocks
    assert isinstance(headlines, Sheet)
    assert isinstance(every, BlockGroup)
    assert every.closed
    lines = sheet_csv(headlines).splitlines()
    assert lines[0].split(",")[:3] == ["value", "source", "news_estimate"]
    assert len({line.split(",")[0] for line in lines[1:]}) >= len(results)
    page = html_page(report)
    assert page.index('id="panel"') < page.index('id="across-headline"')
    assert "across" not in [section.id for section in make_sections(replace(report, across=""))]
