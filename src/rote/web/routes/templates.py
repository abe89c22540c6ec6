"""Templates: the patterns of grammar of files or of an index, what they read like, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from rote.annotate.legend import legend
from rote.core.errors import OptionError, RoteError
from rote.core.progress import Silent
from rote.core.result import Result
from rote.core.table import defined
from rote.report.tables.written import rows_as_csv
from rote.web.api import About, answered
from rote.web.errors import AnyJSON
from rote.web.files import glimpse
from rote.web.forms.compare import guessed
from rote.web.forms.options import from_json, pairs_of
from rote.web.forms.templates import LAYERS, LONGEST, MOST_LISTED, TemplatesForm
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
    log_odds: float | None
    p_corrected: float | None
    read: list[str] = Field(description="What it reads like, most frequent first")


class TemplatesQuestion(BaseModel):
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
    """The form, and the templates of what was chosen."""
    opened = state(request).workspace
    pairs = _begun(opened, request.query_params.multi_items())
    form = TemplatesForm(tuple(value for name, value in pairs if name == "file"))

    def work() -> dict[str, Any] | str:
        """What is shown, or where it was kept."""
        if index:
            held = index_of(request, index)
            return {"rows": view.of_index(held, index, form.layer, form.n, form.top)}
        if not form.files:
            return {}
        if finished := _finished(request, form):
            chosen = {name: request.query_params.get(name) for name in _CHOSEN}
            return link(finished, **chosen)
        if not form.is_small(opened):
            return {"long": True}
        files = {key: str(path) for key, path in form.paths(opened).items()}
        return _shown(request, files, _measured(request, form))

    note = ""
    try:
        form = TemplatesForm.read(pairs)
        try:
            found = await bounded(request, work)
        except RoteError as error:
            if not form.reference or "reference" in request.query_params:
                raise
            # Nobody has asked for it: what can be seen without it is shown.
            note = f"Not compared with '{form.reference}': {str(error).partition('. ')[0]}."
            form = replace(form, reference="")
            found = await bounded(request, work)
    except RoteError as error:
        return _page(request, form, 400, key=index, problem=str(error))
    if isinstance(found, str):
        return RedirectResponse(found, 303)
    return _page(request, form, key=index, note=note, **found)


def _begun(opened: Workspace, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What an address leaves open is guessed: the first file, what tells its sources apart, and
    the one that the others are compared with."""
    given = {name for name, _ in pairs}
    if not given & {"file", "index"}:
        pairs = [*pairs, *(("file", key) for key in list(opened.all_files())[:1])]
    files = [value for name, value in pairs if name == "file" and value in opened.all_files()]
    if not files or given & {"by", "reference"}:
        return pairs
    found = guessed(files, opened)
    by, reference = ",".join(found.get("by", ())), found.get("reference", "")
    return [*pairs, ("by", by), ("reference", reference)]


@router.get("/templates/export.{ending}", include_in_schema=False)
async def templates_export(
    request: Request, ending: Literal["csv", "json"], index: str = "", kept: str = ""
) -> Response:
    """What the table shows, of every source, as a file."""

    def work() -> list[dict[str, Any]]:
        if kept:
            (result,) = state(request).history.results(kept)
            return view.exported(result)
        opened = state(request).workspace
        form = TemplatesForm.read(_begun(opened, request.query_params.multi_items()))
        if index:
            rows = view.of_index(index_of(request, index), index, form.layer, form.n, form.top)
            names = ("rank", "template", "count", "documents", "share", "per_million", "example")
            return [{name: row[name] for name in names} for row in rows]
        form.check(opened)
        if not _finished(request, form) and not form.is_small(opened):
            raise OptionError("these files are large: start the work on the page Templates first")
        return view.exported(_measured(request, form))

    rows = await bounded(request, work)
    headers = {"Content-Disposition": f'attachment; filename="templates.{ending}"'}
    if ending == "json":
        return AnyJSON(rows, headers=headers)
    lines = [list(rows[0]), *([*row.values()] for row in rows)] if rows else []
    text = rows_as_csv(lines).encode("utf-8", "replace")
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/templates", include_in_schema=False)
async def templates_start(request: Request) -> Response:
    """Long work begins when somebody asks for it, not when a link is followed."""
    form = TemplatesForm.read(pairs_of(await request.form()))
    return job_response(await run_in_threadpool(state(request).jobs.ask, form))


@router.get("/templates/kept/{identity}", include_in_schema=False)
async def templates_kept(request: Request, identity: str) -> Response:
    """A result that was kept."""

    def work() -> tuple[TemplatesForm, dict[str, Any]]:
        history = state(request).history
        entry = history.get(identity)
        (result,) = history.results(identity)
        return from_json(TemplatesForm, entry.settings), _shown(request, entry.files, result)

    form, shown = await bounded(request, work)
    return _page(request, form, kept=identity, **shown)


@router.get(
    "/api/templates",
    summary="The templates of files that are small enough to be measured at once",
    response_model=TemplatesAnswer,
)
async def templates(request: Request, question: Annotated[TemplatesQuery, Query()]) -> Response:
    form = from_json(TemplatesForm, question.model_dump())

    def work() -> dict[str, Any]:
        if not _finished(request, form) and not form.is_small(state(request).workspace):
            raise OptionError(
                "these files are too large to be measured while you wait: start it with "
                "POST /api/templates, and ask again when the job is done"
            )
        result = _measured(request, form)
        return {
            "signature": str(result.signature),
            "settings": asdict(form),
            "sources": view.sources(result),
            "templates": {name: view.templates(result, name) for name in result.sources},
        }

    return AnyJSON(await bounded(request, work))


@router.post(
    "/api/templates",
    summary="Measure the templates of large files in the background; gives a job",
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
    given |= {"note": ""}
    given |= {"long": False, **shown}
    opened = state(request).workspace
    looks = [glimpse(opened.file(key)) for key in form.files if key in opened.all_files()]
    listed = given["rows"] or given.get("templates") or ()
    tags = {tag for row in listed for tag in row["template"].split()}
    saved = {"kept": given["kept"]} if given["kept"] else {**asdict(form), "file": form.files}
    saved = {**saved, "files": "", "index": given["key"]}
    return page(
        request, "templates.html", status, asked=form, link=link, layers=LAYERS,
        fields=sorted({name for look in looks for name in look.fields}),
        values=sorted({value for look in looks for value in look.of(form.by or "source")}),
        legend=legend(form.layer, tags), spelled=view.spelled,
        saved={ending: link(f"/templates/export.{ending}", **saved) for ending in ("csv", "json")},
        **given,
    )  # fmt: skip


def _finished(request: Request, form: TemplatesForm) -> str:
    """Where the result of the same work lies, if it was done before."""
    job = state(request).jobs.done(form)
    return job.result if job and job.result else ""


def _measured(request: Request, form: TemplatesForm) -> Result:
    app = state(request)
    if finished := _finished(request, form):
        return app.history.results(finished.rpartition("/")[2])[0]
    return app.recent.get(
        form.version(app.workspace), lambda: form.perform(app.workspace, Silent())[0]
    )


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
    }
    if template:
        found |= view.one_template(result, source, template, rows, files)
    if text:
        places = open_files(state(request).workspace, files)
        document = find_text(places, text, given.get("text_file", ""))
        html = fragments.marked_text(marked(document, source, [result]), anchor="template")
        found["text"] = {"id": text, "html": html}
    return found
