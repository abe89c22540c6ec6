"""One file of texts: its first records, how it is read, and the judging page of its summaries.

A file that is read in another way is stored as a file of its own, so that every page reads it
without being told how.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core import plugins
from rote.core.document import Document
from rote.core.errors import InputError, OptionError, RoteError
from rote.corpus import ReadOptions, open_corpus
from rote.curate.corpus_reader import json_line, other_fields
from rote.report.texts import content_hash
from rote.studies.judge_page import JudgePage, Options, build_page
from rote.web.app import ApiQuestion, app_state, run_in_pool
from rote.web.compare_form import CompareForm, guess_settings
from rote.web.errors import http_status
from rote.web.files import (
    ALL_RECORDS,
    FilePreview,
    check_unpacked,
    list_fields,
    name_form_fields,
    preview_file,
    store_upload,
)
from rote.web.form_fields import form_pairs
from rote.web.render import make_link, render_page
from rote.web.workspace import Workspace

ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "mac-roman", "shift_jis", "gb18030", "koi8-r")
PLAIN_UNITS = ("file", "line", "paragraph")
_TEXT_NAMES = ("id", "text")


class ReadForm(ApiQuestion):
    """How a file is read; what is left out is guessed."""

    text: str = Field(default="", description="Field that holds the text")
    source: str = Field(default="", description="Field that says who wrote it")
    id: str = Field(default="", description="Field that holds the id")
    format: str = Field(default="", description="jsonl, csv, text, …: else by the name")
    plain: str = Field(default="file", description="Plain text: one text per file, line, paragraph")
    encoding: str = Field(default="utf-8", description=", ".join(ENCODINGS))
    bad: str = Field(default="stop", description="Bad records: stop, or skip them")

    @classmethod
    def read(cls, pairs: Iterable[tuple[str, str]]) -> ReadForm:
        """From an address or a posted form; unknown names are left alone, wrong values refused."""
        known = cls.model_fields
        reading = cls(**{name: value for name, value in pairs if name in known and value})
        allowed = {"format": ("", *list_formats()), "plain": PLAIN_UNITS}
        allowed |= {"encoding": ENCODINGS, "bad": ("stop", "skip")}
        for name, choices in allowed.items():
            if getattr(reading, name) not in choices:
                raise OptionError(f"{name} is one of {', '.join(filter(None, choices))}")
        return reading

    @property
    def options(self) -> ReadOptions:
        return ReadOptions(
            text_field=self.text or None,
            id_field=self.id or None,
            input_format=self.format or None,
            plain=self.plain,  # type: ignore[arg-type]
            encoding=self.encoding,
            on_error="skip" if self.bad == "skip" else "stop",
        )

    @property
    def usual(self) -> bool:
        """Whether the file is read as it would be anyhow; who its sources are is another matter."""
        return self.model_copy(update={"source": ""}) == ReadForm()

    def address(self, key: str) -> str:
        return make_link(f"/files/{quote(key, safe='')}", **self.model_dump(exclude_defaults=True))


def list_formats() -> list[str]:
    return [n for n in plugins.members("corpus") if plugins.load("corpus", n).SUFFIXES]


def store_read_file(opened: Workspace, key: str, reading: ReadForm) -> str:
    """Read a file so, keep what came out as JSON lines, and give the key of that."""
    path = opened.file(key)
    if not path.is_file():
        raise OptionError("only a file can be read in another way: name its folder's files")
    if path.stat().st_size > opened.upload_limit:
        raise OptionError(
            f"{path.name} is too large to be read in another way here, which makes a copy: the "
            "commands on the shell read it with --text-field, --input-format and the like"
        )
    if key not in opened.files:
        check_unpacked(path, opened.upload_limit, reading.options)
    with tempfile.TemporaryFile() as copy:
        for document in open_corpus([path], reading.options):
            copy.write(json_line(_text_record(document, reading.source)))
        if not copy.tell():
            raise InputError("the file contains no readable text", file=path.name)
        copy.seek(0)
        name = f"{path.name.split('.')[0]}.jsonl"
        return store_upload(opened.store, name, copy, opened.upload_limit)


def _text_record(document: Document, source: str) -> Mapping[str, Any]:
    """Under the usual names; a field that bears one of them and was not chosen gets another."""
    others = {f"given_{n}" if n in _TEXT_NAMES else n: v for n, v in other_fields(document).items()}
    if source and source in others:
        others.setdefault("source", others[source])
    return {"id": document.id, "text": document.text, **others}


router = APIRouter()


@router.get("/files/{key:path}", include_in_schema=False)
async def file_page(request: Request, key: str) -> Response:
    reading = ReadForm.read(request.query_params.multi_items())
    preview = await run_in_pool(request, _preview_data, app_state(request).workspace, key, reading)
    return render_page(request, "file.html", key=key, reading=reading, problem="", **preview)


@router.post("/files/{key:path}", include_in_schema=False)
async def read_page(request: Request, key: str) -> Response:
    """Read it so, and go on to Compare with it; or say what is wrong."""
    opened = app_state(request).workspace
    reading = ReadForm.read(form_pairs(await request.form()))
    new = key
    try:
        if not reading.usual:
            new = await run_in_threadpool(store_read_file, opened, key, reading)
    except RoteError as error:
        preview = await run_in_pool(request, _preview_data, opened, key, reading)
        problem = "" if preview["look"].problem else name_form_fields(error, opened.file(key))
        context = {"key": key, "reading": reading, "problem": problem, **preview}
        return render_page(request, "file.html", http_status(error), **context)
    settings = await run_in_threadpool(guess_settings, [new], opened, reading.source)
    address = CompareForm((new,), settings=settings).address
    return RedirectResponse(address + "&new=true#files", 303)


@router.post("/api/files/{key}/read", tags=["files"], summary="Read a file in another way")
def read_file(request: Request, key: str, question: ReadForm) -> dict[str, str]:
    """What came out is a file of its own; gives its key."""
    reading = ReadForm.read(question.model_dump().items())
    return {"file": store_read_file(app_state(request).workspace, key, reading)}


def _preview_data(opened: Workspace, key: str, reading: ReadForm) -> dict[str, Any]:
    path = opened.file(key)
    uploaded = key not in opened.files
    try:
        # What was uploaded is small, however it is read; of other files the beginning will do.
        if uploaded:
            check_unpacked(path, opened.upload_limit, reading.options)
        most = (ALL_RECORDS,) if uploaded else ()
        look = preview_file(path, reading.options, *most)
        fields = list_fields(path, reading.options) if path.is_file() else []
    except RoteError as error:
        look, fields = FilePreview(problem=name_form_fields(error, path)), []
    return {
        "look": look,
        "uploaded": uploaded,
        "readable": path.is_file() and path.stat().st_size <= opened.upload_limit,
        "fields": fields,
        "formats": list_formats(),
        "encodings": ENCODINGS,
        "plain": PLAIN_UNITS,
    }


_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.S)
Most = Annotated[int, Query(ge=0, description="So many documents, drawn at random; 0: all")]


@router.get("/judge/{key}", include_in_schema=False)
async def judge_page(request: Request, key: str, sample: Most = 0) -> Response:
    judging = await run_in_pool(request, _make_page, request, key, sample)
    # The page is one file: its own script and style may run, by their hashes, and nothing else.
    hashes = {kind: content_hash(text) for kind, text in _INLINE.findall(judging.html)}
    policy = (
        f"default-src 'none'; script-src 'sha256-{hashes['script']}'; "
        f"style-src 'sha256-{hashes['style']}'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    headers = {"content-security-policy": policy}
    return Response(judging.html, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/api/judge/{key}", tags=["judge"], summary="Whose the summaries of a judging page are")
async def judge_key(request: Request, key: str, sample: Most = 0) -> dict[str, dict[str, str]]:
    """Whose each summary of the page is: the file that `rote judge agreement --key` takes."""
    page = await run_in_pool(request, _make_page, request, key, sample)
    return {"sources": dict(page.sources)}


def _make_page(request: Request, key: str, sample: int) -> JudgePage:
    file = app_state(request).workspace.file(key)
    return build_page(list(open_corpus(file)), Options(sample=sample or None))
