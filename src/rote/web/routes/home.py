"""The first page: what is opened, what was measured last, and where to go from here; the API as a
page, made from its OpenAPI description; style sheets, scripts and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from rote.core.errors import RoteError
from rote.search.rows.counts import has_authors
from rote.web.errors import AnyJSON
from rote.web.files import glimpse
from rote.web.indexes import OpenIndex
from rote.web.pages.render import TYPES, contents, link, page, version
from rote.web.pages.search import telling_phrases
from rote.web.pages.sections import glance_of
from rote.web.state import index_of, state
from rote.web.store.history import Entry, History

router = APIRouter()
_RECENT = 6


@router.get("/", include_in_schema=False)
def home(request: Request) -> Response:
    opened = state(request).workspace
    history = state(request).history
    jobs = state(request).jobs
    recent = history.entries(limit=_RECENT)
    return page(
        request,
        "home.html",
        indexes=[_index(request, key) for key in opened.indexes],
        files=[(key, glimpse(path)) for key, path in opened.all_files().items()],
        given=set(opened.files),
        recent=recent,
        total=history.count(),
        picture=_picture(history, recent),
        running=[job for job in jobs.list() if job.open],
    )


@router.get(
    "/api/opened",
    tags=["files"],
    summary="The indexes and files that the app can read",
    response_model=dict[str, Any],
)
def list_opened(request: Request) -> Response:
    opened = state(request).workspace
    files = {
        key: {"fields": look.fields, "values": dict(look.values), "problem": look.problem or None}
        for key, path in opened.all_files().items()
        for look in (glimpse(path),)
    }
    indexes = [_index(request, key) for key in opened.indexes]
    return AnyJSON({"indexes": indexes, "files": files})


def _index(request: Request, key: str) -> dict[str, Any]:
    """What it holds; one that cannot be opened says why, and the page is shown all the same."""
    try:
        held = index_of(request, key)
        layers = list(held.index.sorted_layers)
        examples = held.once("home examples", lambda: _examples(key, held))
        return {**held.about(key), "layers": layers, "examples": examples, "problem": None}
    except (RoteError, OSError, TimeoutError) as error:
        return {"index": key, "problem": str(error)}


def _examples(key: str, opened: OpenIndex) -> list[dict[str, str]]:
    """Questions that this index has an answer to: taken from what is frequent in it."""
    phrases = telling_phrases(opened)
    found = [
        {"title": phrase, "address": link("/search", index=key, q=phrase)} for phrase in phrases
    ]
    if phrases:
        first = phrases[0].split()[0]
        place = link("/search", index=key, q=first, view="after")
        found.append({"title": f"what follows “{first}”", "address": place})
    if phrases and has_authors(opened.index):
        place = link("/search", index=key, q=phrases[0], view="by", by="author")
        found.append({"title": f"who writes “{phrases[0]}”", "address": place})
    for layer in ("pos", "upos"):
        if layer in opened.index.sorted_layers:
            place = link("/search/top", index=key, layer=layer, n=6)
            found.append({"title": "frequent patterns of tags", "address": place})
            break
    place = link("/trace", index=key)
    return [*found, {"title": "trace a text to it", "address": place}]


def _picture(history: History, recent: Sequence[Entry]) -> dict[str, Any] | None:
    """The newest result that has something to be seen at once."""
    for entry in recent:
        if glance := glance_of(history, entry.id):
            at = f'href="{entry.address}#'  # links of the page that has all of it
            shown = Markup(str(glance.html).replace('href="#', at))
            return {"entry": entry, "glance": shown}
    return None


@router.get("/api", include_in_schema=False)
@router.get("/api/", include_in_schema=False)
def api_page(request: Request) -> Response:
    described = request.app.openapi()
    groups: dict[str, list[dict[str, object]]] = {}
    for path, methods in described["paths"].items():
        for method, one in methods.items():
            line = {
                "method": method.upper(),
                "path": path,
                "summary": one.get("summary", ""),
                "description": one.get("description", ""),
                "parameters": [
                    {
                        "name": given["name"],
                        "required": given.get("required", False),
                        "default": given["schema"].get("default"),
                        "said": given.get("description", ""),
                    }
                    for given in one.get("parameters", ())
                ],
                "body": _body(one, described["components"]["schemas"]),
            }
            groups.setdefault(next(iter(one.get("tags", ())), "other"), []).append(line)
    about = described["info"]["description"].split("\n\n")
    return page(request, "api.html", groups=groups, about=about)


def _body(one: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, object]]:
    """What is sent as JSON, or as a form, in the order in which it is described."""
    for held in one.get("requestBody", {}).get("content", {}).values():
        shape = schemas[held["schema"]["$ref"].rpartition("/")[2]]
        return [
            {
                "name": name,
                "required": name in shape.get("required", ()),
                "default": about.get("default"),
                "said": about.get("description", ""),
            }
            for name, about in shape["properties"].items()
        ]
    return []


_FOR_EVER = "public, max-age=31536000, immutable"


@router.get("/static/{name}", include_in_schema=False)
def static_file(request: Request, name: str) -> Response:
    tag = f'"{version(name)}"'
    # The address that pages use holds the hash: what it names never changes.
    exact = request.query_params.get("v") == version(name)
    headers = {"ETag": tag, "Cache-Control": _FOR_EVER if exact else "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(contents()[name], headers=headers, media_type=TYPES[name.rpartition(".")[2]])


@router.get("/favicon.ico", include_in_schema=False)
def icon() -> Response:
    return Response(contents()["icon.svg"], media_type=TYPES["svg"])
