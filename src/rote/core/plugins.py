"""The folder is the registry.

A file in `measure/`, `corpus/`, `annotate/`, `run/` (and later rooms) is known by
its name: `self_repetition.py` is the measure `self-repetition`. A room inside a room
is written with a dot (`annotate.words`). Small members may share a file. Packages outside
add members through entry points of the group `rote.<room>`. Nothing is imported
to list the names, so that `rote --help` is instant.
"""

from __future__ import annotations

import ast
import importlib
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from rote.core.errors import UnknownName

_KINDS = {
    "annotate.words": "tokenizer",
    "cli.commands": "command",
    "corpus": "format",
    "corpus.items": "benchmark",
    "curate.synonyms.lexicons": "lexicon",
    "curate.synonyms.senses": "way to choose a sense",
    "search.backends": "backend",
    "models.backends": "model backend",
}
_TOGETHER: dict[str, tuple[str, str]] = {
    "annotate.words": (
        "rote.annotate.words._patterns",
        "guo-2025 rouge spaces treebank whitespace wordpunct",
    ),
    "cli.index": (
        "rote.cli.index",
        "add add-layer build info merge originals remove replace verify",
    ),
    "curate.synonyms.lexicons": ("rote.curate.synonyms.lexicons", "wordnet wn"),
    "curate.synonyms.senses": ("rote.curate.synonyms.senses", "context model order"),
}
"""Members that share a file, in which each is an object of its name."""
_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def members(room: str) -> dict[str, str]:
    """Name -> module path of every member of a room, ours first."""
    modules = {
        path.stem.replace("_", "-"): f"rote.{room}.{path.stem}"
        for path in sorted(_PACKAGE.joinpath(*room.split(".")).glob("*.py"))
        if not path.stem.startswith("_")
    }
    file, together = _TOGETHER.get(room, ("", ""))
    modules |= {name: f"{file}:{name.replace('-', '_')}" for name in together.split()}
    # Half of the time of `rote --help` if imported at the top.
    import importlib.metadata

    names = dict(sorted(modules.items()))
    for entry in importlib.metadata.entry_points(group=f"rote.{room}"):
        names.setdefault(entry.name, entry.value)
    return names


def load(room: str, name: str) -> Any:
    """Import one member of a room by its name: a module, or an object in one."""
    known = members(room)
    if name not in known:
        raise UnknownName(_KINDS.get(room, room), name, known)
    file, _, member = known[name].partition(":")
    module = importlib.import_module(file)
    return getattr(module, member) if member else module


@cache
def summary(room: str, name: str) -> str:
    """The first line of a member's docstring, read without importing it."""
    file, _, member = members(room)[name].partition(":")
    path = _PACKAGE.parent.joinpath(*file.split(".")).with_suffix(".py")
    if not path.exists():
        return f"from {file}"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (part for part in tree.body if isinstance(part, ast.FunctionDef))
    part = next(part for part in functions if part.name == member) if member else tree
    docstring = ast.get_docstring(part) or ""
    return docstring.split("\n", 1)[0]


def function(name: str) -> Any:
    """The function of a command, for rooms that must not import those above them."""
    return importlib.import_module("rote.studies.dispatch.functions").command_function(name)


class _CallableRoom(ModuleType):
    """A room with the name of a command: `rote.search` is the folder and the function."""

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        return function(self.__name__.rpartition(".")[2])(*inputs, **keywords)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__doc__", "__signature__"):  # what help and notebooks show
            return getattr(function(self.__name__.rpartition(".")[2]), name)
        return super().__getattribute__(name)


def make_callable(room: str) -> None:
    """Let a room be called as the command of its name."""
    sys.modules[room].__class__ = _CallableRoom
