"""A tokenizer.json made here: strings, spans, and what happens without the package."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from pathlib import Path

import pytest

from rote.annotate import words
from rote.annotate.words import subwords
from rote.core.errors import InputError, MissingExtra

VOCABULARY = {"[UNK]": 0, "play": 1, "##ing": 2, "the": 3, "##s": 4, "naïve": 5, "?": 6}


@pytest.fixture
def tokenizer(tmp_path: Path) -> str:
    pytest.importorskip("tokenizers")
    path = tmp_path / "tokenizer.json"
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": VOCABULARY,
    }
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "truncation": None,
                "padding": None,
                "added_tokens": [],
                "normalizer": None,
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": None,
                "decoder": None,
                "model": model,
            }
        ),
        encoding="utf-8",
    )
    return str(path)


def test_items_are_subwords_and_spans_are_characters(tokenizer: str) -> None:
    layer = words.get(tokenizer)(["the naïve playing", "", "plays \ud800 the"])
    assert layer.items(0) == ["the", "naïve", "play", "##ing"]
    assert layer.spans(0) == [(0, 3), (4, 9), (10, 14), (14, 17)]
    assert layer.items(1) == []
    assert layer.items(2) == ["play", "##s", "?", "the"]
    assert layer.spans(2)[-1] == (8, 11)


def test_the_signature_is_the_files_digest(tokenizer: str) -> None:
    found = words.get(tokenizer)
    digest = hashlib.sha256(Path(tokenizer).read_bytes()).hexdigest()
    assert found.signature == f"subwords/{digest[:12]}"
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_file_that_is_no_tokenizer_is_an_input_error(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    path = tmp_path / "x.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        words.get(str(path))(["a"])


def test_without_the_package_the_error_names_the_extra(
    tokenizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    subwords.load.cache_clear()
    with pytest.raises(MissingExtra, match=r"\.\[subwords\]"):
        words.get(tokenizer)(["a"])
