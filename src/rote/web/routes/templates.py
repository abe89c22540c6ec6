"""Templates: the patterns of grammar of files or of an index, what they read like, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from rote.annotate.tag_glossary import LEGEND, legend
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.result import Result
from rote.core.table import defined
from rote.report import fragments
from rote.report.export import rows_csv
from rote.web.app import (
    ApiQuestion,
    IndexState,
    answer_from_index,
    app_state,
    open_index_of,
    run_in_pool,
)
from rote.web.compare_form import guess_settings
from rote.web.errors import SafeJSONResponse
from rote.web.files import file_name, find_unreadable, first_readable, list_sources, preview_file
from rote.web.form_fields import form_from_json
from rote.web.forms import MAX_LENGTH, MOST_LISTED, NOT_COMPARED, TEMPLATE_LAYERS, TemplatesForm
from rote.web.job_queue import start_work
from rote.web.render import make_link, render_page
from rote.web.search_views import top_view
from rote.web.stored_results import find_text, mark_templates, open_files
from rote.web.workspace import OpenIndex, Workspace

Row = Mapping[str, Any]
_MATCHES = 3
"""Readings of a template that are shown in the table."""


def source_rows(result: Result) -> list[dict[str, Any]]:
    rows = []
    for name, source in result.by_source.items():
        intervals = {value: list(pair) for value, pair in source.intervals.items()}
        size = {"texts": source.texts, "words": source.words}
        rows.append({"source": name, **size, **source.values, "intervals": intervals})
    return rows


def first_source(result: Result) -> str:
    """The source that is shown first: not the reference, of others the one with most templates."""
    others = {name: s for name, s in result.by_source.items() if name != result.reference}

    def rate(name: str) -> float:
        rate = others[name].values.get("rate", math.nan)
        return -math.inf if math.isnan(rate) else rate

    return max(others, key=rate) if others else next(iter(result.by_source))


def spell_tags(layer: str, template: str) -> str:
    known = LEGEND.get(layer, {})
    return ", ".join(known[tag][0] for tag in template.split() if tag in known)


def export_templates(result: Result) -> list[dict[str, Any]]:
    layer = dict(result.signature.settings).get("layer", "")
    rows = []
    for source in result.by_source:
        for row in template_rows(result, source):
            fields = {name: value for name, value in row.items() if name not in ("counts", "read")}
            meaning, read = spell_tags(layer, row["template"]), " · ".join(row["read"])
            rows.append({"source": source, **fields, "meaning": meaning, "read": read})
    return rows


def template_rows(result: Result, source: str) -> list[dict[str, Any]]:
    """A source's templates: first those that set it apart, or the most frequent."""
    if source not in result.by_source:
        raise UnknownName("source", source, result.by_source)
    texts = result.by_source[source].texts
    read: dict[str, list[Row]] = {}
    for row in result.tables["matches"]:
        if row["source"] == source:
            read.setdefault(row["template"], []).append(row)
    rows = [
        {
            **{name: row[name] for name in ("rank", "template", "count", "texts", "counts")},
            "share": row["texts"] / texts if texts else float("nan"),
            "z": row["z"],
            "log_odds": row["log_odds"],
            "p_corrected": row["p_corrected"],
            "read": [match["text"] for match in read.get(row["template"], ())[:_MATCHES]],
        }
        for row in result.tables["templates"]
        if row["source"] == source
    ]
    # Log-odds are much the same for all that the reference lacks; z weighs how often they occur.
    return sorted(rows, key=lambda row: -row["z"] if defined(row["z"]) else math.inf)


def template_context(
    result: Result, source: str, template: str, rows: Sequence[Row], files: Mapping[str, str]
) -> dict[str, Any]:
    """Sentences that hold a template, cut at its edges, and the words that stand in its place."""
    names = [row["template"] for row in rows]
    if template not in names:
        raise UnknownName("template", template, names)

    def own(table: str) -> list[Row]:
        rows = result.tables[table]
        return [row for row in rows if (row["source"], row["template"]) == (source, template)]

    examples = []
    for row in own("examples"):
        first, last = row["start"] - row["sentence_start"], row["end"] - row["sentence_start"]
        sentence = row["sentence"]
        example = {"before": sentence[:first], "match": sentence[first:last]}
        file = file_name(row["file"], files) if "file" in row else ""
        examples.append({**example, "after": sentence[last:], "id": row["id"], "file": file})
    return {"examples": examples, "readings": own("matches")}


