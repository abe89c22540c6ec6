"""Tokenizers that repeat another package's words, against that package or its definition.

Ours read plain glyphs, so the other package is given those.
"""

from __future__ import annotations

import re
import string
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenize import tokenize as rouge_tokenize

from rote.annotate.glyphs import fold
from rote.annotate.words import get

mixed = st.text(st.one_of(st.characters(), st.sampled_from("aB1_.,!?-' \n\u0130\u212a\u0307")))


@given(mixed)
def test_rouge_gives_the_tokens_of_rouge_score(text: str) -> None:
    assert get("rouge")([text]).items(0) == rouge_tokenize(fold(text), None)


def test_rouge_agrees_on_every_character() -> None:
    text = "".join(f"a{chr(code)}b" for code in range(sys.maxunicode + 1))
    assert get("rouge")([text]).items(0) == rouge_tokenize(fold(text), None)


@given(mixed)
def test_wordpunct_is_its_definition(text: str) -> None:
    assert get("wordpunct")([text]).items(0) == re.findall(r"\w+|[^\w\s]+", fold(text))


@given(mixed)
def test_guo_2025_drops_single_marks_and_lowers(text: str) -> None:
    text = fold(text)
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    kept = [t.lower() for t in tokens if not (len(t) == 1 and t in string.punctuation)]
    layer = get("guo-2025")([text])
    assert layer.items(0) == kept
    assert [text[a:b].lower() for a, b in layer.spans(0)] == kept


SENTENCES = [
    "I don't know; she can't say, and they've gone.",
    "It cost $3.50 (about 5%) at 7:30, or 1,000 in all!",
    '"Yes," he said, "we cannot go."',
    "Ann's dogs' bowls weren't theirs... were they?",
    "I'm gonna stay, wanna go? Gimme that -- lemme see.",
    "'Tis late, and 'twas later. D'ye hear more'n I?",
    "Mr. Moss left the U.S. in 1999. He's back (I'd guess).",
    "Well-known co-workers e-mailed a@b.org & others: #1 <tag> {x} [y].",
    "She said ``quoted'' things, 'single' ones, and \"double\" ones.",
    "He got 5.",
    "He left (at last.)",
    "N'T AND IT'S and I'LL",
    "gotta have 'em, rock 'n' roll",
    "",
    "   ",
    "word",
    "naïve café — “quoted” text",
    "a:b, c:1 d,e 1,2 3:4",
    "wait.... what",
]


@pytest.mark.parametrize("text", SENTENCES)
def test_treebank_gives_the_spans_of_nltk(text: str) -> None:
    treebank = pytest.importorskip("nltk.tokenize.treebank")
    text = fold(text)
    expected = list(treebank.TreebankWordTokenizer().span_tokenize(text))
    assert get("treebank")([text]).spans(0) == expected


GOLDEN_TREEBANK = [
    ("I can't go.", ["I", "ca", "n't", "go", "."]),
    ("One. Two.", ["One.", "Two", "."]),
    ('"Go," he said.', ['"', "Go", ",", '"', "he", "said", "."]),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN_TREEBANK)
def test_treebank_golden(text: str, expected: list[str]) -> None:
    assert get("treebank")([text]).items(0) == expected
