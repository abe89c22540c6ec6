"""Templates: the patterns of grammar of files or of an index, what they read like, and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from rote.core.errors import OptionError, RoteError
from rote.core.result import Result
from rote.web.api import About, json_response
from rote.web.forms.templates import LAYERS, LONGEST, MOST_LISTED, TemplatesAsked
from rote.web.indexes import index_of
from rote.web.jobs.ledger import Job
from rote.web.jobs.pool import bounded
from rote.web.jobs.queue import Jobs, again_response, job_response
from rote.web.pages import templates as view
from rote.web.pages.render import link, page
from rote.web.pages.texts import find_text, marked, open_files
from rote.web.store.database import NotKept
from rote.web.store.recent import recent_of

router = APIRouter()
_CHOSEN = ("source", "template", "text", "text_file")
Files = Annotated[list[str] | None, Query(alias="file", description="Keys of files")]
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
    counts: dict[str, int] = Field(description="How often it stands in each source")
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
async def templates_page(
    request: Request,
    file: Annotated[list[str] | None, Query()] = None,
    index: str = "",
    layer: str = "pos",
    n: int = 6,
    top: int = 100,
    min_count: int = 2,
    by: str = "",
    reference: str = "",
) -> Response:
    """The form, and the templates of what was chosen."""
    given: dict[str, Any] = _nothing(index)
    try:
        asked = TemplatesAsked(tuple(file or ()), layer, n, top, min_count, by, reference)
    except OptionError as error:
        given |= {"asked": TemplatesAsked(tuple(file or ())), "problem": str(error)}
        return page(request, "templates.html", 400, **given)

    def work() -> dict[str, Any] | str:
        """What is shown, or where it was kept."""
        if index:
            return {"rows": _of_index(request, asked, index)}
        if not asked.files:
            return {}
        finished = _finished(request, asked)
        if finished:
            return _kept_address(request, finished)
        if not asked.is_small(request.app.state.opened):
            return {"long": True}
        files = {key: str(path) for key, path in asked.places(request.app.state.opened).items()}
        return _shown(request, files, _measured(request, asked))

    given["asked"] = asked
    try:
        found = await bounded(request, work)
    except RoteError as error:
        return page(request, "templates.html", 400, **{**given, "problem": str(error)})
    if isinstance(found, str):
        return RedirectResponse(found, 303)
    return page(request, "templates.html", **{**given, **found})


@router.post("/templates", include_in_schema=False)
async def templates_start(request: Request) -> Response:
    """Long work begins when somebody asks for it, not when a link is followed."""
    asked = _from_form(await request.form())
    return job_response(request, await run_in_threadpool(_start, request, asked))


@router.get("/templates/kept/{identity}", include_in_schema=False)
async def templates_kept(request: Request, identity: str) -> Response:
    """A result that was kept."""

    def work() -> dict[str, Any]:
        history = request.app.state.history
        entry = history.get(identity)
        asked = TemplatesAsked.from_dict(entry.settings)
        (result,) = history.results(identity)
        return _nothing("") | {"asked": asked} | _shown(request, entry.files, result)

    try:
        shown = await bounded(request, work)
    except NotKept:
        if leads := await run_in_threadpool(again_response, request):
            return leads
        raise
    return page(request, "templates.html", **shown)


@router.get(
    "/api/templates",
    tags=["templates"],
    summary="The templates of files that are small enough to be measured at once",
    response_model=TemplatesAnswer,
)
async def templates(
    request: Request,
    file: Files = None,
    layer: Annotated[str, Query(description=f"One of {', '.join(LAYERS)}")] = "pos",
    n: N = 6,
    top: Top = 100,
    min_count: Annotated[int, Query(ge=1)] = 2,
    by: Annotated[str, Query(description="Fields that tell sources apart; or: source")] = "",
    reference: Annotated[str, Query(description="Source that others are compared with")] = "",
) -> Response:
    asked = TemplatesAsked(tuple(file or ()), layer, n, top, min_count, by, reference)

    def work() -> dict[str, Any]:
        opened = request.app.state.opened
        if not _finished(request, asked) and not asked.is_small(opened):
            raise OptionError(
                "these files are too large to be measured while you wait: start it with "
                "POST /api/templates, and ask again when the job is done"
            )
        result = _measured(request, asked)
        return {
            "signature": str(result.signature),
            "settings": asked.to_dict(),
            "sources": view.sources(result),
            "templates": {name: view.templates(result, name) for name in result.sources},
        }

    return json_response(await bounded(request, work))


@router.post(
    "/api/templates",
    tags=["templates"],
    summary="Measure the templates of large files in the background; gives a job",
    status_code=202,
)
async def templates_job(request: Request, question: TemplatesQuestion) -> Response:
    asked = TemplatesAsked.from_dict(question.model_dump())
    job = await run_in_threadpool(_start, request, asked)
    return json_response({"id": job.id, "state": job.state, "address": f"/api/jobs/{job.id}"}, 202)


@router.get(
    "/api/templates/index",
    tags=["templates"],
    summary="The most frequent n-grams of a layer of an index",
    response_model=IndexTemplatesAnswer,
)
async def index_templates(
    request: Request, index: str, layer: str = "pos", n: N = 6, top: Top = 100
) -> Response:
    def work() -> dict[str, Any]:
        opened = index_of(request, index)
        rows = view.of_index(opened, index, layer, n, top)
        listed = [{k: v for k, v in row.items() if k != "link"} for row in rows]
        return {**opened.about(index), "layer": layer, "n": n, "templates": listed}

    return json_response(await bounded(request, work))


def _nothing(index: str) -> dict[str, Any]:
    return {
        "key": index, "rows": None, "result": None, "problem": "", "long": False, "link": link,
        "layers": LAYERS,
    }  # fmt: skip


def _of_index(request: Request, asked: TemplatesAsked, key: str) -> list[dict[str, Any]]:
    return view.of_index(index_of(request, key), key, asked.layer, asked.n, asked.top)


def _finished(request: Request, asked: TemplatesAsked) -> str:
    """Where the result of the same work lies, if it was done before."""
    jobs = request.app.state.jobs
    job = jobs.finished(jobs.key("templates", asked.to_dict(), asked.files, ()))
    return job.result if job and job.result else ""


def _kept_address(request: Request, address: str) -> str:
    """The kept result, with what was chosen in it."""
    chosen = {n: request.query_params.get(n) for n in _CHOSEN}
    return link(address, **chosen)


def _measured(request: Request, asked: TemplatesAsked) -> Result:
    opened = request.app.state.opened
    finished = _finished(request, asked)
    if finished:
        kept: list[Result] = request.app.state.history.results(finished.rpartition("/")[2])
        return kept[0]
    return recent_of(request.app).get(asked.version(opened), lambda: asked.measured(opened))


def _shown(request: Request, files: Mapping[str, str], result: Result) -> dict[str, Any]:
    """The chosen source's table, and the chosen template or text."""
    from rote.report import fragments

    given = request.query_params
    source = given.get("source") or next(iter(result.sources))
    rows = view.templates(result, source)
    template, text = given.get("template", ""), given.get("text", "")
    found: dict[str, Any] = {
        "result": result,
        "sources": view.sources(result),
        "source": source,
        "templates": rows,
        "template": template,
        "text": None,
    }
    if template:
        view.known_templates(rows, template)
        found["examples"] = view.examples(result, source, template, files)
        found["readings"] = view.readings(result, source, template)
    if text:
        document = find_text(
            open_files(request.app.state.opened, files), text, given.get("text_file", "")
        )
        evidence = marked(document, source, [result])
        html = fragments.marked_text(evidence, anchor="template")
        found["text"] = {"id": text, "html": html}
    return found


def _from_form(form: Any) -> TemplatesAsked:
    try:
        return TemplatesAsked(
            tuple(str(key) for key in form.getlist("file")),
            str(form.get("layer", "pos")),
            int(form.get("n", 6)),
            int(form.get("top", 100)),
            int(form.get("min_count", 2)),
            str(form.get("by", "")),
            str(form.get("reference", "")),
        )
    except (ValueError, TypeError):
        raise OptionError("n, top and min_count are whole numbers") from None


def _start(request: Request, asked: TemplatesAsked) -> Job:
    if not asked.files:
        raise OptionError("no file is chosen")
    jobs: Jobs = request.app.state.jobs
    return jobs.start("templates", asked.title, asked.to_dict(), files=asked.files)
