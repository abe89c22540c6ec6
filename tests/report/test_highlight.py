"""Marked texts: lanes, brackets, wrapping, pages, and nothing that a text could do to them."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from rote.core.evidence import Evidence, Mark
from rote.report.fragments import text_page
from rote.report.texts.highlight import cut_pieces, highlight_lines, print_highlighted

TEXT = "The end of the day is a story of the city."
FIRST = Mark(0, 18, "DT NN IN DT NN", "template")
SECOND = Mark(8, 29, "IN DT NN VBZ DT NN", "template")
THIRD = Mark(22, 41, "DT NN IN DT NN", "template")
ANY = st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=60)


@st.composite
def texts_with_spans(draw: st.DrawFn) -> tuple[str, list[Mark]]:
    text = draw(ANY)
    places = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
    spans = [
        Mark(start, min(start + size, len(text)), draw(st.sampled_from(["A B", "<b>", "x\x1b"])))
        for start, size in draw(st.lists(places, max_size=6))
    ]
    return text, spans


def drawn(text: str, spans: list[Mark], width: int = 80) -> list[str]:
    return [line.plain for line in highlight_lines(text, spans, width)]


def test_runs_say_which_spans_they_lie_in() -> None:
    runs = cut_pieces(TEXT, [FIRST, SECOND, THIRD])
    assert [run.text for run in runs] == [
        "The end ",
        "of the day",
        " is ",
        "a story",
        " of the city",
        ".",
    ]
    assert [[place.lane for place in run.places] for run in runs] == [
        [0],
        [0, 1],
        [1],
        [0, 1],
        [0],
        [],
    ]
    assert [place.first for place in runs[1].places] == [False, True]
    assert [place.last for place in runs[1].places] == [True, False]


@given(texts_with_spans())
def test_runs_give_the_text_back_and_lanes_never_collide(given: tuple[str, list[Mark]]) -> None:
    text, spans = given
    runs = cut_pieces(text, spans)
    assert "".join(run.text for run in runs) == text
    for run in runs:
        assert len({place.lane for place in run.places}) == len(run.places)
        inside = [span for span in spans if span.start <= run.start and run.end <= span.end]
        assert sorted(map(repr, inside)) == sorted(repr(place.mark) for place in run.places)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (4, 2), (0, 99)])
def test_spans_outside_the_text_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not a part of a text"):
        cut_pieces("a text", [Mark(start, end, "x")])


def test_brackets_stand_below_the_words() -> None:
    assert drawn(TEXT, [FIRST, SECOND, THIRD]) == [
        "The end of the day is a story of the city.",
        "└────── 1 ───────┘    └─────── 1 ───────┘",
        "        └──────── 2 ────────┘",
    ]


def test_a_label_is_shown_where_it_fits() -> None:
    text = "one fairly long piece of text"
    assert drawn(text, [Mark(0, 21, "CD RB JJ NN"), Mark(25, 29, "NN"), Mark(22, 23, "IN")]) == [
        "one fairly long piece of text",
        "└── 1 CD RB JJ NN ──┘ ┴  └3─┘",
    ]


def test_a_span_goes_on_in_the_next_line() -> None:
    assert drawn("alpha beta gamma delta", [Mark(6, 22, "A B C")], width=12) == [
        "alpha beta",
        "      └1─→",
        "gamma delta",
        "→ 1 A B C ┘",
    ]


def test_paragraphs_stay_apart_and_white_space_is_one_space() -> None:
    assert drawn("one\t \ttwo\n\n\nthree\nfour  \n", []) == ["one two", "", "three", "four"]


def test_wide_characters_keep_the_brackets_in_place() -> None:
    text, below = drawn("漢字 dog", [Mark(3, 6, "NN")])
    assert cell_len(below[: below.index("└")]) == cell_len(text[: text.index("dog")]) == 5


def test_characters_that_are_left_out_do_not_shift_the_brackets() -> None:
    text, below = drawn("so\u00adft \u202edogs", [Mark(7, 11, "NNS")])
    assert text == "soft dogs"
    assert below == "     └1─┘"


@given(texts_with_spans(), st.integers(1, 30))
def test_any_text_is_shown_harmlessly(given: tuple[str, list[Mark]], width: int) -> None:
    text, spans = given
    for line in drawn(text, spans, width):
        assert all(c.isprintable() or c in "\u200c\u200d" for c in line)
        # A wide character in a column of one cell is the only thing that may stand out.
        assert cell_len(line) <= max(width, 2)


def test_the_terminal_gets_a_legend_with_the_numbers_of_the_text() -> None:
    out = io.StringIO()
    print_highlighted(TEXT, [FIRST, SECOND, THIRD], Console(file=out, width=80))
    shown = out.getvalue()
    assert re.search(r"1 +DT NN IN DT NN +2", shown)
    assert re.search(r"2 +IN DT NN VBZ DT NN +1", shown)
    assert "\x1b" not in shown


def page_of(text: str, spans: list[Mark], source: str = "own", id: str = "first") -> str:
    return text_page(Evidence("templates", source, id, text, spans))


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "a"):
            self.words.append(data)


def parsed(page: str) -> _Tags:
    tags = _Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    return tags


def test_a_page_shows_lanes_numbers_and_legend() -> None:
    page = page_of(TEXT, [FIRST, SECOND, THIRD])
    tags = parsed(page)
    assert "The end of the day is a story of the city." in "".join(tags.words)
    marks = [attrs["title"] for tag, attrs in tags.seen if tag == "mark"]
    assert marks[1] == "1: a template\n2: a template"
    links = [attrs["href"] for tag, attrs in tags.seen if tag == "a"]
    assert links == ["#template-1", "#template-2", "#template-1"]
    ids = [attrs["id"] for tag, attrs in tags.seen if "id" in attrs]
    assert ids == ["template-1", "template-2"]
    classes = [attrs["class"] for tag, attrs in tags.seen if tag == "span"]
    assert classes[:3] == [
        "rote-lane rote-l0 rote-c0",
        "rote-lane rote-l0 rote-c0",
        "rote-lane rote-l1 rote-c1",
    ]
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_a_long_text_is_shown_whole() -> None:
    text = "A word. " * 5_000
    page = page_of(text, [Mark(8 * n, 8 * n + 6, "DT NN", "template") for n in range(5_000)])
    assert page.count("<mark ") == 5_000


def test_a_page_needs_nothing_from_outside() -> None:
    page = page_of(TEXT, [FIRST])
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)


@given(texts_with_spans(), ANY)
def test_nothing_in_a_text_becomes_part_of_the_page(
    given: tuple[str, list[Mark]], other: str
) -> None:
    text, spans = given
    hostile = f"<script>alert(1)</script>\"'&\u202e{other}"
    at = len(hostile)
    shifted = [Mark(s.start + at, s.end + at, hostile, "template") for s in spans]
    page = page_of(hostile + text, shifted, hostile, other)
    tags = parsed(page)
    assert "script" not in [tag for tag, _ in tags.seen]
    assert "\u202e" not in page
    assert all(c.isprintable() or c in "\n\u200c\u200d" for c in page)
    page.encode("utf-8")


def test_every_paragraph_has_room_for_its_own_lanes() -> None:
    page = page_of(f"{TEXT}\n\nplain", [FIRST, SECOND])
    assert re.findall(r"rote-lanes-(\d)\"", page) == ["2", "0"]
