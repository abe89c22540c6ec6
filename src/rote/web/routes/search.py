"""Search: a concordance over an index, with counts, forms and groups; and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from rote.core.errors import RoteError
from rote.report.tables.written import rows_as_csv
from rote.search.rows.matches import COLUMNS, Sort
from rote.web import api
from rote.web.errors import AnyJSON
from rote.web.indexes import OpenIndex
from rote.web.pages.asking import (
    LONGEST_NGRAM,
    MOST,
    MOST_BESIDE,
    MOST_EXPORTED,
    MOST_LISTED,
    SORTS,
    Question,
    check,
    counts,
    fields_of,
    top,
)
from rote.web.pages.render import link, page
from rote.web.pages.search import (
    RELATIONS,
    Blocks,
    View,
    examples_for,
    exported,
    misplaced,
    search_view,
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
Where = Annotated[
    Sequence[str], Query(description="Only documents with FIELD=VALUE, FIELD>=NUMBER, ...")
]
Span = Annotated[int, Query(ge=0, le=MOST_BESIDE, description="Words beside a match")]
Form = Literal["csv", "jsonl"]


def question(
    q: Text = "",
    layer: Layer = "lower",
    sort: Annotated[Sort, Query(description="Order of the matches")] = "place",
    context: Around = 60,
    page: Page = 1,
    per: Per = 50,
    where: Where = (),
    seed: Annotated[int, Query(ge=0, le=2**31, description="Of the order `random`")] = 0,
) -> Question:
    return Question(q, layer, sort, context, page, per, tuple(where), seed)


Asked = Annotated[Question, Depends(question)]


def view_of(
    request: Request,
    asked: Asked,
    index: str = "",
    view: Literal["lines", "forms", "before", "after", "collocates", "by"] = "lines",
    by: str = "",
    span: Span = 0,
) -> View:
    """The first index, where none is named."""
    key = index or next(iter(state(request).workspace.indexes), "")
    return View(key, asked, view, by, span)


Seen = Annotated[View, Depends(view_of)]


@router.get("/search", include_in_schema=False)
async def search_page(
    request: Request, asked: Seen, field: str = "", relation: str = "", value: str = ""
) -> Response:
    """The form, and what was found. A condition that was filled in joins the others."""
    if relation:
        more = (f"{field}{relation}{value.strip()}",) if value.strip() else ()
        return RedirectResponse(asked.address(where=(*asked.question.where, *more)), 303)

    def find(opened: OpenIndex, key: str) -> dict[str, Any]:
        try:
            return {"found": search_view(opened, asked)} if asked.question.q.strip() else {}
        except RoteError as error:
            return misplaced(error)

    limits = {"sorts": SORTS, "most": MOST, "exported": MOST_EXPORTED, "relations": RELATIONS}
    shown = {"question": asked.question, "view": asked.view, "asked": asked}
    given = {**shown, "found": None, "mistake": None, **limits}
    return await _page(request, "search.html", asked.key, find, **given)


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
async def export_page(request: Request, form: Form, asked: Seen) -> Response:
    """What is shown, all pages of it, as a file."""
    return await export(request, asked, form)


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
async def search(request: Request, index: Key, asked: Asked) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        found = search_view(opened, View(index, asked))
        lines = [{name: line[name] for name in COLUMNS} for line in found["lines"]]
        return {**{name: found[name] for name in _ANSWERED}, "lines": lines}

    return await api.answered(request, index, find)


@router.get(
    "/api/search/forms",
    summary="What a query matched, and how often",
    response_model=api.FormsAnswer,
)
async def search_forms(request: Request, index: Key, asked: Asked) -> Response:
    return await _tallied(request, View(index, asked, "forms"))


@router.get(
    "/api/search/groups",
    summary="Matches of a query by a field of their documents",
    response_model=api.GroupsAnswer,
)
async def search_groups(
    request: Request,
    index: Key,
    asked: Asked,
    by: Annotated[str, Query(description="A field: document, author, source, ...")] = "document",
) -> Response:
    return await _tallied(request, View(index, asked, "by", by), "groups")


@router.get(
    "/api/search/collocates",
    summary="Words near the matches of a query (G2, PMI, t, logDice)",
    response_model=api.CollocatesAnswer,
)
async def search_collocates(request: Request, index: Key, asked: Asked, span: Span = 4) -> Response:
    return await _tallied(request, View(index, asked, "collocates", span=span))


@router.get(
    "/api/search/beside",
    summary="What comes right after the matches of a query, or right before them",
    response_model=api.BesideAnswer,
)
async def search_beside(
    request: Request,
    index: Key,
    asked: Asked,
    side: Literal["after", "before"] = "after",
    span: Span = 1,
) -> Response:
    return await _tallied(request, View(index, asked, side, span=span), "beside")


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
    summary="What /search shows (lines, forms, ...), all of it in that order, as CSV or JSON Lines",
    response_class=StreamingResponse,
)
async def export(request: Request, asked: Seen, form: Form = "csv") -> Response:
    def ready() -> tuple[Sequence[str], Blocks]:
        opened = index_of(request, asked.key)
        check(opened, asked.question)  # a mistake is an answer, not the first line of a file
        return exported(opened, asked)

    names, rows = await bounded(request, ready)
    lines = _csv(names, rows) if form == "csv" else _jsonl(names, rows)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/jsonl"
    name = "matches" if asked.view == "lines" else asked.view
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingResponse(lines, media_type=kind, headers=headers)


async def _tallied(request: Request, asked: View, name: str = "") -> Response:
    """Forms, groups or neighbours, without the links that only a page needs."""

    def find(opened: OpenIndex) -> dict[str, Any]:
        found = search_view(opened, asked)
        rows = [{k: v for k, v in row.items() if k != "link"} for row in found.pop(asked.view)]
        found.pop("lacking", None)
        return {**found, "by": found["field"], name or asked.view: rows}

    return await api.answered(request, asked.key, find)


def _csv(names: Sequence[str], blocks: Blocks) -> Iterator[bytes]:
    yield (",".join(names) + "\n").encode()
    for rows in blocks:
        written = rows_as_csv([row[name] for name in names] for row in rows)
        # Half a surrogate pair has no UTF-8.
        yield _LONE.sub("\ufffd", written).encode()


def _jsonl(names: Sequence[str], blocks: Blocks) -> Iterator[bytes]:
    for rows in blocks:
        shown = [{name: row[name] for name in names} for row in rows]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in shown)
        try:
            yield lines.encode()
        except UnicodeEncodeError:
            yield "".join(json.dumps(row) + "\n" for row in shown).encode()
