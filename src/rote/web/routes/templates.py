"""Templates: the patterns of grammar of files or of an index, what they read like, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from rote.annotate.legend import legend
from rote.core.errors import OptionError, RoteError
from rote.core.result import Result
from rote.core.table import defined
from rote.report.tables.written import rows_as_csv
from rote.web.api import About, Question, answered
from rote.web.errors import AnyJSON, status_of
from rote.web.files import first_readable, glimpse, sources_of, unreadable
from rote.web.forms.compare import guessed
from rote.web.forms.options import from_json, pairs_of
from rote.web.forms.templates import LAYERS, LEFT_OUT, LONGEST, MOST_LISTED, TemplatesForm
from rote.web.indexes import OpenIndex
from rote.web.jobs.queue import job_response
from rote.web.pages import templates as view
from rote.web.pages.render import link, page
from rote.web.pages.templates import find_text, marked, open_files
from rote.web.state import bounded, index_of, state
from rote.web.workspace import Workspace

router = APIRouter(tags=["templates"])
_CHOSEN = ("source", "template", "text", "text_file")
N = Annotated[int, Query(ge=1, le=LONGEST, description="Items of a template")]
Top = Annotated[int, Query(ge=1, le=MOST_LISTED, description="Templates of a source")]


class SourceValues(BaseModel):
    source: str
    texts: int
    words: int
    rate: float | None = Field(description="Share of texts with a template")
    per_token: float | None
    distinct: float | None
    cr: float | None = Field(description="Compression ratio of the layer")
    length: float | None = Field(description="Mean length in words")
    intervals: dict[str, tuple[float | None, float | None]]


class TemplateRow(BaseModel):
    rank: int
    template: str
    count: int
    texts: int
    counts: dict[str, int] = Field(description="How often it occurs in each source")
    share: float | None = Field(description="Share of the source's texts that hold it")
    z: float | None = Field(description="Log-odds by their standard error; the order of rows")
    log_odds: float | None
    p_corrected: float | None
    read: list[str] = Field(description="What it reads like, most frequent first")


class TemplatesQuestion(Question):
    """Which templates are measured, of which files."""

    files: list[str] = Field(min_length=1, description="Keys of files, as /api/opened lists them")
    layer: str = Field("pos", description=f"One of {', '.join(LAYERS)}")
    n: int = Field(6, ge=1, le=LONGEST, description="Items of a template")
    top: int = Field(100, ge=1, le=MOST_LISTED, description="Templates of a source")
    min_count: int = Field(2, ge=1)
    by: str = Field("", description="Fields that tell sources apart; or: source")
    reference: str = Field("", description="Source that others are compared with")


class TemplatesQuery(TemplatesQuestion):
    """The same in an address."""

    files: list[str] = Field([], alias="file", description="Keys of files")


class TemplatesAnswer(BaseModel):
    """The templates of files, by source."""

    signature: str
    settings: dict[str, Any]
    sources: list[SourceValues]
    templates: dict[str, list[TemplateRow]]


class IndexTemplate(BaseModel):
    rank: int
    items: list[str]
    template: str
    count: int
    documents: int | None
    share: float | None = Field(description="Share of the index's documents that hold it")
    per_million: float
    example: str | None


class IndexTemplatesAnswer(About):
    layer: str
    n: int
    templates: list[IndexTemplate]


@router.get("/templates", include_in_schema=False)
async def templates_page(request: Request, index: str = "") -> Response:
    """The form, or what came of the same settings; the templates of an index."""
    opened = state(request).workspace
    pairs = _begun(opened, request.query_params.multi_items())
    form = TemplatesForm(tuple(value for name, value in pairs if name == "file"))

    def work() -> dict[str, Any] | str:
        """What is shown, or where it is to be seen."""
        if index:
            held = index_of(request, index)
            return {"rows": view.of_index(held, index, form.layer, form.n, form.top)}
        job = state(request).jobs.same(form) if form.files else None
        if job is None:
            return {}
        chosen = {name: request.query_params.get(name) for name in _CHOSEN}
        return link(job.result, **chosen) if job.result else job.address

    try:
        form = TemplatesForm.read(pairs)
        found = await bounded(request, work)
    except RoteError as error:
        return _page(request, form, 400, key=index, problem=str(error))
    if isinstance(found, str):
        return RedirectResponse(found, 303)
    return _page(request, form, key=index, **found)


def _begun(opened: Workspace, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What an address leaves open is guessed: the first file, what tells its sources apart, and
    the one that the others are compared with."""
    given = {name for name, _ in pairs}
    if not given & {"file", "index"}:
        pairs = [*pairs, *(("file", key) for key in first_readable(opened.all_files()))]
    files = [value for name, value in pairs if name == "file" and value in opened.all_files()]
    if not files or given & {"by", "reference"}:
        return pairs
    found = guessed(files, opened)
    by, reference = ",".join(found.get("by", ())), found.get("reference", "")
    return [*pairs, ("by", by), ("reference", reference), ("guess", reference)]


