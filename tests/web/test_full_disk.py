"""A full disk: said in words that help, and nothing that was kept is lost."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.core.errors import OptionError
from rote.web import files as texts
from rote.web import files as uploads
from rote.web.database import disk_full_message, prepare_store
from rote.web.history import History
from rote.web.job_queue import JobQueue, JobStore
from rote.web.workspace import Workspace
from tests.web.conftest import PYTHONPATH, Calling
from tests.web.fake_work import COMMAND
from tests.web.test_history import made
from tests.web.test_jobs import ended

FULL = [
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Disk quota exceeded"),
    sqlite3.OperationalError("database or disk is full"),
]
Asking = Callable[[TestClient], Any]
WRITING: dict[str, tuple[Any, str, Asking]] = {
    "upload": (uploads, "_move_file", lambda client: _upload(client)),
    "upload page": (
        uploads,
        "_move_file",
        lambda c: c.post("/uploads", files={"upload": ("a.txt", b"Some words.")}),
    ),
    "compare": (JobStore, "put", lambda c: c.post("/api/compare", json={"files": ["texts.jsonl"]})),
    "compare page": (JobStore, "put", lambda c: _compare(c)),
    "templates": (JobStore, "put", lambda c: c.post("/templates", data={"file": "texts.jsonl"})),
    "history": (History, "delete", lambda c: c.post("/api/results/abc/delete")),
    "trace": (texts, "write_atomically", lambda c: c.post("/trace", data={"text": "Some words."})),
}


def _compare(client: TestClient) -> Any:
    return client.post("/compare", data={"file": "texts.jsonl", "measure": "lexical", "by": ""})


def _upload(client: TestClient) -> Any:
    return client.post("/api/uploads", files={"upload": ("a.txt", b"Some words.")})


TRIED = [*((what, FULL[0]) for what in WRITING), *(("compare", error) for error in FULL[1:])]


@pytest.mark.parametrize(("what", "error"), TRIED)
def test_every_page_that_writes_says_that_the_disk_is_full(
    client: TestClient,
    opened: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    error: Exception,
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    holder, name, ask = WRITING[what]
    monkeypatch.setattr(holder, name, refuse)
    answer = ask(client)
    assert answer.status_code == 507
    assert "the disk is full" in answer.text
    assert str(opened.store) in answer.text
    assert "Free some space" in answer.text
    monkeypatch.undo()
    assert client.get("/jobs").status_code == 200
    assert client.get("/api/jobs").json() == [], "nothing was begun that could not be kept"


def test_what_has_nothing_to_do_with_the_disk_is_no_full_disk(tmp_path: Path) -> None:
    for error in (OSError(errno.EACCES, "Permission denied"), KeyError("full"), RecursionError()):
        assert disk_full_message(error, (tmp_path,)) == ""
    assert disk_full_message(sqlite3.OperationalError("disk I/O error"), (tmp_path,)) == ""


def test_the_folder_that_the_system_names_is_named(tmp_path: Path) -> None:
    error = OptionError("cannot be written")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", "/far/away/file")
    assert "no space left in /far/away." in disk_full_message(error, (tmp_path,))


@pytest.mark.parametrize("do", ["fill", "fill the store"])
def test_work_that_fills_the_disk_says_so(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    prepare_store(opened.store)
    jobs = JobQueue(opened, COMMAND)
    job = ended(jobs, jobs.start("compare", "t", {"do": do}))
    jobs.stop()
    assert job.state == "failed"
    assert "the disk is full" in job.error
    assert str(opened.store) in job.error


def test_jobs_end_although_it_cannot_be_written_down(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    prepare_store(opened.store)
    jobs = JobQueue(replace(opened, at_once=0), COMMAND)
    job = jobs.start("compare", "t", {"do": "nothing"})

    def refuse(*_: Any) -> None:
        raise FULL[2]

    with monkeypatch.context() as full:
        full.setattr(JobStore, "put", refuse)
        jobs.cancel(job.id)
        assert [one.state for one in jobs.list()] == ["cancelled"]
        assert jobs.get(job.id).state == "cancelled"
    other = jobs.start("compare", "t", {"do": "another thing"})
    jobs.cancel(other.id)
    assert [one.state for one in JobStore(opened.store).list()] == ["cancelled"] * 2
    jobs.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Two megabytes, where tests may mount them."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        done = subprocess.run(mounting, capture_output=True, check=False).returncode
    except FileNotFoundError:
        done = 1
    if done:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    assert shutil.disk_usage(path).free < 4096


def test_a_disk_that_is_full_in_truth(
    opened: Workspace, small_disk: Path, calling: Calling
) -> None:
    store = small_disk / "store"
    client = calling(replace(opened, store=store, at_once=0))
    kept = History(store).add([made()], title="made before")
    first = client.post("/api/compare", json={"files": ["texts.jsonl"]}).json()
    _fill(small_disk / "fill")
    for page in ("/", "/jobs", "/history", f"/jobs/{first['id']}", "/api/jobs", "/compare"):
        assert client.get(page).status_code == 200, page
    assert "made before" in client.get("/history").text
    texts = {"upload": ("a.txt", io.BytesIO(b"Some words. " * 1_000))}
    asked = {"files": ["texts.jsonl"], "measures": ["lexical"]}
    for answer in (
        client.post("/api/uploads", files=texts),
        client.post("/api/compare", json=asked),
        client.post("/api/compare", json=asked),
    ):
        assert answer.status_code == 507
        assert f"the disk is full: no space left in {store}" in answer.text
    assert len(client.get("/api/jobs").json()) == 1
    client.post(f"/api/jobs/{first['id']}/cancel")
    assert client.get("/api/jobs").json()[0]["state"] == "cancelled"
    os.unlink(small_disk / "fill")
    assert client.post("/api/compare", json=asked).status_code == 200
    assert len(client.get("/api/jobs").json()) == 2
    assert _upload(client).status_code == 200
    assert client.post(f"/api/results/{kept}/delete").json() == {"deleted": 1}


def test_an_app_that_is_started_on_a_full_disk_says_so(small_disk: Path) -> None:
    _fill(small_disk / "fill")
    with pytest.raises(OptionError, match="the disk is full"):
        prepare_store(small_disk / "store")
