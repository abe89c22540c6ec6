"""Long work: how far it is, as a page, as JSON, and as a stream of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, StreamingResponse

from rote.web.forms.run import address_of
from rote.web.jobs.ledger import Job
from rote.web.jobs.queue import Jobs
from rote.web.pages.render import measure_title, page
from rote.web.state import state
from rote.web.store.database import NotKept

router = APIRouter()
_TAGS: list[Any] = ["jobs"]
_OFTEN, _ALIVE = 0.3, 15.0
"""Seconds between two looks at a job, and after which a silent stream says that it lives."""


@router.get("/jobs", include_in_schema=False)
def jobs_page(request: Request) -> Response:
    jobs = state(request).jobs
    listed = jobs.list()
    return page(
        request,
        "jobs.html",
        jobs=[(job, jobs.before(job.id), measured(job)) for job in listed],
        under_way=sum(job.open for job in listed),
    )


def measured(job: Job) -> str:
    """What a job measures, where its title does not say it."""
    names = job.settings.get("measures", ()) if job.kind == "compare" else ()
    return ", ".join(map(measure_title, names))


@router.get("/jobs/{id}", include_in_schema=False)
def job_page(request: Request, id: str, stay: bool = False) -> Response:
    """A job that is done leads on to what came out of it."""
    job = state(request).jobs.get(id)
    if job.state == "done" and job.result and not stay:
        return RedirectResponse(job.result, 303)
    changed = address_of(job.kind, job.settings)
    before = state(request).jobs.before(id)
    return page(
        request, "job.html", job=job, before=before, changed=changed, measured=measured(job)
    )


@router.post("/jobs/cancel", include_in_schema=False)
def cancel_all_and_show(request: Request) -> Response:
    state(request).jobs.cancel_all()
    return RedirectResponse("/jobs", 303)


@router.post("/jobs/clear", include_in_schema=False)
def clear_and_show(request: Request) -> Response:
    state(request).jobs.clear()
    return RedirectResponse("/jobs", 303)


@router.post("/jobs/{id}/cancel", include_in_schema=False)
def cancel_and_show(request: Request, id: str) -> Response:
    state(request).jobs.cancel(id)
    return RedirectResponse(f"/jobs/{id}", 303)


@router.post("/jobs/{id}/again", include_in_schema=False)
def again_and_show(request: Request, id: str) -> Response:
    return RedirectResponse(state(request).jobs.again(id).address, 303)


@router.post("/jobs/{id}/forget", include_in_schema=False)
def forget_and_show(request: Request, id: str) -> Response:
    state(request).jobs.get(id)
    state(request).jobs.forget(id)
    return RedirectResponse("/jobs", 303)


@router.get("/api/jobs", tags=_TAGS, summary="The last jobs, the newest first")
def list_jobs(
    request: Request, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> list[dict[str, Any]]:
    jobs = state(request).jobs
    return [_described(jobs, job) for job in jobs.list(limit)]


@router.post("/api/jobs/cancel", tags=_TAGS, summary="Cancel all jobs that wait or run")
def cancel_jobs(request: Request) -> dict[str, int]:
    return {"cancelled": state(request).jobs.cancel_all()}


@router.post("/api/jobs/clear", tags=_TAGS, summary="Take ended jobs from the list; results stay")
def clear_jobs(request: Request) -> dict[str, int]:
    return {"cleared": state(request).jobs.clear()}


@router.get("/api/jobs/{id}", tags=_TAGS, summary="One job: its state, progress, remarks, result")
def get_job(request: Request, id: str) -> dict[str, Any]:
    return _shown(state(request).jobs, id)


@router.post("/api/jobs/{id}/cancel", tags=_TAGS, summary="Cancel a job that waits or runs")
def cancel_job(request: Request, id: str) -> dict[str, Any]:
    state(request).jobs.cancel(id)
    return _shown(state(request).jobs, id)


@router.post("/api/jobs/{id}/again", tags=_TAGS, summary="Do the same once more, as a new job")
def repeat_job(request: Request, id: str) -> dict[str, Any]:
    return _shown(state(request).jobs, state(request).jobs.again(id).id)


@router.get(
    "/api/jobs/{id}/events",
    tags=_TAGS,
    summary="The progress of a job as server-sent events, until it ends",
    response_class=StreamingResponse,
)
async def job_events(request: Request, id: str) -> StreamingResponse:
    await run_in_threadpool(state(request).jobs.get, id)  # an unknown one is an error, not a stream
    return StreamingResponse(
        _events(request, id),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(request: Request, id: str) -> AsyncIterator[str]:
    """A line whenever something has changed; each holds the whole job."""
    last, silent = "", 0.0
    while not await request.is_disconnected():
        # In a thread: the job may have to be read while others write.
        try:
            shown = await run_in_threadpool(_shown, state(request).jobs, id)
        except NotKept:
            return  # it was deleted meanwhile: the page, asked for again, says so
        text = json.dumps(shown)
        if text != last:
            last, silent = text, 0.0
            yield f"data: {text}\n\n"
        elif silent >= _ALIVE:
            silent = 0.0
            yield ": still here\n\n"
        if not shown["open"]:
            return
        await asyncio.sleep(_OFTEN)
        silent += _OFTEN


def _shown(jobs: Jobs, id: str) -> dict[str, Any]:
    return _described(jobs, jobs.get(id))


def _described(jobs: Jobs, job: Job) -> dict[str, Any]:
    return {**job.to_dict(), "before": jobs.before(job.id)}
