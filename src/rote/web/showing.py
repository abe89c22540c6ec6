"""Pages from templates: everything that a text holds is escaped."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined


@cache
def environment() -> Environment:
    """Templates lie in `pages/`; every page extends `base.html`."""
    folder = files("rote.web").joinpath("pages")
    return Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


def page(request: Request, name: str, status: int = 200, **given: Any) -> HTMLResponse:
    """The page `name`, with what every page knows: the request and what was opened."""
    shown = environment().get_template(name)
    opened = request.app.state.opened
    return HTMLResponse(shown.render(request=request, opened=opened, **given), status)
