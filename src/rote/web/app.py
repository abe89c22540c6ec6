"""The app: pages, their API, and what keeps it safe. Callable without a server."""

from __future__ import annotations

from fastapi import FastAPI

from rote.core import plugins
from rote.web.opened import Opened


def make_app(opened: Opened) -> FastAPI:
    """An ASGI app over what was opened."""
    # The pages of FastAPI's own documentation load their script from elsewhere: left out.
    app = FastAPI(title="rote", openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)
    app.state.opened = opened
    for name in plugins.members("web.routes"):
        app.include_router(plugins.load("web.routes", name).router)
    return app
