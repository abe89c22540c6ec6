"""The app's style and script, and those of the report, by name; each with a hash for caching."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files

from rote.core.errors import UnknownName

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@cache
def contents() -> dict[str, bytes]:
    """Everything that may be asked for under /static, read once."""
    from rote.report.whole.fragments import script, style

    folder = files("rote.web").joinpath("static")
    found = {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if file.name.rpartition(".")[2] in TYPES
    }
    # The parts of a report look and work here as they do in the report.
    found["report.css"] = style().encode()
    found["report.js"] = script().encode()
    return found


@cache
def version(name: str) -> str:
    if name not in contents():
        raise UnknownName("static file", name, contents())
    return blake2b(contents()[name], digest_size=8).hexdigest()


def static(name: str) -> str:
    """The address of a static file; it changes when the file does."""
    return f"/static/{name}?v={version(name)}"
