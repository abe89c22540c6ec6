"""Search: a concordance over an index, with counts, forms and groups; and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from rote.core.errors import RoteError
from rote.report.tables.cells import rows_as_csv
from rote.search.rows.matches import COLUMNS, Sort
from rote.web import api as answers
from rote.web.api import json_response
from rote.web.forms.search import (
    LONGEST_NGRAM,
    MOST,
    MOST_EXPORTED,
    MOST_LISTED,
    SORTS,
    Question,
    check,
    counts,
    exported,
    fields_of,
    top,
)
from rote.web.indexes import OpenIndex, index_of
from rote.web.jobs.pool import bounded
from rote.web.pages.render import link, page
from rote.web.pages.search import View, examples_for, misplaced, search_view, top_view

router = APIRouter()
_LONE = re.compile("[\ud800-\udfff]")
Key = Annotated[str, Query(description="Key of an index, as /api/indexes names it")]
Text = Annotated[str, Query(description="A phrase, or a query: see docs/queries.md")]
Layer = Annotated[str, Query(description="Layer of phrases and of strings outside of brackets")]
Page = Annotated[int, Query(ge=1, le=100_000)]
Per = Annotated[int, Query(ge=1, le=1000, description="Lines on a page")]
Around = Annotated[int, Query(ge=0, le=500, description="Characters before and after a match")]


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
    given: dict[str, Any] = {
        "question": question, "view": view, "found": None, "problem": "", "mistake": None,
        "sorts": SORTS, "most": MOST, "exported": MOST_EXPORTED, "link": link,
        "key": index or next(iter(request.app.state.opened.indexes), ""),
    }  # fmt: skip
    if not given["key"]:
        return page(request, "search.html", **given, layers=[], fields=[], examples=[])

    def work() -> dict[str, Any]:
        opened = index_of(request, given["key"])
        found: dict[str, Any] = _choices(opened)
        if q.strip():
            try:
                found["found"] = search_view(opened, View(given["key"], question, view, by))
            except RoteError as error:
                found["problem"], found["mistake"] = misplaced(error)
        return found

    given |= await bounded(request, work)
    return page(request, "search.html", 400 if given["problem"] else 200, **given)


@router.get("/search/top", include_in_schema=False)
async def top_page(
    request: Request, index: str = "", layer: str = "lower", n: int = 3, k: int = 50
) -> Response:
    """The most frequent n-grams of a layer."""
    given: dict[str, Any] = {
        "layer": layer, "n": n, "k": k, "rows": [], "problem": "", "link": link,
        "key": index or next(iter(request.app.state.opened.indexes), ""),
    }  # fmt: skip
    if not given["key"]:
        return page(request, "search_top.html", **given, layers=[], fields=[], examples=[])

    def work() -> dict[str, Any]:
        opened = index_of(request, given["key"])
        found: dict[str, Any] = _choices(opened)
        try:
            found["rows"] = top_view(opened, given["key"], n, k, layer)
        except RoteError as error:
            found["problem"] = str(error)
        return found

    given |= await bounded(request, work)
    return page(request, "search_top.html", 400 if given["problem"] else 200, **given)


@router.get("/search/export.{form}", include_in_schema=False)
async def export_page(
    request: Request,
    form: Literal["csv", "jsonl"],
    index: str,
    q: str,
    layer: str = "lower",
    context: Around = 60,
) -> Response:
    """All matches as a file."""
    return await export(request, index, q, layer, context, form)


@router.get(
    "/api/indexes",
    tags=["search"],
    summary="The indexes that can be asked",
    response_model=list[answers.IndexListed],
)
async def list_indexes(request: Request) -> Response:
    def listed() -> list[dict[str, Any]]:
        found = []
        for key in request.app.state.opened.indexes:
            opened = index_of(request, key)
            found.append(
                {
                    **opened.about(key),
                    "layers": list(opened.index.layers),
                    "sorted_layers": list(opened.index.sorted_layers),
                    "fields": fields_of(opened),
                }
            )
        return found

    return json_response(await bounded(request, listed))


@router.get(
    "/api/search",
    tags=["search"],
    summary="A page of the matches of a query, with the text around them",
    response_model=answers.SearchAnswer,
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
    def work() -> dict[str, Any]:
        opened = index_of(request, index)
        asked = View(index, Question(q, layer, sort, context, page, per))
        found = search_view(opened, asked)
        lines = [{name: line[name] for name in COLUMNS} for line in found.pop("lines")]
        return {**opened.about(index), **_answered(found), "lines": lines}

    return json_response(await bounded(request, work))


@router.get(
    "/api/search/forms",
    tags=["search"],
    summary="What a query matched, and how often",
    response_model=answers.FormsAnswer,
)
async def search_forms(
    request: Request, index: Key, q: Text, layer: Layer = "lower", page: Page = 1, per: Per = 50
) -> Response:
    return await _tallied(request, View(index, Question(q, layer, page=page, per=per), "forms"))


@router.get(
    "/api/search/groups",
    tags=["search"],
    summary="Matches of a query by a field of their documents",
    response_model=answers.GroupsAnswer,
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
    tags=["search"],
    summary="How often a phrase or a query occurs, by layer",
    response_model=answers.CountAnswer,
)
async def count(
    request: Request,
    index: Key,
    phrase: Text,
    layer: Annotated[list[str] | None, Query(description="Default: all sorted layers")] = None,
) -> Response:
    def work() -> dict[str, Any]:
        opened = index_of(request, index)
        return {**opened.about(index), "counts": counts(opened, phrase, layer or ())}

    return json_response(await bounded(request, work))


@router.get(
    "/api/top",
    tags=["search"],
    summary="The most frequent n-grams of a layer, exactly",
    response_model=answers.TopAnswer,
)
async def most_frequent(
    request: Request,
    index: Key,
    layer: Layer = "lower",
    n: Annotated[int, Query(ge=1, le=LONGEST_NGRAM, description="Items of an n-gram")] = 1,
    k: Annotated[int, Query(ge=1, le=MOST_LISTED, description="How many")] = 50,
) -> Response:
    def work() -> dict[str, Any]:
        opened = index_of(request, index)
        return {**opened.about(index), "layer": layer, "n": n, "ngrams": top(opened, n, k, layer)}

    return json_response(await bounded(request, work))


@router.get(
    "/api/search/export",
    tags=["search"],
    summary=f"All matches of a query (the first {MOST_EXPORTED:,}) as CSV or JSON Lines",
    response_class=StreamingResponse,
)
async def export(
    request: Request,
    index: Key,
    q: Text,
    layer: Layer = "lower",
    context: Around = 60,
    form: Literal["csv", "jsonl"] = "csv",
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


def _choices(opened: OpenIndex) -> dict[str, Any]:
    return {
        "layers": list(opened.index.layers),
        "fields": fields_of(opened),
        "examples": examples_for(opened),
    }


def _answered(found: dict[str, Any]) -> dict[str, Any]:
    names = ("query", "matches", "matched_documents", "limited", "page", "pages")
    return {name: found[name] for name in names}


async def _tallied(request: Request, asked: View) -> Response:
    """Forms or groups, without the links that only a page needs."""

    def work() -> dict[str, Any]:
        opened = index_of(request, asked.key)
        answer = {**opened.about(asked.key), **search_view(opened, asked)}
        for rows in (answer.get("forms", ()), answer.get("groups", ())):
            for row in rows:
                row.pop("link")
        return answer

    return json_response(await bounded(request, work))


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
