"""`rote index originals` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.kit import invoke, read_jsonl, succeeded, write_jsonl

DOCUMENTS = [
    {"id": "one", "author": "Mary Ann Bell", "text": "Old dogs sleep. Young gulls cry loudly."},
    {"id": "two", "author": "BELL, Mary A.", "text": "Old dogs sleep. Young gulls cry."},
    {"id": "three", "author": "Ben", "text": "Young gulls cry.", "work": "x"},
    {"id": "four", "author": "anonymous", "text": "No.", "work": "x"},
    {"id": "five", "text": "No."},
]


def run(*arguments: str) -> Result:
    return invoke("index", "originals", *arguments)


def done(*arguments: str) -> Result:
    return succeeded(run(*arguments))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("originals")
    texts = write_jsonl(folder / "texts.jsonl", DOCUMENTS)
    idx = str(folder / "idx")
    built = invoke("index", "build", str(texts), "-o", idx, "-q")
    assert built.exit_code == 0, built.output
    return idx


def test_names_that_were_merged_are_said_and_a_file_overrides_them(
    index: str, tmp_path: Path
) -> None:
    said = done(index).stderr
    assert "authors with several spellings: BELL, Mary A. = Mary Ann Bell" in said
    assert "of these, guessed: BELL, Mary A. = Mary Ann Bell" in said
    assert "--authors FILE" in said
    file = tmp_path / "authors.csv"
    file.write_text("name,author\nMary A. Bell,Mary Alice Bell\nBen,\n")
    held = json.loads(done(index, "--authors", str(file), "--json", "-q").stdout)["sources"]
    assert (held["count"], held["authors"], held["documents_without_author"]) == (5, 2, 3)
    assert not held["merged"]
    failed = run(index, "--authors", str(file), "--variant", "paper")
    assert "leave --authors out" in str(failed.exception)
    failed = run(index, "--authors", str(tmp_path / "none.csv"))
    assert "none.csv: the file of authors cannot be read" in str(failed.exception)


def test_counts_by_length_with_sources_and_merged_names(index: str) -> None:
    held = json.loads(done(index, "--json", "-q").stdout)
    assert held["sources"] == {
        "count": 4,
        "authors": 2,
        "documents_without_author": 2,
        "merged": {"Mary Ann Bell": ["BELL, Mary A.", "Mary Ann Bell"]},
        "guessed": {"BELL, Mary A.": "Mary Ann Bell"},
        "ambiguous": {},
    }
    # Bell alone has "old dogs", "dogs sleep", "old dogs sleep", "cry loudly" and what ends so.
    rows = {row["length"]: (row["fragments"], row["original"]) for row in held["lengths"]}
    assert rows == {2: (5, 3), 3: (3, 2), 4: (1, 1)}
    assert held["sentences"] == 7
    assert held["original_sentences"] == 3
    assert held["total"]["occurrences"] == 11 + 6 + 1


def test_fragments_are_written_one_per_line(index: str, tmp_path: Path) -> None:
    done(index, "--write", str(tmp_path / "all.jsonl"), "-q")
    rows = read_jsonl(tmp_path / "all.jsonl")
    assert len(rows) == 6
    loudly = next(row for row in rows if row["words"] == ["cry", "loudly"])
    assert loudly["document"] == "one"
    assert loudly["author"] == "Mary Ann Bell"
    assert DOCUMENTS[0]["text"][loudly["start"] : loudly["end"]] == "cry loudly"
    done(index, "--write", str(tmp_path / "few.jsonl"), "--shortest", "-q")
    shortest = (tmp_path / "few.jsonl").read_text().splitlines()
    words = [json.loads(line)["words"] for line in shortest]
    assert sorted(words) == [["cry", "loudly"], ["dogs", "sleep"], ["old", "dogs"]]


def test_more_sources_may_be_allowed(index: str) -> None:
    held = json.loads(done(index, "--relax", "2", "--json", "-q").stdout)
    assert held["total"]["original"] == held["total"]["fragments"] == 9
    assert "at least 1" in str(run(index, "--relax", "0").exception)


def test_the_paper_knows_no_authors_and_removes_equal_sentences(index: str) -> None:
    held = json.loads(done(index, "--variant", "paper", "--json", "-q").stdout)
    assert held["removed"] == 3
    rows = {row["length"]: (row["fragments"], row["original"]) for row in held["lengths"]}
    # "young gulls cry" comes after "young gulls cry loudly": its "young gulls" is known, and
    # "gulls cry" not looked at again.
    assert rows == {2: (5, 4), 3: (3, 2), 4: (1, 1)}
    found = run(index, "--variant", "paper", "--relax", "2")
    assert "Algorithm 1 knows no --relax" in str(found.exception)


def test_parts_of_one_document_are_one_source_if_a_field_says_so(index: str) -> None:
    held = json.loads(done(index, "--document-field", "work", "--json", "-q").stdout)
    assert held["sources"]["count"] == 3
    found = run(index, "--document-field", "no such")
    assert "no document of the index has a field 'no such'" in str(found.exception)


def test_what_makes_no_sense_is_said(index: str, tmp_path: Path) -> None:
    assert "--write" in str(run(index, "--shortest").exception)
    assert "name a file" in str(run(index, "--write", str(tmp_path)).exception)
    assert "layer" in str(run(index, "--layer", "nonsense").exception)
