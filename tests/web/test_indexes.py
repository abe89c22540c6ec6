"""An index is built, extended, searched and deleted in the app; what was given stays as it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rote.core.errors import OptionError, UnknownName
from rote.core.progress import Silent
from rote.index.factory import open_index
from rote.web import job_worker
from rote.web.database import prepare_store
from rote.web.forms import IndexForm, make_form
from rote.web.job_queue import JobQueue
from rote.web.workspace import Workspace
from tests.web.asked import made_index
from tests.web.test_jobs import ended


def work(form: IndexForm, opened: Workspace) -> str:
    """As the process of a job does it."""
    return job_worker.run_job(form.kind, json.loads(json.dumps(asdict(form))), opened, Silent())


def test_an_index_is_built_extended_searched_and_deleted(
    client: TestClient, opened: Workspace
) -> None:
    assert work(IndexForm(("texts.jsonl",), "mine"), opened) == "/search?index=mine"
    assert "6 documents" in client.get("/").text
    found = client.get("/search", params={"index": "mine", "q": "the cat sat"}).text
    assert "human-0" in found
    more = b'{"id": "new", "text": "The cat sat on a new mat."}\n'
    (key,) = client.post("/api/uploads", files={"upload": ("more.jsonl", more)}).json()["files"]
    assert work(IndexForm((key,), into="mine"), opened) == "/search?index=mine"
    found = client.get("/search", params={"index": "mine", "q": "a new mat"}).text
    assert "new" in found
    assert open_index(opened.index("mine")).count("the cat sat") == 3
    page = client.get("/indexes").text
    assert ">7</td>" in page
    assert "Extend" in page
    assert "index mine" in client.get("/compare").text, "texts can be held against it"
    assert client.post("/indexes/delete", data={"key": "mine"}).status_code == 303
    assert not list(opened.indexes)
    assert client.post("/api/indexes/mine/delete").status_code == 404


def test_an_index_is_extended_by_the_process_of_a_job(opened: Workspace, texts: Path) -> None:
    """That process is told what was given at the start, and finds what was built since."""
    prepare_store(opened.store)
    more = texts.with_name("more.jsonl")
    more.write_text(texts.read_text().splitlines()[0] + '\n{"id": "new", "text": "A new mat."}\n')
    opened = Workspace({}, {**opened.files, "more.jsonl": more}, opened.store)
    work(IndexForm(("texts.jsonl",), "mine", layers=("lower",)), opened)
    jobs = JobQueue(opened)
    try:
        again = ended(jobs, jobs.ask(IndexForm(("texts.jsonl",), into="mine")))
        assert again.state == "done", again.error
        assert again.remarks[0] == "mine already contains all of this: nothing to add"
        refused = ended(jobs, jobs.ask(IndexForm(("more.jsonl",), into="mine")))
        assert refused.error == (
            "more.jsonl, line 1, field 'id': the index already contains a document with the id "
            "'human-0'. Choose another field with “Field with the id”, or keep the first one "
            "with “Skip bad records”"
        )
        job = ended(jobs, jobs.ask(IndexForm(("more.jsonl",), into="mine", skip=True)))
        assert job.state == "done", job.error
        assert job.remarks[:2] == ("1 document is new in it", "skipped 1 record:")
    finally:
        jobs.stop()
    assert open_index(opened.index("mine")).count("a new mat") == 1


def test_the_page_starts_the_work_and_says_what_is_wrong(
    client: TestClient, opened: Workspace
) -> None:
    started = client.post(
        "/indexes", data={"file": "texts.jsonl", "name": "mine", "layer": "lower"}
    )
    assert started.headers["location"].startswith("/jobs/")
    job = client.post("/api/indexes", json={"files": ["texts.jsonl"], "name": "other"}).json()
    assert job["title"] == "index other: texts.jsonl"
    form = make_form(job["kind"], job["settings"])
    assert IndexForm.read([("file", "texts.jsonl"), ("name", "other")]) == form
    skipping = IndexForm(("texts.jsonl",), "x", skip=True)
    assert 'name="bad" value="skip" checked' in client.get(skipping.address).text
    for data, said in (
        ({"name": "x"}, "no file is chosen"),
        ({"file": "texts.jsonl"}, "needs a name"),
        ({"file": "texts.jsonl", "name": "../up"}, "needs a name"),
        ({"file": "texts.jsonl", "name": "x", "layer": "moods"}, "moods"),
        ({"file": "texts.jsonl", "into": "none"}, "none"),
    ):
        response = client.post("/indexes", data=data)
        assert response.status_code in (400, 404)
        assert said in response.text
        assert 'role="alert"' in response.text
    assert not (opened.store / "up").exists()


def test_what_was_named_at_the_start_is_never_written(
    opened: Workspace, tmp_path: Path, client: TestClient
) -> None:
    given = made_index(tmp_path / "given-index", layers=("lower",))
    app = Workspace({"theirs": given}, opened.files, opened.store)
    with pytest.raises(UnknownName):
        IndexForm(("texts.jsonl",), into="theirs").check(app)
    with pytest.raises(OptionError, match="extend it"):
        IndexForm(("texts.jsonl",), "theirs").check(app)
    assert "theirs" not in app.known.built


def test_what_was_begun_and_not_ended_is_removed(opened: Workspace) -> None:
    half = opened.known.place("half")
    half.mkdir(parents=True)
    (half / "lock").write_text('{"pid": 1, "host": "here"}')
    elsewhere = opened.known.place("being-made")
    elsewhere.mkdir()
    mine = opened.known.place("mine")
    mine.mkdir()
    (mine / "lock").write_text("of another program")
    opened.known.sweep()
    assert not half.exists()
    assert (mine / "lock").read_text() == "of another program"
    assert elsewhere.exists(), "nobody has locked it yet"
    assert not list(opened.indexes)
