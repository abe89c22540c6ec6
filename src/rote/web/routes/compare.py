"""Compare: choose files and measures, and start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request, Response, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import Field
from starlette.datastructures import FormData
from starlette.datastructures import UploadFile as Uploaded

from rote.core import plugins
from rote.core.errors import RoteError
from rote.web.api import Question
from rote.web.errors import status_of
from rote.web.files import ALL, first_readable, glimpse, sources_of
from rote.web.forms import options as forms
from rote.web.forms.compare import (
    USUAL,
    CompareForm,
    guessed,
    needs,
    offered,
    own_fields,
    settings_fields,
)
from rote.web.forms.options import pairs_of
from rote.web.forms.reading import Reading
from rote.web.jobs.queue import job_response
from rote.web.pages.render import page
from rote.web.state import state
from rote.web.store import uploads
from rote.web.workspace import Workspace

router = APIRouter()
_MOST_FILES = 100


@router.get("/compare", include_in_schema=False)
def compare_page(request: Request, tidy: bool = False, new: bool = False) -> Response:
    """`new`: the files were uploaded just now, and are looked at."""
    opened = state(request).workspace
    query = request.query_params
    if not query:
        first = first_readable(opened.files)
        return _form(request, CompareForm(first, settings=guessed(first, opened)))
    comparison = CompareForm.read(query.multi_items())
    if not query.getlist("measure"):
        comparison = replace(comparison, measures=USUAL)
    if "by" not in query:
        settings = {**guessed(comparison.files, opened), **comparison.settings}
        comparison = replace(comparison, settings=settings)
    # A form sends every field; the address that is passed on holds what differs.
    return (
        RedirectResponse(comparison.address, 303) if tidy else _form(request, comparison, new=new)
    )


@router.post("/compare", include_in_schema=False)
async def start_page(request: Request) -> Response:
    """Start the work, or show the form again with what is wrong."""
    async with request.form(max_files=_MOST_FILES) as form:
        return await run_in_threadpool(_taken, request, form, start=True)


@router.post("/uploads", include_in_schema=False)
async def upload_page(request: Request) -> Response:
    """Keep the files and show the form again with them alone chosen."""
    async with request.form(max_files=_MOST_FILES) as form:
        return await run_in_threadpool(_taken, request, form, start=False)


@router.post("/uploads/remove", include_in_schema=False)
async def remove_page(request: Request) -> Response:
    form = await request.form()
    await run_in_threadpool(uploads.remove, state(request).workspace.store, str(form.get("key")))
    return RedirectResponse("/compare", 303)


def _taken(request: Request, form: FormData, *, start: bool) -> Response:
    """Keep what was uploaded; then start the work, or show the form with the new files chosen and
    what can be guessed from them; or the first of them that somebody has to say more about."""
    pairs, comparison = pairs_of(form), CompareForm(())
    opened = state(request).workspace
    # An empty file field sends a file without a name.
    sent = (one for one in form.getlist("upload") if isinstance(one, Uploaded) and one.filename)
    try:
        comparison = comparison if start else CompareForm.read(pairs)
        new = [_keep_one(request, one, unread=True) for one in sent]
        for key in new:
            if glimpse(opened.file(key), most=ALL).problem:
                return RedirectResponse(Reading().address(key), 303)
        if new and not start:
            return RedirectResponse(
                _chosen(comparison, new, opened).address + "&new=true#files", 303
            )
        comparison = CompareForm.read([*pairs, *(("file", key) for key in new)])
        if not start:
            return RedirectResponse(comparison.address + "#files", 303)
        again = ("again", "yes") in pairs
        return job_response(state(request).jobs.ask(comparison, again=again))
    except RoteError as error:
        return _form(request, comparison, str(error), status_of(error))


def _chosen(comparison: CompareForm, new: Sequence[str], opened: Workspace) -> CompareForm:
    """These files alone; what was said of the fields of others does not hold for them."""
    kept = {
        n: v
        for n, v in comparison.settings.items()
        if n not in ("by", "reference", "within", "cluster")
    }
    return replace(comparison, files=tuple(new), settings={**guessed(new, opened), **kept})


def _keep_one(request: Request, one: Uploaded, *, unread: bool = False) -> str:
    opened = state(request).workspace
    name, limit = one.filename or "", opened.upload_limit
    return uploads.keep(opened.store, name, one.file, limit, unread=unread)


def _form(
    request: Request,
    comparison: CompareForm,
    problem: str = "",
    status: int = 200,
    *,
    new: bool = False,
) -> Response:
    opened = state(request).workspace
    known = opened.all_files()
    looks = {key: glimpse(path) for key, path in known.items()}
    chosen = [looks[key] for key in comparison.files if key in looks] or list(looks.values())
    return page(
        request,
        "compare.html",
        status,
        comparison=comparison,
        problem=problem,
        files=looks,
        given=set(opened.files),
        new=new,
        measures=[_measure(name, comparison) for name in offered()],
        shared=[
            pair
            for pair in forms.filled(settings_fields(), comparison.settings)
            if not pair[0].further or pair[0].name in comparison.settings
        ],
        grounds=opened.grounds(),
        fields=sorted({name for look in chosen for name in look.fields}),
        sources=sources_of(
            [known[key] for key in comparison.files if key in known] or list(known.values()),
            comparison.settings.get("by", ()),
        ),
        blocked={key: look.problem for key, look in looks.items() if look.problem},
        before=state(request).jobs.done(comparison),
        limit=opened.upload_limit,
    )


def _measure(name: str, comparison: CompareForm) -> dict[str, Any]:
    metric = plugins.load("measure", name).METRIC
    own = comparison.own.get(name, {})
    return {
        "name": name,
        "title": metric.title,
        "says": plugins.summary("measure", name),
        "fields": [
            pair
            for pair in forms.filled(own_fields(name), own)
            if not pair[0].further or pair[0].name in own
        ],
        "changed": bool(own),
        "usual": name in USUAL,
        "needs": needs(metric),
    }


class Asked(Question):
    """What is to be measured."""

    files: list[str] = Field(description="Keys of files, as /api/opened lists them")
    measures: list[str] = Field(default=list(USUAL), description="Names, as /api/measures has them")
    corpus: str = Field(
        default="", description="index:KEY or file:KEY, for novelty and originality"
    )
    train: str = Field(default="", description="index:KEY or file:KEY, for overlap")
    settings: dict[str, Any] = Field(
        default={}, description="by, reference, where, … : every setting of `rote report`"
    )
    options: dict[str, dict[str, Any]] = Field(
        default={}, description="Options of single measures: measure -> name -> value"
    )
    again: bool = Field(default=False, description="Compute even if the same was done before")


@router.post("/api/compare", tags=["compare"], summary="Measure files; gives the job that does it")
def start_comparison(request: Request, asked: Asked) -> dict[str, Any]:
    form = CompareForm.of(
        asked.files,
        asked.measures,
        asked.settings,
        asked.options,
        corpus=asked.corpus,
        train=asked.train,
    )
    return state(request).jobs.ask(form, again=asked.again).to_dict()


@router.get("/api/measures", tags=["compare"], summary="The measures and their options")
def list_measures() -> list[dict[str, Any]]:
    shown = []
    for name in offered():
        about = _measure(name, CompareForm(()))
        kept = {key: about[key] for key in ("name", "title", "says", "needs")}
        shown.append({**kept, "options": forms.listed(own_fields(name))})
    return shown


@router.post("/api/uploads", tags=["files"], summary="Upload files of texts; gives their keys")
def upload_files(request: Request, upload: list[UploadFile]) -> dict[str, list[str]]:
    return {"files": [_keep_one(request, one) for one in upload]}


@router.post("/api/uploads/{key}/delete", tags=["files"], summary="Delete a file that was uploaded")
def delete_upload(request: Request, key: str) -> dict[str, int]:
    return {"deleted": int(uploads.remove(state(request).workspace.store, key))}
