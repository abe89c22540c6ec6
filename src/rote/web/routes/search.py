"""Search: a concordance over an index, with counts, forms and groups; and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from rote.core.errors import RoteError
from rote.report.tables.written import rows_as_csv
from rote.search.rows.matches import COLUMNS, Sort
from rote.web import api
from rote.web.errors import AnyJSON
from rote.web.indexes import OpenIndex
from rote.web.pages.render import link, page
from rote.web.pages.search import (
    LONGEST_NGRAM,
    MOST,
    MOST_EXPORTED,
    MOST_LISTED,
    SORTS,
    Question,
    View,
    check,
    counts,
    examples_for,
    exported,
    fields_of,
    misplaced,
    search_view,
    top,
    top_view,
)
from rote.web.state import bounded, index_of, state

router = APIRouter(tags=["search"])
_LONE = re.compile("[\ud800-\udfff]")
_ANSWERED = ("query", "matches", "matched_documents", "limited", "page", "pages")
Key = Annotated[str, Query(description="Key of an index, as /api/indexes names it")]
Text = Annotated[str, Query(description="A phrase, or a query: see docs/queries.md")]
Layer = Annotated[str, Query(description="Layer of phrases and of strings outside of brackets")]
Page = Annotated[int, Query(ge=1, le=100_000)]
Per = Annotated[int, Query(ge=1, le=1000, description="Lines on a page")]
Around = Annotated[int, Query(ge=0, le=500, description="Characters before and after a match")]
Form = Literal["csv", "jsonl"]


@router.get("/search", include_in_schema=False)
async def search_page(
    request: Request,
    index: str = "",
    q: str = "",
    layer: str = "lower",
    sort: Sort = "place",
    view: Literal["lines", "forms", "by"] = "lines",
    by: str = "",
    context: Around = 60,
    page_: Annotated[int, Query(alias="page", ge=1)] = 1,
) -> Response:
    """The form, and what was found."""
    question = Question(q, layer, sort, context, page_)
    given = {"question": question, "view": view, "found": None, "mistake": None}

    def find(opened: OpenIndex, key: str) -> dict[str, Any]:
        try:
            asked = View(key, question, view, by)
            return {"found": search_view(opened, asked)} if q.strip() else {}
        except RoteError as error:
            return misplaced(error)

    limits = {"sorts": SORTS, "most": MOST, "exported": MOST_EXPORTED}
    return await _page(request, "search.html", index, find, **given, **limits)


@router.get("/search/top", include_in_schema=False)
async def top_page(
    request: Request, index: str = "", layer: str = "lower", n: int = 3, k: int = 50
) -> Response:
    """The most frequent n-grams of a layer."""

    def find(opened: OpenIndex, key: str) -> dict[str, Any]:
        try:
            return {"rows": top_view(opened, key, n, k, layer)}
        except RoteError as error:
            return {"problem": str(error)}

    return await _page(request, "search_top.html", index, find, layer=layer, n=n, k=k, rows=[])


async def _page(request: Request, name: str, index: str, find: Any, **given: Any) -> Response:
    """The first index, where none is named; without any, the page says how to make one."""
    key = index or next(iter(state(request).workspace.indexes), "")
    given |= {"key": key, "link": link, "problem": "", "layers": [], "fields": [], "examples": []}

    def work() -> dict[str, Any]:
        opened = index_of(request, key)
        chosen = {"layers": list(opened.index.layers), "fields": fields_of(opened)}
        return {**chosen, "examples": examples_for(opened), **find(opened, key)}

    if key:
        given |= await bounded(request, work)
    return page(request, name, 400 if given["problem"] else 200, **given)


@router.get("/search/export.{form}", include_in_schema=False)
async def export_page(
    request: Request, form: Form, index: str, q: str, layer: str = "lower", context: Around = 60
) -> Response:
    """All matches as a file."""
    return await export(request, index, q, layer, context, form)


@router.get(
    "/api/indexes", summary="The indexes that can be asked", response_model=list[api.IndexListed]
)
async def list_indexes(request: Request) -> Response:
    def listed(key: str) -> dict[str, Any]:
        opened = index_of(request, key)
        layers, sorted_layers = list(opened.index.layers), list(opened.index.sorted_layers)
        held = {"layers": layers, "sorted_layers": sorted_layers, "fields": fields_of(opened)}
        return {**opened.about(key), **held}

    keys = state(request).workspace.indexes
    return AnyJSON(await bounded(request, lambda: [listed(key) for key in keys]))


@router.get(
    "/api/search",
    summary="A page of the matches of a query, with the text around them",
    response_model=api.SearchAnswer,
)
async def search(
    request: Request,
    index: Key,
    q: Text,
    layer: Layer = "lower",
    sort: Annotated[Sort, Query(description="Order of the matches")] = "place",
    context: Around = 60,
    page: Page = 1,
    per: Per = 50,
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        found = search_view(opened, View(index, Question(q, layer, sort, context, page, per)))
        lines = [{name: line[name] for name in COLUMNS} for line in found["lines"]]
        return {**{name: found[name] for name in _ANSWERED}, "lines": lines}

    return await api.answered(request, index, find)


@router.get(
    "/api/search/forms",
    summary="What a query matched, and how often",
    response_model=api.FormsAnswer,
)
async def search_forms(
    request: Request, index: Key, q: Text, layer: Layer = "lower", page: Page = 1, per: Per = 50
) -> Response:
    return await _tallied(request, View(index, Question(q, layer, page=page, per=per), "forms"))


@router.get(
    "/api/search/groups",
    summary="Matches of a query by a field of their documents",
    response_model=api.GroupsAnswer,
)
async def search_groups(
    request: Request,
    index: Key,
    q: Text,
    by: Annotated[str, Query(description="A field: document, author, source, ...")] = "document",
    layer: Layer = "lower",
    page: Page = 1,
    per: Per = 50,
) -> Response:
    return await _tallied(request, View(index, Question(q, layer, page=page, per=per), "by", by))


@router.get(
    "/api/count",
    summary="How often a phrase or a query occurs, by layer",
    response_model=api.CountAnswer,
)
async def count(
    request: Request,
    index: Key,
    phrase: Text,
    layer: Annotated[list[str] | None, Query(description="Default: all sorted layers")] = None,
) -> Response:
    return await api.answered(
        request, index, lambda opened: {"counts": counts(opened, phrase, layer or ())}
    )


@router.get(
    "/api/top",
    summary="The most frequent n-grams of a layer, exactly",
    response_model=api.TopAnswer,
)
async def most_frequent(
    request: Request,
    index: Key,
    layer: Layer = "lower",
    n: Annotated[int, Query(ge=1, le=LONGEST_NGRAM, description="Items of an n-gram")] = 1,
    k: Annotated[int, Query(ge=1, le=MOST_LISTED, description="How many")] = 50,
) -> Response:
    return await api.answered(
        request, index, lambda opened: {"layer": layer, "n": n, "ngrams": top(opened, n, k, layer)}
    )


@router.get(
    "/api/search/export",
    summary=f"All matches of a query (the first {MOST_EXPORTED:,}) as CSV or JSON Lines",
    response_class=StreamingResponse,
)
async def export(
    request: Request,
    index: Key,
    q: Text,
    layer: Layer = "lower",
    context: Around = 60,
    form: Form = "csv",
) -> Response:
    question = Question(q, layer, context=context)

    def ready() -> OpenIndex:
        opened = index_of(request, index)
        check(opened, question)  # a mistake is an answer, not the first line of a file
        return opened

    opened = await bounded(request, ready)
    rows = exported(opened.index, question)
    lines = _csv(rows) if form == "csv" else _jsonl(rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/jsonl"
    headers = {"Content-Disposition": f'attachment; filename="matches.{form}"'}
    return StreamingResponse(lines, media_type=kind, headers=headers)


async def _tallied(request: Request, asked: View) -> Response:
    """Forms or groups, without the links that only a page needs."""

    def find(opened: OpenIndex) -> dict[str, Any]:
        found = search_view(opened, asked)
        for row in (*found.get("forms", ()), *found.get("groups", ())):
            row.pop("link")
        return found

    return await api.answered(request, asked.key, find)


def _csv(blocks: Iterator[list[dict[str, Any]]]) -> Iterator[bytes]:
    yield (",".join(COLUMNS) + "\n").encode()
    for rows in blocks:
        written = rows_as_csv([row[name] for name in COLUMNS] for row in rows)
        # Half a surrogate pair has no UTF-8.
        yield _LONE.sub("\ufffd", written).encode()


def _jsonl(blocks: Iterator[list[dict[str, Any]]]) -> Iterator[bytes]:
    for rows in blocks:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        try:
            yield lines.encode()
        except UnicodeEncodeError:
            yield "".join(json.dumps(row) + "\n" for row in rows).encode()
