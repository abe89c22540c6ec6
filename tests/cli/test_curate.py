"""`rote limit` and `rote train pseudo-summaries` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rote.core.errors import OptionError
from tests.kit import done, invoke, write_jsonl


@pytest.fixture
def train(tmp_path: Path) -> str:
    path = tmp_path / "train.jsonl"
    texts = ["the cat sat [on] the mat", "the cat sat [on] the mat", "no dog is here at all"]
    return str(write_jsonl(path, ({"id": i, "text": t} for i, t in enumerate(texts))))


def test_limit_counts_the_references_of_pairs_without_another_text(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"prompt": "Tell me of a cat", "reference": f"the cat sat [on] {n}"} for n in range(3)]
    write_jsonl(pairs, rows)
    for number, named in enumerate([("--field", "reference"), ()]):
        folder = tmp_path / str(number)
        made = done("limit", str(pairs), *named, "--max", "1", "--seeds", "1", "-o", str(folder))
        assert "1 subset of 3 texts ('reference'" in made.stdout
        (kept,) = (folder / "max-1.seed-0.jsonl").read_text().splitlines()
        assert json.loads(kept) in rows


def test_limit_refuses_what_it_cannot_do(train: str, tmp_path: Path) -> None:
    for flags, reason in (
        (["--max", "0"], "--max must be at least 1"),
        (["--sizes", "9"], "--sizes needs 9 texts, but the input has 3"),
        (["-o", str(tmp_path)], "overwrite the input"),
    ):
        failed = invoke("limit", train, "-o", str(tmp_path / "new"), *flags)
        assert isinstance(failed.exception, OptionError)
        assert reason in str(failed.exception)
    assert not (tmp_path / "new").exists()


def test_pseudo_summaries_can_be_limited(tmp_path: Path) -> None:
    docs, pairs = tmp_path / "docs.jsonl", tmp_path / "pairs.jsonl"
    text = (
        "It was in the middle of the night. A cat in the middle of the road. {} more. And {} too."
    )
    rows = [{"id": str(n), "text": text.format(n, n + 1)} for n in range(4)]
    write_jsonl(docs, [*rows, {"id": "x", "text": "Short."}])
    found = done("train", "pseudo-summaries", str(docs), "-o", str(pairs))
    assert found.stdout.splitlines() == [f"{pairs}: 4 pairs", "left out, one sentence: 1"]
    about = json.loads(
        done("train", "pseudo-summaries", str(docs), "-o", str(pairs), "--json").stdout
    )
    assert (about["pairs"], about["left_out"], about["unrelated"]) == (4, {"one sentence": 1}, 0)
    limited = done(
        "limit", str(pairs), "--max", "3", "--seeds", "1", "-o", f"{tmp_path}/d", "--json"
    )
    held = json.loads(limited.stdout)["manifest"]
    assert held["settings"]["field"] == "reference"
    assert held["subsets"][0]["texts"] == 3
