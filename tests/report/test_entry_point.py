"""A measure that another package brings is in the panel, the report, its summary and methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import rote
from rote.core import plugins
from rote.core.registry import main_values
from rote.measure import Settings, panel
from rote.report.make import make_report
from rote.report.markdown import markdown
from rote.report.options import ReportOptions, offered
from rote.report.report import Report
from tests.report.written import records, write


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an entry point of the group `rote.measure` would have it."""
    real = plugins.members
    found = {**real("measure"), "word-length": "tests.report.word_length"}
    monkeypatch.setattr(plugins, "members", lambda room: found if room == "measure" else real(room))


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write(tmp_path / "texts.jsonl", records(), "reference", "document")


@pytest.fixture
def report(texts: Path) -> Report:
    settings = Settings(by=("source",), reference="human", permutations=199, matched=False)
    return make_report([texts], ReportOptions(measures=("word-length",)), settings=settings)


def test_it_stands_in_the_panel_where_its_record_says() -> None:
    assert [name for name, _ in panel()][:3] == ["lexical", "word-length", "syntactic"]
    assert "word-length" in offered()
    assert main_values("word-length", ["letters", "other"]) == ["letters"]


def test_the_panel_measures_it(texts: Path) -> None:
    results = rote.diversity(texts, by="source", interval=0, matched=False)
    (own,) = [one for one in results if one.measure == "word-length"]
    assert own.by_source["human"].values["letters"] > 2


def test_a_report_shows_tells_and_cites_it(report: Report) -> None:
    text = markdown(report)
    assert "## Diversity" in text
    assert "### Length of words" in text
    assert "How long words are." in text
    assert "has longer words than human: letters" in text or "length of words (" in text
    assert "mean number of letters (Zipf 1935)." in text
    assert "- Zipf (1935). The Psycho-Biology of Language." in text


def test_a_report_is_shown_where_the_package_is_gone(report: Report) -> None:
    gone = replace(report.results[0], measure="word-width")
    text = markdown(replace(report, results=(gone,)))
    assert "### Word width" in text
    assert "word-width was measured (" in text
