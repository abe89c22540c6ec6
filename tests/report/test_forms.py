"""A result in every form that Python asks for: frames, text, LaTeX, Markdown, pages, files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rote
from rote.core.errors import OptionError, UnknownName
from rote.core.result import Result
from tests.report.made import made

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result() -> Result:
    texts = {"plain": ["Nobody waved.", "It rained on the ferry."], "same": ["Yes."] * 3}
    return rote.lexical(texts, reference="plain", permutations=19, matched=False)


def test_values_are_a_frame_with_a_row_for_each_source_and_value(result: Result) -> None:
    import polars as pl

    frame = result.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert len(frame) == 2 * len(result.tables["values"])
    row = frame.row(
        by_predicate=(pl.col("source") == "same") & (pl.col("value") == "ttr"), named=True
    )
    assert row["estimate"] == result.by_source["same"].values["ttr"]


def test_further_tables_are_frames_by_their_names() -> None:
    result = made(2)
    frame = result.to_polars("lengths")
    assert frame.columns == list(result.tables["lengths"][0])
    assert frame["rate"].to_list() == [row["rate"] for row in result.tables["lengths"]]
    for name in result.tables:
        if name != "values":
            assert len(result.to_polars(name)) == len(result.tables[name])
    with pytest.raises(UnknownName, match="did you mean 'lengths'"):
        result.to_polars("length")


def test_a_frame_of_pandas_is_the_same_where_pandas_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = made(2).to_pandas("lengths")
    assert isinstance(frame, pandas.DataFrame)
    assert frame["n"].tolist() == made(2).to_polars("lengths")["n"].to_list()


def test_without_pandas_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OptionError, match=r"pip install pandas.*to_polars"):
        made(2).to_pandas()


def test_a_notebook_shows_tables_that_need_nothing_else(result: Result) -> None:
    html = made(2)._repr_html_()
    assert html.count("<table") >= 3
    assert "<script" not in html
    assert "http" not in html.replace("http://www.w3.org", "")
    assert "type-token ratio" in result._repr_html_()


def test_names_cannot_act_on_a_page() -> None:
    named = Result.from_json(made(2).to_json().replace("human", HOSTILE))
    assert HOSTILE not in named.to_html()
    assert "&lt;script&gt;" in named.to_html()


@pytest.mark.parametrize("ending", ["json", "csv", "tex", "txt", "md", "html"])
def test_the_ending_of_a_file_says_its_form(result: Result, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"found.{ending}"
    result.save(path)
    text = path.read_text("utf-8")
    assert "same" in text
    if ending == "json":
        assert json.loads(text) == result.to_dict()
