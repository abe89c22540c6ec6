"""A document of an index, a part at a time, with the place marked that somebody came for."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from rote.core.errors import UnknownName
from rote.index.index import Index
from rote.report.texts.highlight import Span, marked
from rote.web.api import About, json_response
from rote.web.indexes import index_of
from rote.web.jobs.pool import bounded
from rote.web.pages.render import document_link, link, page

router = APIRouter()
PART = 20_000
"""Characters that are shown at once."""
_BEFORE = 4_000
"""Characters before the place that somebody came for."""
_LOOK = 80
"""So far a part is moved, so that it begins and ends between two words."""
From = Annotated[int | None, Query(alias="from", ge=0, description="First marked character")]
To = Annotated[int | None, Query(ge=0, description="Character behind the last that is marked")]
At = Annotated[int | None, Query(ge=0, description="First character of the part that is shown")]


class DocumentAnswer(About):
    """A part of a document."""

    document: str = Field(description="Its id")
    author: str | None
    source: str | None
    meta: dict[str, Any] = Field(description="The fields of its record")
    length: int = Field(description="Characters of the whole text")
    start: int = Field(description="First character of this part")
    end: int = Field(description="Character behind its last")
    text: str


class DocumentsAnswer(About):
    """Some ids of an index, in its order."""

    start: int
    ids: list[str]


@router.get("/document/{key}", include_in_schema=False)
async def document_page(
    request: Request, key: str, id: str, from_: From = None, to: To = None, at: At = None
) -> Response:
    def work() -> dict[str, Any]:
        opened = index_of(request, key)
        return shown(opened.index, key, id, from_, to, at)

    return page(request, "document.html", key=key, **await bounded(request, work))


@router.get(
    "/api/document/{key}",
    tags=["search"],
    summary="A document of an index, a part at a time",
    response_model=DocumentAnswer,
)
async def document(
    request: Request, key: str, id: str, from_: From = None, to: To = None, at: At = None
) -> Response:
    def work() -> dict[str, Any]:
        opened = index_of(request, key)
        found = shown(opened.index, key, id, from_, to, at)
        names = ("document", "author", "source", "meta", "length", "start", "end", "text")
        return {**opened.about(key), **{name: found[name] for name in names}}

    return json_response(await bounded(request, work))


@router.get(
    "/api/documents/{key}",
    tags=["search"],
    summary="The ids of an index's documents, in its order",
    response_model=DocumentsAnswer,
)
async def documents(
    request: Request,
    key: str,
    start: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    def work() -> dict[str, Any]:
        opened, ids, first = index_of(request, key), list[str](), start
        for segment in opened.index.segments:
            held = segment.documents
            last = min(len(held), first + limit - len(ids))
            ids += [held.id(number) for number in range(first, last)]
            first = max(0, first - len(held))
        return {**opened.about(key), "start": start, "ids": ids}

    return json_response(await bounded(request, work))


def shown(
    index: Index, key: str, identity: str, start: int | None, end: int | None, at: int | None
) -> dict[str, Any]:
    """A part of the document around a place, and where the parts beside it are."""
    held, number = _found(index, identity)
    length = held.texts.length(number)
    first = min(length, max(0, (start or 0) - _BEFORE) if at is None else at)
    before, text, after = _part(held, number, first, length)
    first += before
    last = first + len(text)
    marks = _marks(start, end, first, last)

    def other(place: int) -> str | None:
        return document_link(key, identity, start, end, at=place)

    return {
        "document": identity,
        "author": held.author.of(number),
        "source": held.source.of(number),
        "meta": held.meta(number),
        "length": length,
        "start": first,
        "end": last,
        "text": text,
        "runs": [(run.text, bool(run.places)) for run in marked(text, marks)],
        "earlier": other(max(0, first - PART)) if first else None,
        "later": other(last) if after else None,
        "search": link("/search", index=key),
    }


def _found(index: Index, identity: str) -> tuple[Any, int]:
    for segment in index.segments:
        number = segment.documents.find(identity)
        if number is not None:
            return segment.documents, number
    near = [segment.documents.id(0) for segment in index.segments if len(segment.documents)]
    raise UnknownName("document of the index", identity, near)


def _part(held: Any, number: int, first: int, length: int) -> tuple[int, str, bool]:
    """Characters that are left out at its beginning, the part, and whether more follows."""
    text: str = held.text(number, first, first + PART)
    skipped = 0
    if first and held.text(number, first - 1, first).strip():
        skipped = _gap(text[:_LOOK], 0)
    end = len(text)
    if first + end < length:
        cut = max(text.rfind(" ", end - _LOOK), text.rfind("\n", end - _LOOK))
        end = cut + 1 if cut > skipped else end
    return skipped, text[skipped:end], first + end < length


def _gap(text: str, otherwise: int) -> int:
    """Where the first word begins that is whole."""
    for place, character in enumerate(text):
        if character.isspace():
            return place + 1
    return otherwise


def _marks(start: int | None, end: int | None, first: int, last: int) -> list[Span]:
    if start is None or end is None:
        return []
    low, high = max(start, first) - first, min(end, last) - first
    return [Span(low, high, "hit")] if low < high else []
