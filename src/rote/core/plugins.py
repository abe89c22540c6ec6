"""The folder is the registry.

A file in `measure/`, `corpus/`, `annotate/`, `run/` (and later rooms) is known by
its name: `self_repetition.py` is the measure `self-repetition`. A room inside a room
is written with a dot (`annotate.words`). Packages outside
add members through entry points of the group `rote.<room>`. Nothing is imported
to list the names, so that `rote --help` is instant.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from types import ModuleType

from rote.core.errors import UnknownName

_KINDS = {
    "annotate.words": "tokenizer",
    "cli.commands": "command",
    "corpus": "format",
    "corpus.items": "benchmark",
    "search.backends": "backend",
    "models.backends": "model backend",
}
_PACKAGE = Path(__file__).resolve().parent.parent


def _folder(room: str) -> Path:
    return _PACKAGE.joinpath(*room.split("."))


@cache
def members(room: str) -> dict[str, str]:
    """Name -> module path of every member of a room, ours first."""
    own = {
        path.stem.replace("_", "-"): f"rote.{room}.{path.stem}"
        for path in sorted(_folder(room).glob("*.py"))
        if not path.stem.startswith("_")
    }
    # Half of the time of `rote --help` if imported at the top.
    import importlib.metadata

    found = dict(own)
    for entry in importlib.metadata.entry_points(group=f"rote.{room}"):
        found.setdefault(entry.name, entry.value)
    return found


def load(room: str, name: str) -> ModuleType:
    """Import one member of a room by its name."""
    known = members(room)
    if name not in known:
        raise UnknownName(_KINDS.get(room, room), name, known)
    return importlib.import_module(known[name])


@cache
def summary(room: str, name: str) -> str:
    """The first line of a member's docstring, read without importing it."""
    path = _folder(room) / f"{name.replace('-', '_')}.py"
    if not path.exists():
        return f"from {members(room)[name]}"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", 1)[0]
