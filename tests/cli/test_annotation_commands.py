"""`rote annotate`, `rote show`, and measures on tags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit import invoke, write_jsonl


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    rows = [
        {"id": f"{s}{n}", "source": s, "text": f"The {s} dog number {n} barks. It is {s}."}
        for s in ("old", "new")
        for n in range(5)
    ]
    return write_jsonl(path, rows)


def test_show_finds_a_text_by_its_id(texts: Path) -> None:
    assert "new3" in invoke("show", str(texts), "--id", "new3").output
    assert "no text has the id 'x'" in str(invoke("show", str(texts), "--id", "x").exception)


def test_a_store_serves_measures_and_show(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    made = invoke("annotate", str(texts), "-o", str(folder), "--layers", "lower,pos,upos", "-q")
    assert made.exit_code == 0, made.output
    assert "10 documents" in made.output
    fast = ["--by", "source", "--json", "--permutations", "0", "--no-matched", "-q"]
    from_store = json.loads(invoke("compression", str(folder), "--layer", "pos", *fast).stdout)
    from_file = json.loads(invoke("compression", str(texts), "--layer", "pos", *fast).stdout)
    assert from_store["sources"] == from_file["sources"]
    assert from_store["signature"] == from_file["signature"]
    assert "NOUN" in invoke("show", str(folder), "--layers", "upos").output


def test_a_layer_that_a_store_lacks_is_named(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    invoke("annotate", str(texts), "-o", str(folder), "--layers", "pos", "-q")
    found = invoke("compression", str(folder), "--layer", "lemma", "-q")
    assert "unknown layer of the store" in str(found.exception)


def test_tags_come_with_the_annotators_own_words(texts: Path) -> None:
    found = invoke("compression", str(texts), "--layer", "pos", "--tokenizer", "whitespace", "-q")
    assert "leave out --tokenizer" in str(found.exception)


def test_annotators_are_listed() -> None:
    found = invoke("annotate", "--list")
    assert found.exit_code == 0, found.output
    for name in ("rote", "spacy", "stanza", "given"):
        assert name in found.output
    assert "CC BY-SA 4.0" in found.output
