"""Search: a concordance over an index, with counts, forms and groups; and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from rote.core.errors import RoteError
from rote.report.export import rows_csv
from rote.search.rows.matches import COLUMNS, Sort
from rote.web import app, search_views
from rote.web.app import app_state, open_index_of, run_in_pool
from rote.web.errors import SafeJSONResponse
from rote.web.render import make_link, render_page
from rote.web.search_views import Blocks, SearchQuestion, SearchView, group_fields, search_view
from rote.web.workspace import OpenIndex

router = APIRouter(tags=["search"])
_LONE = re.compile("[\ud800-\udfff]")
_ANSWERED = ("query", "matches", "matched_documents", "limited", "page", "pages")
Key = Annotated[str, Query(description="Key of an index, as /api/indexes names it")]
Text = Annotated[str, Query(description="A phrase, or a query: see docs/queries.md")]
Layer = Annotated[str, Query(description="Layer of phrases and of strings outside of brackets")]
Page = Annotated[int, Query(ge=1, le=100_000)]
Per = Annotated[int, Query(ge=1, le=1000, description="Lines on a page")]
Around = Annotated[int, Query(ge=0, le=500, description="Characters before and after a match")]
Where = Annotated[
    Sequence[str], Query(description="Only documents with FIELD=VALUE, FIELD>=NUMBER, ...")
]
Span = Annotated[int, Query(ge=0, le=search_views.MAX_BESIDE, description="Words beside a match")]
Form = Literal["csv", "jsonl"]


def read_question(
    q: Text = "",
    layer: Layer = "lower",
    sort: Annotated[Sort, Query(description="Order of the matches")] = "place",
    context: Around = 60,
    page: Page = 1,
    per: Per = 50,
    where: Where = (),
    seed: Annotated[int, Query(ge=0, le=2**31, description="Of the order `random`")] = 0,
) -> SearchQuestion:
    return SearchQuestion(q, layer, sort, context, page, per, tuple(where), seed)


Question = Annotated[SearchQuestion, Depends(read_question)]


def read_view(
    request: Request,
    question: Question,
    index: str = "",
    view: Literal["lines", "forms", "before", "after", "collocates", "by"] = "lines",
    by: str = "",
    span: Span = 0,
) -> SearchView:
    """The first index, where none is named."""
    key = index or next(iter(app_state(request).workspace.indexes), "")
    return SearchView(key, question, view, by, span)


Viewed = Annotated[SearchView, Depends(read_view)]


@router.get("/search", include_in_schema=False)
async def search_page(
    request: Request, view: Viewed, field: str = "", relation: str = "", value: str = ""
) -> Response:
    """The form, and what was found. A condition that was filled in joins the others."""
    if relation:
        more = (f"{field}{relation}{value.strip()}",) if value.strip() else ()
        return RedirectResponse(view.address(where=(*view.question.where, *more)), 303)

    def find(opened: OpenIndex, key: str) -> dict[str, Any]:
        try:
            return {"found": search_view(opened, view)} if view.question.q.strip() else {}
        except RoteError as error:
            return search_views.describe_mistake(error)

    limits: dict[str, Any] = {
        "most": search_views.MAX_MATCHES,
        "exported": search_views.MAX_EXPORTED,
        "sorts": search_views.SORTS,
        "relations": search_views.RELATIONS,
    }
    values = {"question": view.question, "view": view.view, "asked": view}
    context = {**values, "found": None, "mistake": None, **limits}
    return await _search_response(request, "search.html", view.key, find, **context)


@router.get("/search/top", include_in_schema=False)
async def top_page(
    request: Request, index: str = "", layer: str = "lower", n: int = 3, k: int = 50
) -> Response:
    """The most frequent n-grams of a layer."""

    def find(opened: OpenIndex, key: str) -> dict[str, Any]:
        try:
            return {"rows": search_views.top_view(opened, key, n, k, layer)}
        except RoteError as error:
            return {"problem": str(error)}

    context = {"layer": layer, "n": n, "k": k, "rows": []}
    return await _search_response(request, "search_top.html", index, find, **context)


async def _search_response(
    request: Request, name: str, index: str, find: Any, **context: Any
) -> Response:
    """The first index, where none is named; without any, the page says how to make one."""
    key = index or next(iter(app_state(request).workspace.indexes), "")
    context |= {"key": key, "link": make_link, "problem": ""}
    context |= {"layers": [], "fields": [], "examples": []}

    def work() -> dict[str, Any]:
        opened = open_index_of(request, key)
        chosen = {"layers": list(opened.index.layers), "fields": group_fields(opened)}
        return {**chosen, "examples": search_views.example_queries(opened), **find(opened, key)}

    if key:
        context |= await run_in_pool(request, work)
    return render_page(request, name, 400 if context["problem"] else 200, **context)


@router.get("/search/export.{form}", include_in_schema=False)
async def export_page(request: Request, form: Form, view: Viewed) -> Response:
    """What is shown, all pages of it, as a file."""
    return await export(request, view, form)


@router.get(
    "/api/indexes", summary="The indexes that can be asked", response_model=list[app.IndexEntry]
)
async def list_indexes(request: Request) -> Response:
    def listed(key: str) -> dict[str, Any]:
        opened = open_index_of(request, key)
        layers, sorted_layers = list(opened.index.layers), list(opened.index.sorted_layers)
        about = {"layers": layers, "sorted_layers": sorted_layers, "fields": group_fields(opened)}
        return {**opened.about(key), **about}

    keys = app_state(request).workspace.indexes
    return SafeJSONResponse(await run_in_pool(request, lambda: [listed(key) for key in keys]))


@router.get(
    "/api/search",
    summary="A page of the matches of a query, with the text around them",
    response_model=app.SearchAnswer,
)
async def search(request: Request, index: Key, question: Question) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        result = search_view(opened, SearchView(index, question))
        lines = [{name: line[name] for name in COLUMNS} for line in result["lines"]]
        return {**{name: result[name] for name in _ANSWERED}, "lines": lines}

    return await app.answer_from_index(request, index, find)


@router.get(
    "/api/search/forms",
    summary="What a query matched, and how often",
    response_model=app.FormsAnswer,
)
async def search_forms(request: Request, index: Key, question: Question) -> Response:
    return await _answer_tally(request, SearchView(index, question, "forms"))


@router.get(
    "/api/search/groups",
    summary="Matches of a query by a field of their documents",
    response_model=app.GroupsAnswer,
)
async def search_groups(
    request: Request,
    index: Key,
    question: Question,
    by: Annotated[str, Query(description="A field: document, author, source, ...")] = "document",
) -> Response:
    return await _answer_tally(request, SearchView(index, question, "by", by), "groups")


@router.get(
    "/api/search/collocates",
    summary="Words near the matches of a query (G2, PMI, t, logDice)",
    response_model=app.CollocatesAnswer,
)
async def search_collocates(
    request: Request, index: Key, question: Question, span: Span = 4
) -> Response:
    return await _answer_tally(request, SearchView(index, question, "collocates", span=span))


@router.get(
    "/api/search/beside",
    summary="What comes right after the matches of a query, or right before them",
    response_model=app.NeighboursAnswer,
)
async def search_beside(
    request: Request,
    index: Key,
    question: Question,
    side: Literal["after", "before"] = "after",
    span: Span = 1,
) -> Response:
    return await _answer_tally(request, SearchView(index, question, side, span=span), "beside")


@router.get(
    "/api/count",
    summary="How often a phrase or a query occurs, by layer",
    response_model=app.CountAnswer,
)
async def count(
    request: Request,
    index: Key,
    phrase: Text,
    layer: Annotated[list[str] | None, Query(description="Default: all sorted layers")] = None,
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        return {"counts": search_views.count_phrase(opened, phrase, layer or ())}

    return await app.answer_from_index(request, index, find)


@router.get(
    "/api/top",
    summary="The most frequent n-grams of a layer, exactly",
    response_model=app.TopAnswer,
)
async def most_frequent(
    request: Request,
    index: Key,
    layer: Layer = "lower",
    n: Annotated[int, Query(ge=1, le=search_views.MAX_NGRAM, description="Items of an n-gram")] = 1,
    k: Annotated[int, Query(ge=1, le=search_views.MAX_LISTED, description="How many")] = 50,
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        return {"layer": layer, "n": n, "ngrams": search_views.top_ngrams(opened, n, k, layer)}

    return await app.answer_from_index(request, index, find)


@router.get(
    "/api/search/export",
    summary="What /search shows (lines, forms, ...), all of it in that order, as CSV or JSON Lines",
    response_class=StreamingResponse,
)
async def export(request: Request, view: Viewed, form: Form = "csv") -> Response:
    def ready() -> tuple[Sequence[str], Blocks]:
        opened = open_index_of(request, view.key)
        # A mistake is an answer, not the first line of a file.
        search_views.check_question(opened, view.question)
        return search_views.export_rows(opened, view)

    names, rows = await run_in_pool(request, ready)
    lines = _csv_blocks(names, rows) if form == "csv" else _jsonl_blocks(names, rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/jsonl"
    name = "matches" if view.view == "lines" else view.view
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingResponse(lines, media_type=kind, headers=headers)


async def _answer_tally(request: Request, view: SearchView, name: str = "") -> Response:
    """Forms, groups or neighbours, without the links that only a page needs."""

    def find(opened: OpenIndex) -> dict[str, Any]:
        result = search_view(opened, view)
        rows = [{k: v for k, v in row.items() if k != "link"} for row in result.pop(view.view)]
        result.pop("lacking", None)
        return {**result, "by": result["field"], name or view.view: rows}

    return await app.answer_from_index(request, view.key, find)


def _csv_blocks(names: Sequence[str], blocks: Blocks) -> Iterator[bytes]:
    yield (",".join(names) + "\n").encode()
    for rows in blocks:
        csv_text = rows_csv([row[name] for name in names] for row in rows)
        # Half a surrogate pair has no UTF-8.
        yield _LONE.sub("\ufffd", csv_text).encode()


def _jsonl_blocks(names: Sequence[str], blocks: Blocks) -> Iterator[bytes]:
    for rows in blocks:
        records = [{name: row[name] for name in names} for row in rows]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in records)
        try:
            yield lines.encode()
        except UnicodeEncodeError:
            yield "".join(json.dumps(row) + "\n" for row in records).encode()
