"""Commands of another package, those that docs/extending.md shows, are everywhere by themselves."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import rote
from rote.core import plugins
from rote.core.registry import find, names
from rote.report.output import render_report_markdown
from tests.kit import invoke

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"word-length": "measure", "known-words": "measure", "option-length": "studies"}
SOURCES = {"human": "A cat sat there.", "model": "An elephant remembered everything."}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with the three modules of docs/extending.md, installed as any package is."""
    written = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    modules = re.findall(r"```python\n(.*?)```", written, re.S)
    assert len(modules) == len(ROOMS)
    home = tmp_path / "site"
    (home / "another").mkdir(parents=True)
    (home / "another" / "__init__.py").write_text("")
    groups: dict[str, list[str]] = {}
    for (name, room), code in zip(ROOMS.items(), modules):
        module = name.replace("-", "_")
        (home / "another" / f"{module}.py").write_text(code)
        groups.setdefault(room, []).append(f"{name} = another.{module}")
    about = home / "another-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    lines = [line for room, own in groups.items() for line in (f"[rote.{room}]", *own)]
    (about / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(home))
    plugins.members.cache_clear()
    yield tmp_path
    plugins.members.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "another"]:
        del sys.modules[name]


@pytest.fixture
def texts(package: Path) -> Path:
    lines = [
        json.dumps({"id": f"{source}-{n}", "source": source, "text": f"{text} Day {n}."})
        for source, text in SOURCES.items()
        for n in range(4)
    ]
    (package / "texts.jsonl").write_text("\n".join(lines))
    return package / "texts.jsonl"


@pytest.fixture
def items(package: Path) -> Path:
    lines = [
        json.dumps(
            {"id": str(n), "goal": "open it", "sol1": "with a key", "sol2": "no", "label": 0}
        )
        for n in range(3)
    ]
    (package / "items.jsonl").write_text("\n".join(lines))
    return package / "items.jsonl"


@pytest.fixture
def index(package: Path) -> str:
    rote.index(["A cat sat there on day 1."], output=package / "IDX", layers=("lower",))
    return str(package / "IDX")


def call(*words: object) -> Result:
    found = invoke(*[str(word) for word in words])
    assert found.exit_code == 0, (found.output, found.exception)
    return found


def test_all_are_known(package: Path) -> None:
    assert ROOMS.keys() <= set(names())
    listed = call("--help").output
    assert all(name in listed for name in ROOMS)
    assert {name.replace("-", "_") for name in ROOMS} <= set(dir(rote))


def test_a_value_measure_is_in_the_shell_in_python_and_in_the_panel(texts: Path) -> None:
    fast = ("--by", "source", "--reference", "human", "--permutations", "9", "--no-matched", "-q")
    told = json.loads(call("word-length", texts, *fast, "--json").output)
    assert told["sources"]["human"]["intervals"]["letters"][0] < 3
    assert [row["value"] for row in told["comparisons"]] == ["letters"]
    shown = call("word-length", texts, *fast).output
    assert "letters of a word" in shown
    result = _function("word_length")(
        texts, by="source", reference="human", permutations=9, matched=False
    )
    assert result.to_dict() == told
    assert "layer: layer whose items are measured" in (_function("word_length").__doc__ or "")
    panel = rote.diversity(texts, by="source", interval=0, matched=False)
    assert "word-length" in [one.measure for one in panel]


def test_a_measure_against_a_corpus_names_what_it_lacks(texts: Path, index: str) -> None:
    result = _function("known_words")(texts, corpus=index, by="source", matched=False)
    assert result.by_source["human"].values["known"] > result.by_source["model"].values["known"]
    words = [row["word"] for row in result.tables["unknown"] if row["source"] == "model"]
    assert "elephant" in words
    shown = call("known-words", texts, "--corpus", index, "--by", "source", "-q").output
    assert "Words that are not in the corpus" in shown
    assert "elephant" in shown
    lacking = invoke("known-words", str(texts))
    assert "--corpus" in str(lacking.exception)


def test_a_study_is_in_the_shell_and_in_python(items: Path, package: Path) -> None:
    result = _function("option_length")(items, words=True)
    assert result.by_source["piqa"].values == {"length": 3}
    told = json.loads(call("option-length", items, "--words", "--json", "-q").output)
    assert told == result.to_dict()
    shown = call("option-length", items, "-q").output
    assert "length of the correct option" in shown
    assert "Items" in shown
    call("option-length", items, "--figures", package / "figures", "-q")
    assert (package / "figures" / "lengths.png").stat().st_size > 1000
    assert "piqa" in result.to_latex()
    assert result.to_polars("items").height == 3


def test_the_measures_are_parts_of_a_report(texts: Path, index: str) -> None:
    made = rote.report(
        texts,
        by="source",
        reference="human",
        corpus=index,
        measures=("word-length", "known-words"),
        permutations=9,
        matched=False,
    )
    page = render_report_markdown(made)
    assert "### Word length" in page
    assert "### Known words" in page
    assert "elephant" in page


def test_the_study_is_a_part_of_a_report_of_items(items: Path) -> None:
    made = rote.report(items)
    assert "option-length" in [one.measure for one in made.results]


def test_all_have_a_form_in_the_app(package: Path) -> None:
    client = _app(package)
    listed = client.get("/run").text
    for name in ROOMS:
        assert find(name).title in listed
        page = client.get(f"/run/{name}")
        assert page.status_code == 200
        assert all(field in page.text for field in find(name).options.__dataclass_fields__)


def _function(name: str) -> Any:
    return getattr(rote, name)


def _app(folder: Path) -> Any:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from rote.web.app import make_app
    from rote.web.workspace import Workspace

    app = make_app(Workspace({}, {}, folder / "store"))
    app.state.jobs.stop()
    return TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)
