"""What a comparison found: the whole picture, down to single texts; and files to take away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from rote.core.document import Document
from rote.core.errors import OptionError, RoteError, UnknownName
from rote.core.result import Result
from rote.report._grid import rounded
from rote.report.tables.written import rows_as_csv
from rote.web.files import glimpse
from rote.web.forms.options import from_json
from rote.web.forms.run import RunForm, address_of, reader_of, record_of
from rote.web.pages import side
from rote.web.pages.render import measure_title, page, query, text_of
from rote.web.pages.sections import sections_of
from rote.web.pages.templates import find_text, marked, open_files
from rote.web.routes.side import known_sets
from rote.web.state import bounded, state
from rote.web.store.database import FARTHEST
from rote.web.store.history import Entry, History
from rote.web.store.uploads import LONGEST_TEXT
from rote.web.workspace import Workspace

router = APIRouter()
_ROWS = 50
_PIECE = 1000
_NAMED = ("source", "id", "words", "file")


@router.get("/compare/result/{id}", include_in_schema=False)
async def result_page(request: Request, id: str, found: str = "") -> Response:
    """`found`: the job that was asked for again, and had been done already."""
    history = state(request).history

    def work() -> dict[str, Any]:
        entry = history.get(id)
        return {
            "entry": entry,
            "sections": sections_of(history, id),
            "texts": _ways_down(history, id),
            "again": address_of(entry.kind, entry.settings),
            "sets": _has_sets(request, entry),
            "ledger": _ledger(state(request).workspace, entry),
            # It becomes a part of an address, which must not lead anywhere else.
            "found": found if found.isalnum() else "",
        }

    return page(request, "compare_result.html", **await bounded(request, work))


def _ledger(opened: Workspace, entry: Entry) -> str:
    """Where the ledger is that the command wrote, if its files are still as they were."""
    if entry.kind != RunForm.kind:
        return ""
    try:
        form = from_json(RunForm, entry.settings)
        key = form.folder(opened).name if getattr(record_of(form.name), "ledger", "") else ""
    except RoteError:
        return ""
    return f"/ledger/{key}" if key in opened.all_ledgers() else ""


@router.get("/compare/result/{id}/texts", include_in_schema=False)
def texts_page(
    request: Request,
    id: str,
    place: int,
    source: str | None = None,
    sort: str | None = None,
    down: bool = False,
    page_number: Annotated[int, Query(alias="page", ge=1, le=FARTHEST)] = 1,
) -> Response:
    history = state(request).history
    entry, results = history.get(id), history.results(id)
    result = _at(results, place)
    at = page_number
    rows, total = history.texts(
        id, place, source=source, sort=sort, descending=down, limit=_ROWS, offset=(at - 1) * _ROWS
    )
    places = history.text_places(id)
    names = list(rows[0]["numbers"]) if rows else []
    titles = titles_of(result)
    return page(
        request,
        "compare_texts.html",
        entry=entry,
        result=result,
        place=place,
        source=source,
        sources=places.get(place, []),
        others=[(other, measure_title(results[other].measure)) for other in places],
        first=(at - 1) * _ROWS,
        rows=[(row, [_shown(row["numbers"].get(name)) for name in names]) for row in rows],
        columns=[(name, titles.get(name, name.replace("_", " "))) for name in names],
        sort=sort,
        down=down,
        at=at,
        pages=max(1, math.ceil(total / _ROWS)),
        total=total,
    )


@dataclass(frozen=True, slots=True)
class Order:
    """The list that a text was chosen from, and its place there."""

    place: int | None = None
    of: str | None = None
    """The source whose texts are listed; none: all."""
    sort: str | None = None
    down: bool = False
    at: int = 0


@router.get("/compare/result/{id}/text", include_in_schema=False)
async def text_page(
    request: Request,
    id: str,
    source: str,
    text: str,
    file: str = "",
    place: int | None = None,
    of: str | None = None,
    sort: str | None = None,
    down: bool = False,
    at: Annotated[int, Query(ge=0, le=FARTHEST)] = 0,
) -> Response:
    order = Order(place, of, sort, down, at)
    shown = await bounded(request, _text, request, id, source, text, file, order)
    return page(request, "compare_text.html", source=source, text=text, file=file, **shown)


def _text(
    request: Request, id: str, source: str, text: str, file: str, order: Order
) -> dict[str, Any]:
    """The text itself is looked for in the files, which may be long."""
    from rote.report.fragments import marked_text

    history = state(request).history
    entry, results = history.get(id), history.results(id)
    problem, shown, document = "", None, None
    try:
        opened = state(request).workspace
        read = reader_of(entry.kind, entry.settings, opened)
        document = find_text(open_files(opened, entry.files), text, file, read)
        shown = marked_text(marked(document, source, results))
    except RoteError as error:
        problem = str(error)
    values = []
    for place, numbers in history.text(id, source, text, file).items():
        result = results[place]
        titles = titles_of(result)
        rows = [(titles.get(name, name), _shown(number)) for name, number in numbers.items()]
        values.append((measure_title(result.measure), rows))
    before, behind = _neighbours(history, id, source, text, file, order)
    return {
        "entry": entry,
        "shown": shown,
        "whole": document.text if document and len(document.text) <= LONGEST_TEXT else "",
        "meta": [(k, str(v)[:500]) for k, v in document.meta.items() if v is not None]
        if document
        else [],
        "values": values,
        "problem": problem,
        "before": before,
        "behind": behind,
        "prompt": side.prompt_of(document.meta) if document else "",
        "beside": _beside(request, entry, document),
    }


def titles_of(result: Result) -> dict[str, str]:
    """What people call the values of a result."""
    return {row["value"]: row["title"] for row in result.tables.get("values", ())}


def _neighbours(
    history: History, id: str, source: str, text: str, file: str, order: Order
) -> tuple[str | None, str | None]:
    """The texts before and behind one in the list that it was chosen from; without a list, in that
    of its source."""
    if order.place is None:
        place = next((p for p, known in history.text_places(id).items() if source in known), None)
        if place is None:
            return None, None
        at = history.position(id, place, source, text, file)
        if at is None:
            return None, None
        order = Order(place, source, at=at)
    assert order.place is not None
    rows, _ = history.texts(
        id,
        order.place,
        source=order.of or None,
        sort=order.sort,
        descending=order.down,
        limit=3,
        offset=max(0, order.at - 1),
    )
    own = min(order.at, 1)
    # The address may be of another time: a place that holds another text now leads nowhere.
    if own >= len(rows) or (rows[own]["source"], rows[own]["id"]) != (source, text):
        return None, None

    def leads(step: int) -> str | None:
        if not 0 <= own + step < len(rows):
            return None
        return text_of(id, rows[own + step], **{**asdict(order), "at": order.at + step})

    return leads(-1), leads(1)


def _beside(request: Request, entry: Entry, document: Document | None) -> dict[str, Any] | None:
    """Where the other answers to the same are, if there are any."""
    if document is None or not _has_sets(request, entry):
        return None
    try:
        sets = known_sets(request, entry, open_files(state(request).workspace, entry.files))
    except RoteError:
        return None  # nobody else answers it, which is no problem of this text
    key = str(document.meta.get(sets.field, ""))
    if key not in sets.answers:
        return None
    address = f"/compare/side/{entry.id}?{query({'key': key})}"
    return {"address": address, "others": len(sets.answers[key]) - 1}


def _has_sets(request: Request, entry: Entry) -> bool:
    """Whether records say what they answer; by a glimpse, since files may be long."""
    try:
        given = open_files(state(request).workspace, entry.files)
    except RoteError:
        return False
    return any(name in side.SETS for path in given.values() for name in glimpse(path).fields)


@router.get("/compare/result/{id}/{name}", include_in_schema=False)
async def download(request: Request, id: str, name: str) -> Response:
    """The result as a file: result.json, values.csv or report.html."""
    content, kind = await bounded(request, _file, state(request).history, id, name)
    stem, _, ending = name.partition(".")
    return Response(
        content.encode("utf-8", "replace"),
        media_type=kind,
        headers={"Content-Disposition": f'attachment; filename="rote-{stem}-{id}.{ending}"'},
    )


def _file(history: History, id: str, name: str) -> tuple[str, str]:
    """What a file holds, and what kind of file it is."""
    history.get(id)
    if name == "result.json":
        return history.study(id).to_json(), "application/json"
    if name == "values.csv":
        from rote.report.tables.written import as_csv, values_as_csv

        results = history.results(id)
        # A command that makes a data set has tables alone.
        written = values_as_csv if any(one.by_source for one in results) else as_csv
        return written(results), "text/csv; charset=utf-8"
    if name == "report.html":
        from rote.report.page import html_page

        return html_page(history.study(id)), "text/html; charset=utf-8"
    raise UnknownName("file of a result", name, ("result.json", "values.csv", "report.html"))


@router.get("/compare/result/{id}/texts/values.csv", include_in_schema=False)
def download_texts(request: Request, id: str, place: int, source: str | None = None) -> Response:
    """The values of all texts, as they come: there may be many."""
    history = state(request).history
    _at(history.results(id), place)
    return StreamingResponse(
        _lines(history, id, place, source),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="rote-texts-{id}.csv"'},
    )


def _lines(history: History, id: str, place: int, source: str | None) -> Iterator[str]:
    offset, names = 0, list[str]()
    while True:
        rows, _ = history.texts(id, place, source=source, limit=_PIECE, offset=offset)
        if rows and not offset:
            names = list(rows[0]["numbers"])
            yield rows_as_csv([(*_NAMED, *names)])
        yield rows_as_csv(
            (*(row[n] for n in _NAMED), *map(row["numbers"].get, names)) for row in rows
        )
        if len(rows) < _PIECE:
            return
        offset += _PIECE


def _ways_down(history: History, id: str) -> list[dict[str, Any]]:
    """For each measure with values per text: its sources, and their values, each a link."""
    results = history.results(id)
    found = []
    for place, sources in history.text_places(id).items():
        result = results[place]
        first, _ = history.texts(id, place, limit=1)
        values = [
            # Some values are of a source as a whole; its texts can be seen, in no order.
            {**row, "sorted": row["value"] in first[0]["numbers"]}
            for row in result.tables.get("values", ())
        ]
        rows = [
            {
                "source": source,
                "texts": result.by_source[source].texts if source in result.by_source else None,
                "cells": [_of(result, source, row["value"]) for row in values],
            }
            for source in sources
        ]
        found.append({"place": place, "measure": result.measure, "values": values, "rows": rows})
    return found


def _of(result: Result, source: str, value: str) -> str:
    held = result.by_source.get(source)
    return _shown(held.values.get(value)) if held else "–"


def _at(results: Sequence[Result], place: int) -> Result:
    if not 0 <= place < len(results):
        raise OptionError(f"there is no measure number {place} in this result")
    return results[place]


def _shown(number: float | None) -> str:
    return "–" if number is None else rounded(number)
