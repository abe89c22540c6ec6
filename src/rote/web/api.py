"""What the API answers about an index: the shapes that its description (OpenAPI) names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field

from rote.web.errors import AnyJSON
from rote.web.indexes import OpenIndex
from rote.web.state import bounded, index_of


class Question(BaseModel):
    """What a request sends as JSON: a name that is not known is refused, with the nearest one."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    kind: str = Field(examples=["OptionError", "UnknownName"])
    message: str = Field(description="For people")


class Error(BaseModel):
    """What is wrong, and what to do about it."""

    error: Problem


REFUSED: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": Error,
        "description": "Refused: 400 for a wrong value, 404 for an unknown name, 413 for too much",
    }
}
"""FastAPI would say that wrong values are answered with 422, in a form of its own."""


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


class Collocate(BaseModel):
    """A word near matches, and how strongly it goes with them."""

    word: str
    near: int
    count: int
    expected: float
    g2: float
    pmi: float
    t: float
    log_dice: float


class CollocatesAnswer(About):
    query: str
    matches: int
    tallied: int
    collocates: list[Collocate]


class Beside(BaseModel):
    """What is next to matches."""

    words: str
    ends: bool = Field(description="Whether the document ends there")
    count: int
    share: float


class BesideAnswer(About):
    query: str
    matches: int
    tallied: int
    beside: list[Beside]


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


async def answered(
    request: Request, key: str, find: Callable[[OpenIndex], Mapping[str, Any]]
) -> Response:
    """The index that was asked, and what was found in it."""

    def work() -> dict[str, Any]:
        opened = index_of(request, key)
        return {**opened.about(key), **find(opened)}

    return AnyJSON(await bounded(request, work))
