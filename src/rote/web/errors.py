"""Errors as answers: a readable page, or JSON under /api; never a stack trace."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from rote.core.errors import MissingExtra, OptionError, RoteError, UnknownName, check_options_known
from rote.core.result import plain
from rote.web.database import NotStored, disk_full_message
from rote.web.files import name_form_fields
from rote.web.render import render_page

_TITLES = {404: "Not found", 413: "Too large", 501: "Not installed here", 503: "Too busy"}
_TITLES |= {507: "The disk is full"}
_KINDS = {404: "NotFound", 405: "NotAllowed", 503: "Busy"}
_MAX_MESSAGE = 2_000
"""Characters of a message: some quote what was asked for, and may be long."""
_UNEXPECTED = "An internal error occurred. See the terminal in which rote runs."


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(RoteError, _answer_rote_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    # Not a handler for Exception: Starlette runs that one outside of all other middleware, and
    # its answer would lack the headers that keep a page safe.
    app.add_middleware(_UnexpectedErrors)


class Busy(RoteError):
    """Nothing is wrong with what was asked; there is too much of it at once."""


class SafeJSONResponse(JSONResponse):
    """Half a surrogate pair, which has no UTF-8, is an escape; undefined numbers are null."""

    def render(self, content: Any) -> bytes:
        return json.dumps(plain(content), allow_nan=False, separators=(",", ":")).encode()


def http_status(error: RoteError) -> int:
    if isinstance(error, Busy):
        return 503
    if isinstance(error, UnknownName):
        return 404
    return 501 if isinstance(error, MissingExtra) else 400


def error_response(request: Request, status: int, kind: str, message: str) -> Response:
    message = message if len(message) <= _MAX_MESSAGE else message[:_MAX_MESSAGE] + "…"
    if request.url.path.startswith("/api/"):
        return SafeJSONResponse({"error": {"kind": kind, "message": message}}, status)
    title = _TITLES.get(status, "That did not work")
    return render_page(request, "error.html", status, title=title, message=message)


def _answer_rote_error(request: Request, error: Any) -> Response:
    # A result that was deleted leads to the work that made it, where it can be done again.
    maker = request.app.state.jobs.maker(request.url.path) if isinstance(error, NotStored) else None
    if maker:
        return RedirectResponse(maker.address, 303)
    message = str(error) if request.url.path.startswith("/api/") else name_form_fields(error)
    return error_response(request, http_status(error), type(error).__name__, message)


def _answer_http_error(request: Request, error: Any) -> Response:
    message = "There is no such page." if error.detail == "Not Found" else str(error.detail)
    kind = _KINDS.get(error.status_code, "Invalid")
    response = error_response(request, error.status_code, kind, message)
    response.headers.update(error.headers or {})
    return response


def _answer_invalid(request: Request, error: Any) -> Response:
    """A parameter that is no number, or is missing: named, with what is wrong about it."""
    extra = [p["loc"][-1] for p in error.errors() if p["type"] == "extra_forbidden"]
    try:
        check_options_known(extra, _parameter_names(request.scope["route"].dependant))
    except OptionError as unknown:
        return _answer_rote_error(request, unknown)
    problems = "; ".join(f"{problem['loc'][-1]}: {problem['msg']}" for problem in error.errors())
    return error_response(request, 400, "Invalid", problems)


def check_parameters(request: Request) -> None:
    """Refuse a parameter of the API's addresses that is not known: its page would be another."""
    route = request.scope["route"]
    if request.url.path.startswith("/api/") and not route.openapi_extra:
        check_options_known(request.query_params, _parameter_names(route.dependant))


def _parameter_names(needs: Dependant) -> Iterator[str]:
    """What a request may send: parameters of its address, and members of its body."""
    for parameter in (*needs.query_params, *needs.body_params):
        members = getattr(
            parameter.field_info.annotation, "model_fields", {parameter.alias: parameter.field_info}
        )
        yield from (about.alias or name for name, about in members.items())
    for further in needs.dependencies:
        yield from _parameter_names(further)


class _UnexpectedErrors:
    """ASGI middleware: what nobody foresaw is logged, and the user is told where to look."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        started = False

        async def noting(message: Any) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ClientDisconnect:
            return  # nobody is there any more to be answered
        except Exception as error:
            logging.getLogger("rote.web").exception("%s %s", scope["method"], scope["path"])
            if started:
                raise
            store = scope["app"].state.workspace.store
            full = disk_full_message(error, (store, Path(tempfile.gettempdir())))
            status, kind = (507, "DiskFull") if full else (500, "Unexpected")
            response = error_response(Request(scope), status, kind, full or _UNEXPECTED)
            await response(scope, receive, send)
