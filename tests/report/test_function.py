"""`rote.report` makes what the command makes, and saves it by the ending of a path."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import rote
from rote.report.report import Report
from tests.report.written import records, write


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    return write(folder / "texts.jsonl", records(), "reference", "document")


@pytest.fixture(scope="module")
def made(texts: Path) -> Report:
    return rote.report(
        texts, measures="lexical", by="source", reference="human", permutations=19, title="Mills"
    )


def test_it_measures_with_the_keywords_of_the_command(made: Report) -> None:
    assert made.title == "Mills"
    assert [one.measure for one in made.results] == ["lexical"]
    assert made.results[0].reference == "human"


def test_a_report_is_saved_in_the_form_that_the_path_ends_in(made: Report, tmp_path: Path) -> None:
    for name in ("a.html", "a.md", "a.json", "paper"):
        made.save(tmp_path / name)
    assert (tmp_path / "a.html").read_text("utf-8") == made.page()
    assert (tmp_path / "a.md").read_text("utf-8") == made.markdown()
    assert Report.from_json((tmp_path / "a.json").read_text("utf-8")) == made
    assert (tmp_path / "paper" / "methods.md").exists()


def test_it_prints_its_summary_and_is_the_same_after_pickling(made: Report) -> None:
    assert repr(made) == "<Report 'Mills': lexical>"
    assert str(made).startswith("model: ")
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_notebook_shows_the_page_and_nothing_of_it_leaves_its_frame(made: Report) -> None:
    shown = made._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count("<") == 2
