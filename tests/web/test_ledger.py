"""Ledgers in the app: opened by their folder, chosen from, page by page."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import rote
from rote.web.app import make_app
from rote.web.store.history import History
from rote.web.workspace import Workspace, recognize

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
    found = recognize([str(folder)])
    assert list(found.ledgers) == ["clean"]
    store = tmp_path / "store"
    opened = Workspace({}, {}, store, ledgers=found.ledgers)
    made = TestClient(make_app(opened), **HERE)
    assert [History(store).read_in(path) for path in found.results]
    return made


def test_a_folder_is_opened_as_its_ledger(app: TestClient) -> None:
    home = app.get("/").text
    assert 'href="/ledger/clean"' in home
    assert "Duplicates" in app.get("/ledger/clean").text
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
    assert "No entry is like that" in app.get("/ledger/clean?q=nowhere").text
    assert app.get("/ledger/other").status_code == 404
    assert app.get("/ledger/clean?least=x").status_code == 400
