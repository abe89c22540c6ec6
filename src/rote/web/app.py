"""The app: the shapes of its API, its state, and `make_app`, callable without a server.

Work that needs a core is done by a few threads, so that other pages stay quick. A request waits for
its turn; where too many wait already, or an answer takes too long, the reader gets a sentence that
says so, and the work of those who gave up is not begun.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeVar, cast

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute

from rote.core import plugins
from rote.core.distribution import version
from rote.core.errors import RoteError
from rote.web import database, errors, files
from rote.web.compare_form import CompareForm, guess_settings
from rote.web.errors import SafeJSONResponse
from rote.web.history import History
from rote.web.job_queue import JobQueue
from rote.web.request_guard import RequestGuard
from rote.web.stored_results import result_sections
from rote.web.workspace import IndexCache, OpenIndex, RecentAnswers, Workspace


class ApiQuestion(BaseModel):
    """What a request sends as JSON: a name that is not known is refused, with the nearest one."""

    model_config = ConfigDict(extra="forbid")


class ApiProblem(BaseModel):
    kind: str = Field(examples=["OptionError", "UnknownName"])
    message: str = Field(description="For people")


class ApiError(BaseModel):
    """What is wrong, and what to do about it."""

    error: ApiProblem


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": ApiError,
        "description": "Refused: 400 for a wrong value, 404 for an unknown name, 413 for too much",
    }
}
"""FastAPI would say that wrong values are answered with 422, in a form of its own."""


class IndexState(BaseModel):
    """The index that was asked, as it was then."""

    index: str = Field(description="Its key in this app")
    generation: int = Field(description="Rises whenever documents are added or segments merged")
    signature: str = Field(description="Of the annotator that cut it into words")
    documents: int
    words: int


class IndexEntry(IndexState):
    """An index that this app has opened."""

    layers: list[str] = Field(description="Layers that can be searched")
    sorted_layers: list[str] = Field(description="Layers that can be counted at once")
    fields: list[str] = Field(description="Fields of documents that matches can be counted by")


class MatchLine(BaseModel):
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


class SearchAnswer(IndexState):
    """One page of matches."""

    query: str = Field(description="The canonical form of the query")
    matches: int = Field(description="All that there are")
    matched_documents: int | None = Field(
        description="Documents with a match; null where counting them would take all matches"
    )
    limited: bool = Field(description="Whether only the first matches were put in order")
    page: int
    pages: int
    lines: list[MatchLine]


class MatchForm(BaseModel):
    """What was matched, capitals folded."""

    form: str
    count: int


class TallyAnswer(IndexState):
    query: str
    matches: int
    tallied: int = Field(description="Matches that were looked at: the first of all")


class FormsAnswer(TallyAnswer):
    forms: list[MatchForm]


class MatchGroup(BaseModel):
    """Matches in the documents with one value of a field."""

    group: str
    matches: int
    documents: int
    words: int = Field(description="Words of all documents of the group")
    per_million: float


class GroupsAnswer(TallyAnswer):
    by: str
    groups: list[MatchGroup]


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


class CollocatesAnswer(TallyAnswer):
    collocates: list[Collocate]


class Neighbour(BaseModel):
    """What is next to matches."""

    words: str
    ends: bool = Field(description="Whether the document ends there")
    count: int
    share: float


class NeighboursAnswer(TallyAnswer):
    beside: list[Neighbour]


class PhraseCount(BaseModel):
    """A phrase or query in one layer."""

    phrase: str
    layer: str
    items: list[str] | None
    query: str | None
    occurrences: int
    documents: int | None
    authors: int | None
    per_million: float | None


class CountAnswer(IndexState):
    counts: list[PhraseCount]


class FrequentNgram(BaseModel):
    """A frequent n-gram and the text of its first place."""

    rank: int
    items: list[str]
    count: int
    documents: int | None
    per_million: float
    example: str | None


class TopAnswer(IndexState):
    layer: str
    n: int
    ngrams: list[FrequentNgram]


async def answer_from_index(
    request: Request, key: str, find: Callable[[OpenIndex], Mapping[str, Any]]
) -> Response:
    def work() -> dict[str, Any]:
        opened = open_index_of(request, key)
        return {**opened.about(key), **find(opened)}

    return SafeJSONResponse(await run_in_pool(request, work))


T = TypeVar("T")
ANSWER_SECONDS = 60.0
"""What one answer may take, waiting included."""
MAX_QUEUED = 200
"""Requests that may wait for their turn."""


@dataclass(slots=True)
class WorkPool:
    """A few threads, and the pieces of work that they have or that wait for them."""

    threads: ThreadPoolExecutor = field(
        # As many as there are cores.
        default_factory=lambda: ThreadPoolExecutor(max(2, os.cpu_count() or 1), "rote-web")
    )
    queued: set[Future[Any]] = field(default_factory=set)


async def run_in_pool(request: Request, work: Callable[..., T], *arguments: Any) -> T:
    pool: WorkPool = request.app.state.pool
    if len(pool.queued) >= MAX_QUEUED:
        raise HTTPException(503, "too many requests are waiting: try again in a minute")
    future = pool.threads.submit(work, *arguments)
    pool.queued.add(future)
    # Called once, when the work has ended or was taken back before it began.
    future.add_done_callback(pool.queued.discard)
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), ANSWER_SECONDS)
    except asyncio.TimeoutError:
        raise HTTPException(
            503,
            f"no answer within {ANSWER_SECONDS:.0f} seconds: reduce the request (a narrower "
            "query, a shorter text), or use the command line, which has no limit",
        ) from None


class AppState(Protocol):
    workspace: Workspace
    history: History
    jobs: JobQueue
    indexes: IndexCache
    recent: RecentAnswers
    pool: WorkPool


def app_state(request: Request) -> AppState:
    return cast(AppState, request.app.state)


def open_index_of(request: Request, key: str) -> OpenIndex:
    return app_state(request).indexes.current(app_state(request).workspace.index(key))


_DESCRIPTION = """The functions of the app for other programs, with the same settings as its pages.

