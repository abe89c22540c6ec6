"""A document of an index, a part at a time, with the place marked that somebody came for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from rote.core.errors import UnknownName
from rote.core.evidence import Mark
from rote.index.index import Index
from rote.report.texts.highlight import MarkedPiece, cut_pieces
from rote.web.app import IndexState, answer_from_index, open_index_of, run_in_pool
from rote.web.render import document_link, make_link, render_page
from rote.web.routes.search import Question
from rote.web.search_views import SearchQuestion, document_hits
from rote.web.workspace import OpenIndex

router = APIRouter(tags=["search"])
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
        way = {**question.settings, "line": line}
        part = document_part(opened.index, key, id, start, end, at, hits, way)
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

    author, by_author = stored.author.of(number), None
    if author and "|" not in author:
        by_author = make_link("/search", index=key, where=f"author={author}", q=way.get("q"))
    return {
        "document": identity,
        "author": author,
        "by_author": by_author,
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
