"""Search: a concordance over an index, with counts, forms and groups, and its documents, a part at
a time with the place marked that somebody came for; and the same as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse
from pydantic import Field

from rote.core.errors import RoteError, UnknownName
from rote.core.evidence import Mark
from rote.index.index import Index
from rote.report.export import rows_csv
from rote.report.texts.highlight import MarkedPiece, cut_pieces
from rote.search.rows.matches import COLUMNS, Sort
from rote.web import app
from rote.web.app import IndexState, answer_from_index, app_state, open_index_of, run_in_pool
from rote.web.errors import SafeJSONResponse
from rote.web.render import document_link, make_link, render_page
from rote.web.search_views import (
    MAX_BESIDE,
    MAX_EXPORTED,
    MAX_LISTED,
    MAX_MATCHES,
    MAX_NGRAM,
    RELATIONS,
    SORTS,
    Blocks,
    SearchQuestion,
    SearchView,
    check_question,
    count_phrase,
    describe_mistake,
    document_hits,
    example_queries,
    export_rows,
    group_fields,
    search_view,
    top_ngrams,
    top_view,
)
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
Span = Annotated[int, Query(ge=0, le=MAX_BESIDE, description="Words beside a match")]
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
            return describe_mistake(error)

    limits = {"sorts": SORTS, "most": MAX_MATCHES, "exported": MAX_EXPORTED, "relations": RELATIONS}
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
            return {"rows": top_view(opened, key, n, k, layer)}
        except RoteError as error:
            return {"problem": str(error)}

    return await _search_response(
        request, "search_top.html", index, find, layer=layer, n=n, k=k, rows=[]
    )


async def _search_response(
    request: Request, name: str, index: str, find: Any, **context: Any
) -> Response:
    """The first index, where none is named; without any, the page says how to make one."""
    key = index or next(iter(app_state(request).workspace.indexes), "")
    context |= {
        "key": key,
        "link": make_link,
        "problem": "",
        "layers": [],
        "fields": [],
        "examples": [],
    }

    def work() -> dict[str, Any]:
        opened = open_index_of(request, key)
        chosen = {"layers": list(opened.index.layers), "fields": group_fields(opened)}
        return {**chosen, "examples": example_queries(opened), **find(opened, key)}

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
    return await app.answer_from_index(
        request, index, lambda opened: {"counts": count_phrase(opened, phrase, layer or ())}
    )


@router.get(
    "/api/top",
    summary="The most frequent n-grams of a layer, exactly",
    response_model=app.TopAnswer,
)
async def most_frequent(
    request: Request,
    index: Key,
    layer: Layer = "lower",
    n: Annotated[int, Query(ge=1, le=MAX_NGRAM, description="Items of an n-gram")] = 1,
    k: Annotated[int, Query(ge=1, le=MAX_LISTED, description="How many")] = 50,
) -> Response:
    return await app.answer_from_index(
        request,
        index,
        lambda opened: {"layer": layer, "n": n, "ngrams": top_ngrams(opened, n, k, layer)},
    )


@router.get(
    "/api/search/export",
    summary="What /search shows (lines, forms, ...), all of it in that order, as CSV or JSON Lines",
    response_class=StreamingResponse,
)
async def export(request: Request, view: Viewed, form: Form = "csv") -> Response:
    def ready() -> tuple[Sequence[str], Blocks]:
        opened = open_index_of(request, view.key)
        check_question(
            opened, view.question
        )  # a mistake is an answer, not the first line of a file
        return export_rows(opened, view)

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


PART = 20_000
"""Characters that are shown at once."""
_BEFORE = 4_000
"""Characters before the place that somebody came for."""
_LOOK = 80
"""So far a part is moved, so that it begins and ends between two words."""
From = Annotated[int | None, Query(alias="from", ge=0, description="First marked character")]
To = Annotated[int | None, Query(ge=0, description="Character behind the last that is marked")]
At = Annotated[int | None, Query(ge=0, description="First character of the part that is shown")]


class DocumentAnswer(IndexState):
    """A part of a document."""

    document: str = Field(description="Its id")
    author: str | None
    source: str | None
    meta: dict[str, Any] = Field(description="The fields of its record")
    length: int = Field(description="Characters of the whole text")
    start: int = Field(description="First character of this part")
    end: int = Field(description="Character behind its last")
    text: str


class DocumentsAnswer(IndexState):
    """Some ids of an index, in its order."""

    start: int
    ids: list[str]


@router.get("/document/{key}", include_in_schema=False)
async def document_page(
    request: Request,
    key: str,
    id: str,
    question: Question,
    from_: From = None,
    to: To = None,
    at: At = None,
    line: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """A part of the document; who comes from a search goes on from match to match, and back."""

    def work() -> dict[str, Any]:
        opened = open_index_of(request, key)
        if not question.q.strip():
            return {**document_part(opened.index, key, id, from_, to, at), "hits": None}
        hits = document_hits(opened, question, id)
        start, end = (from_, to) if from_ is not None or not hits else hits[0]
        part = document_part(
            opened.index, key, id, start, end, at, hits, {**question.settings, "line": line}
        )
        return {**part, "hits": _hits_around(key, id, question, hits, start, line)}

    return render_page(request, "document.html", key=key, **await run_in_pool(request, work))


def _hits_around(
    key: str,
    identity: str,
    question: SearchQuestion,
    hits: list[tuple[int, int]],
    start: int | None,
    line: int,
) -> dict[str, Any]:
    """Where among the matches of a document one is, the ones beside it, and the way back."""
    before = sum(1 for first, _ in hits if start is not None and first < start)
    here = start is not None and any(first == start for first, _ in hits)

    def other(number: int) -> str | None:
        if not 0 <= number < len(hits):
            return None
        return document_link(key, identity, *hits[number], **question.settings, line=line)

    back = make_link("/search", index=key, **question.settings)
    return {
        "q": question.q,
        "count": len(hits),
        "number": before + 1 if here else None,
        "previous": other(before - 1),
        "next": other(before + here),
        "back": f"{back}#m{line}" if line else back,
    }


@router.get(
    "/api/document/{key}",
    summary="A document of an index, a part at a time",
    response_model=DocumentAnswer,
)
async def document(
    request: Request, key: str, id: str, from_: From = None, to: To = None, at: At = None
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        part = document_part(opened.index, key, id, from_, to, at)
        names = ("document", "author", "source", "meta", "length", "start", "end", "text")
        return {name: part[name] for name in names}

    return await answer_from_index(request, key, find)


@router.get(
    "/api/documents/{key}",
    summary="The ids of an index's documents, in its order",
    response_model=DocumentsAnswer,
)
async def documents(
    request: Request,
    key: str,
    start: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    def find(opened: OpenIndex) -> dict[str, Any]:
        ids, first = list[str](), start
        for segment in opened.index.segments:
            stored = segment.documents
            last = min(len(stored), first + limit - len(ids))
            ids += [stored.id(number) for number in range(first, last)]
            first = max(0, first - len(stored))
        return {"start": start, "ids": ids}

    return await answer_from_index(request, key, find)


def document_part(
    index: Index,
    key: str,
    identity: str,
    start: int | None,
    end: int | None,
    at: int | None,
    hits: Sequence[tuple[int, int]] = (),
    way: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """A part of the document around a place, and where the parts beside it are."""
    stored, number = _find_document(index, identity)
    length = stored.texts.length(number)
    first = min(length, max(0, (start or 0) - _BEFORE) if at is None else at)
    before, text, after = _cut_part(stored, number, first, length)
    first += before
    last = first + len(text)
    marks = _place_marks(start, end, first, last)
    for hit in hits:
        if hit != (start, end):
            marks += _place_marks(*hit, first, last, "also")

    def other(place: int) -> str | None:
        return document_link(key, identity, start, end, at=place, **way)

    author = stored.author.of(number)

    return {
        "document": identity,
        "author": author,
        "by_author": make_link("/search", index=key, where=f"author={author}", q=way.get("q"))
        if author and "|" not in author
        else None,
        "source": stored.source.of(number),
        "meta": stored.meta(number),
        "length": length,
        "start": first,
        "end": last,
        "text": text,
        "runs": [(run.text, _run_kind(run)) for run in cut_pieces(text, marks)],
        "earlier": other(max(0, first - PART)) if first else None,
        "later": other(last) if after else None,
        "search": make_link("/search", index=key),
    }


def _find_document(index: Index, identity: str) -> tuple[Any, int]:
    for segment in index.segments:
        number = segment.documents.find(identity)
        if number is not None:
            return segment.documents, number
    near = [segment.documents.id(0) for segment in index.segments if len(segment.documents)]
    raise UnknownName("document of the index", identity, near)


def _cut_part(stored: Any, number: int, first: int, length: int) -> tuple[int, str, bool]:
    """Characters that are left out at its beginning, the part, and whether more follows."""
    text: str = stored.text(number, first, first + PART)
    skipped = 0
    if first and stored.text(number, first - 1, first).strip():
        # Where the first word begins that is whole.
        gap = re.search(r"\s", text[:_LOOK])
        skipped = gap.end() if gap else 0
    end = len(text)
    if first + end < length:
        cut = max(text.rfind(" ", end - _LOOK), text.rfind("\n", end - _LOOK))
        end = cut + 1 if cut > skipped else end
    return skipped, text[skipped:end], first + end < length


def _run_kind(run: MarkedPiece) -> str:
    """Of a part of the text: what somebody came for, another match, or nothing."""
    kinds = {place.mark.label for place in run.places}
    return "hit" if "hit" in kinds else "also" if kinds else ""


def _place_marks(
    start: int | None, end: int | None, first: int, last: int, kind: str = "hit"
) -> list[Mark]:
    if start is None or end is None:
        return []
    low, high = max(start, first) - first, min(end, last) - first
    return [Mark(low, high, kind)] if low < high else []
