"""What was kept and is deleted: whatever led to it says so, and leads to doing it again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi import Request
from fastapi.testclient import TestClient

from rote.web.compare_form import CompareForm
from rote.web.form_fields import form_to_json
from rote.web.forms import TemplatesForm
from rote.web.history import History
from rote.web.job_queue import Job
from rote.web.routes import jobs as job_routes
from rote.web.workspace import Workspace
from tests.web.test_history import made

COMPARISON = CompareForm(("texts.jsonl",), ("lexical",))
TEMPLATES = TemplatesForm(("texts.jsonl",))
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "compare": (form_to_json(COMPARISON), "/compare/result/{id}"),
    "templates": (form_to_json(TEMPLATES), "/templates/kept/{id}"),
}


@pytest.fixture
def history(opened: Workspace, client: TestClient) -> History:
    return History(opened.store)


def finished(client: TestClient, history: History, kind: str) -> Job:
    """A job that is done, with the result that it kept."""
    settings, address = KINDS[kind]
    id = history.add([made()], title="made", kind=kind, settings=settings, address=address)
    jobs = client.app.state.jobs  # type: ignore[attr-defined]
    job = Job(
        id=f"{kind}done",
        kind=kind,
        title="made",
        settings=settings,
        files=["texts.jsonl"],
        indexes=[],
        key=jobs.key(kind, settings, ["texts.jsonl"], []),
        state="done",
        created="2026-01-01T00:00:00+00:00",
        server="none",
        result=address.format(id=id),
        ended="2026-01-01T00:00:00+00:00",
    )
    jobs._ledger.put(job)
    return job


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_whose_result_was_deleted_says_so_and_can_be_done_again(
    client: TestClient, history: History, kind: str
) -> None:
    job = finished(client, history, kind)
    assert job.result is not None
    assert client.get(f"/api/jobs/{job.id}").json()["state"] == "done"
    assert client.get(job.address).headers["location"] == job.result
    assert client.post(f"/api/results/{job.result[-12:]}/delete").json() == {"deleted": 1}
    shown = client.get(f"/api/jobs/{job.id}").json()
    assert (shown["state"], shown["result"]) == ("deleted", None)
    page = client.get(job.address)
    assert page.status_code == 200
    assert "the result was deleted" in page.text
    assert f"/jobs/{job.id}/again" in page.text
    assert "deleted" in client.get("/jobs").text
    # An old link to the result leads to where it can be made again.
    assert client.get(job.result).headers["location"] == job.address
    again = client.post(f"/api/jobs/{job.id}/again").json()
    assert again["id"] != job.id


def test_a_comparison_that_was_deleted_is_measured_anew(
    client: TestClient, history: History
) -> None:
    job = finished(client, history, "compare")
    assert "see the result" in client.get(COMPARISON.address).text
    asked = {"files": ["texts.jsonl"], "measures": ["lexical"]}
    assert client.post("/api/compare", json=asked).json()["id"] == job.id
    history.delete([str(job.result)[-12:]])
    assert "see the result" not in client.get(COMPARISON.address).text
    assert client.post("/api/compare", json=asked).json()["id"] != job.id


def test_templates_that_were_deleted_are_measured_anew(
    client: TestClient, history: History
) -> None:
    job = finished(client, history, "templates")
    assert str(client.get(TEMPLATES.address).headers["location"]) == job.result
    history.delete([str(job.result)[-12:]])
    page = client.get(TEMPLATES.address)
    assert page.status_code == 200
    assert "location" not in page.headers
    answer = client.get("/api/templates", params={"file": "texts.jsonl"})
    assert answer.status_code == 400
    assert "POST /api/templates" in answer.json()["error"]["message"]
    assert '<button type="submit">Find templates</button>' in client.get(TEMPLATES.address).text
    started = client.post("/api/templates", json={"files": ["texts.jsonl"]}).json()
    assert started["id"] != job.id


def test_a_result_that_nothing_made_here_is_said_to_be_gone(
    client: TestClient, history: History
) -> None:
    for address in ("/compare/result/abcdefabcdef", "/templates/kept/abcdefabcdef"):
        page = client.get(address)
        assert page.status_code == 404
        assert "it was deleted, or is in another store" in page.text


def test_a_page_that_follows_a_job_hears_no_more_when_it_is_forgotten(
    client: TestClient, history: History
) -> None:
    job = finished(client, history, "compare")
    client.post(f"/jobs/{job.id}/forget")

    async def connected() -> bool:
        return False

    async def heard() -> list[str]:
        request = Request({"type": "http", "app": client.app})
        request.is_disconnected = connected  # type: ignore[method-assign]
        return [line async for line in job_routes._event_stream(request, job.id)]

    assert asyncio.run(heard()) == []
