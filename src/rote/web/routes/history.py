"""History: what was measured before; searched, reopened, put side by side, deleted."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from rote.core.errors import OptionError
from rote.web.errors import AnyJSON
from rote.web.pages.render import page
from rote.web.state import state
from rote.web.store.database import FARTHEST
from rote.web.store.side_by_side import side_by_side

router = APIRouter()
_TAGS: list[Any] = ["history"]
_LISTED = 25
Offset = Annotated[int, Query(ge=0, le=FARTHEST)]
_MOST = 8
"""Results side by side: more than these nobody can read."""


@router.get("/history", include_in_schema=False)
def history_page(
    request: Request,
    q: str = "",
    page_number: Annotated[int, Query(alias="page", ge=1, le=FARTHEST)] = 1,
) -> Response:
    history = state(request).history
    total, at = history.count(q), page_number
    return page(
        request,
        "history.html",
        query=q,
        entries=history.entries(q, limit=_LISTED, offset=(at - 1) * _LISTED),
        total=total,
        at=at,
        pages=max(1, math.ceil(total / _LISTED)),
    )


@router.get("/history/compare", include_in_schema=False)
def compare_page(request: Request, id: Annotated[list[str], Query()] = []) -> Response:  # noqa: B006
    return page(request, "history_compare.html", **_compared(request, id))


@router.post("/history/delete", include_in_schema=False)
async def delete_page(request: Request) -> Response:
    """Asks first, then deletes."""
    form = await request.form()
    ids = [value for value in form.getlist("id") if isinstance(value, str)]
    history = state(request).history
    if not ids:
        raise OptionError("no result is chosen: tick those that should go")
    if form.get("sure") == "yes":
        await run_in_threadpool(history.delete, ids)
        return RedirectResponse("/history", 303)
    entries = await run_in_threadpool(lambda: [history.get(id) for id in ids])
    return page(request, "history_delete.html", entries=entries)


@router.get("/api/results", tags=_TAGS, summary="Results that were made before, the newest first")
def list_results(
    request: Request,
    q: Annotated[str, Query(description="Words of a title, a source or a signature")] = "",
    limit: Annotated[int, Query(ge=0, le=500)] = 50,
    offset: Offset = 0,
) -> dict[str, Any]:
    history = state(request).history
    entries = history.entries(q, limit=limit, offset=offset)
    return {"total": history.count(q), "results": [_public(entry) for entry in entries]}


@router.get(
    "/api/results/compare",
    tags=_TAGS,
    summary="Results side by side, by measure",
    response_model=list[dict[str, Any]],
)
def compare_results(request: Request, id: Annotated[list[str], Query()]) -> Response:
    blocks = [asdict(block) for block in _compared(request, id)["blocks"]]
    for block in blocks:
        block["entries"] = [entry["id"] for entry in block["entries"]]
        for line in block["lines"]:
            line["entry"] = line["entry"]["id"]
    return AnyJSON(blocks)


@router.get(
    "/api/results/{id}",
    tags=_TAGS,
    summary="One result as JSON (schema 1)",
    response_model=dict[str, Any],
)
def get_result(request: Request, id: str) -> Response:
    return AnyJSON(state(request).history.study(id).to_dict())


@router.get("/api/results/{id}/texts", tags=_TAGS, summary="The values of single texts")
def get_texts(
    request: Request,
    id: str,
    place: Annotated[int, Query(description="Number of the measure in the result's panel, from 0")],
    source: str | None = None,
    sort: Annotated[str | None, Query(description="source, id, words, or a value")] = None,
    down: Annotated[bool, Query(description="The largest first")] = False,
    limit: Annotated[int, Query(ge=0, le=1000)] = 50,
    offset: Offset = 0,
) -> dict[str, Any]:
    state(request).history.get(id)
    rows, total = state(request).history.texts.page(
        id, place, source=source, sort=sort, descending=down, limit=limit, offset=offset
    )
    return {"total": total, "texts": [asdict(row) for row in rows]}


@router.post("/api/results/{id}/delete", tags=_TAGS, summary="Delete a result")
def delete_result(request: Request, id: str) -> dict[str, int]:
    return {"deleted": state(request).history.delete([id])}


def _compared(request: Request, ids: list[str]) -> dict[str, Any]:
    chosen = list(dict.fromkeys(ids))
    if len(chosen) < 2:
        raise OptionError("choose at least two results to put side by side")
    if len(chosen) > _MOST:
        raise OptionError(f"choose at most {_MOST} results: more cannot be read side by side")
    history = state(request).history
    held = [(history.get(id), history.results(id)) for id in chosen]
    return {"entries": [entry for entry, _ in held], "blocks": side_by_side(held)}


def _public(entry: Any) -> dict[str, Any]:
    """Without the paths of the machine."""
    shown = asdict(entry)
    return {**shown, "files": list(shown["files"])}
