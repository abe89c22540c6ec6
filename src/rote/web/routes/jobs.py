"""Run any command with the form of its record; follow, cancel and repeat jobs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import fields
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, StreamingResponse
from pydantic import Field

from rote.core import registry as records
from rote.core.metric import Metric
from rote.corpus import ReadOptions
from rote.web import form_fields
from rote.web.app import ApiQuestion, app_state
from rote.web.compare_form import guess_settings
from rote.web.database import NotStored
from rote.web.files import find_unreadable, first_readable, list_sources
from rote.web.forms import (
    RunForm,
    command_fields,
    find_record,
    form_address,
    input_kind,
    list_commands,
)
from rote.web.job_queue import Job, start_work
from rote.web.render import measure_title, render_page

router = APIRouter()
_RESULTS = 100
"""Kept results that can be chosen."""


class RunQuestion(ApiQuestion):
    """What goes in, and options."""

    inputs: list[str] = Field(
        min_length=1, description="Keys of files or of an index, or ids of stored results"
    )
    options: dict[str, Any] = Field(default={}, description="By name, as /api/run lists them")
    again: bool = Field(default=False, description="Compute even if a result exists")


@router.get("/run", include_in_schema=False)
def commands_page(request: Request) -> Response:
    groups: dict[str, list[dict[str, Any]]] = {}
    for command in _list_commands():
        groups.setdefault(command["group"], []).append(command)
    return render_page(request, "run.html", groups=groups)


@router.get("/run/{name}", include_in_schema=False)
def command_page(request: Request, name: str, tidy: bool = False) -> Response:
    form = RunForm.read(name, request.query_params.multi_items())
    if not request.query_params and input_kind(find_record(name)) == "texts":
        opened = app_state(request).workspace
        first = first_readable(opened.files)
        guessed = guess_settings(first, opened).items()
        usual = ((of, form_fields.format_value(value)) for of, value in guessed)
        form = RunForm.read(name, [*(("input", key) for key in first), *usual])
    return RedirectResponse(form.address, 303) if tidy else _run_response(request, form)


@router.post("/run/{name}", include_in_schema=False)
async def start_command_page(request: Request, name: str) -> Response:
    return await start_work(request, RunForm(name), partial(RunForm.read, name), _run_response)


@router.get("/api/run", tags=["run"], summary="Everything that can be run, with its options")
def list_records() -> list[dict[str, Any]]:
    return [
        {**command, "options": form_fields.describe_fields(command_fields(command["name"]))}
        for command in _list_commands()
    ]


@router.post("/api/run/{name}", tags=["run"], summary="Run a command; returns the job")
def start_run(request: Request, name: str, question: RunQuestion) -> dict[str, Any]:
    form = RunForm.of(name, question.inputs, question.options)
    return app_state(request).jobs.ask(form, again=question.again).to_dict()


def _list_commands() -> list[dict[str, Any]]:
    commands = []
    for name in list_commands():
        record = find_record(name)
        about = {"name": name, "title": record.title, "says": records.summary(name)}
        about |= {"command": " ".join(records.words_of(name)), "group": records.group_of(name)}
        commands.append({**about, "takes": input_kind(record)})
    return sorted(commands, key=lambda command: records.order_of(command["name"]))


def _run_response(
    request: Request, form: RunForm, problem: str = "", status: int = 200
) -> Response:
    app, record = app_state(request), find_record(form.name)
    takes = input_kind(record)
    if takes == "results":
        entries = app.history.entries(limit=_RESULTS)
        inputs = {entry.id: entry.title for entry in entries}
    else:
        known = app.workspace.indexes if takes == "index" else app.workspace.all_files()
        inputs = {key: key.split("~")[0] for key in known}
    files = app.workspace.all_files()
    reads = {entry.name for entry in fields(ReadOptions)} & {*form.options}
    sources = {}
    if isinstance(record, Metric):
        chosen = [files[key] for key in form.inputs if key in files]
        sources = list_sources(chosen, form.options.get("by", ()))
    return render_page(
        request,
        "run_form.html",
        status,
        form=form,
        command=" ".join(records.words_of(form.name)),
        lines=form.lines(),
        # Who says how files are read may choose any.
        blocked={} if reads else find_unreadable(files, takes),
        unread=find_unreadable(files),
        sources=sources,
        record=record,
        says=records.summary(form.name),
        takes=takes,
        inputs=inputs,
        fields=form_fields.fill_fields(command_fields(form.name), form.options),
        grounds=app.workspace.grounds(),
        files=[(f"file:{key}", key.split("~")[0]) for key in files],
        models=list(app.workspace.speakers()),
        problem=problem,
        before=None if problem else app.jobs.done(form),
    )


_TAGS: list[Any] = ["jobs"]
_OFTEN, _ALIVE = 0.3, 15.0
"""Seconds between two looks at a job, and after which a silent stream says that it lives."""


@router.get("/jobs", include_in_schema=False)
def jobs_page(request: Request) -> Response:
    jobs = app_state(request).jobs
    listed = jobs.list()
    rows = [(job, jobs.before(job.id), measure_names(job)) for job in listed]
    under_way = sum(job.open for job in listed)
    return render_page(request, "jobs.html", jobs=rows, under_way=under_way)


def measure_names(job: Job) -> str:
    """What a job measures, where its title does not say it."""
    names = job.settings.get("measures", ()) if job.kind == "compare" else ()
    return ", ".join(map(measure_title, names))


@router.get("/jobs/{id}", include_in_schema=False)
def job_page(request: Request, id: str, stay: bool = False) -> Response:
    """A job that is done leads on to what came out of it."""
    job = app_state(request).jobs.get(id)
    if job.state == "done" and job.result and not stay:
        return RedirectResponse(job.result, 303)
    changed = form_address(job.kind, job.settings)
    before = app_state(request).jobs.before(id)
    return render_page(
        request, "job.html", job=job, before=before, changed=changed, measured=measure_names(job)
    )


@router.post("/jobs/{action}", include_in_schema=False)
def change_all_page(request: Request, action: Literal["cancel", "clear"]) -> Response:
    jobs = app_state(request).jobs
    jobs.cancel_all() if action == "cancel" else jobs.clear()
    return RedirectResponse("/jobs", 303)


@router.post("/jobs/{id}/{action}", include_in_schema=False)
def change_page(
    request: Request, id: str, action: Literal["cancel", "again", "forget"]
) -> Response:
    jobs = app_state(request).jobs
    if action != "forget":
        job = jobs.cancel(id) if action == "cancel" else jobs.again(id)
        return RedirectResponse(job.address, 303)
    jobs.get(id)  # an unknown one is an error
    jobs.forget(id)
    return RedirectResponse("/jobs", 303)


@router.get("/api/jobs", tags=_TAGS, summary="The last jobs, the newest first")
def list_jobs(
    request: Request, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> list[dict[str, Any]]:
    return [_job_data(request, job) for job in app_state(request).jobs.list(limit)]


@router.post("/api/jobs/cancel", tags=_TAGS, summary="Cancel all jobs that wait or run")
def cancel_jobs(request: Request) -> dict[str, int]:
    return {"cancelled": app_state(request).jobs.cancel_all()}


@router.post("/api/jobs/clear", tags=_TAGS, summary="Take ended jobs from the list; results stay")
def clear_jobs(request: Request) -> dict[str, int]:
    return {"cleared": app_state(request).jobs.clear()}


@router.get("/api/jobs/{id}", tags=_TAGS, summary="One job: its state, progress, remarks, result")
def get_job(request: Request, id: str) -> dict[str, Any]:
    return _job_data(request, app_state(request).jobs.get(id))


@router.post("/api/jobs/{id}/cancel", tags=_TAGS, summary="Cancel a job that waits or runs")
def cancel_job(request: Request, id: str) -> dict[str, Any]:
    return _job_data(request, app_state(request).jobs.cancel(id))


@router.post("/api/jobs/{id}/again", tags=_TAGS, summary="Do the same once more, as a new job")
def repeat_job(request: Request, id: str) -> dict[str, Any]:
    return _job_data(request, app_state(request).jobs.again(id))


@router.get(
    "/api/jobs/{id}/events",
    tags=_TAGS,
    summary="The progress of a job as server-sent events, until it ends",
    response_class=StreamingResponse,
)
async def job_events(request: Request, id: str) -> StreamingResponse:
    # An unknown one is an error, not a stream.
    await run_in_threadpool(app_state(request).jobs.get, id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    lines = _event_stream(request, id)
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


async def _event_stream(request: Request, id: str) -> AsyncIterator[str]:
    """A line whenever something has changed; each holds the whole job."""
    last, silent = "", 0.0
    while not await request.is_disconnected():
        # In a thread: the job may have to be read while others write.
        try:
            data = await run_in_threadpool(get_job, request, id)
        except NotStored:
            return  # it was deleted meanwhile: the page, asked for again, says so
        text = json.dumps(data)
        if text != last:
            last, silent = text, 0.0
            yield f"data: {text}\n\n"
        elif silent >= _ALIVE:
            silent = 0.0
            yield ": still here\n\n"
        if not data["open"]:
            return
        await asyncio.sleep(_OFTEN)
        silent += _OFTEN


def _job_data(request: Request, job: Job) -> dict[str, Any]:
    return {**job.to_dict(), "before": app_state(request).jobs.before(job.id)}
