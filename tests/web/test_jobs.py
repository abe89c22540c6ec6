"""Long work runs beside the app, is seen from every page, and ends when it is told to."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rote.core.errors import UnknownName
from rote.web.database import prepare_store
from rote.web.job_queue import Job, JobQueue
from rote.web.job_worker import PipeReporter, stage_progress, steps_of
from rote.web.workspace import Workspace
from tests.kit import wait_until
from tests.web.conftest import PYTHONPATH
from tests.web.fake_work import COMMAND


@pytest.fixture
def jobs(opened: Workspace, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobQueue]:
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    prepare_store(opened.store)
    made = JobQueue(replace(opened, at_once=1), COMMAND)
    yield made
    made.stop()


def test_a_job_runs_to_its_end(jobs: JobQueue) -> None:
    job = ended(jobs, start(jobs, "finish"))
    assert job.state == "done"
    assert job.result == "/history"
    assert job.remarks == ("asked to finish",)
    assert job.progress.stage == "counting"
    assert job.progress.share is None, "the steps of this work are not known"


def test_an_error_for_the_user_is_shown_in_its_own_words(jobs: JobQueue) -> None:
    job = ended(jobs, start(jobs, "fail"))
    assert job.state == "failed"
    assert job.error == "a.jsonl, line 3: there is no text. Add one"


def test_an_unforeseen_error_is_named_and_no_more(jobs: JobQueue) -> None:
    job = ended(jobs, start(jobs, "break"))
    assert job.state == "failed"
    assert "ZeroDivisionError" in str(job.error)
    assert "not foreseen" not in str(job.error)


def test_a_process_that_dies_is_noticed(jobs: JobQueue) -> None:
    job = ended(jobs, start(jobs, "die"))
    assert job.state == "failed"
    assert "exit code 3" in str(job.error)


def test_want_of_memory_is_said(jobs: JobQueue) -> None:
    """The system kills the job's process, or one of its workers."""
    alone = ended(jobs, start(jobs, "be killed"))
    assert "usually out of memory: sample the texts" in str(alone.error)
    worker = ended(jobs, start(jobs, "lose a worker"))
    assert worker.state == "failed"
    assert "a process was killed while counting words" in str(worker.error)
    assert "--jobs 1" in str(worker.error)
    assert "__main__" not in str(worker.error)


def test_cancelling_kills_the_process(jobs: JobQueue, tmp_path: Path) -> None:
    job = start(jobs, "sleep", here=str(tmp_path / "pid"))
    pid = int(appears(tmp_path / "pid"))
    assert jobs.cancel(job.id).state == "cancelled"
    wait_until(lambda: not alive(pid))
    assert jobs.get(job.id).state == "cancelled"
    assert jobs.cancel(job.id).state == "cancelled"


def test_temporary_files_go_with_the_job(jobs: JobQueue) -> None:
    folder = Path(ended(jobs, start(jobs, "say where")).remarks[1])
    wait_until(lambda: not folder.exists() and not jobs._processes)


def test_others_wait_until_there_is_room(jobs: JobQueue, tmp_path: Path) -> None:
    first = start(jobs, "sleep", here=str(tmp_path / "pid"))
    second, third = start(jobs, "finish", n=1), start(jobs, "finish", n=2)
    assert [jobs.get(job.id).state for job in (second, third)] == ["waiting", "waiting"]
    assert [jobs.before(job.id) for job in (second, third)] == [0, 1]
    assert jobs.cancel(third.id).state == "cancelled"
    appears(tmp_path / "pid")
    jobs.cancel(first.id)
    assert ended(jobs, second).state == "done"
    assert jobs.get(third.id).state == "cancelled"


def test_the_same_on_the_same_files_is_not_done_twice(
    jobs: JobQueue, opened: Workspace, texts: Path
) -> None:
    first = ended(jobs, start(jobs, "finish"))
    assert start(jobs, "finish").id == first.id
    assert start(jobs, "finish", n=2).id != first.id
    again = jobs.again(first.id)
    assert again.id != first.id
    ended(jobs, again)
    texts.write_text(texts.read_text() + texts.read_text().replace("human-", "more-"))
    assert start(jobs, "finish").id not in (first.id, again.id)


def test_what_is_under_way_is_joined(jobs: JobQueue, tmp_path: Path) -> None:
    job = start(jobs, "sleep", here=str(tmp_path / "pid"))
    assert start(jobs, "sleep", here=str(tmp_path / "pid")).id == job.id


