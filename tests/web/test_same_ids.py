"""Two files with the same ids and different texts: every page shows the text that was meant."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.core.errors import InputError
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.index.folders.build import add_to_index
from rote.web import job_worker as work
from rote.web.app import make_app
from rote.web.compare_form import CompareForm
from rote.web.database import FILE, open_database, prepare_store
from rote.web.forms import TemplatesForm
from rote.web.history import History
from rote.web.workspace import Workspace
from tests.indexes import build_index
from tests.web.conftest import HERE
from tests.web.test_history import made

NAMES = ("cats", "dogs", "folder")
SENTENCES = {
    "cats": "The old cats sat on the warm mat, and the young cats ran to the cold door.",
    "dogs": "Nobody knew why they barked at those dogs , since dogs rarely stay so long.",
    "cows": "In summer we often saw how some cows were walking very slowly past cows.",
    "pigs": "Never give pigs what other pigs have left, or you will soon be very sorry.",
}
BY: list[dict[str, Any]] = [{}, {"by": ("source",)}]


def _lines(kind: str) -> str:
    """The same ids and sources in each file; every text says whose and which it is."""
    records = (
        {
            "id": str(n),
            "source": "human" if n < 3 else "model",
            "text": f"{SENTENCES[kind]} Number {n} of {kind}.",
        }
        for n in range(6)
    )
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture(scope="module")
def same(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    place = tmp_path_factory.mktemp("given")
    files: dict[str, Path] = {}
    for kind in ("cats", "dogs"):
        files[kind] = place / kind / "texts.jsonl"  # the same name in two folders
        files[kind].parent.mkdir()
        files[kind].write_text(_lines(kind))
    files["folder"] = place / "folder"
    files["folder"].mkdir()
    for kind in ("cows", "pigs"):
        (files["folder"] / f"{kind}.jsonl").write_text(_lines(kind))
    opened = Workspace({}, files, tmp_path_factory.mktemp("store"))
    prepare_store(opened.store)
    return opened


@pytest.fixture(scope="module")
def app(same: Workspace) -> TestClient:
    app = make_app(same)
    app.state.jobs.stop()
    return TestClient(app, **HERE, follow_redirects=False)


def kind_of(file: str) -> str:
    """Whose texts a file holds."""
    return file.rpartition("/")[2].removesuffix(".jsonl")


def links(page: str, start: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(rf'href="({start}[^"]*)"', page)]


def says(page: str) -> str:
    """Number and kind of the text that a page shows; marks have numbers of their own."""
    plain = re.sub(r"<[^>]*>", "", html.unescape(page))
    return " ".join(re.findall(r"Number \d*(\d) of (\w+)", plain)[0])


@pytest.mark.parametrize("settings", BY, ids=["by file", "by source"])
def test_a_comparison_shows_the_text_of_the_row(
    app: TestClient, same: Workspace, settings: dict[str, Any]
) -> None:
    asked = CompareForm(NAMES, ("lexical", "templates"), settings=settings)
    address = work.run_job("compare", asdict(asked), same, Silent())
    listed = app.get(f"/api/results/{address[-12:]}/texts", params={"place": 0, "limit": 100})
    rows = listed.json()["texts"]
    assert {(row["file"], row["id"]) for row in rows} == {
        (file, str(n))
        for file in ("cats", "dogs", "folder/cows.jsonl", "folder/pigs.jsonl")
        for n in range(6)
    }
    assert all(f" {kind_of(row['file'])} " in row["excerpt"] for row in rows)
    page = app.get(f"{address}/texts", params={"place": 0}).text
    found = links(page, f"{address}/text\\?")
    assert len(found) == len(rows) == 24
    shown = [says(app.get(link).text) for link in found]
    assert shown == [f"{row['id']} {kind_of(row['file'])}" for row in rows]
    # Values are those of the text, too: one row of each measure, not one of each file.
    one = History(same.store).text(address[-12:], rows[-1]["source"], "5", rows[-1]["file"])
    assert one[0] == rows[-1]["numbers"]
    lines = app.get(f"{address}/texts/values.csv", params={"place": 0}).text
    table = list(csv.DictReader(io.StringIO(lines)))
    assert [(row["file"], row["id"]) for row in table] == [(r["file"], r["id"]) for r in rows]
    assert not any(str(path) in page + lines for path in same.files.values())


@pytest.mark.parametrize("by", ["", "source"])
def test_templates_lead_to_the_text_that_holds_them(
    app: TestClient, same: Workspace, by: str
) -> None:
    asked = TemplatesForm(NAMES, n=4, by=by)
    address = work.run_job("templates", json.loads(json.dumps(asdict(asked))), same, Silent())
    page = app.get(address).text
    seen = set()
    found = links(page, re.escape(address.partition("?")[0]) + r"\?[^\"]*template=")
    assert len(found) > 12
    for template in found[::9]:
        examples = app.get(template).text
        parts = re.findall(r"<blockquote.*?</blockquote>", examples, re.DOTALL)
        for part in parts:
            (link,) = links(part, "/templates")
            plain = re.sub(r"<[^>]*>", "", part)
            shown = says(app.get(link).text)
            kind = shown.rpartition(" ")[2]
            assert f" {kind} " in plain.replace(".", " ")
            seen.add(kind)
    assert seen == set(SENTENCES)


def test_documents_of_an_index_are_known_by_their_ids_alone(
    same: Workspace, tmp_path: Path
) -> None:
    """So Search and Trace may look them up by id: an index takes no id twice."""
    with pytest.raises(InputError, match="in another file"):
        build_index([same.files["cats"], same.files["dogs"]], tmp_path / "one", layers=("lower",))
    build_index([same.files["cats"]], tmp_path / "two", layers=("lower",))
    with pytest.raises(InputError, match="the index already contains a document with the id"):
        add_to_index(tmp_path / "two", open_corpus([same.files["dogs"]]))


def test_a_result_that_does_not_know_the_file_shows_no_text_for_another(
    app: TestClient, same: Workspace
) -> None:
    """Kept by an earlier version."""
    files = {key: str(same.files[key]) for key in ("cats", "dogs")}
    id = History(same.store).add([made()], title="old", files=files)
    page = app.get(f"/compare/result/{id}/text", params={"source": "human", "text": "1"}).text
    assert "several of these files contain a text with the id" in page
    assert "Number" not in page
    id = History(same.store).add([made(seed="1")], title="old", files={"cats": files["cats"]})
    page = app.get(f"/compare/result/{id}/text", params={"source": "human", "text": "1"}).text
    assert says(page) == "1 cats"


def test_a_store_of_an_earlier_version_gets_the_new_column(tmp_path: Path) -> None:
    prepare_store(tmp_path)
    with open_database(tmp_path) as file:
        file.execute("drop table texts")
        file.execute(
            "create table texts (result text, place integer, source text, id text, words integer, "
            "excerpt text, numbers text)"
        )
        file.execute("insert into texts values ('a', 0, 's', '1', 9, 'x', '{}')")
    prepare_store(tmp_path)
    prepare_store(tmp_path)
    assert (tmp_path / FILE).exists()
    (row,), total = History(tmp_path).texts("a", 0)
    assert (row["id"], row["file"], total) == ("1", "", 1)
