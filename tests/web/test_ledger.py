"""Ledgers in the app: opened by their folder, chosen from, page by page."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import rote
from rote.core.errors import OptionError
from rote.core.progress import Silent
from rote.web.app import make_app
from rote.web.forms import RunForm
from rote.web.history import History
from rote.web.job_worker import PipeReporter, run_job
from rote.web.workspace import Workspace, recognize_inputs

from .conftest import HERE

SHARED = " ".join(f"shared{n}" for n in range(30))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records = [
        {
            "id": f"t{n}<script>",
            "source": "ab"[n % 2],
            "text": f"{' '.join(f'own{n}x{i}' for i in range(20))} {SHARED} end{n}.",
        }
        for n in range(30)
    ]
    rote.dedup(records, length=20, near=0.0, output=tmp_path / "clean")
    return tmp_path / "clean"


@pytest.fixture
def app(folder: Path, tmp_path: Path) -> TestClient:
    found = recognize_inputs([str(folder)])
    assert list(found.ledgers) == ["clean"]
    store = tmp_path / "store"
    opened = Workspace({}, {}, store, ledgers=found.ledgers)
    made = TestClient(make_app(opened), **HERE)
    assert [History(store).read_in(path) for path in found.results]
    return made


def test_a_folder_is_opened_as_its_ledger(app: TestClient) -> None:
    home = app.get("/").text
    assert 'href="/ledger/clean"' in home
    assert "Near-duplicates" in app.get("/ledger/clean").text
    kept = app.get("/history").text
    assert "clean" in kept


def test_entries_come_page_by_page_with_both_sides(app: TestClient) -> None:
    first = app.get("/ledger/clean").text
    assert "29 of 29 entries" in first
    assert first.count('class="part ledger"') == 20
    assert 'rel="next"' in first
    assert 'rel="prev"' not in first
    second = app.get("/ledger/clean?number=2").text
    assert second.count('class="part ledger"') == 9
    assert 'rel="prev"' in second
    assert "shared0" in first
    assert "own0x19" in first  # what stands before the copy
    assert "t1<script>" not in first


def test_entries_are_chosen_by_fields_words_and_score(app: TestClient) -> None:
    assert app.get("/api/ledger/clean").json()["chosen"] == 29
    own = app.get("/api/ledger/clean", params={"source": "b"}).json()
    assert (own["chosen"], {row["source"] for row in own["rows"]}) == (15, {"b"})
    assert app.get("/api/ledger/clean", params={"q": "t7<"}).json()["chosen"] == 1
    assert app.get("/api/ledger/clean", params={"most": 0.5}).json()["chosen"] == 0
    assert "No entry matches" in app.get("/ledger/clean?q=nowhere").text
    assert app.get("/ledger/other").status_code == 404
    assert app.get("/ledger/clean?least=x").status_code == 400
    wrong = app.get("/api/ledger/clean?sourc=b")
    assert wrong.status_code == 400
    assert "did you mean `source`?" in wrong.json()["error"]["message"]


def test_what_is_kept_of_a_folder_can_be_looked_at(app: TestClient) -> None:
    (entry,) = History(app.app.state.workspace.store).entries()  # type: ignore[attr-defined]
    page = app.get(entry.address)
    assert page.status_code == 200
    assert "Passages that are repeated most" in page.text


def test_what_the_app_makes_has_a_ledger(folder: Path, tmp_path: Path) -> None:
    opened = Workspace({}, {"clean": folder.parent / "texts.jsonl"}, tmp_path / "store")
    lines = [f'{{"id": {n}, "text": "{SHARED} own{n} and more"}}\n' for n in range(3)]
    opened.files["clean"].write_text("".join(lines))
    app = TestClient(make_app(opened), **HERE)
    page = app.get("/run/dedup")
    assert page.status_code == 200
    assert '<select id="f-exact" name="exact"' in page.text
    form = RunForm("dedup", ("clean",), {"length": 20, "near": 0.0, "exact": True})
    form.check(opened)
    (result,) = form.perform(opened, Silent())
    assert result.measure == "dedup"
    (key,) = opened.all_ledgers()
    assert key.startswith("dedup-")
    assert app.get(f"/api/ledger/{key}").json()["entries"] == 2
    assert f"/ledger/{key}" in app.get("/").text
    with pytest.raises(OptionError, match="no test items"):
        RunForm("decontaminate", ("clean",)).check(opened)


def test_a_folder_is_of_all_that_is_read(tmp_path: Path) -> None:
    """Another corpus, or other items, would be refused by the folder that is there."""
    items = tmp_path / "items.jsonl"
    items.write_text("{}")
    files = {"a": Path("example:answers"), "b": Path("bible:kjv"), "items": items}
    opened = Workspace({}, files, tmp_path / "store")
    assert RunForm("dedup", ("a",)).folder(opened) != RunForm("dedup", ("b",)).folder(opened)
    form = RunForm("decontaminate", ("a",), {"test_items": ("file:items",)})
    before = form.folder(opened)
    assert form.folder(opened) == before
    items.write_text("{} ")
    assert form.folder(opened) != before


def test_work_that_was_done_is_done_again(folder: Path, tmp_path: Path) -> None:
    store, texts = tmp_path / "store", tmp_path / "texts.jsonl"
    texts.write_text("".join(f'{{"id": {n}, "text": "{SHARED} {n}"}}\n' for n in range(3)))
    opened = Workspace({}, {"texts": texts}, store)
    app = TestClient(make_app(opened), **HERE)
    settings = {"name": "dedup", "inputs": ["texts"], "options": {"length": 20, "near": 0.0}}
    said: list[str] = []
    reporter = PipeReporter(lambda told: said.append(told.get("say", "")))
    places = [run_job("run", settings, opened, reporter) for _ in range(2)]
    assert places[0] == places[1]
    assert any("already contains this" in line for line in said)
    assert "/ledger/dedup-" in app.get(places[0]).text
    rows = app.get(f"{places[0]}/values.csv").text.splitlines()
    assert rows[0].startswith("table,")
    assert len(rows) > 1
    texts.write_text("")
    assert "/ledger/" not in app.get(places[0]).text
