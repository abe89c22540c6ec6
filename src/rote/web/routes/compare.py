"""Compare: choose files and measures, and start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from rote.web import compare_form, files, form_fields
from rote.web.app import ApiQuestion, app_state
from rote.web.compare_form import DEFAULT_MEASURES, CompareForm, guess_settings
from rote.web.errors import http_status
from rote.web.files import ALL_RECORDS, first_readable, list_sources, preview_file
from rote.web.form_fields import form_pairs
from rote.web.job_queue import job_response
from rote.web.render import render_page
from rote.web.routes.files import ReadForm
from rote.web.workspace import Workspace

router = APIRouter()
_MOST_FILES = 100


@router.get("/compare", include_in_schema=False)
def compare_page(request: Request, tidy: bool = False, new: bool = False) -> Response:
    """`new`: the files were uploaded just now, and are looked at."""
    opened = app_state(request).workspace
    query = request.query_params
    if not query:
        first = first_readable(opened.files)
        guessed = CompareForm(first, settings=guess_settings(first, opened))
        return _compare_response(request, guessed)
    comparison = CompareForm.read(query.multi_items())
    if not query.getlist("measure"):
        comparison = replace(comparison, measures=DEFAULT_MEASURES)
    if "by" not in query:
        settings = {**guess_settings(comparison.files, opened), **comparison.settings}
        comparison = replace(comparison, settings=settings)
    if tidy:  # a form sends every field; the address that is passed on holds what differs
        return RedirectResponse(comparison.address, 303)
    return _compare_response(request, comparison, new=new)


@router.post("/compare", include_in_schema=False)
@router.post("/uploads", include_in_schema=False)
async def send_form(request: Request) -> Response:
    """Start the work, or keep files and show the form again with them alone chosen."""
    start = request.url.path == "/compare"
    async with request.form(max_files=_MOST_FILES) as form:
        return await run_in_threadpool(_take_form, request, form, start=start)


@router.post("/uploads/remove", include_in_schema=False)
async def remove_page(request: Request) -> Response:
    key, store = str((await request.form()).get("key")), app_state(request).workspace.store
    await run_in_threadpool(files.remove_upload, store, key)
    return RedirectResponse("/compare", 303)


def _take_form(request: Request, form: FormData, *, start: bool) -> Response:
    """Keep what was uploaded; then start the work, or show the form with what can be guessed."""
    pairs, comparison = form_pairs(form), CompareForm(())
    opened = app_state(request).workspace
    # An empty file field sends a file without a name.
    sent = (u for u in form.getlist("upload") if isinstance(u, Uploaded) and u.filename)
    try:
        comparison = comparison if start else CompareForm.read(pairs)
        new = [_store_upload(request, upload, unread=True) for upload in sent]
        for key in new:
            if preview_file(opened.file(key), most=ALL_RECORDS).problem:
                return RedirectResponse(ReadForm().address(key), 303)
        if new and not start:
            address = _choose_files(comparison, new, opened).address
            return RedirectResponse(f"{address}&new=true#files", 303)
        comparison = CompareForm.read([*pairs, *(("file", key) for key in new)])
        if not start:
            return RedirectResponse(comparison.address + "#files", 303)
        again = ("again", "yes") in pairs
        return job_response(app_state(request).jobs.ask(comparison, again=again))
    except RoteError as error:
        return _compare_response(request, comparison, str(error), http_status(error))


def _choose_files(comparison: CompareForm, new: Sequence[str], opened: Workspace) -> CompareForm:
    """These files alone; what was said of the fields of others does not hold for them."""
    of_fields = ("by", "reference", "within", "cluster")
    others = {n: value for n, value in comparison.settings.items() if n not in of_fields}
    return replace(comparison, files=tuple(new), settings={**guess_settings(new, opened), **others})


def _store_upload(request: Request, upload: Uploaded, *, unread: bool = False) -> str:
    opened = app_state(request).workspace
    name, limit = upload.filename or "", opened.upload_limit
    return files.store_upload(opened.store, name, upload.file, limit, unread=unread)


def _compare_response(
    request: Request,
    comparison: CompareForm,
    problem: str = "",
    status: int = 200,
    *,
    new: bool = False,
) -> Response:
    opened = app_state(request).workspace
    known = opened.all_files()
    looks = {key: preview_file(path) for key, path in known.items()}
    chosen = [looks[key] for key in comparison.files if key in looks] or list(looks.values())
    return render_page(
        request,
        "compare.html",
        status,
        comparison=comparison,
        problem=problem,
        files=looks,
        given=set(opened.files),
        new=new,
        measures=[_measure_data(name, comparison) for name in compare_form.offered_measures()],
        shared=_shown_fields(compare_form.settings_fields(), comparison.settings),
        grounds=opened.grounds(),
        fields=sorted({name for look in chosen for name in look.fields}),
        sources=list_sources(
            [known[key] for key in comparison.files if key in known] or list(known.values()),
            comparison.settings.get("by", ()),
        ),
        blocked={key: look.problem for key, look in looks.items() if look.problem},
        before=app_state(request).jobs.done(comparison),
        limit=opened.upload_limit,
    )


def _shown_fields(
    fields: Sequence[form_fields.FormField], values: Mapping[str, Any]
) -> list[tuple[form_fields.FormField, Any]]:
    chosen = [field for field in fields if not field.further or field.name in values]
    return form_fields.fill_fields(chosen, values)


def _measure_data(name: str, comparison: CompareForm) -> dict[str, Any]:
    metric = plugins.load("measure", name).METRIC
    options = comparison.measure_options.get(name, {})
    return {
        "name": name,
        "title": metric.title,
        "says": plugins.summary("measure", name),
        "fields": _shown_fields(compare_form.measure_fields(name), options),
        "changed": bool(options),
        "usual": name in DEFAULT_MEASURES,
        "needs": compare_form.missing_input(metric),
    }


class CompareQuestion(ApiQuestion):
    """What is to be measured."""

    files: list[str] = Field(description="Keys of files, as /api/opened lists them")
    measures: list[str] = Field(
        default=list(DEFAULT_MEASURES), description="Names, as /api/measures has them"
    )
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
    again: bool = Field(default=False, description="Compute even if a result exists")


@router.post("/api/compare", tags=["compare"], summary="Measure files; returns the job")
def start_comparison(request: Request, question: CompareQuestion) -> dict[str, Any]:
    places = {"corpus": question.corpus, "train": question.train}
    form = CompareForm.of(
        question.files, question.measures, question.settings, question.options, **places
    )
    return app_state(request).jobs.ask(form, again=question.again).to_dict()


@router.get("/api/measures", tags=["compare"], summary="The measures and their options")
def list_measures() -> list[dict[str, Any]]:
    rows = []
    for name in compare_form.offered_measures():
        about = _measure_data(name, CompareForm(()))
        shown_fields = {key: about[key] for key in ("name", "title", "says", "needs")}
        rows.append(
            {
                **shown_fields,
                "options": form_fields.describe_fields(compare_form.measure_fields(name)),
            }
        )
    return rows


@router.post("/api/uploads", tags=["files"], summary="Upload files of texts; gives their keys")
def upload_files(request: Request, upload: list[UploadFile]) -> dict[str, list[str]]:
    return {"files": [_store_upload(request, file) for file in upload]}


@router.post("/api/uploads/{key}/delete", tags=["files"], summary="Delete a file that was uploaded")
def delete_upload(request: Request, key: str) -> dict[str, int]:
    return {"deleted": int(files.remove_upload(app_state(request).workspace.store, key))}