def test_a_stopped_app_leaves_jobs_interrupted(
    opened: Workspace, jobs: JobQueue, tmp_path: Path
) -> None:
    job = start(jobs, "sleep", here=str(tmp_path / "pid"))
    pid = int(appears(tmp_path / "pid"))
    jobs.stop()
    wait_until(lambda: not alive(pid))
    later = JobQueue(opened, COMMAND)
    assert later.get(job.id).state == "interrupted"
    later.stop()


def test_a_killed_app_leaves_jobs_interrupted(
    opened: Workspace, jobs: JobQueue, tmp_path: Path
) -> None:
    """The lock of its server is gone, whatever the store says."""
    job = start(jobs, "sleep", here=str(tmp_path / "pid"))
    appears(tmp_path / "pid")
    lost = replace(jobs.get(job.id), id="lost", server="a-server-that-was-killed")
    jobs._ledger.put(lost)
    other = JobQueue(opened, COMMAND)
    assert other.get("lost").state == "interrupted"
    assert other.get(job.id).state == "running", "its server lives"
    other.stop()


def test_what_waited_when_the_app_ended_is_interrupted(
    opened: Workspace, jobs: JobQueue, tmp_path: Path
) -> None:
    start(jobs, "sleep", here=str(tmp_path / "pid"))
    stopped, killed = start(jobs, "finish", n=1), start(jobs, "finish", n=2)
    jobs.stop()
    jobs._ledger.put(replace(killed, state="waiting"))
    later = JobQueue(opened, COMMAND)
    try:
        assert later.get(stopped.id).state == later.get(killed.id).state == "interrupted"
        assert ended(later, later.again(stopped.id)).state == "done"
    finally:
        later.stop()


def test_all_is_cancelled_and_what_has_ended_is_cleared(client: TestClient, tmp_path: Path) -> None:
    jobs: JobQueue = client.app.state.jobs  # type: ignore[attr-defined]
    done = ended(jobs, start(jobs, "finish"))
    open_ones = [start(jobs, "sleep", here=str(tmp_path / f"pid{n}")) for n in range(4)]
    pids = [int(appears(tmp_path / f"pid{n}")) for n in range(2)]
    page = client.get("/jobs").text
    assert "Cancel all" in page
    assert page.count("<progress") == 4
    assert client.post("/jobs/cancel").headers["location"] == "/jobs"
    wait_until(lambda: not any(map(alive, pids)))
    assert {jobs.get(job.id).state for job in open_ones} == {"cancelled"}
    assert "Cancel all" not in client.get("/jobs").text
    assert client.post("/api/jobs/cancel").json() == {"cancelled": 0}
    assert client.post("/api/jobs/clear").json() == {"cleared": 5}
    assert client.post("/jobs/clear").status_code == 303
    assert "No jobs yet." in client.get("/jobs").text
    assert start(jobs, "finish").id == done.id, "what it made is found again"


def test_an_unknown_job_is_an_error(jobs: JobQueue) -> None:
    with pytest.raises(UnknownName):
        jobs.get("no-such-job")
    with pytest.raises(UnknownName):
        jobs.start("no-such-work", "x", {})


class TestPages:
    def test_the_page_shows_progress_and_then_what_came_out(
        self, client: TestClient, tmp_path: Path
    ) -> None:
        jobs: JobQueue = client.app.state.jobs  # type: ignore[attr-defined]
        job = start(jobs, "sleep", here=str(tmp_path / "pid"))
        appears(tmp_path / "pid")
        page = client.get(f"/jobs/{job.id}").text
        assert "Counting" in page
        assert 'http-equiv="refresh"' in page, "works without script"
        assert client.get(f"/api/jobs/{job.id}").json()["open"] is True
        assert client.post(f"/jobs/{job.id}/cancel").status_code == 303
        page = client.get(f"/jobs/{job.id}").text
        assert "Cancelled" in page
        assert "Start again" in page
        done = ended(jobs, start(jobs, "finish"))
        assert client.get(f"/jobs/{done.id}").headers["location"] == "/history"
        assert "Done." in client.get(f"/jobs/{done.id}?stay=true").text
        assert len(client.get("/api/jobs").json()) == 2
        assert client.get("/jobs").text.count("/jobs/") >= 2

    def test_events_tell_until_the_end(self, client: TestClient) -> None:
        jobs: JobQueue = client.app.state.jobs  # type: ignore[attr-defined]
        job = start(jobs, "finish")
        with client.stream("GET", f"/api/jobs/{job.id}/events") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            lines = [line for line in response.iter_lines() if line.startswith("data: ")]
        last = json.loads(lines[-1][6:])
        assert last["state"] == "done"
        assert last["result"] == "/history"

    def test_unknown_jobs_are_not_found(self, client: TestClient) -> None:
        for place in ("/jobs/x", "/api/jobs/x", "/api/jobs/x/events"):
            assert client.get(place).status_code == 404
        assert client.post("/api/jobs/x/cancel").status_code == 404

    def test_a_job_is_forgotten(self, client: TestClient) -> None:
        jobs: JobQueue = client.app.state.jobs  # type: ignore[attr-defined]
        job = ended(jobs, start(jobs, "fail"))
        assert "Add one" in client.get(f"/jobs/{job.id}").text
        assert client.post(f"/jobs/{job.id}/forget").status_code == 303
        assert client.get(f"/jobs/{job.id}").status_code == 404


