"""Notes of several sources and measures are said once."""

from __future__ import annotations

from dataclasses import replace

import rote
from rote.report.result_tables import _note_lines
from rote.report.wording import gather_notes


def result(notes: dict[str, tuple[str, ...]], own: tuple[str, ...] = ()) -> rote.Result:
    texts = {source: ["The old cat sat.", "It sat on the mat."] for source in notes}
    made = rote.lexical(texts, interval=0, permutations=0, matched=False)
    sources = {name: replace(made.by_source[name], notes=said) for name, said in notes.items()}
    return replace(made, by_source=sources, notes=own)


def test_notes_that_differ_in_numbers_alone_are_one_with_their_range() -> None:
    made = result(
        {
            "a": ("2 of 40 texts have fewer than 50 words", "drawn from 1,200"),
            "b": ("10 of 40 texts have fewer than 50 words", "drawn from 990.5"),
            "c": ("3 of 39 texts have fewer than 50 words", "no words"),
        },
        ("lexical at equal length: windows of 226 words",),
    )
    assert gather_notes(made) == [
        ("lexical at equal length: windows of 226 words", []),
        ("2 to 10 of 39 to 40 texts have fewer than 50 words", ["a", "b", "c"]),
        ("drawn from 990.5 to 1,200", ["a", "b"]),
        ("no words", ["c"]),
    ]


def test_the_same_note_of_several_measures_is_one_line() -> None:
    one = result({"a": ("short",), "b": ("short",)}, ("lexical at equal length: 226 words",))
    other = replace(
        one, measure="compression", notes=("compression at equal length: 226 words", "by hand")
    )
    assert _note_lines([one, other]) == [
        "lexical, compression at equal length: 226 words",
        "lexical, compression: short (a, b)",
        "by hand",
    ]
