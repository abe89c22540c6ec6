"""`rote perturb` with models: the tables of the paper from one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rote.core.errors import OptionError, UnknownName
from tests.kit import invoke, read_jsonl, succeeded, write_jsonl

# The only noun that can be replaced is the car, the only verb to buy.
ITEMS = [
    {"id": "l1", "context": "He bought the automobile. He liked his", "target": "hat"},
    {"id": "l2", "context": "She purchased the automobile. She wore her", "target": "hat"},
]
PAIRS = [
    {
        "paradigm": "p",
        "phenomenon": "agreement",
        "pair_id": n,
        "sentence_good": f"The automobile {verb}.",
        "sentence_bad": f"The automobile {verb} {verb}.",
    }
    for n, verb in enumerate(("is", "was"))
]
NEXT = {"his": {"hat": 0.9}, "her": {"hat": 0.4, "cap": 0.6}}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    paths = {}
    for name, records in (("words", ITEMS), ("pairs", PAIRS)):
        path = write_jsonl(tmp_path / f"{name}.jsonl", records)
        paths[name] = str(path)
    (tmp_path / "next.json").write_text(json.dumps(NEXT))
    return {**paths, "model": f"fake:{tmp_path / 'next.json'}"}


def run(*arguments: str) -> Result:
    return invoke("perturb", *arguments, "-q")


def done(*arguments: str) -> str:
    return succeeded(run(*arguments)).stdout


def test_models_answer_originals_nouns_verbs_and_both(
    files: dict[str, str], tmp_path: Path
) -> None:
    answers = tmp_path / "answers.jsonl"
    asked = (files["words"], files["pairs"], "--model", f"m={files['model']}")
    found: dict[str, Any] = json.loads(done(*asked, "--write-answers", str(answers), "--json"))
    rows = {(row["task"], row["pos"]): row for row in found["tables"]["answers"]}
    assert {pos for _, pos in rows} == {"noun,verb", "noun", "verb"}
    both = rows["lambada", "noun,verb"]
    assert (both["source"], both["kind"], both["items"]) == ("m", "functional", 2)
    # The words around change, the last one before the target does not: nor does its chance.
    assert (both["accuracy_before"], both["accuracy_after"], both["accuracy_change"]) == (
        0.5,
        0.5,
        0,
    )
    assert both["perplexity_before"] == pytest.approx(1 / (0.9 * 0.4) ** 0.5)
    assert both["perplexity_change"] == pytest.approx(0)
    assert "perplexity_before" not in rows["agreement", "noun"]
    assert rows["agreement", "noun"]["kind"] == "formal"
    assert found["sources"]["lambada"]["values"]["accuracy_after"] == 0.5
    assert "models:fake/1-" in found["signature"]
    kept = read_jsonl(answers)
    assert [row["perturbed"] for row in kept].count("original") == 4
    assert len(kept) == 16


def test_table_3_names_the_models(files: dict[str, str], tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"id": "1", "text": "He bought the automobile. He liked his hat."}))
    index = str(tmp_path / "IDX")
    built = invoke("index", "build", str(texts), "-o", index, "-q")
    assert built.exit_code == 0, built.exception
    asked = (files["words"], "--model", f"m={files['model']}", "--corpus", index, "-n", "2")
    found = json.loads(done(*asked, "--json"))
    ranks = [row for row in found["tables"]["tests"] if row["test"] == "wilcoxon"]
    assert [(row["of"], row.get("source")) for row in ranks] == [("all", None), ("lost", "m")]
    assert "popularity of the items that go from right to wrong" in done(*asked, "--latex")


def test_items_perturbed_elsewhere_are_answered_too(files: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    # In another order, as a task of their own.
    changed = [{**item, "context": item["context"].replace("his", "her")} for item in ITEMS[::-1]]
    write_jsonl(other, changed)
    asked = (files["words"], "--perturbed", str(other), "--model", f"m={files['model']}")
    found = json.loads(done(*asked, "--json"))
    [row] = found["tables"]["answers"]
    assert (row["pos"], row["accuracy_before"], row["accuracy_after"]) == ("given", 0.5, 0)
    assert (row["lost"], row["gained"]) == (1, 0)
    assert row["perplexity_after"] == pytest.approx(1 / 0.4)


def test_a_judge_that_never_changes_its_mind_is_mentioned(files: dict[str, str]) -> None:
    found = json.loads(done(files["words"], "--judge", files["model"], "--json"))
    [row] = found["tables"]["judge"]
    assert (row["judged"], row["same"]) == (2, 1.0)  # equally unlikely: same comes first
    assert found["sources"]["lambada"]["values"]["judged_same"] == 1
    assert any("may be unable to judge" in note for note in found["notes"])
    assert "the judge says that 2 of 2 items keep their meaning" in found["notes"]


def test_a_note_says_what_is_known_of_the_meaning(files: dict[str, str]) -> None:
    """Without a judge, how it was with items that people read."""
    for variant, read in (("careful", "of 98"), ("exact", "of 99"), ("paper", None)):
        asked = (files["words"], "--variant", variant, "--json")
        [note] = [n for n in json.loads(done(*asked))["notes"] if "meaning" in n]
        assert note.startswith("no judge checked whether")
        assert "use --judge to ask a model" in note
        assert ("checked by hand" in note) == (read is not None)
        assert read is None or read in note


def test_what_makes_no_sense_is_refused_before_the_work(files: dict[str, str]) -> None:
    error = run(files["words"], "--write-answers", "x.jsonl").exception
    assert isinstance(error, OptionError)
    assert "one with --model" in str(error)
    error = run(files["words"], "--sense", f"model:{files['model']}").exception
    assert isinstance(error, OptionError)
    assert "definitions" in str(error)
    assert isinstance(run(files["words"], "--judge", "nowhere:x").exception, UnknownName)
    twice = ("--perturbed", files["words"], "--model", files["model"], "--correct", "acc")
    error = run(files["words"], *twice).exception
    assert isinstance(error, OptionError)
    assert "correctness is given twice" in str(error)
