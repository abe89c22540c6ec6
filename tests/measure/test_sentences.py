"""Which sentences there are, which are whole, and which are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.layer import Layer
from rote.core.metric import Work
from rote.measure._sentences import Drop, Sentences, complete_sentences, drawn, sentences_of

from .samples import layer_of

Text = list[list[str]]


def word_layer(texts: Sequence[Text]) -> Layer:
    """Texts as lists of sentences, sentences as lists of words."""
    layer = layer_of([[word for sentence in text for word in sentence] for text in texts], "word")
    lengths = [len(sentence) for text in texts for sentence in text if sentence]
    return replace(layer, sentence_ends=np.cumsum(lengths, dtype=np.int64))


def spelled(sentences: Sequence[str]) -> Text:
    return [sentence.split() for sentence in sentences]


def kept(texts: Sequence[Sequence[str]], drop: Drop) -> list[str]:
    word = word_layer([spelled(text) for text in texts])
    sentences = sentences_of(word)
    written = [sentence for text in texts for sentence in text]
    return [s for s, keep in zip(written, complete_sentences(word, sentences, drop)) if keep]


@given(st.lists(st.lists(st.lists(st.just("w"), min_size=1, max_size=3), max_size=3), max_size=5))
def test_every_sentence_stands_where_it_should(texts: list[Text]) -> None:
    sentences = sentences_of(word_layer(texts))
    assert sentences.lengths.tolist() == [len(s) for text in texts for s in text]
    assert sentences.texts.tolist() == [n for n, text in enumerate(texts) for _ in text]
    assert len(sentences) == sum(len(text) for text in texts)
    for take in ([], list(range(0, len(texts), 2))):
        chosen = sentences.of(np.array(take, np.int64))
        assert chosen.tolist() == [
            number for text in take for number in np.flatnonzero(sentences.texts == text)
        ]


def test_without_sentence_ends_a_text_is_a_sentence() -> None:
    word = layer_of([["a", "b"], [], ["c"]], "word")
    sentences = sentences_of(word)
    assert sentences.lengths.tolist() == [2, 1]
    assert sentences.texts.tolist() == [0, 2]
    assert len(sentences_of(layer_of([]))) == 0


TEXTS = [
    ["It rained .", "She said so . ”", "He did not"],
    ["and so it was .", "The end !"],
    ["no end in"],
    ["“ Why ? ” )", "Well …", "“ ” )"],
]


def test_cut_off_texts_lose_their_last_sentence() -> None:
    assert kept(TEXTS, "none") == [s for text in TEXTS for s in text]
    assert kept(TEXTS, "last") == [*TEXTS[0][:2], *TEXTS[1], *TEXTS[3][:2]]


def test_cut_off_texts_lose_their_first_sentence_too() -> None:
    assert kept(TEXTS, "both") == [TEXTS[0][1], *TEXTS[1], TEXTS[3][1]]


@pytest.mark.parametrize("end", [".", "!", "…", "。", "؟", "etc.", "done.)", "?”"])
def test_a_sentence_may_end_in_many_ways(end: str) -> None:
    assert kept([["one", f"two {end}"]], "last") == ["one", f"two {end}"]


@pytest.mark.parametrize("end", ["word", ",", ":", ";", "-", "”", "(", "”)"])
def test_a_piece_of_a_sentence_ends_otherwise(end: str) -> None:
    assert kept([["one .", f"two {end}"]], "last") == ["one ."]


def some_sentences(counts: Sequence[int]) -> Sentences:
    return sentences_of(word_layer([[["w", "."] for _ in range(count)] for count in counts]))


def test_so_many_of_every_source_are_drawn() -> None:
    sentences = some_sentences([4, 0, 9, 2, 3])
    groups = {"a": np.array([0, 2]), "b": np.array([1, 3, 4])}
    work = Work(groups=groups, ids=list("vwxyz"))
    mask = drawn(sentences, work, 5)
    chosen = sentences.chosen(mask)
    assert {name: len(chosen.of(take)) for name, take in groups.items()} == {"a": 5, "b": 5}
    assert drawn(sentences, work, 100).all()
    assert drawn(sentences, work, None).all()
    assert drawn(sentences, Work(ids=list("vwxyz")), 5).sum() == 5


def test_the_draw_follows_the_texts_neither_their_order_nor_the_seed() -> None:
    counts, ids = [5, 7, 3], ["one", "two", "three"]

    def names(order: list[int], seed: int) -> set[tuple[str, int]]:
        sentences = some_sentences([counts[n] for n in order])
        own = [ids[n] for n in order]
        work = Work(groups={"all": np.arange(3)}, ids=own, seed=seed)
        picked = np.flatnonzero(drawn(sentences, work, 6))
        firsts = np.searchsorted(sentences.texts, sentences.texts[picked])
        return {
            (own[sentences.texts[number]], int(number - first))
            for number, first in zip(picked, firsts)
        }

    assert names([0, 1, 2], 0) == names([2, 0, 1], 0)
    assert names([0, 1, 2], 0) == names([0, 1, 2], 1)


def test_every_sentence_is_as_likely_to_be_drawn() -> None:
    sentences = some_sentences([6, 4])
    works = [Work(groups={"all": np.arange(2)}, ids=[f"{n} one", f"{n} two"]) for n in range(500)]
    times = np.sum([drawn(sentences, work, 4) for work in works], axis=0)
    # 500 draws of 4 of 10: each about 200 times, with a standard deviation of 11.
    assert (abs(times - 200) < 50).all()
