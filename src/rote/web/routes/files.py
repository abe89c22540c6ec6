"""One file of texts: its first ten records, and how it is read."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core.errors import RoteError
from rote.web.api import Question
from rote.web.errors import status_of
from rote.web.files import ALL, Glimpse, fields_of, glimpse, in_words
from rote.web.forms.compare import CompareForm, guessed
from rote.web.forms.options import pairs_of
from rote.web.forms.reading import ENCODINGS, PLAIN, Reading, formats, keep_read
from rote.web.pages.render import page
from rote.web.state import bounded, state
from rote.web.store.uploads import check_unpacked
from rote.web.workspace import Workspace

router = APIRouter()


@router.get("/files/{key:path}", include_in_schema=False)
async def file_page(request: Request, key: str) -> Response:
    reading = Reading.read(request.query_params.multi_items())
    shown = await bounded(request, _looked_at, state(request).workspace, key, reading)
    return page(request, "file.html", key=key, reading=reading, problem="", **shown)


@router.post("/files/{key:path}", include_in_schema=False)
async def read_page(request: Request, key: str) -> Response:
    """Read it so, and go on to Compare with it; or say what is wrong."""
    opened = state(request).workspace
    reading = Reading.read(pairs_of(await request.form()))
    try:
        new = key if reading.usual else await run_in_threadpool(keep_read, opened, key, reading)
    except RoteError as error:
        shown = await bounded(request, _looked_at, opened, key, reading)
        told = in_words(error, opened.file(key))
        return page(
            request,
            "file.html",
            status_of(error),
            key=key,
            reading=reading,
            problem="" if shown["look"].problem else told,
            **shown,
        )
    settings = await run_in_threadpool(guessed, [new], opened, reading.source)
    address = CompareForm((new,), settings=settings).address
    return RedirectResponse(address + "&new=true#files", 303)


class Asked(Question):
    """How a file is read; what is left out is guessed."""

    text: str = Field(default="", description="Field that holds the text")
    source: str = Field(default="", description="Field that says who wrote it")
    id: str = Field(default="", description="Field that holds the id")
    format: str = Field(default="", description="jsonl, csv, text, …: else by the name")
    plain: str = Field(default="file", description="Plain text: one text per file, line, paragraph")
    encoding: str = Field(default="utf-8", description=", ".join(ENCODINGS))
    bad: str = Field(default="stop", description="Bad records: stop, or skip them")


@router.post("/api/files/{key}/read", tags=["files"], summary="Read a file in another way")
def read_file(request: Request, key: str, asked: Asked) -> dict[str, str]:
    """What came out is a file of its own; gives its key."""
    reading = Reading.read(asked.model_dump().items())
    return {"file": keep_read(state(request).workspace, key, reading)}


def _looked_at(opened: Workspace, key: str, reading: Reading) -> dict[str, Any]:
    path = opened.file(key)
    uploaded = key not in opened.files
    try:
        # What was uploaded is small, however it is read; of other files the beginning will do.
        if uploaded:
            check_unpacked(path, opened.upload_limit, reading.options)
        look = glimpse(path, reading.options, ALL) if uploaded else glimpse(path, reading.options)
        fields = fields_of(path, reading.options) if path.is_file() else []
    except RoteError as error:
        look, fields = Glimpse(problem=in_words(error, path)), []
    return {
        "look": look,
        "uploaded": uploaded,
        "readable": path.is_file() and path.stat().st_size <= opened.upload_limit,
        "fields": fields,
        "formats": formats(),
        "encodings": ENCODINGS,
        "plain": PLAIN,
    }
