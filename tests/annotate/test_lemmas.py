"""Lemmas of closed classes, of inflected words, and of what no dictionary holds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rote.annotate.lemmas import lemma, lemma_of
from rote.core.layer import Layer, number


@pytest.mark.parametrize(
    ("form", "upos", "expected"),
    [
        ("n't", "PART", "not"),
        ("n’t", "PART", "not"),
        ("'s", "PART", "'s"),
        ("’s", "AUX", "be"),
        ("'ll", "AUX", "will"),
        ("wo", "AUX", "will"),
        ("would", "AUX", "would"),
        ("Is", "AUX", "be"),
        ("me", "PRON", "I"),
        ("Them", "PRON", "they"),
        ("an", "DET", "a"),
        ("those", "DET", "that"),
        ("Wolves", "NOUN", "wolf"),
        ("news", "NOUN", "news"),
        ("went", "VERB", "go"),
        ("left", "VERB", "leave"),
        ("left", "ADJ", "left"),
        ("better", "ADJ", "good"),
        ("other", "ADJ", "other"),
        ("Great", "ADJ", "great"),
        ("French", "ADJ", "French"),
        ("Americans", "PROPN", "American"),
        ("Hamas", "PROPN", "Hamas"),
        ("blorfing", "VERB", "blorf"),
        ("5,000", "NUM", "5000"),
        ("Two", "NUM", "two"),
        ("XIV", "NUM", "XIV"),
        ("CO2", "NOUN", "CO2"),
        ("http://a.b/C", "X", "http://a.b/C"),
        ("…", "PUNCT", "..."),
        ("Über", "NOUN", "über"),
        ("中文", "NOUN", "中文"),
        ("", "NOUN", ""),
    ],
)
def test_lemmas(form: str, upos: str, expected: str) -> None:
    assert lemma_of(form, upos) == expected


def column(name: str, items: list[str]) -> Layer:
    vocabulary, ids = number(items)
    places = np.arange(len(items), dtype=np.int32)
    return Layer(name, ids, vocabulary, places, places + 1, np.array([len(items)]), None)


def test_each_pair_is_looked_up_once_and_the_layer_aligns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def spy(form: str, upos: str) -> str:
        asked.append((form, upos))
        return lemma_of(form, upos)

    monkeypatch.setattr("rote.annotate.lemmas.lemma_of", spy)
    word = column("word", ["saw", "the", "saw", "saw", "the"])
    upos = column("upos", ["VERB", "DET", "NOUN", "VERB", "DET"])
    found = lemma(word, upos)
    assert found.items(0) == ["see", "the", "saw", "see", "the"]
    assert sorted(asked) == [("saw", "NOUN"), ("saw", "VERB"), ("the", "DET")]
    assert found.starts is word.starts
    assert found.name == "lemma"
    empty = lemma(column("word", []), column("upos", []))
    assert len(empty.ids) == 0


def test_spacy_is_not_imported_along() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT_SPACY], check=True)


_WITHOUT_SPACY = """
import sys
from rote.annotate.lemmas import lemma_of
assert lemma_of("mice", "NOUN") == "mouse"
assert not {"spacy", "lemminflect"} & set(sys.modules)

class Absent:  # as where it is not installed: to import it takes seconds
    def find_spec(self, name, *_):
        if name == "spacy":
            raise ImportError

sys.meta_path.insert(0, Absent())
import lemminflect  # whoever imports it gets all of it
assert lemminflect.getLemma("mice", "NOUN") == ("mouse",)
"""
