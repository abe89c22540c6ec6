"""A measure that another package brings is in the panel, the report, its summary and methods."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rote.core import plugins
from rote.core.registry import find, main_values
from rote.measure import Settings, panel
from rote.report.builder import make_report
from rote.report.options import ReportOptions, list_offered
from rote.report.output import render_report_markdown
from rote.report.report import Report
from rote.report.verdicts import find_circular
from rote.web.compare_form import missing_input, offered_measures, usual_measures
from tests.report.written import records, write


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an entry point of the group `rote.measure` would have it."""
    real = plugins.members
    ours = {"word-length": "tests.report.word_length", "long-words": "tests.report.long_words"}
    members = {**real("measure"), **ours}
    monkeypatch.setattr(
        plugins, "members", lambda room: members if room == "measure" else real(room)
    )


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write(tmp_path / "texts.jsonl", records(), "reference", "document")


@pytest.fixture
def report(texts: Path) -> Report:
    settings = Settings(by=("source",), reference="human", permutations=199, matched=False)
    return make_report([texts], ReportOptions(measures=("word-length",)), settings=settings)


def test_it_stands_in_the_panel_where_its_record_says() -> None:
    assert [name for name, _ in panel()][:3] == ["lexical", "word-length", "syntactic"]
    assert "word-length" in list_offered()
    assert main_values("word-length", ["letters", "other"]) == ["letters"]


def test_a_report_shows_tells_and_cites_it(report: Report) -> None:
    text = render_report_markdown(report)
    assert "## Diversity" in text
    assert "### Length of words" in text
    assert "How long words are." in text
    assert "has longer words than human: letters" in text or "length of words (" in text
    assert "mean number of letters (Zipf 1935)." in text
    assert "- Zipf (1935). The Psycho-Biology of Language." in text


def test_a_report_is_shown_where_the_package_is_gone(report: Report) -> None:
    gone = replace(report.results[0], measure="word-width")
    text = render_report_markdown(replace(report, results=(gone,)))
    assert "### Word width" in text
    assert "word-width was measured (" in text


def test_its_record_brings_a_chapter_marked_texts_and_findings(texts: Path) -> None:
    settings = Settings(by=("source",), reference="human", permutations=0, matched=False)
    options = ReportOptions(measures=("templates", "long-words"), examples=2)
    report = make_report([texts], options, settings=settings)
    marked = [each for each in report.evidence if each.section == "long-words"]
    assert [each.source for each in marked] == ["human", "human", "model", "model"]
    text = render_report_markdown(report)
    assert text.index("## Templates") < text.index("## Long words") < text.index("## Methods")
    assert "Long words in texts" in text
    assert re.search(r"model writes words of \d\.\d letters\.", text)
    (result,) = [each for each in report.results if each.measure == "long-words"]
    values = {"letters": 4.001}
    inside = replace(result, by_source={"copy": replace(result.by_source["model"], values=values)})
    assert find_circular([inside]) == {"dictionary": ["copy"]}


def test_the_form_offers_it_as_its_record_says() -> None:
    assert usual_measures()[-2:] == ("templates", "long-words")
    assert "long-words" in offered_measures.__wrapped__()
    assert missing_input(find("long-words")) == ""  # type: ignore[arg-type]
