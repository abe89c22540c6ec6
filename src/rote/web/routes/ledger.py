"""The ledger of a folder that `dedup` or `decontaminate` made: what went, or what was found, beside
what it repeats; chosen by source, item and score, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from rote.core.errors import InputError, check_options_known
from rote.report.texts.ledger import choices_of, entry, fields_of, ledger_of, read_ledger, sureness
from rote.web.pages.render import page
from rote.web.state import bounded, state

router = APIRouter(tags=["ledger"])
_ENTRIES = 20
Rows = Sequence[dict[str, Any]]
Text = Annotated[str, Query(description="Words that an entry holds")]
Score = Annotated[float, Query(ge=0, le=1, description="Score, or similarity, of an entry")]
Number = Annotated[int, Query(ge=1, description=f"So many pages of {_ENTRIES} entries")]


class LedgerPage(BaseModel):
    """Some entries of a ledger."""

    title: str
    entries: int = Field(description="In all")
    chosen: int = Field(description="That are as was asked for")
    page: int
    pages: int
    rows: list[dict[str, Any]] = Field(description="Of this page, as the ledger has them")


@router.get("/ledger/{key}", include_in_schema=False)
async def ledger_page(
    request: Request, key: str, q: Text = "", least: Score = 0, most: Score = 1, number: Number = 1
) -> Response:
    title, rows = await bounded(request, _read, state(request).workspace.ledger(key))
    choices = choices_of(rows)
    asked = {name: request.query_params.get(name, "") for name in choices}
    found = _chosen(rows, q, asked, least, most)
    pages = max(1, -(-len(found) // _ENTRIES))
    number = min(number, pages)
    shown = found[(number - 1) * _ENTRIES : number * _ENTRIES]
    return page(
        request,
        "ledger.html",
        key=key,
        title=title,
        total=len(rows),
        chosen=len(found),
        choices=choices,
        asked=asked,
        q=q,
        least=least,
        most=most,
        number=number,
        pages=pages,
        first=(number - 1) * _ENTRIES + 1,
        entries=[entry(row) for row in shown],
    )


@router.get(
    "/api/ledger/{key}",
    summary="What was taken out of a corpus, or found in it",
    openapi_extra={"x-fields": "further parameters are fields of this ledger"},
)
async def ledger_rows(
    request: Request, key: str, q: Text = "", least: Score = 0, most: Score = 1, number: Number = 1
) -> LedgerPage:
    """Further parameters are fields to choose by: source, what, kept in; or task, part, source."""
    title, rows = await bounded(request, _read, state(request).workspace.ledger(key))
    choices = choices_of(rows)
    check_options_known(request.query_params, ("q", "least", "most", "number", *choices))
    asked = {name: request.query_params.get(name, "") for name in choices}
    found = _chosen(rows, q, asked, least, most)
    return LedgerPage(
        title=title,
        entries=len(rows),
        chosen=len(found),
        page=number,
        pages=max(1, -(-len(found) // _ENTRIES)),
        rows=list(found[(number - 1) * _ENTRIES : number * _ENTRIES]),
    )


def _read(folder: Path) -> tuple[str, Rows]:
    record = ledger_of(folder)
    if record is None:
        raise InputError("the folder holds no ledger any more", file=str(folder))
    about = (folder / record.ledger).stat()
    return record.title, _rows(folder, record.ledger, about.st_mtime_ns)


@lru_cache(maxsize=4)
def _rows(folder: Path, ledger: str, changed: int) -> Rows:
    return tuple(read_ledger(folder, ledger))


def _chosen(rows: Rows, q: str, asked: dict[str, str], least: float, most: float) -> Rows:
    sought = q.lower().split()
    return [
        row
        for row in rows
        if least <= sureness(row) <= most
        and all(not value or fields_of(row).get(name) == value for name, value in asked.items())
        and (not sought or all(word in _text(row) for word in sought))
    ]


def _text(row: dict[str, Any]) -> str:
    kept = row.get("kept") or {}
    parts = ("id", "item", "task", "text", "item_text", "source")
    return " ".join(str(one.get(name, "")) for one in (row, kept) for name in parts).lower()
