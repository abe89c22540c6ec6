"""`rote trace`, `rote novelty` and `rote contamination` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.core.errors import OptionError
from tests.kit import invoke, succeeded, write_jsonl

PASSAGE = "the gardener buried eleven spoons beneath the pear tree before the bailiffs came here"
DOCUMENTS = [
    {"id": "garden", "author": "Anna", "text": f"People say that {PASSAGE}. So it goes."},
    {"id": "hill", "author": "Ben", "text": "The old dog climbed the hill. A young dog waited."},
]
TEXTS = [
    {"id": "copy", "source": "model", "text": f"Listen, {PASSAGE.upper()}, always."},
    {"id": "own", "source": "human", "text": "Some words of my own, and not one of anybody else."},
]


def done(*arguments: str) -> str:
    return succeeded(invoke(*arguments)).stdout


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    for name, rows in (("corpus", DOCUMENTS), ("texts", TEXTS)):
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    return str(tmp_path / "texts.jsonl"), str(tmp_path / "corpus.jsonl")


def test_an_index_that_lacks_a_layer_says_how_to_add_it(
    files: tuple[str, str], tmp_path: Path
) -> None:
    index = str(tmp_path / "idx")
    done("index", "build", files[1], "-o", index, "--layers", "lower", "--json")
    assert "no lemma matches" in done("trace", files[0], "--corpus", index)
    failed = invoke("trace", files[0], "--corpus", index, "--kinds", "lemma")
    assert isinstance(failed.exception, OptionError)
    assert "rote index add-layer" in str(failed.exception)
    done("index", "add-layer", index, "lemma", "--json")
    found = json.loads(done("trace", files[0], "--corpus", index, "--json"))
    assert list(found["found"]) == ["verbatim", "lemma", "gapped"]
    failed = invoke("novelty", files[0], "--corpus", index)
    assert "add-layer" in str(failed.exception)


def test_against_is_asked_for(files: tuple[str, str]) -> None:
    failed = invoke("trace", files[0])
    assert isinstance(failed.exception, OptionError)
    assert "--corpus" in str(failed.exception)


def test_novelty_and_contamination_take_a_corpus(files: tuple[str, str]) -> None:
    novelty = json.loads(
        done("novelty", files[0], "--by", "source", "--corpus", files[1], "--json")
    )
    assert novelty["sources"]["human"]["values"]["coverage_8"] == 0
    assert novelty["sources"]["model"]["values"]["longest"] == 14
    assert len(novelty["tables"]["novelty"]) == 2 * 2 * 30
    found = json.loads(done("contamination", files[0], "--corpus", files[1], "--json"))
    verdicts = {row["id"]: (row["verdict"], row["document"]) for row in found["tables"]["items"]}
    assert verdicts == {"copy": ("near", "garden"), "own": ("clean", None)}
    without = invoke("novelty", files[0], "--json")
    assert "--corpus takes an index" in str(without.exception)
