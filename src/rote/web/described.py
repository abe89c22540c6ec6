"""The description of the API (OpenAPI), as the app really answers."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_ERROR = {
    "type": "object",
    "title": "Error",
    "description": "What is wrong, and what to do about it.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {
                "kind": {"type": "string", "examples": ["OptionError", "UnknownName"]},
                "message": {"type": "string", "description": "For people"},
            },
        }
    },
}
_REFUSED = {
    "description": "Refused: 400 for a wrong value, 404 for an unknown name, 413 for too much",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_NOT_OURS = ("HTTPValidationError", "ValidationError")


def describe(app: FastAPI, *, token: bool) -> None:
    """FastAPI would say that wrong values are answered with 422, in a form of its own."""

    def made() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app, token)
        return app.openapi_schema

    app.openapi = made  # type: ignore[method-assign]


def _described(app: FastAPI, token: bool) -> dict[str, Any]:
    found = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for methods in found["paths"].values():
        for one in methods.values():
            one["responses"].pop("422", None)
            one["responses"]["4XX"] = _REFUSED
    parts = found.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    for name in _NOT_OURS:
        schemas.pop(name, None)
    schemas["Error"] = _ERROR
    if token:
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found
