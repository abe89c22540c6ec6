"""The first page, indexes to build, extend and delete, the API as a page, static files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from pydantic import Field

from rote.core.errors import RoteError, UnknownName
from rote.search.rows.counts import has_authors
from rote.web.app import ApiQuestion, app_state, open_index_of
from rote.web.errors import SafeJSONResponse
from rote.web.files import preview_file
from rote.web.forms import INDEX_LAYERS, IndexForm
from rote.web.history import History, HistoryEntry
from rote.web.job_queue import start_work
from rote.web.render import TYPES, make_link, render_page, static_files, static_version
from rote.web.search_views import example_phrases
from rote.web.stored_results import result_glance
from rote.web.workspace import OpenIndex

router = APIRouter()
_RECENT = 6


@router.get("/", include_in_schema=False)
def home(request: Request) -> Response:
    app = app_state(request)
    opened, history, jobs = app.workspace, app.history, app.jobs
    recent = history.entries(limit=_RECENT)
    return render_page(
        request,
        "home.html",
        indexes=[_index_data(request, key) for key in opened.indexes],
        files=[(key, preview_file(path)) for key, path in opened.all_files().items()],
        given=set(opened.files),
        recent=recent,
        total=history.count(),
        picture=_newest_glance(history, recent),
        running=[job for job in jobs.list() if job.open],
    )


@router.get(
    "/api/opened",
    tags=["files"],
    summary="The indexes and files that the app can read",
    response_model=dict[str, Any],
)
def list_opened(request: Request) -> Response:
    opened = app_state(request).workspace
    files = {
        key: {"fields": look.fields, "values": dict(look.values), "problem": look.problem or None}
        for key, path in opened.all_files().items()
        for look in (preview_file(path),)
    }
    indexes = [_index_data(request, key) for key in opened.indexes]
    return SafeJSONResponse({"indexes": indexes, "files": files})


def _index_data(request: Request, key: str) -> dict[str, Any]:
    """What it holds; one that cannot be opened says why, and the page is shown all the same."""
    try:
        opened = open_index_of(request, key)
        layers = list(opened.index.sorted_layers)
        examples = opened.once("home examples", lambda: _example_links(key, opened))
        return {**opened.about(key), "layers": layers, "examples": examples, "problem": None}
    except (RoteError, OSError, TimeoutError) as error:
        return {"index": key, "problem": str(error)}


def _example_links(key: str, opened: OpenIndex) -> list[dict[str, str]]:
    """Questions that this index has an answer to: taken from what is frequent in it."""
    phrases = example_phrases(opened)
    examples = [{"title": p, "address": make_link("/search", index=key, q=p)} for p in phrases]
    if phrases:
        first = phrases[0].split()[0]
        place = make_link("/search", index=key, q=first, view="after")
        examples.append({"title": f"what follows “{first}”", "address": place})
    if phrases and has_authors(opened.index):
        place = make_link("/search", index=key, q=phrases[0], view="by", by="author")
        examples.append({"title": f"who writes “{phrases[0]}”", "address": place})
    for layer in ("pos", "upos"):
        if layer in opened.index.sorted_layers:
            place = make_link("/search/top", index=key, layer=layer, n=6)
            examples.append({"title": "frequent patterns of tags", "address": place})
            break
    place = make_link("/trace", index=key)
    return [*examples, {"title": "trace a text to it", "address": place}]


def _newest_glance(history: History, recent: Sequence[HistoryEntry]) -> dict[str, Any] | None:
    """The newest result that has something to be seen at once."""
    for entry in recent:
        if glance := result_glance(history, entry.id):
            at = f'href="{entry.address}#'  # links of the page that has all of it
            linked = Markup(str(glance.html).replace('href="#', at))
            return {"entry": entry, "glance": linked}
    return None


@router.get("/api", include_in_schema=False)
@router.get("/api/", include_in_schema=False)
def api_page(request: Request) -> Response:
    described = request.app.openapi()
    groups: dict[str, list[dict[str, object]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            line = {
                "method": method.upper(),
                "path": path,
                "summary": operation.get("summary", ""),
                "description": operation.get("description", ""),
                "parameters": [
                    _field_data(p["name"], p, p["schema"], p.get("required", False))
                    for p in operation.get("parameters", ())
                ],
                "body": _body_fields(operation, described["components"]["schemas"]),
            }
            groups.setdefault(next(iter(operation.get("tags", ())), "other"), []).append(line)
    about = described["info"]["description"].split("\n\n")
    return render_page(request, "api.html", groups=groups, about=about)


def _body_fields(operation: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, object]]:
    """What is sent as JSON, or as a form, in the order in which it is described."""
    for content in operation.get("requestBody", {}).get("content", {}).values():
        shape = schemas[content["schema"]["$ref"].rpartition("/")[2]]
        needed = shape.get("required", ())
        fields = shape["properties"].items()
        return [_field_data(name, about, about, name in needed) for name, about in fields]
    return []


def _field_data(
    name: str, about: dict[str, Any], schema: dict[str, Any], required: bool
) -> dict[str, object]:
    data = {"name": name, "required": required, "default": schema.get("default")}
    return {**data, "said": about.get("description", "")}


_FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{name}", include_in_schema=False)
def static_file(request: Request, name: str) -> Response:
    tag = f'"{static_version(name)}"'
    # The address that pages use holds the hash: what it names never changes.
    exact = request.query_params.get("v") == static_version(name)
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER if exact else "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(
        static_files()[name], headers=headers, media_type=TYPES[name.rpartition(".")[2]]
    )


@router.get("/favicon.ico", include_in_schema=False)
def favicon() -> Response:
    return Response(static_files()["icon.svg"], media_type=TYPES["svg"])


class IndexQuestion(ApiQuestion):
    """What goes into which index."""

    files: list[str] = Field(description="Keys of files, as /api/opened lists them")
    name: str = Field(default="", description="Name of a new index")
    into: str = Field(default="", description="Or: an index that was built here, to extend it")
    layers: list[str] = Field(default=["lower", "pos"], description=", ".join(INDEX_LAYERS))
    author: str = Field(default="author", description="Field with a text's author")
    skip: bool = Field(
        default=False, description="Leave out bad records, and ids that the index has already"
    )


@router.get("/indexes", include_in_schema=False)
def indexes_page(request: Request) -> Response:
    app_state(request).workspace.known.sweep()
    return _indexes_response(request, IndexForm.read(request.query_params.multi_items()))


@router.post("/indexes", include_in_schema=False)
async def build_page(request: Request) -> Response:
    # What was built before may have been deleted since: it is not looked for.
    return await start_work(request, IndexForm(), IndexForm.read, _indexes_response, again=True)


@router.post("/indexes/delete", include_in_schema=False)
async def delete_index_page(request: Request) -> Response:
    form = await request.form()
    await run_in_threadpool(_remove_index, request, str(form.get("key")))
    return RedirectResponse("/indexes", 303)


@router.post("/api/indexes", tags=["indexes"], summary="Build or extend an index; returns the job")
def build_index_job(request: Request, question: IndexQuestion) -> dict[str, Any]:
    files, layers = tuple(question.files), tuple(question.layers)
    author = question.author or "author"
    form = IndexForm(files, question.name, question.into, layers, author, question.skip)
    return app_state(request).jobs.ask(form, again=True).to_dict()


@router.post(
    "/api/indexes/{key}/delete", tags=["indexes"], summary="Delete an index that was built here"
)
def delete_index(request: Request, key: str) -> dict[str, int]:
    return {"deleted": _remove_index(request, key)}


def _remove_index(request: Request, key: str) -> int:
    built = app_state(request).workspace.known.built
    if key not in built:
        raise UnknownName("index that was built here", key, built)
    shutil.rmtree(built[key])
    return 1


def _indexes_response(
    request: Request, form: IndexForm, problem: str = "", status: int = 200
) -> Response:
    opened = app_state(request).workspace
    return render_page(
        request,
        "indexes.html",
        status,
        form=form,
        problem=problem,
        indexes=[_index_data(request, key) for key in opened.indexes],
        own=list(opened.known.built),
        files={key: preview_file(path) for key, path in opened.all_files().items()},
        layers=list(INDEX_LAYERS.items()),
    )