@router.get("/templates/export.{ending}", include_in_schema=False)
async def templates_export(
    request: Request, ending: Literal["csv", "json"], index: str = "", kept: str = ""
) -> Response:
    """What the table shows, of every source, as a file."""

    def work() -> list[dict[str, Any]]:
        if kept:
            return view.exported(_kept(request, kept))
        form = TemplatesForm.read(request.query_params.multi_items())
        rows = view.of_index(index_of(request, index), index, form.layer, form.n, form.top)
        names = ("rank", "template", "count", "documents", "share", "per_million", "example")
        return [{name: row[name] for name in names} for row in rows]

    rows = await bounded(request, work)
    headers = {"Content-Disposition": f'attachment; filename="templates.{ending}"'}
    if ending == "json":
        return AnyJSON(rows, headers=headers)
    lines = [list(rows[0]), *([*row.values()] for row in rows)] if rows else []
    text = rows_as_csv(lines).encode("utf-8", "replace")
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/templates", include_in_schema=False)
async def templates_start(request: Request) -> Response:
    """Work begins when somebody asks for it, not when a link is followed."""
    pairs, form = pairs_of(await request.form()), TemplatesForm()
    try:
        form = TemplatesForm.read(pairs)
        return job_response(await run_in_threadpool(state(request).jobs.ask, form))
    except RoteError as error:
        return _page(request, form, status_of(error), problem=str(error))


@router.get("/templates/kept/{identity}", include_in_schema=False)
async def templates_kept(request: Request, identity: str) -> Response:
    """A result that was kept."""

    def work() -> tuple[TemplatesForm, dict[str, Any]]:
        entry, result = state(request).history.get(identity), _kept(request, identity)
        return from_json(TemplatesForm, entry.settings), _shown(request, entry.files, result)

    form, shown = await bounded(request, work)
    return _page(request, form, kept=identity, **shown)


@router.get(
    "/api/templates",
    summary="The templates of files, once a job (POST) has measured them",
    response_model=TemplatesAnswer,
)
async def templates(request: Request, question: Annotated[TemplatesQuery, Query()]) -> Response:
    form = from_json(TemplatesForm, question.model_dump())

    def work() -> dict[str, Any]:
        job = state(request).jobs.same(form)
        if job is None:
            raise OptionError("no result yet: start the work with POST /api/templates")
        if not job.result:
            raise OptionError(f"the work is under way: ask again when /api{job.address} is done")
        result = _kept(request, job.result.rpartition("/")[2])
        return {
            "signature": str(result.signature),
            "settings": asdict(form),
            "sources": view.sources(result),
            "templates": {name: view.templates(result, name) for name in result.by_source},
        }

    return AnyJSON(await bounded(request, work))


@router.post(
    "/api/templates",
    summary="Measure the templates of files; gives the job that does it",
    status_code=202,
)
async def templates_job(request: Request, question: TemplatesQuestion) -> Response:
    form = from_json(TemplatesForm, question.model_dump())
    job = await run_in_threadpool(state(request).jobs.ask, form)
    return AnyJSON({"id": job.id, "state": job.state, "address": f"/api/jobs/{job.id}"}, 202)


@router.get(
    "/api/templates/index",
    summary="The most frequent n-grams of a layer of an index",
    response_model=IndexTemplatesAnswer,
)
async def index_templates(
    request: Request, index: str, layer: str = "pos", n: N = 6, top: Top = 100
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        rows = view.of_index(opened, index, layer, n, top)
        listed = [{k: v for k, v in row.items() if k != "link"} for row in rows]
        return {"layer": layer, "n": n, "templates": listed}

    return await answered(request, index, find)


def _page(request: Request, form: TemplatesForm, status: int = 200, **shown: Any) -> Response:
    given: dict[str, Any] = {"key": "", "rows": None, "result": None, "problem": "", "kept": ""}
    given |= {"note": "", **shown}
    opened = state(request).workspace
    looks = [glimpse(opened.file(key)) for key in form.files if key in opened.all_files()]
    listed = given["rows"] or given.get("templates") or ()
    tags = {tag for row in listed for tag in row["template"].split()}
    of_index = {"index": given["key"], "layer": form.layer, "n": form.n, "top": form.top}
    saved = {"kept": given["kept"]} if given["kept"] else of_index
    return page(
        request,
        "templates.html",
        status,
        asked=form,
        link=link,
        layers=LAYERS,
        fields=sorted({name for look in looks for name in look.fields}),
        values=sources_of(
            [opened.file(key) for key in form.files if key in opened.all_files()],
            [part.strip() for part in (form.by or "source").split(",")],
        ),
        blocked=unreadable(opened.all_files()),
        legend=legend(form.layer, tags),
        spelled=view.spelled,
        saved={ending: link(f"/templates/export.{ending}", **saved) for ending in ("csv", "json")},
        **given,
    )


def _kept(request: Request, identity: str) -> Result:
    (result,) = state(request).history.results(identity)
    return result


def _shown(request: Request, files: Mapping[str, str], result: Result) -> dict[str, Any]:
    """The chosen source's table, and the chosen template or text."""
    from rote.report import fragments

    given = request.query_params
    source = given.get("source") or view.opening(result)
    rows = view.templates(result, source)
    template, text = given.get("template", ""), given.get("text", "")
    found: dict[str, Any] = {
        "result": result,
        "sources": view.sources(result),
        "source": source,
        "templates": rows,
        "tested": any(defined(row["p_corrected"]) for row in rows),
        "template": template,
        "text": None,
        "note": next((line for line in result.notes if line.startswith(LEFT_OUT)), ""),
    }
    if template:
        found |= view.one_template(result, source, template, rows, files)
    if text:
        places = open_files(state(request).workspace, files)
        document = find_text(places, text, given.get("text_file", ""))
        html = fragments.marked_text(marked(document, source, [result]), anchor="template")
        found["text"] = {"id": text, "html": html}
    return found
