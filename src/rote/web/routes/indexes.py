"""The indexes: what they hold, and how one is built, extended and deleted here."""

from __future__ import annotations

import shutil
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from pydantic import Field

from rote.core.errors import RoteError, UnknownName
from rote.web.api import Question
from rote.web.errors import status_of
from rote.web.files import glimpse
from rote.web.forms.index import LAYERS, IndexForm
from rote.web.forms.options import pairs_of
from rote.web.pages.render import page
from rote.web.state import index_of, state

router = APIRouter(tags=["indexes"])


class IndexAsked(Question):
    """What goes into which index."""

    files: list[str] = Field(description="Keys of files, as /api/opened lists them")
    name: str = Field(default="", description="Name of a new index")
    into: str = Field(default="", description="Or: an index that was built here, to extend it")
    layers: list[str] = Field(default=["lower", "pos"], description=", ".join(LAYERS))
    author: str = Field(default="author", description="Field that names a text's author")
    skip: bool = Field(
        default=False, description="Leave out bad records, and ids that the index has already"
    )


@router.get("/indexes", include_in_schema=False)
def indexes_page(request: Request) -> Response:
    state(request).workspace.known.sweep()
    return _page(request, IndexForm.read(request.query_params.multi_items()))


@router.post("/indexes", include_in_schema=False)
async def build_page(request: Request) -> Response:
    """Start the work, or show the form again with what is wrong."""
    form = IndexForm.read(pairs_of(await request.form()))

    def start() -> Response:
        try:
            # What was built before may have been deleted since: it is not looked for.
            return RedirectResponse(state(request).jobs.ask(form, again=True).address, 303)
        except RoteError as error:
            return _page(request, form, str(error), status_of(error))

    return await run_in_threadpool(start)


@router.post("/indexes/delete", include_in_schema=False)
async def delete_page(request: Request) -> Response:
    form = await request.form()
    await run_in_threadpool(_delete, request, str(form.get("key")))
    return RedirectResponse("/indexes", 303)


@router.post("/api/indexes", summary="Build or extend an index; gives the job that does it")
def build(request: Request, asked: IndexAsked) -> dict[str, Any]:
    form = IndexForm(
        tuple(asked.files),
        asked.name,
        asked.into,
        tuple(asked.layers),
        asked.author or "author",
        asked.skip,
    )
    return state(request).jobs.ask(form, again=True).to_dict()


@router.post("/api/indexes/{key}/delete", summary="Delete an index that was built here")
def delete(request: Request, key: str) -> dict[str, int]:
    return {"deleted": _delete(request, key)}


def _delete(request: Request, key: str) -> int:
    own = state(request).workspace.known.own
    if key not in own:
        raise UnknownName("index that was built here", key, own)
    shutil.rmtree(own[key])
    return 1


def _page(request: Request, form: IndexForm, problem: str = "", status: int = 200) -> Response:
    opened = state(request).workspace
    return page(
        request,
        "indexes.html",
        status,
        form=form,
        problem=problem,
        indexes=[_described(request, key) for key in opened.indexes],
        own=list(opened.known.own),
        files={key: glimpse(path) for key, path in opened.all_files().items()},
        layers=list(LAYERS.items()),
    )


def _described(request: Request, key: str) -> dict[str, Any]:
    try:
        held = index_of(request, key)
        return {**held.about(key), "layers": held.index.sorted_layers, "problem": ""}
    except (RoteError, OSError) as error:
        return {"index": key, "problem": str(error)}