def test_progress_says_share_and_rate() -> None:
    assert stage_progress("reading", 3e6, 12e6, "B", 2.0) == {
        "stage": "reading",
        "share": 0.25,
        "rate": "1.5 MB/s",
    }
    assert stage_progress("x", 0.5, 1, "", 2.0)["rate"] == "", "a share has no rate"
    unknown = stage_progress("y", 10, None, "", 2.0)
    assert (unknown["share"], unknown["rate"]) == (None, "5.0 /s")
    assert stage_progress("z", 0, 0, "", 0.0)["share"] is None


def test_one_bar_and_one_time_left_are_those_of_the_whole_job() -> None:
    told: list[dict[str, Any]] = []
    clock = count(0.0, 0.5)
    reporter = PipeReporter(lambda one: told.append(one["progress"]), lambda: next(clock))
    measures = ("lexical", "semantic", "compression", "keyness")
    reporter.expect(steps_of("compare", {"measures": measures}))
    for title in ("reading", "drawing texts", "reading"):
        with reporter.stage(title, 10) as advance:
            advance(10)
    for name in measures[:3]:
        for _ in range(2 if name == "compression" else 1):
            for part in ("counting", "values", "intervals", "equal sizes", "tests", "listing"):
                with reporter.stage(f"{name}: {part}", 4) as advance:
                    for _ in range(4):
                        advance(1)
                with reporter.stage("nearest sentences", None):
                    pass
    half = len(told)
    with reporter.stage("reading the texts again", 2), reporter.stage("drawing", None):
        pass
    shares = [one["share"] for one in told]
    assert shares == sorted(shares), "a bar does not go back"
    assert 0 < shares[1] < shares[half - 1] < shares[-1] <= 1
    assert len(set(shares)) > 20
    assert told[0]["stage"] == "step 1 of 7: reading"
    assert told[half - 1]["stage"] == "step 4 of 7: nearest sentences"
    assert told[0]["seconds_left"] is None, "nobody knows yet"
    lefts = [one["seconds_left"] for one in told if one["seconds_left"] is not None]
    assert lefts[-1] < max(lefts)
    assert steps_of("run", {"name": "popularity"}) == []
    assert steps_of("run", {"name": "lexical"})[1] == "lexical"


def test_a_job_without_known_steps_tells_how_far_its_stage_is() -> None:
    told: list[dict[str, Any]] = []
    clock = count(0.0, 0.5)
    reporter = PipeReporter(lambda one: told.append(one["progress"]), lambda: next(clock))
    for title in ("loading", "asking"):
        with reporter.stage(title, 4) as advance, reporter.stage("inside", 2) as inner:
            inner(1)
            for _ in range(4):
                advance(1)
    assert {one["share"] for one in told} == {None}, "a bar of one stage is none of the job"
    assert {one["seconds_left"] for one in told} == {None}
    assert "asking, 50 %" in [one["stage"] for one in told]


def test_progress_is_told_now_and_then() -> None:
    told: list[object] = []
    clock = count(0.0, 0.01)
    with PipeReporter(told.append, lambda: next(clock)).stage("s", 100) as advance:
        for _ in range(100):
            advance(1)
    assert 4 <= len(told) <= 8


def start(jobs: JobQueue, do: str, **more: object) -> Job:
    return jobs.start("compare", f"to {do}", {"do": do, **more}, files=["texts.jsonl"])


def ended(jobs: JobQueue, job: Job) -> Job:
    wait_until(lambda: not jobs.get(job.id).open)
    return jobs.get(job.id)


def appears(path: Path) -> str:
    wait_until(lambda: path.exists() and bool(path.read_text()))
    return path.read_text()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        # A killed process stays as a zombie until its parent has looked.
        here = os.path.isdir("/proc")
        return not here or "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
