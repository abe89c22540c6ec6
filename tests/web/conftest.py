"""Apps over small files, called without a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from rote.web.app import make_app
from rote.web.job_queue import JobQueue
from rote.web.workspace import Workspace
from tests.kit import write_jsonl
from tests.web.fake_work import COMMAND

PYTHONPATH = os.pathsep.join((str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")))
"""For processes of the app that do the work of the tests."""
HERE = {"base_url": "http://127.0.0.1:8765"}
TEXTS = [
    {"id": f"{source}-{number}", "source": source, "text": f"{line} Text {number} of {source}."}
    for source in ("human", "model")
    for number, line in enumerate(("The cat sat there.", "A dog ran off.", "It rained all day."))
]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "given" / "texts.jsonl"
    path.parent.mkdir()
    return write_jsonl(path, TEXTS)


@pytest.fixture
def opened(tmp_path: Path, texts: Path) -> Workspace:
    return Workspace({}, {"texts.jsonl": texts}, tmp_path / "store", upload_limit=20_000)


Calling = Callable[..., TestClient]


@pytest.fixture
def calling(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calling]:
    """Makes clients of apps, and ends their work."""
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    made: list[JobQueue] = []

    def call(opened: Workspace) -> TestClient:
        app = make_app(opened)
        app.state.jobs.stop()
        app.state.jobs = JobQueue(opened, COMMAND)
        made.append(app.state.jobs)
        return TestClient(app, **HERE, follow_redirects=False)

    yield call
    for jobs in made:
        jobs.stop()


@pytest.fixture
def client(opened: Workspace, calling: Calling) -> TestClient:
    return calling(opened)
