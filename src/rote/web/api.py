"""What the API answers about an index: the shapes that its description (OpenAPI) names."""

from __future__ import annotations

import json
import math
from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, Field

_ERROR = {
    "type": "object",
    "title": "Error",
    "description": "What is wrong, and what to do about it.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string", "examples": ["OptionError", "UnknownName"]},
                "message": {"type": "string", "description": "For people"},
            },
        }
    },
}
_REFUSED = {
    "description": "Refused: 400 for a wrong value, 404 for an unknown name, 413 for too much",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_NOT_OURS = ("HTTPValidationError", "ValidationError")


class About(BaseModel):
    """The index that was asked, as it was then."""

    index: str = Field(description="Its key in this app")
    generation: int = Field(description="Rises whenever documents are added or segments merged")
    signature: str = Field(description="Of the annotator that cut it into words")
    documents: int
    words: int


class IndexListed(About):
    """An index that this app has opened."""

    layers: list[str] = Field(description="Layers that can be searched")
    sorted_layers: list[str] = Field(description="Layers that can be counted at once")
    fields: list[str] = Field(description="Fields of documents that matches can be counted by")


class Line(BaseModel):
    """A match with the text around it."""

    document: str
    author: str | None
    source: str | None
    item: int = Field(description="Number of its first item in the document, from 0")
    start: int = Field(description="First character in the document")
    end: int = Field(description="Character behind the last")
    before: str
    match: str
    after: str


class SearchAnswer(About):
    """One page of matches."""

    query: str = Field(description="The canonical form of the query")
    matches: int = Field(description="All that there are")
    matched_documents: int | None = Field(
        description="Documents with a match; null where counting them would take all matches"
    )
    limited: bool = Field(description="Whether only the first matches were put in order")
    page: int
    pages: int
    lines: list[Line]


class Form(BaseModel):
    """What was matched, capitals folded."""

    form: str
    count: int


class FormsAnswer(About):
    query: str
    matches: int
    tallied: int = Field(description="Matches that were looked at: the first of all")
    forms: list[Form]


class Group(BaseModel):
    """Matches in the documents with one value of a field."""

    group: str
    matches: int
    documents: int
    words: int = Field(description="Words of all documents of the group")
    per_million: float


class GroupsAnswer(About):
    query: str
    matches: int
    tallied: int
    by: str
    groups: list[Group]


class Count(BaseModel):
    """A phrase or query in one layer."""

    phrase: str
    layer: str
    items: list[str] | None
    query: str | None
    occurrences: int
    documents: int | None
    authors: int | None
    per_million: float | None


class CountAnswer(About):
    counts: list[Count]


class Frequent(BaseModel):
    """A frequent n-gram and the text of its first place."""

    rank: int
    items: list[str]
    count: int
    documents: int | None
    per_million: float
    example: str | None


class TopAnswer(About):
    layer: str
    n: int
    ngrams: list[Frequent]


def json_response(data: Any, status: int = 200) -> Response:
    """As JSON, whatever texts hold: half a surrogate pair can be written as an escape alone."""
    plain = _plain(data)
    try:
        body = json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        body = json.dumps(plain, allow_nan=False).encode()
    return Response(body, status, media_type="application/json")


def _plain(value: Any) -> Any:
    """Undefined numbers are null."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def describe(app: FastAPI, *, token: bool) -> None:
    """FastAPI would say that wrong values are answered with 422, in a form of its own."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app, token)
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]


def _described(app: FastAPI, token: bool) -> dict[str, Any]:
    found = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for methods in found["paths"].values():
        for one in methods.values():
            one["responses"].pop("422", None)
            one["responses"]["4XX"] = _REFUSED
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in _NOT_OURS:
        schemas.pop(name, None)
    schemas["Error"] = _ERROR
    if token:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found
