"""Folded words: what tells words apart, and what is one word."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import words
from rote.annotate.folded_words import (
    FoldedWords,
    fold_joined_words,
    fold_word,
    fold_words,
)


def listed(found: FoldedWords) -> list[list[str]]:
    return [[found.vocabulary[i] for i in found.ids[found.slice(t)]] for t in range(len(found))]


def joined(*texts: str) -> list[list[str]]:
    return listed(fold_joined_words(words.get("ud")(texts)))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("House", "house"),
        ("STRASSE", fold_word("straße")),
        ("ﬁne", "fine"),
        ("１２", "12"),
        ("n’t", "nt"),
        ("U.S.", "us"),
        ("_so_", "so"),
        ("--", ""),
        ("…", ""),
        ("❤️", ""),
        ("", ""),
        ("कि", "कि"),  # whose vowel is a mark, not a letter
        ("caf\u0065\u0301", "café"),
    ],
)
def test_words_are_folded(word: str, expected: str) -> None:
    assert fold_word(word) == expected


@given(st.lists(st.text(alphabet="aB'’ .-,é字", max_size=14), max_size=4))
def test_folded_words_are_those_of_the_layer(texts: list[str]) -> None:
    layer = words.get("ud")(texts)
    found = fold_words(layer)
    assert listed(found) == [
        [word for word in map(fold_word, layer.items(t)) if word] for t in range(len(texts))
    ]
    own = [layer.vocabulary[i] for i in layer.ids[found.places]]
    assert [found.vocabulary[i] for i in found.ids] == [fold_word(word) for word in own]
    if texts:
        assert listed(found.texts(0, len(texts))) == listed(found)
        assert listed(found.texts(len(texts) - 1, len(texts))) == listed(found)[-1:]


def joined_twin(texts: list[str]) -> list[list[str]]:
    """Word by word, with what was said of those before."""
    layer = words.get("ud")(texts)
    out = []
    for number in range(len(texts)):
        items, spans = layer.items(number), layer.spans(number)
        found: list[str] = []
        for place, item in enumerate(items):
            own = fold_word(item)
            if not own:
                continue

            def touches(at: int, spans: list[tuple[int, int]] = spans) -> bool:
                return at > 0 and spans[at][0] == spans[at - 1][1]

            before, other = "", ""
            if touches(place):
                before = other = items[place - 1]
            if before in set("'’.,&-‐‑‒–−") and before:
                other = items[place - 2] if touches(place - 1) else ""
            sides = [fold_word(other)[-1:], own[0]]
            joins = all(c.isdigit() or c.lower() != c.upper() for c in sides)
            joins |= own in ("s", "t", "d", "m", "ll", "re", "ve") and bool(found)
            if joins:
                found[-1] += own
            else:
                found.append(own)
        out.append(found)
    return out


@given(st.lists(st.text(alphabet="abS't’ .-,é字", max_size=16), max_size=4))
def test_joined_words_are_those_of_the_twin(texts: list[str]) -> None:
    assert joined(*texts) == joined_twin(texts)


SENTENCE = (
    "“Don't,” said the well-known Mr. O'Neill — it's £1,000, isn't it? — “touch the U.S. "
    "rock’n’roll record of 1914–1918; we'll (they're sure) need it, we cannot be gone...”"
)


def test_words_without_punctuation_are_the_same_words() -> None:
    plain = re.sub(r"[^\w\s]", "", SENTENCE)
    assert joined(SENTENCE) == joined(plain) == joined(SENTENCE.upper())
    typewritten = SENTENCE
    for glyphs, ascii_form in (("“”", '"'), ("’", "'"), ("—", "--"), ("–", "-")):
        for glyph in glyphs:
            typewritten = typewritten.replace(glyph, ascii_form)
    assert joined(SENTENCE) == joined(typewritten)
    assert joined("It's well they'd gone.") == joined("it s well they d gone")


def test_dashes_and_scripts_without_spaces_join_nothing() -> None:
    assert joined("now—never", "now--never", "now -- never") == [["now", "never"]] * 3
    assert joined("and/or") == [["and", "or"]]
    marked, plain = joined("你好，世界。", "你好世界")
    assert "".join(marked) == "".join(plain)
    assert len(marked) == len(plain) > 1


def test_no_word_joins_one_of_another_text() -> None:
    assert joined("don", "'t", "s", "- b") == [["don"], ["t"], ["s"], ["b"]]
    assert joined() == []
    assert joined("", "...", "") == [[], [], []]


def test_places_are_those_of_the_first_item() -> None:
    layer = words.get("ud")(["It isn't so."])
    found = fold_joined_words(layer)
    starts = layer.starts[found.places].tolist()
    assert [listed(found), starts] == [[["it", "isnt", "so"]], [0, 3, 9]]
    assert np.all(np.diff(found.places) > 0)
