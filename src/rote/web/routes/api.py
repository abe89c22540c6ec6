"""The API as a page: every address with what it does, made from the OpenAPI description."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from rote.web.pages.render import page

router = APIRouter()


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
