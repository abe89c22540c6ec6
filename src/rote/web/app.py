"""The app: pages, their API, and what keeps it safe. Callable without a server."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import Any

from fastapi import Depends, FastAPI
from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute

from rote.core import plugins
from rote.core.errors import RoteError
from rote.web import errors
from rote.web.api import REFUSED
from rote.web.forms.compare import CompareForm, guessed
from rote.web.indexes import Indexes, Recent
from rote.web.jobs.queue import Jobs
from rote.web.safety import Safety
from rote.web.state import Pool
from rote.web.store import database, uploads
from rote.web.store.history import History
from rote.web.workspace import Workspace

_ABOUT = """The functions of the app for other programs, with the same settings as its pages.

Everything that changes something is a POST. Where the app was started with a token, send it as
`Authorization: Bearer TOKEN`. Errors are `{"error": {"kind", "message"}}`.
"""
_PERMUTATIONS = 99
"""Enough to see what differs; the form has the usual number."""


def make_app(opened: Workspace) -> FastAPI:
    """An ASGI app over what was opened."""
    from rote.core.distribution import version

    database.prepare(opened.store)
    uploads.sweep(opened.store)
    opened.known.sweep()
    # The pages of FastAPI's own documentation load their script from elsewhere: left out.
    app = FastAPI(
        title="rote",
        version=version(),
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_living,
        routes=_routes(),
    )
    app.state.workspace = opened
    app.state.history = History(opened.store)
    app.state.jobs = Jobs(opened)
    app.state.indexes, app.state.recent, app.state.pool = Indexes(), Recent(), Pool()
    errors.attach(app)
    if opened.token is not None:
        described = app.openapi()
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    app.add_middleware(Head)
    app.add_middleware(Safety, opened=opened)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """All apps share them: FastAPI looks through their signatures for each app that has its own,
    which takes longer than most answers."""
    every = FastAPI(default_response_class=errors.AnyJSON, responses=REFUSED, openapi_url=None)
    for name in plugins.members("web.routes"):
        every.include_router(
            plugins.load("web.routes", name).router, dependencies=[Depends(errors.known_parameters)]
        )
    return every.routes


class Head:
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
async def _living(app: FastAPI) -> AsyncIterator[None]:
    """Work that runs ends with the app, and says so on its page when the app is back."""
    jobs: Jobs = app.state.jobs
    begin(app.state.workspace, app.state.history, jobs)
    try:
        yield
    finally:
        jobs.stop()


def begin(opened: Workspace, history: History, jobs: Jobs) -> None:
    """Starts the work and does not wait for it.

    The user's own files are not measured unasked: they may be large.
    """
    newest = next(iter(history.entries(limit=1)), None)
    if newest is not None:
        # One that was made on the shell has no pictures yet.
        threading.Thread(target=_draw, args=(history, newest.id), daemon=True).start()
        return
    key = next(iter(opened.files), None)
    if not opened.first or key is None or any(job.open for job in jobs.list()):
        return
    settings = {**guessed([key], opened), "permutations": _PERMUTATIONS}
    comparison = CompareForm((key,), settings=settings)
    jobs.ask(comparison)


def _draw(history: History, id: str) -> None:
    from rote.web.pages.sections import sections_of

    try:
        sections_of(history, id)
    except RoteError as error:
        logging.getLogger("rote.web").warning("the last result cannot be drawn: %s", error)
