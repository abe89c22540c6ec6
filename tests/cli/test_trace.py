"""`rote trace`, `rote novelty` and `rote contamination` as a user meets them."""

from __future__ import annotations

import csv
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


def test_json_has_spans_sources_and_texts(files: tuple[str, str]) -> None:
    found = json.loads(done("trace", files[0], "--corpus", files[1], "--json"))
    assert found["schema"] == 1
    (span,) = found["spans"]
    assert (span["kind"], span["id"], span["source"]) == ("verbatim", "copy", "model")
    assert (span["words"], span["occurrences"], span["documents"]) == (14, 1, 1)
    assert span["recased"] is True
    assert TEXTS[0]["text"][span["start"] : span["end"]] == span["text"]
    (place,) = span["places"]
    assert (place["document"], place["author"]) == ("garden", "Anna")
    assert DOCUMENTS[0]["text"][place["start"] : place["end"]] == place["match"]
    assert [(text["id"], text["spans"]) for text in found["texts"]] == [("copy", 1), ("own", 0)]
    assert found["found"] == {"verbatim": 1, "lemma": 0, "gapped": 0}
    assert found["settings"]["min_words"] == 8
    assert span["edit_rate"] == 0
    assert span["edits"] == {"exchanged": 0, "added": 0, "left_out": 0}


def test_csv_has_one_line_per_span(files: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "spans.csv"
    done("trace", files[0], "--corpus", files[1], "-o", str(out))
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert (row["document"], row["words"], row["kind"]) == ("garden", "14", "verbatim")


def test_a_page_is_written_where_the_file_ends_in_html(
    files: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "trace.html"
    assert done("trace", files[0], "--corpus", files[1], "-o", str(out)) == ""
    assert "texts.jsonl against corpus.jsonl" in out.read_text()
    assert 'id="span-1"' in out.read_text()


def test_the_terminal_shows_the_spans(files: tuple[str, str]) -> None:
    shown = done("trace", files[0], "--corpus", files[1], "--kinds", "verbatim")
    assert "14 words  verbatim, other capitals" in shown
    assert "garden, Anna:" in shown
    assert "matches of at least 8 words: 1 verbatim" in shown


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
    assert "--corpus names an index" in str(without.exception)
