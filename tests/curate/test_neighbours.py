"""Texts that differ from another by one word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rote
from rote.core.errors import MissingExtra, OptionError, UnknownName
from rote.core.progress import Silent
from rote.curate import neighbours
from rote.curate.neighbours import ByIndex, ByLexicon, ByMaskedModel, neighbour_maker

TEXT = "The boys bought a big automobile and drove it home."


def changed(text: str, other: str) -> tuple[str, str]:
    """What was taken out and what was put in, white space and all around it left out."""
    left = 0
    while left < min(len(text), len(other)) and text[left] == other[left]:
        left += 1
    right = 0
    while right < min(len(text), len(other)) - left and text[-1 - right] == other[-1 - right]:
        right += 1
    return text[left : len(text) - right], other[left : len(other) - right]


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_wordnet_gives_other_lemmas_in_the_same_form() -> None:
    (found,) = ByLexicon(200, 0)([TEXT], Silent())
    assert "The boys bought a big car and drove it home." in found
    assert all(other != TEXT for other in found)
    assert len(set(found)) == len(found)


def test_a_text_without_nouns_and_verbs_has_no_neighbours() -> None:
    assert ByLexicon(5, 0)(["Of the and to.", ""], Silent()) == [[], []]


def test_draws_depend_on_the_text_and_the_seed_alone() -> None:
    alone = ByLexicon(3, 7)([TEXT], Silent())
    among = ByLexicon(3, 7)(["Another text with words.", TEXT], Silent())
    assert alone[0] == among[1]
    assert ByLexicon(3, 8)([TEXT], Silent()) != alone


@pytest.fixture
def index(tmp_path: Path) -> Path:
    texts = ["the old dog slept", "the old cat slept", "an old hen slept well", "the old dog ran"]
    rote.index(texts, output=tmp_path / "index", layers=("lower",))
    return tmp_path / "index"


def test_an_index_gives_words_that_stand_between_the_same_two(index: Path) -> None:
    (found,) = ByIndex(index, 20, 0)(["The old Dog slept"], Silent())
    assert set(found) <= {"The old Cat slept", "The old Hen slept"}
    assert found


def test_a_masked_model_is_asked_for_another_word() -> None:
    def other_words(texts: Sequence[str], places: Sequence[tuple[int, int]]) -> list[str]:
        return ["thing" if text[a:b] != "big" else "" for text, (a, b) in zip(texts, places)]

    (found,) = ByMaskedModel(other_words, 30, 0)([TEXT], Silent())
    assert len(found) == len(words(TEXT)) - 1  # of one word no other is known
    assert all(changed(TEXT, other)[1].lower() in "thing" for other in found)
    assert "Thing boys bought a big automobile and drove it home." in found


@settings(max_examples=30)
@given(st.text(alphabet="ab dogcatsruns.", max_size=40), st.integers(0, 3))
def test_whatever_the_text_is_each_neighbour_differs(text: str, seed: int) -> None:
    (found,) = ByLexicon(4, seed)([text], Silent())
    assert len(found) <= 4
    assert all(other != text for other in found)


def test_what_cannot_be_made_is_refused(index: Path) -> None:
    assert neighbour_maker("none", 3, corpus=None, seed=0) is None
    with pytest.raises(OptionError, match="--corpus"):
        neighbour_maker("index", 3, corpus=None, seed=0)
    with pytest.raises(UnknownName):
        neighbour_maker("wordnut", 3, corpus=None, seed=0)
    with pytest.raises(OptionError, match="at least one"):
        neighbour_maker("wordnet", 0, corpus=None, seed=0)


def test_a_masked_model_without_torch_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(MissingExtra, match=r"torch.*\.\[lm\]"):
        neighbour_maker("masked:bert", 3, corpus=None, seed=0)
