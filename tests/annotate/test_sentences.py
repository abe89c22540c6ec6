"""Sentences: cases by hand, and what holds for every text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate.sentences import split
from rote.annotate.words import get


def sentences(*texts: str, tokenizer: str = "ud") -> list[str]:
    """Each sentence as the characters from its first word to its last."""
    layer = split(texts, get(tokenizer)(texts))
    assert layer.sentence_ends is not None
    found, begin = [], 0
    for end in layer.sentence_ends.tolist():
        text = texts[int(np.searchsorted(layer.text_ends, begin, side="right"))]
        found.append(text[layer.starts[begin] : layer.ends[end - 1]])
        begin = end
    return found


# One case a line; `¦` stands where a sentence ends.
CASES = """
It rained.¦ We stayed in.
Did it?¦ Yes!¦ Good.
Mr. Lee met Dr. Moss in St. Ives.¦ They spoke.
The U.S. team won, e.g. in Oslo.¦ It was late.
She works for Moss Inc. in Bergen.
They sold pens, ink, etc.¦ The shop closed.
J. R. Moss wrote it.
"Go!" she said.¦ "Now."¦ He went.
(It was late.)¦ He slept.
He asked (why?) and left.
Well... maybe.¦ Or not...¦ He left.
It is 3.5 metres.¦ 4 would do.
1. Wash it.¦ 2. Dry it.
Great! :)¦ See you.
No.¦ I will not.
wait. . . and then he went.
see https://example.org/a¦ It is good.
Hello there, Ann said.
他来了。¦他走了！¦真的吗？
यह एक है।¦ यह दो है।
هل جاء؟¦ نعم.
"""


@pytest.mark.parametrize("line", CASES.strip().splitlines())
def test_golden(line: str) -> None:
    expected = [part.strip() for part in line.split("¦")]
    assert sentences(line.replace("¦", "")) == expected


def test_a_blank_line_always_ends_a_sentence() -> None:
    assert sentences("a heading\n\nand more\n \nmore") == ["a heading", "and more", "more"]


def test_wrapped_lines_are_joined_and_short_lines_are_not() -> None:
    wrapped = (
        "The first line of a paragraph that is as wide as pages often are\nStill the same one."
    )
    assert len(sentences(wrapped)) == 1
    assert sentences("Shopping\nMilk and bread") == ["Shopping", "Milk and bread"]
    assert sentences("Buy:\n- milk\n- bread") == ["Buy:", "- milk", "- bread"]
    assert sentences("Dear Ann,\nIt rained.\nKind regards,\nBo") == [
        "Dear Ann,",
        "It rained.",
        "Kind regards,",
        "Bo",
    ]
    assert sentences("a line that goes on\nin lower case.") == [
        "a line that goes on\nin lower case."
    ]


def test_long_lines_are_paragraphs() -> None:
    line = "word " * 30 + "end"
    assert sentences(f"{line}\nNext one") == [line, "Next one"]


def test_texts_end_sentences_and_empty_texts_hold_none() -> None:
    assert sentences("", "one", " ", "two. Three", "") == ["one", "two.", "Three"]
    assert split([], get("ud")([])).sentence_ends.tolist() == []  # type: ignore[union-attr]


@pytest.mark.parametrize("tokenizer", ["ud", "wordpunct", "treebank"])
def test_works_on_other_tokenizers(tokenizer: str) -> None:
    assert sentences("It rained! We stayed.", tokenizer=tokenizer) == ["It rained!", "We stayed."]


texts = st.lists(st.text(st.sampled_from("aB1.!?…。 \n\"'()-,:)") | st.characters()), max_size=5)


@given(texts)
def test_every_text_with_words_ends_a_sentence(texts: list[str]) -> None:
    words = get("ud")(texts)
    layer = split(texts, words)
    ends = layer.sentence_ends
    assert ends is not None
    assert ends.dtype == np.int64
    assert (np.diff(ends, prepend=0) > 0).all()
    held = words.text_ends[np.diff(words.text_ends, prepend=0) > 0]
    assert set(held.tolist()) <= set(ends.tolist())
    assert ends.tolist() == sorted(set(ends.tolist()))
    assert layer.ids is words.ids


@given(texts)
def test_sentences_do_not_depend_on_the_batch(texts: list[str]) -> None:
    assert sentences(*texts) == [found for text in texts for found in sentences(text)]


@pytest.mark.parametrize("unit", ["(", ". ", "a\n", '"', "? "])
def test_a_megabyte_takes_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    words = get("ud")([text])
    assert split([text], words).sentence_ends is not None
