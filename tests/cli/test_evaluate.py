"""`rote evaluate` as a user meets it, and what reads its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rote.core.errors import OptionError
from tests.indexes import build_index
from tests.kit import invoke, read_jsonl, succeeded, write_jsonl

NEXT = {
    "Answer:": {"with": 1.0},
    "with": {"a": 0.9, "no": 0.1},
    "a": {"key": 0.5, "hen": 0.3, "spoon": 0.2},
    "no": {"hands": 1.0},
    "the": {"tin": 0.7, "hen": 0.3},
}
GOALS = [
    {"goal": "open the tin", "sol1": "with a key", "sol2": "with a hen", "label": 0},
    {"goal": "open the tin", "sol1": "with a spoon", "sol2": "with a hen", "label": 0},
    {"goal": "stir the tea", "sol1": "with a spoon", "sol2": "with no hands", "label": 0},
    {"goal": "feed the hen", "sol1": "with no hands", "sol2": "with a key", "label": 1},
]
WORDS = [{"context": "He opened the", "target": "tin"}, {"context": "She fed the", "target": "hen"}]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Items, models and an index."""

    def written(name: str, records: list[dict[str, Any]]) -> str:
        return str(
            write_jsonl(tmp_path / name, ({**r, "id": str(n)} for n, r in enumerate(records)))
        )

    for name, table in (("next", NEXT), ("other", {**NEXT, "a": {"hen": 0.6, "key": 0.4}})):
        (tmp_path / f"{name}.json").write_text(json.dumps(table))
    build_index(
        ["He opened the tin with a key.", "With a spoon."], tmp_path / "IDX", layers=("lower",)
    )
    return {
        "goals": written("goals.jsonl", GOALS),
        "words": written("words.jsonl", WORDS),
        "model": f"fake:{tmp_path / 'next.json'}",
        "other": f"fake:{tmp_path / 'other.json'}",
        "index": str(tmp_path / "IDX"),
        "out": str(tmp_path / "answers.jsonl"),
    }


def run(*arguments: str) -> Result:
    return invoke(*arguments, "-q")


def done(*arguments: str) -> str:
    return succeeded(run(*arguments)).stdout


def test_answers_are_read_by_popularity_perturb_and_correlate(
    files: dict[str, str], tmp_path: Path
) -> None:
    items, answers, changed = files["goals"], files["out"], str(tmp_path / "perturbed.jsonl")
    asked = ("--model", f"fake={files['model']}")
    done("evaluate", items, *asked, "-o", answers)
    [first, *_] = read_jsonl(answers)
    assert (first["id"], first["source"], first["acc"], first["kind"]) == (
        "0",
        "fake",
        1,
        "functional",
    )
    assert first["asked"][1] == ["Question: open the tin\nAnswer:", " with a hen"]
    corpus = ("--corpus", files["index"], "-n", "2")
    direct = json.loads(done("popularity", items, *corpus, "--json"))["tables"]["items"]
    known = json.loads(done("popularity", answers, *corpus, "--correct", "acc", "--json"))
    assert [row["ips"] for row in known["tables"]["items"]] == [row["ips"] for row in direct]
    assert known["sources"]["piqa"]["values"]["accuracy"] == 0.75
    # The items, perturbed and evaluated in their turn, against the answers to the originals.
    done("perturb", items, "--write", changed)
    after = str(tmp_path / "after.jsonl")
    done("evaluate", changed, *asked, "-o", after)
    compared = json.loads(done("perturb", answers, "--perturbed", after, "--json"))
    assert compared["sources"]["piqa"]["values"]["accuracy_before"] == 0.75
    [test] = compared["tables"]["tests"]
    assert test["items"] == 4
    # Perturbed answers are items without answers.
    done("perturb", answers, "--write", str(tmp_path / "again.jsonl"))
    assert "acc" not in read_jsonl(str(tmp_path / "again.jsonl"))[0]
    assert "asked" not in read_jsonl(str(tmp_path / "again.jsonl"))[0]
    # Results by model can be correlated; answers are a table of quality.
    texts = write_jsonl(
        tmp_path / "texts.jsonl",
        (
            {"text": f"{name} text {n} about a tin " * n, "source": name}
            for name in ("one", "two", "three", "four")
            for n in range(1, 6)
        ),
    )
    done("compression", str(texts), "--by", "source", "-o", str(tmp_path / "sizes.json"))
    told = write_jsonl(
        tmp_path / "told.jsonl",
        (
            {**row, "source": name, "acc": (n + k) % 2}
            for n, name in enumerate(("one", "two", "three", "four"))
            for k, row in enumerate(read_jsonl(answers))
        ),
    )
    quality = ("--quality", str(told), "--quality-columns", "acc")
    assert "acc" in done("correlate", str(tmp_path / "sizes.json"), *quality)


def test_the_result_of_several_models_is_read_by_correlate(
    files: dict[str, str], tmp_path: Path
) -> None:
    models = ",".join(f"m{n}={files['model' if n % 2 else 'other']}" for n in range(5))
    saved = str(tmp_path / "all.json")
    asked = ("evaluate", files["goals"], files["words"], "--by", "source", "--model", models)
    done(*asked, "-o", saved)
    found = json.loads(done("correlate", saved, "--values", "all", "--json"))
    assert "evaluate.accuracy" in json.dumps(found)


def test_only_so_many_items_of_each_task_are_taken(files: dict[str, str]) -> None:
    asked = ("evaluate", files["goals"], files["words"], "--model", files["model"], "--limit", "1")
    found = json.loads(done(*asked, "--json"))
    assert [one["texts"] for one in found["sources"].values()] == [1, 1]


def test_contradictions_are_noticed_before_anybody_is_asked(
    files: dict[str, str], tmp_path: Path
) -> None:
    asked = ("evaluate", files["goals"])
    for more, said in (
        ((), "no model"),
        (("--model", files["model"], "--limit", "-1"), "negative"),
        (("--model", files["model"], "-o", "a.jsonl", "--write", "b.jsonl"), "one file"),
        (("--model", files["model"], "--write", files["goals"]), "overwrite the input"),
        (("--model", files["model"], "--json", "--csv"), "choose one"),
        (("--model", f"{files['model']},{files['model']}"), "names a model twice"),
        (("--model", "nothing"), "Name the backend"),
    ):
        error = run(*asked, *more).exception
        assert isinstance(error, OptionError), (more, error)
        assert said in str(error)
