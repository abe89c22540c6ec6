"""The page of `rote judge page` for a file that the app has: summaries judged in the browser."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from rote.corpus import open_corpus
from rote.studies.judge_page import Options, Page, page_of
from rote.web.state import bounded, state

router = APIRouter(tags=["judge"])
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.S)
Most = Annotated[int, Query(ge=0, description="So many documents, drawn at random; 0: all")]


@router.get("/judge/{key}", include_in_schema=False)
async def judge_page(request: Request, key: str, sample: Most = 0) -> Response:
    made = await bounded(request, _made, request, key, sample)
    return Response(
        made.html,
        media_type="text/html; charset=utf-8",
        headers={"content-security-policy": _policy(made.html)},
    )


@router.get("/api/judge/{key}", summary="Whose the summaries of a judging page are")
async def judge_key(request: Request, key: str, sample: Most = 0) -> dict[str, dict[str, str]]:
    """Whose each summary of the page is: the file that `rote judge agreement --key` takes."""
    made = await bounded(request, _made, request, key, sample)
    return {"sources": dict(made.sources)}


def _made(request: Request, key: str, sample: int) -> Page:
    file = state(request).workspace.file(key)
    return page_of(list(open_corpus(file)), Options(sample=sample or None))


def _policy(html: str) -> str:
    """The page is one file: its own script and style may run, by their hashes, and nothing else."""
    allowed: dict[str, str] = {}
    for kind, text in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        allowed[kind] = f"'sha256-{digest}'"
    return (
        f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
