"""The app's style sheets, scripts and pictures."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from rote.web.pages.render import TYPES, contents, version

router = APIRouter()
_FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{name}", include_in_schema=False)
def static_file(request: Request, name: str) -> Response:
    tag = f'"{version(name)}"'
    # The address that pages use holds the hash: what it names never changes.
    exact = request.query_params.get("v") == version(name)
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER if exact else "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(contents()[name], headers=headers, media_type=TYPES[name.rpartition(".")[2]])


@router.get("/favicon.ico", include_in_schema=False)
def icon() -> Response:
    return Response(contents()["icon.svg"], media_type=TYPES["svg"])