def index_rows(opened: OpenIndex, key: str, layer: str, n: int, top: int) -> list[dict[str, Any]]:
    documents, rows = opened.manifest.documents, []
    for row in top_view(opened, key, n, top, layer):
        known = documents and row["documents"] is not None
        share = row["documents"] / documents if known else None
        rows.append({**row, "template": " ".join(row["items"]), "share": share})
    return rows


router = APIRouter(tags=["templates"])
_CHOSEN = ("source", "template", "text", "text_file")
N = Annotated[int, Query(ge=1, le=MAX_LENGTH, description="Items of a template")]
Top = Annotated[int, Query(ge=1, le=MOST_LISTED, description="Templates of a source")]


class TemplateValues(BaseModel):
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
    share: float | None = Field(description="Share of the source's texts that contain it")
    z: float | None = Field(description="Log-odds by their standard error; the order of rows")
    log_odds: float | None
    p_corrected: float | None
    read: list[str] = Field(description="What it reads like, most frequent first")


class TemplatesQuestion(ApiQuestion):
    """Which templates are measured, of which files."""

    files: list[str] = Field(min_length=1, description="Keys of files, as /api/opened lists them")
    layer: str = Field("pos", description=f"One of {', '.join(TEMPLATE_LAYERS)}")
    n: int = Field(6, ge=1, le=MAX_LENGTH, description="Items of a template")
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
    sources: list[TemplateValues]
    templates: dict[str, list[TemplateRow]]


class IndexTemplate(BaseModel):
    rank: int
    items: list[str]
    template: str
    count: int
    documents: int | None
    share: float | None = Field(description="Share of the index's documents that contain it")
    per_million: float
    example: str | None


class IndexTemplatesAnswer(IndexState):
    layer: str
    n: int
    templates: list[IndexTemplate]


@router.get("/templates", include_in_schema=False)
async def templates_page(request: Request, index: str = "") -> Response:
    """The form, or what came of the same settings; the templates of an index."""
    opened = app_state(request).workspace
    pairs = _guess_pairs(opened, request.query_params.multi_items())
    form = TemplatesForm(tuple(value for name, value in pairs if name == "file"))

    def work() -> dict[str, Any] | str:
        """What is shown, or where it is to be seen."""
        if index:
            opened_index = open_index_of(request, index)
            return {"rows": index_rows(opened_index, index, form.layer, form.n, form.top)}
        job = app_state(request).jobs.same(form) if form.files else None
        if job is None:
            return {}
        chosen = {name: request.query_params.get(name) for name in _CHOSEN}
        return make_link(job.result, **chosen) if job.result else job.address

    try:
        form = TemplatesForm.read(pairs)
        view = await run_in_pool(request, work)
    except RoteError as error:
        return _templates_response(request, form, str(error), 400, key=index)
    if isinstance(view, str):
        return RedirectResponse(view, 303)
    return _templates_response(request, form, key=index, **view)


