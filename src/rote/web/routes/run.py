"""Run: every command there is, each with the form that its record makes; ours and those of other
packages."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core import registry as records
from rote.core.errors import RoteError
from rote.core.metric import Metric
from rote.corpus import ReadOptions
from rote.web.api import Question
from rote.web.errors import status_of
from rote.web.files import first_readable, sources_of, unreadable
from rote.web.forms import options as forms
from rote.web.forms.compare import guessed
from rote.web.forms.options import pairs_of
from rote.web.forms.run import RunForm, fields_of, offered, record_of, takes_of
from rote.web.jobs.queue import job_response
from rote.web.pages.render import page
from rote.web.state import state

router = APIRouter(tags=["run"])
_RESULTS = 100
"""Kept results that can be chosen."""


class RunQuestion(Question):
    """What goes in, and options."""

    inputs: list[str] = Field(
        min_length=1, description="Keys of files or of an index, or ids of kept results"
    )
    options: dict[str, Any] = Field(default={}, description="By name, as /api/run lists them")
    again: bool = Field(default=False, description="Compute even if the same was done before")


@router.get("/run", include_in_schema=False)
def list_page(request: Request) -> Response:
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in _listed():
        groups.setdefault(one["group"], []).append(one)
    return page(request, "run.html", groups=groups)


@router.get("/run/{name}", include_in_schema=False)
def form_page(request: Request, name: str, tidy: bool = False) -> Response:
    form = RunForm.read(name, request.query_params.multi_items())
    if not request.query_params and takes_of(record_of(name)) == "texts":
        opened = state(request).workspace
        first = first_readable(opened.files)
        usual = ((of, forms.written(value)) for of, value in guessed(first, opened).items())
        form = RunForm.read(name, [*(("input", key) for key in first), *usual])
    return RedirectResponse(form.address, 303) if tidy else _page(request, form)


@router.post("/run/{name}", include_in_schema=False)
async def start_page(request: Request, name: str) -> Response:
    """Start the work, or show the form again with what is wrong."""
    pairs = pairs_of(await request.form())

    def start() -> Response:
        form = RunForm(name)
        try:
            form = RunForm.read(name, pairs)
            again = ("again", "yes") in pairs
            return job_response(state(request).jobs.ask(form, again=again))
        except RoteError as error:
            return _page(request, form, str(error), status_of(error))

    return await run_in_threadpool(start)


@router.get("/api/run", summary="Everything that can be run, with its options")
def list_records() -> list[dict[str, Any]]:
    return [{**one, "options": forms.listed(fields_of(one["name"]))} for one in _listed()]


@router.post("/api/run/{name}", summary="Run a command; gives the job that does it")
def start_run(request: Request, name: str, asked: RunQuestion) -> dict[str, Any]:
    form = RunForm.of(name, asked.inputs, asked.options)
    return state(request).jobs.ask(form, again=asked.again).to_dict()


def _listed() -> list[dict[str, Any]]:
    found = []
    for name in offered():
        record = record_of(name)
        about = {"name": name, "title": record.title, "says": records.summary(name)}
        about |= {"command": " ".join(records.words_of(name)), "group": records.group_of(name)}
        found.append({**about, "takes": takes_of(record)})
    return sorted(found, key=lambda one: records.order_of(one["name"]))


def _page(request: Request, form: RunForm, problem: str = "", status: int = 200) -> Response:
    app, record = state(request), record_of(form.name)
    takes = takes_of(record)
    if takes == "results":
        entries = app.history.entries(limit=_RESULTS)
        inputs = {one.id: one.title for one in entries}
    else:
        known = app.workspace.indexes if takes == "index" else app.workspace.all_files()
        inputs = {key: key.split("~")[0] for key in known}
    files = app.workspace.all_files()
    reads = {one.name for one in fields(ReadOptions)} & {*form.options}
    return page(
        request,
        "run_form.html",
        status,
        form=form,
        command=" ".join(records.words_of(form.name)),
        lines=form.lines(),
        # Who says how files are read may choose any.
        blocked={} if reads else unreadable(files, takes),
        unread=unreadable(files),
        sources=sources_of(
            [files[key] for key in form.inputs if key in files], form.options.get("by", ())
        )
        if isinstance(record, Metric)
        else {},
        record=record,
        says=records.summary(form.name),
        takes=takes,
        inputs=inputs,
        fields=forms.filled(fields_of(form.name), form.options),
        grounds=app.workspace.grounds(),
        files=[(f"file:{key}", key.split("~")[0]) for key in files],
        models=list(app.workspace.speakers()),
        problem=problem,
        before=None if problem else app.jobs.done(form),
    )
