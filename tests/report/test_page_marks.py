"""Texts with marks on a page: every character once, under the marks that it lies in."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rote.core.evidence import Evidence, Mark
from rote.report import fragments
from rote.report.terminal import mask_controls
from tests.report import made_report as made


def text_with(*marks: Mark, text: str = made.SENTENCE, source: str = "one") -> Evidence:
    return Evidence("templates", source, "one/1", text, marks)


def runs(shown: fragments.MarkedText) -> list[dict[str, Any]]:
    return [run for paragraph in shown.paragraphs for run in paragraph["runs"]]


@given(
    st.text(alphabet="ab \n\u202e\x1b\ud800é", max_size=40),
    st.lists(st.tuples(st.integers(-3, 45), st.integers(-3, 45)), max_size=6),
)
def test_every_character_lies_under_its_marks(text: str, places: list[tuple[int, int]]) -> None:
    """Against the obvious twin: for each character, the marks that hold it."""
    marks = [
        Mark(start, end, f"{number}", "template") for number, (start, end) in enumerate(places)
    ]
    (shown,) = fragments.mark_texts([text_with(*marks, text=text)])
    labels = {entry.number: entry.label for entry in shown.entries}
    expected = [
        (mask_controls(c), {mark.label for mark in marks if mark.start <= place < mark.end})
        for place, c in enumerate(text)
        if c != "\n"
    ]
    found = [
        (c, {labels[place["number"]] for place in run["places"]})
        for run in runs(shown)
        for c in run["text"]
    ]
    assert found == [(c, held) for c, held in expected if c]


def test_marks_that_overlap_lie_in_different_lanes() -> None:
    (shown,) = fragments.mark_texts(
        [text_with(Mark(0, 12, "a", "template"), Mark(4, 18, "b", "template"))]
    )
    both = next(run for run in runs(shown) if len(run["places"]) == 2)
    assert [place["lane"] for place in both["places"]] == [0, 1]
    assert shown.paragraphs[0]["lanes"] == 2


def test_a_template_has_one_number_in_all_texts_and_is_counted() -> None:
    first = text_with(Mark(0, 3, "DT", "template"), Mark(4, 7, "JJ", "template"))
    second = text_with(Mark(8, 12, "JJ", "template"))
    one, two = fragments.mark_texts([first, second])
    assert [(entry.number, entry.label, entry.count) for entry in one.entries] == [
        (1, "DT", 1),
        (2, "JJ", 2),
    ]
    assert not two.entries
    assert runs(two)[1]["places"][0]["number"] == 2


def test_words_without_sources_are_marked_but_not_numbered() -> None:
    source = {"document": "Mills", "author": "Ann", "before": "so ", "match": "The old mill"}
    (shown,) = fragments.mark_texts(
        [text_with(Mark(0, 12, "", "cited", (source,)), Mark(13, 25, "", "original"))]
    )
    assert [(entry.label, entry.sources[0]["document"]) for entry in shown.entries] == [
        ("The old mill", "Mills")
    ]
    kinds = {place["kind"]: place["number"] for run in runs(shown) for place in run["places"]}
    assert kinds == {"cited": 1, "original": None}


def test_texts_are_taken_from_each_source_in_turn() -> None:
    many = [text_with(text="x" * 5_000, source=f"s{number % 3}") for number in range(90)]
    taken = fragments.select_texts(many)
    assert {one.source: sum(o.source == one.source for o in taken) for one in taken} == {
        "s0": 8,
        "s1": 8,
        "s2": 8,
    }


def test_a_text_is_shown_whole_by_itself_with_its_legend() -> None:
    html = str(fragments.render_text(made.evidence()[1], anchor="here"))
    assert 'href="#here-1"' in html
    assert 'id="here-1"' in html
    assert "<b>the old mill</b>" in html
    assert "rote-original" in html
