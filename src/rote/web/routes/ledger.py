"""The ledger of a folder that `dedup` or `decontaminate` made, chosen by source, item and score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, Field

from rote.core.errors import InputError, check_options_known
from rote.report.texts.ledger import (
    filter_choices,
    filter_fields,
    find_ledger,
    make_entry,
    read_ledger,
    row_certainty,
)
from rote.web.app import app_state, run_in_pool
from rote.web.render import render_page

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


@dataclass(frozen=True, slots=True)
class ChosenRows:
    title: str
    total: int
    choices: dict[str, list[str]]
    filters: dict[str, str]
    rows: Rows

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.rows) // _ENTRIES))

    def page(self, number: int) -> Rows:
        return self.rows[(number - 1) * _ENTRIES : number * _ENTRIES]


async def _choose_rows(request: Request, key: str, q: str, least: float, most: float) -> ChosenRows:
    title, rows = await run_in_pool(request, _read_ledger, app_state(request).workspace.ledger(key))
    choices = filter_choices(rows)
    filters = {name: request.query_params.get(name, "") for name in choices}
    selected = _filter_rows(rows, q, filters, least, most)
    return ChosenRows(title, len(rows), choices, filters, selected)


@router.get("/ledger/{key}", include_in_schema=False)
async def ledger_page(
    request: Request, key: str, q: Text = "", least: Score = 0, most: Score = 1, number: Number = 1
) -> Response:
    chosen = await _choose_rows(request, key, q, least, most)
    number = min(number, chosen.pages)
    return render_page(
        request,
        "ledger.html",
        key=key,
        chosen=chosen,
        q=q,
        least=least,
        most=most,
        number=number,
        first=(number - 1) * _ENTRIES + 1,
        entries=[make_entry(row) for row in chosen.page(number)],
    )


@router.get(
    "/api/ledger/{key}",
    summary="What was removed from a corpus, or found in it",
    openapi_extra={"x-fields": "further parameters are fields of this ledger"},
)
async def ledger_rows(
    request: Request, key: str, q: Text = "", least: Score = 0, most: Score = 1, number: Number = 1
) -> LedgerPage:
    """Further parameters are fields to choose by: source, what, kept in; or task, part, source."""
    chosen = await _choose_rows(request, key, q, least, most)
    check_options_known(request.query_params, ("q", "least", "most", "number", *chosen.choices))
    return LedgerPage(
        title=chosen.title,
        entries=chosen.total,
        chosen=len(chosen.rows),
        page=number,
        pages=chosen.pages,
        rows=list(chosen.page(number)),
    )


def _read_ledger(folder: Path) -> tuple[str, Rows]:
    record = find_ledger(folder)
    if record is None:
        raise InputError("the folder no longer contains a ledger", file=str(folder))
    about = (folder / record.ledger).stat()
    return record.title, _read_rows(folder, record.ledger, about.st_mtime_ns)


@lru_cache(maxsize=4)
def _read_rows(folder: Path, ledger: str, changed: int) -> Rows:
    return tuple(read_ledger(folder, ledger))


def _filter_rows(rows: Rows, q: str, filters: dict[str, str], least: float, most: float) -> Rows:
    sought = q.lower().split()
    wanted = {name: value for name, value in filters.items() if value}
    return [
        row
        for row in rows
        if least <= row_certainty(row) <= most
        and (not wanted or wanted.items() <= filter_fields(row).items())
        and (not sought or all(word in _row_text(row) for word in sought))
    ]


def _row_text(row: dict[str, Any]) -> str:
    stored = row.get("kept") or {}
    parts = ("id", "item", "task", "text", "item_text", "source")
    return " ".join(str(side.get(name, "")) for side in (row, stored) for name in parts).lower()