Everything that changes something is a POST. Where the app was started with a token, send it as
`Authorization: Bearer TOKEN`. Errors are `{"error": {"kind", "message"}}`.
"""
_PERMUTATIONS = 99
"""Enough to see what differs; the form has the usual number."""


def make_app(opened: Workspace) -> FastAPI:
    database.prepare_store(opened.store)
    files.remove_partial(opened.store)
    opened.known.sweep()
    # The pages of FastAPI's own documentation load their script from elsewhere: left out.
    app = FastAPI(
        title="rote",
        version=version(),
        description=_DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        routes=_collect_routes(),
    )
    app.state.workspace = opened
    app.state.history = History(opened.store)
    app.state.jobs = JobQueue(opened)
    app.state.indexes, app.state.recent, app.state.pool = IndexCache(), RecentAnswers(), WorkPool()
    errors.add_handlers(app)
    if opened.token is not None:
        described = app.openapi()
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    app.add_middleware(HeadMiddleware)
    app.add_middleware(RequestGuard, opened=opened)
    return app


@cache
def _collect_routes() -> list[BaseRoute]:
    """Shared by all apps: FastAPI takes long to look through their signatures."""
    every = FastAPI(
        default_response_class=errors.SafeJSONResponse, responses=ERROR_RESPONSES, openapi_url=None
    )
    for name in plugins.members("web.routes"):
        router = plugins.load("web.routes", name).router
        every.include_router(router, dependencies=[Depends(errors.check_parameters)])
    return every.routes


class HeadMiddleware:
    """ASGI middleware: HEAD is answered as GET is, without the body."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def first(message: Any) -> None:
            if message["type"] == "http.response.body":
                await send({"type": "http.response.body", "body": b""})
                # What would follow, perhaps for ever, nobody reads.
                raise ClientDisconnect
            await send(message)

        with suppress(ClientDisconnect):
            await self._app({**scope, "method": "GET"}, receive, first)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Work that runs ends with the app, and says so on its page when the app is back."""
    jobs: JobQueue = app.state.jobs
    start_first_job(app.state.workspace, app.state.history, jobs)
    try:
        yield
    finally:
        jobs.stop()


def start_first_job(opened: Workspace, history: History, jobs: JobQueue) -> None:
    """Measure the bundled texts; the user's own may be large, and are not measured unasked."""
    newest = next(iter(history.entries(limit=1)), None)
    if newest is not None:
        # One that was made on the shell has no pictures yet.
        threading.Thread(target=_draw_newest, args=(history, newest.id), daemon=True).start()
        return
    key = next(iter(opened.files), None)
    if not opened.first or key is None or any(job.open for job in jobs.list()):
        return
    settings = {**guess_settings([key], opened), "permutations": _PERMUTATIONS}
    jobs.ask(CompareForm((key,), settings=settings))


def _draw_newest(history: History, id: str) -> None:
    try:
        result_sections(history, id)
    except RoteError as error:
        logging.getLogger("rote.web").warning("the last result cannot be drawn: %s", error)
