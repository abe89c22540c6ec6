"""History: what was measured before; searched, reopened, put side by side, deleted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from rote.core.errors import OptionError
from rote.core.result import Result
from rote.report.grid import GridCell, make_grid, round_like, round_number
from rote.web.app import app_state
from rote.web.database import MAX_OFFSET
from rote.web.errors import SafeJSONResponse
from rote.web.render import render_page

router = APIRouter()
_TAGS: list[Any] = ["history"]
_LISTED = 25
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]
_LETTERS = "ABCDEFGH"
"""Of results side by side: more than these nobody can read."""
_ARROWS = {"diverse": "higher is more diverse", "repetitive": "higher is more repetitive"}


@router.get("/history", include_in_schema=False)
def history_page(
    request: Request,
    q: str = "",
    page_number: Annotated[int, Query(alias="page", ge=1, le=MAX_OFFSET)] = 1,
) -> Response:
    history = app_state(request).history
    total, at = history.count(q), page_number
    return render_page(
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
    return render_page(request, "history_compare.html", **_compare_entries(request, id))


@router.post("/history/delete", include_in_schema=False)
async def delete_page(request: Request) -> Response:
    """Asks first, then deletes."""
    form = await request.form()
    ids = [value for value in form.getlist("id") if isinstance(value, str)]
    history = app_state(request).history
    if not ids:
        raise OptionError("no result is chosen: tick those to delete")
    if form.get("sure") == "yes":
        await run_in_threadpool(history.delete, ids)
        return RedirectResponse("/history", 303)
    entries = await run_in_threadpool(lambda: [history.get(id) for id in ids])
    return render_page(request, "history_delete.html", entries=entries)


@router.get("/api/results", tags=_TAGS, summary="Results that were made before, the newest first")
def list_results(
    request: Request,
    q: Annotated[str, Query(description="Words of a title, a source or a signature")] = "",
    limit: Annotated[int, Query(ge=0, le=500)] = 50,
    offset: Offset = 0,
) -> dict[str, Any]:
    history = app_state(request).history
    entries = history.entries(q, limit=limit, offset=offset)
    return {"total": history.count(q), "results": [_entry_data(entry) for entry in entries]}


@router.get(
    "/api/results/compare",
    tags=_TAGS,
    summary="Results side by side, by measure",
    response_model=list[dict[str, Any]],
)
def compare_results(request: Request, id: Annotated[list[str], Query()]) -> Response:
    return SafeJSONResponse(_compare_entries(request, id)["blocks"])


@router.get(
    "/api/results/{id}",
    tags=_TAGS,
    summary="One result as JSON (schema 1)",
    response_model=dict[str, Any],
)
def get_result(request: Request, id: str) -> Response:
    return SafeJSONResponse(app_state(request).history.study(id).to_dict())


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
    app_state(request).history.get(id)
    rows, total = app_state(request).history.texts(
        id, place, source=source, sort=sort, descending=down, limit=limit, offset=offset
    )
    return {"total": total, "texts": rows}


@router.post("/api/results/{id}/delete", tags=_TAGS, summary="Delete a result")
def delete_result(request: Request, id: str) -> dict[str, int]:
    return {"deleted": app_state(request).history.delete([id])}


def _compare_entries(request: Request, ids: list[str]) -> dict[str, Any]:
    chosen = list(dict.fromkeys(ids))
    if len(chosen) < 2:
        raise OptionError("choose at least two results to compare side by side")
    if (most := len(_LETTERS)) < len(chosen):
        raise OptionError(f"choose at most {most} results to compare side by side")
    history = app_state(request).history
    return {
        "entries": [history.get(id) for id in chosen],
        "letters": dict(zip(chosen, _LETTERS)),
        "blocks": side_by_side([(id, history.results(id)) for id in chosen]),
    }


def side_by_side(results_by_id: Sequence[tuple[str, Sequence[Result]]]) -> list[dict[str, Any]]:
    """A block for each measure that any of the results has, kept under these ids."""
    by_measure: dict[str, list[tuple[str, Result]]] = {}
    counts = [Counter(result.measure for result in results) for _, results in results_by_id]
    several = {name for count in counts for name, times in count.items() if times > 1}
    for id, results in results_by_id:
        for result in results:
            name = result.measure
            if name in several:
                name += f" ({dict(result.signature.settings).get('layer', '')})"
            by_measure.setdefault(name, []).append((id, result))
    return [_measure_block(name, pairs) for name, pairs in by_measure.items()]


def _measure_block(name: str, pairs: Sequence[tuple[str, Result]]) -> dict[str, Any]:
    """One measure. `alike`: whether the numbers were made in the same way, on whatever texts."""
    values: dict[str, tuple[str, str, str]] = {}
    for _, result in pairs:
        for row in result.tables.get("values", ()):
            up = _ARROWS.get(row["higher"], "")
            values.setdefault(row["value"], (row["value"], row["title"], up))
    lines = []
    for id, result in pairs:
        cells = {row.value: row.cells for row in make_grid(result)} if values else {}
        for source, size in result.by_source.items():
            cell_texts = [_cell_text(cells.get(value, {}).get(source)) for value in values]
            about = {"entry": id, "source": source, "texts": size.texts, "words": size.words}
            lines.append({**about, "cells": cell_texts})
    settings = [dict(result.signature.settings) for _, result in pairs]
    names = dict.fromkeys(name for each in settings for name in each if name != "measure")
    by_setting = {name: [each.get(name) for each in settings] for name in names}
    differences = [{"setting": n, "values": of} for n, of in by_setting.items() if len(set(of)) > 1]
    return {
        "measure": name,
        "entries": [id for id, _ in pairs],
        "values": list(values.values()),
        "lines": lines,
        "differences": differences,
        "alike": all(difference["setting"] == "texts" for difference in differences),
    }


def _cell_text(cell: GridCell | None) -> dict[str, str] | None:
    """A value and, as `reach`, its interval."""
    if cell is None:
        return None
    if math.isnan(cell.low):
        return {"estimate": round_number(cell.estimate), "reach": ""}
    low, high = (round_like(end, cell.estimate) for end in (cell.low, cell.high))
    return {"estimate": round_number(cell.estimate), "reach": f"{low} to {high}"}


def _entry_data(entry: Any) -> dict[str, Any]:
    """Without the paths of the machine."""
    data = {"made" if name == "created" else name: v for name, v in asdict(entry).items()}
    return {**data, "files": list(data["files"])}