def _guess_pairs(opened: Workspace, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """An address with what it leaves open: the first file, its field of sources, the reference."""
    names = {name for name, _ in pairs}
    if not names & {"file", "index"}:
        pairs = [*pairs, *(("file", key) for key in first_readable(opened.all_files()))]
    files = [value for name, value in pairs if name == "file" and value in opened.all_files()]
    if not files or names & {"by", "reference"}:
        return pairs
    guess = guess_settings(files, opened)
    by, reference = ",".join(guess.get("by", ())), guess.get("reference", "")
    return [*pairs, ("by", by), ("reference", reference), ("guess", reference)]


@router.get("/templates/export.{ending}", include_in_schema=False)
async def templates_export(
    request: Request, ending: Literal["csv", "json"], index: str = "", kept: str = ""
) -> Response:
    """What the table shows, of every source, as a file."""

    def work() -> list[dict[str, Any]]:
        if kept:
            return export_templates(_stored_result(request, kept))
        form = TemplatesForm.read(request.query_params.multi_items())
        rows = index_rows(open_index_of(request, index), index, form.layer, form.n, form.top)
        names = ("rank", "template", "count", "documents", "share", "per_million", "example")
        return [{name: row[name] for name in names} for row in rows]

    rows = await run_in_pool(request, work)
    headers = {"Content-Disposition": f'attachment; filename="templates.{ending}"'}
    if ending == "json":
        return SafeJSONResponse(rows, headers=headers)
    lines = [list(rows[0]), *([*row.values()] for row in rows)] if rows else []
    text = rows_csv(lines).encode("utf-8", "replace")
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.post("/templates", include_in_schema=False)
async def templates_start(request: Request) -> Response:
    """Work begins when somebody asks for it, not when a link is followed."""
    return await start_work(request, TemplatesForm(), TemplatesForm.read, _templates_response)


@router.get("/templates/kept/{identity}", include_in_schema=False)
async def templates_kept(request: Request, identity: str) -> Response:
    """A result that was kept."""

    def work() -> tuple[TemplatesForm, dict[str, Any]]:
        entry, result = app_state(request).history.get(identity), _stored_result(request, identity)
        context = _result_context(request, entry.files, result)
        return form_from_json(TemplatesForm, entry.settings), context

    form, view = await run_in_pool(request, work)
    return _templates_response(request, form, kept=identity, **view)


@router.get(
    "/api/templates",
    summary="The templates of files, once a job (POST) has measured them",
    response_model=TemplatesAnswer,
)
async def get_templates(request: Request, question: Annotated[TemplatesQuery, Query()]) -> Response:
    form = form_from_json(TemplatesForm, question.model_dump())

    def work() -> dict[str, Any]:
        job = app_state(request).jobs.same(form)
        if job is None:
            raise OptionError("no result yet: start the job with POST /api/templates")
        if not job.result:
            raise OptionError(f"the job is running: ask again when /api{job.address} is done")
        result = _stored_result(request, job.result.rpartition("/")[2])
        return {
            "signature": str(result.signature),
            "settings": asdict(form),
            "sources": source_rows(result),
            "templates": {name: template_rows(result, name) for name in result.by_source},
        }

    return SafeJSONResponse(await run_in_pool(request, work))


@router.post(
    "/api/templates",
    summary="Measure the templates of files; returns the job",
    status_code=202,
)
async def templates_job(request: Request, question: TemplatesQuestion) -> Response:
    form = form_from_json(TemplatesForm, question.model_dump())
    job = await run_in_threadpool(app_state(request).jobs.ask, form)
    state = {"id": job.id, "state": job.state, "address": f"/api/jobs/{job.id}"}
    return SafeJSONResponse(state, 202)


@router.get(
    "/api/templates/index",
    summary="The most frequent n-grams of a layer of an index",
    response_model=IndexTemplatesAnswer,
)
async def index_templates(
    request: Request, index: str, layer: str = "pos", n: N = 6, top: Top = 100
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        rows = index_rows(opened, index, layer, n, top)
        listed = [{k: v for k, v in row.items() if k != "link"} for row in rows]
        return {"layer": layer, "n": n, "templates": listed}

    return await answer_from_index(request, index, find)


def _templates_response(
    request: Request, form: TemplatesForm, problem: str = "", status: int = 200, **values: Any
) -> Response:
    context: dict[str, Any] = {"key": "", "rows": None, "result": None, "kept": "", "note": ""}
    context |= {"problem": problem, **values}
    opened = app_state(request).workspace
    paths = [opened.file(key) for key in form.files if key in opened.all_files()]
    by = [part.strip() for part in (form.by or "source").split(",")]
    listed = context["rows"] or context.get("templates") or ()
    tags = {tag for row in listed for tag in row["template"].split()}
    of_index = {"index": context["key"], "layer": form.layer, "n": form.n, "top": form.top}
    saved = {"kept": context["kept"]} if context["kept"] else of_index
    return render_page(
        request,
        "templates.html",
        status,
        asked=form,
        link=make_link,
        layers=TEMPLATE_LAYERS,
        fields=sorted({name for path in paths for name in preview_file(path).fields}),
        values=list_sources(paths, by),
        blocked=find_unreadable(opened.all_files()),
        legend=legend(form.layer, tags),
        spelled=spell_tags,
        saved={e: make_link(f"/templates/export.{e}", **saved) for e in ("csv", "json")},
        **context,
    )


def _stored_result(request: Request, identity: str) -> Result:
    (result,) = app_state(request).history.results(identity)
    return result


def _result_context(request: Request, files: Mapping[str, str], result: Result) -> dict[str, Any]:
    parameters = request.query_params
    source = parameters.get("source") or first_source(result)
    rows = template_rows(result, source)
    template, text = parameters.get("template", ""), parameters.get("text", "")
    context: dict[str, Any] = {
        "result": result,
        "sources": source_rows(result),
        "source": source,
        "templates": rows,
        "tested": any(defined(row["p_corrected"]) for row in rows),
        "template": template,
        "text": None,
        "note": next((line for line in result.notes if line.startswith(NOT_COMPARED)), ""),
    }
    if template:
        context |= template_context(result, source, template, rows, files)
    if text:
        places = open_files(app_state(request).workspace, files)
        document = find_text(places, text, parameters.get("text_file", ""))
        html = fragments.render_text(mark_templates(document, source, [result]), anchor="template")
        context["text"] = {"id": text, "html": html}
    return context
