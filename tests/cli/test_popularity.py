"""`rote popularity` as a user meets it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from rote.core.errors import OptionError
from rote.core.result import Result as Found
from rote.report.charts import draw_figures
from tests.indexes import build_index
from tests.kit import invoke, succeeded, write_jsonl
from tests.search.infini_gram_made import documented, served

CORPUS = ["He opened the tin with a key.", "She opened the tin with a key again.", "With a spoon."]
GOALS = [
    {"goal": "open the tin", "sol1": "with a key", "sol2": "with a spoon of wax", "label": 0},
    {"goal": "open the tin", "sol1": "with a hen", "sol2": "with a key again", "label": 1},
    {"goal": "stir the tea", "sol1": "with a spoon", "sol2": "with no hands", "label": 0},
    {"goal": "he opened", "sol1": "the tin with", "sol2": "that wax of", "label": 1},
]


@pytest.fixture
def index(tmp_path: Path) -> str:
    build_index(CORPUS, tmp_path / "IDX", layers=("lower",))
    return str(tmp_path / "IDX")


@pytest.fixture
def goals(tmp_path: Path) -> str:
    path = tmp_path / "goals.jsonl"
    records = [{**goal, "id": str(i), "model": i < 3} for i, goal in enumerate(GOALS)]
    return str(write_jsonl(path, records))


def run(*arguments: str) -> Result:
    return invoke("popularity", *arguments, "-q")


def done(*arguments: str) -> str:
    return succeeded(run(*arguments)).stdout


def test_figures_are_drawn_and_read_back_from_json(index: str, goals: str, tmp_path: Path) -> None:
    asked = (goals, "--corpus", index, "-n", "2")
    done(*asked, "--correct", "model", "--figures", str(tmp_path / "all"))
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {"halves.svg", "deciles.png", "popularity.svg"} <= names
    saved = Found.from_json(done(*asked, "--correct", "model", "--json"))
    assert list(draw_figures(saved)) == ["halves", "deciles", "popularity"]
    without = Found.from_json(done(*asked, "--json"))
    assert list(draw_figures(without)) == ["popularity"]
    done(*asked, "--correct", "model", "--by", "kind,task", "--figure", str(tmp_path / "one.json"))
    drawn = json.loads((tmp_path / "one.json").read_text())
    assert "functional" in json.dumps(drawn)


def test_stored_deciles_are_used_for_other_items(index: str, goals: str, tmp_path: Path) -> None:
    deciles, asked = str(tmp_path / "d.json"), ("--corpus", index, "-n", "2")
    first = json.loads(done(goals, *asked, "--save-deciles", deciles, "--json"))
    again = json.loads(done(goals, *asked, "--deciles", deciles, "--json"))
    assert first["tables"]["items"] == again["tables"]["items"]
    assert "deciles:own" in first["signature"]
    assert re.search(r"deciles:[0-9a-f]{12}\|", again["signature"])
    refused = run(goals, "--corpus", index, "-n", "3", "--deciles", deciles)
    assert isinstance(refused.exception, OptionError)


def test_the_web_service_counts_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "items.jsonl"
    path.write_text(json.dumps({"context": "the old ", "options": ["man", "song"], "answer": 0}))
    with served(documented) as (url, questions):
        asked = (str(path), "--corpus", "infini-gram:v4_made", "--api", url, "-n", "2", "--json")
        found = json.loads(done(*asked))
        sent = len(questions)
        assert json.loads(done(*asked)) == found
        assert len(questions) == sent
    # the old 3, old man 1, old song 0: popularity 7, 4, 1.
    assert found["tables"]["items"][0]["ips"] == [5.5, 4.0]
    assert (
        "backend:infini-gram-api|tokenizer:tokenizer of v4_made|index:v4_made" in found["signature"]
    )
