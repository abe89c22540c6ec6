"""Concordance lines and tables: aligned, cut to the width, and safe whatever a text holds."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from rote.report.screen import plain_table
from rote.report.terminal import facts_table, strip_controls
from rote.report.texts.concordance import (
    ConcordanceLine,
    concordance_lines,
    count_table,
    frequent_table,
)

TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


def shown(drawn: Any, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(drawn)
    return out.getvalue()


def count(phrase: str, layer: str, items: list[str] | None, **more: Any) -> dict[str, Any]:
    return {
        "phrase": phrase,
        "layer": layer,
        "items": items,
        "occurrences": 1234,
        "documents": 7,
        "authors": None,
        "per_million": 12.3456,
        **more,
    }


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("two\nlines\t and  a tab", "two lines and a tab"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("bell\x07 and \x7f", "bell␇ and ␡"),
        ("\x9b31m", "\ufffd31m"),
        ("soft\u00adhyphen, \u202eturned\u202c, \ufeffmark", "softhyphen, turned, mark"),
        ("half \ud800 a pair", "half \ufffd a pair"),
        ("a \u202c b\u2069 ", "a b"),
        ("no\u00a0break and \u2028 line", "no break and line"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),
        ("[bold]not bold[/bold]", "[bold]not bold[/bold]"),
    ],
)
def test_nothing_acts_on_a_terminal(text: str, seen: str) -> None:
    assert strip_controls(text) == seen


@given(TEXTS)
def test_any_text_is_one_printable_line(text: str) -> None:
    seen = strip_controls(text)
    assert all(c.isprintable() or c in "\u200c\u200d" for c in seen)
    seen.encode("utf-8")


def test_matches_stand_below_each_other() -> None:
    lines = [
        ConcordanceLine("It was ", "the end", " of the day.", "first", "Anna"),
        ConcordanceLine("\nAfter ", "the end", "", "second"),
        ConcordanceLine("", "the end", " came a long pause, and then a much longer one", "third"),
    ]
    drawn = [line.plain for line in concordance_lines(lines, 60)]
    assert len({line.index("the end") for line in drawn}) == 1
    assert "It was  the end  of the day." in drawn[0]
    assert drawn[0].endswith("first   Anna")
    assert drawn[2].endswith("third")
    assert all(cell_len(line) <= 60 for line in drawn)


def test_the_nearest_words_are_kept() -> None:
    line = ConcordanceLine("far away and near ", "here", " close and far away", "d")
    (drawn,) = concordance_lines([line], 30)
    assert "near  here  close" in drawn.plain
    assert "away" not in drawn.plain


def test_long_names_and_matches_are_cut() -> None:
    line = ConcordanceLine(
        "before " * 9, "a long match " * 9, "after " * 9, "a/very/long/name" * 3, "x" * 50
    )
    (drawn,) = concordance_lines([line], 80)
    assert cell_len(drawn.plain) <= 80
    assert drawn.plain.count("…") == 2


def test_layers_stand_below_their_words() -> None:
    items = {"word": ["big", "dogs"], "pos": ["JJ", "NNS"], "lemma": ["big", "dog"]}
    first, tags, lemmas = concordance_lines(
        [ConcordanceLine("the ", "big dogs", " ran", "d", items=items)], 60
    )
    assert first.plain.index("dogs") == tags.plain.index("NNS") == lemmas.plain.index("dog")
    assert "pos  JJ" in tags.plain


def test_items_that_do_not_align_are_listed() -> None:
    items = {"word": ["unheard"], "subwords": ["un", "heard"]}
    _, below = concordance_lines([ConcordanceLine("", "unheard", " of", "d", items=items)], 60)
    assert "un heard" in below.plain


def test_wide_and_right_to_left_writing_keep_the_columns() -> None:
    lines = [
        ConcordanceLine("漢字漢字漢字漢字漢字", "dog", " 字", "d"),
        ConcordanceLine("שלום עולם ", "dog", "", "d"),
        ConcordanceLine("plain ", "dog", "", "d"),
    ]
    drawn = [line.plain for line in concordance_lines(lines, 40)]
    assert len({cell_len(line[: line.index("dog")]) for line in drawn}) == 1
    # The direction of one cell does not reach into the next.
    assert "\u2069  dog" in drawn[1]


def test_an_accent_without_its_letter_is_left_out() -> None:
    (drawn,) = concordance_lines([ConcordanceLine("xxxxxe\u0301bcdefghi", "dog", "", "d")], 18)
    assert "\u0301" not in drawn.plain


@given(
    st.lists(st.builds(ConcordanceLine, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS), max_size=4),
    st.integers(40, 99),
)
def test_any_concordance_is_harmless(lines: list[ConcordanceLine], width: int) -> None:
    drawn = [line.plain for line in concordance_lines(lines, width)]
    assert len(drawn) == len(lines)
    for line in drawn:
        assert "\x1b" not in line
        assert len(line.splitlines()) <= 1


def test_counts_name_the_phrase_only_where_the_items_do_not() -> None:
    both = [count("The end", "lower", ["the", "end"]), count("The end", "pos", ["DT", "NN"])]
    text = shown(count_table(both))
    assert "phrase" not in text
    assert "authors" not in text
    assert "1,234" in text
    assert "12.35" in text
    tags_alone = shown(count_table(both[1:]))
    assert "phrase" in tags_alone
    assert "The end" in tags_alone


def test_a_query_has_no_documents() -> None:
    query = count('[pos="JJ"]', "pos", None, documents=None)
    text = shown(count_table([query, count("a", "lower", ["a"])]))
    assert '[pos="JJ"]' in text
    assert "–" in text


def test_frequent_n_grams_leave_the_rest_of_the_line_to_examples() -> None:
    row = {"items": ["DT", "NN", "IN"], "count": 4321, "documents": 21, "per_million": 1.5}
    rows = [
        {**row, "rank": 1, "example": "[red] the end of" + " and so on" * 20},
        {**row, "rank": 2, "example": "a\x1b[1m"},
    ]
    for width in (80, 120):
        lines = shown(frequent_table(rows), width).splitlines()
        first = next(line for line in lines if "[red]" in line)
        assert "DT NN IN" in first
        assert "…" in first
        assert all(cell_len(line) <= width for line in lines)
        assert not any("\x1b" in line for line in lines)
    without = [{**each, "example": None} for each in rows]
    assert "example" not in shown(frequent_table(without))


def test_facts_and_plain_tables_show_what_they_are_given() -> None:
    assert "[bold] name" in shown(facts_table({"index": "[bold] name"}))
    assert "1,000" in shown(plain_table({"segment": "left", "words": "right"}, [("a", "1,000")]))
