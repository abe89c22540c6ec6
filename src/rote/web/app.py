"""The app: pages, their API, and what keeps it safe. Callable without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from rote.core import plugins
from rote.web import failing
from rote.web.described import describe
from rote.web.first import begin
from rote.web.kept import database as keeping
from rote.web.kept import uploads
from rote.web.kept.history import History
from rote.web.opened import Opened
from rote.web.running.jobs import Jobs
from rote.web.safety import Safety

_ABOUT = """The functions of the app for other programs, with the same settings as its pages.

Everything that changes something is a POST. Where the app was started with a token, send it as
`Authorization: Bearer TOKEN`. Errors are `{"error": {"kind", "message"}}`.
"""


def make_app(opened: Opened) -> FastAPI:
    """An ASGI app over what was opened."""
    from rote.core.distribution import version

    keeping.prepare(opened.store)
    uploads.sweep(opened.store)
    # The pages of FastAPI's own documentation load their script from elsewhere: left out.
    app = FastAPI(
        title="rote",
        version=version(),
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        default_response_class=failing.AnyJSON,
        lifespan=_living,
    )
    app.state.opened = opened
    app.state.history = History(opened.store)
    app.state.jobs = Jobs(opened)
    for name in plugins.members("web.routes"):
        app.include_router(plugins.load("web.routes", name).router)
    failing.attach(app)
    describe(app, token=opened.token is not None)
    app.add_middleware(Safety, opened=opened)
    return app


@asynccontextmanager
async def _living(app: FastAPI) -> AsyncIterator[None]:
    """Work that runs ends with the app, and says so on its page when the app is back."""
    jobs: Jobs = app.state.jobs
    begin(app.state.opened, app.state.history, jobs)
    try:
        yield
    finally:
        jobs.stop()
