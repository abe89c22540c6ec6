"""The API reference: what the functions say of themselves, as pages of the site.

Functions are made from records when they are asked for, so their pages are made from the same
records; classes are left to mkdocstrings, which reads their docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import rote
from rote.core.registry import functions
from rote.studies.dispatch.driver import field_default
from rote.studies.dispatch.functions import describe, documentation, option_keywords

INHERITED = "\n    options:\n      inherited_members: true"
ROOMS = {"measure": "Measures", "studies": "Studies", "cli": "Corpora"}


def pages() -> Iterator[tuple[str, str]]:
    """Each page of the reference: where it goes, and its Markdown."""
    yield "api/index.md", _overview()
    for room, title in ROOMS.items():
        yield f"api/{title.lower()}.md", f"# {title}\n\n" + "\n".join(map(_function, _names(room)))
    yield "api/shared.md", _shared()
    yield "api/objects.md", _objects()


def _overview() -> str:
    """All functions in a line each, under what the package says of itself."""
    _, example, prose = (inspect.getdoc(rote) or "").split("\n\n", 2)
    parts = ["# Python", "```python\n" + inspect.cleandoc(example) + "\n```", prose]
    for room, title in ROOMS.items():
        rows = ["| function | what |", "|---|---|"]
        for name in _names(room):
            first = _cell(_documented(name)[0])
            rows.append(f"| [`rote.{name}`]({title.lower()}.md#{name}) | {first} |")
        parts += [f"## {title}", "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _function(name: str) -> str:
    """One function: its docstring, its own keywords, and which it shares with others."""
    described, (first, rest) = describe(name), _documented(name)
    every = described.kinds.values()
    shared = [kind for kind in every if kind in _shared_kinds()]
    own = [kind for kind in every if kind not in shared]
    parts = [f"## rote.{name} {{ #{name} }}", f"**{first}**", rest]
    parts.append(_table(own, described.without))
    if shared:
        links = [f"[{_title(k)}](shared.md#{_title(k).lower().replace(' ', '-')})" for k in shared]
        parts.append("Shared keywords: " + ", ".join(links) + ".")
    return "\n\n".join(part for part in parts if part) + "\n"


def _shared() -> str:
    parts = ["# Shared keywords", "Keywords that several functions take."]
    for kind in _shared_kinds():
        parts += [f"## {_title(kind)}", inspect.getdoc(kind) or "", _table([kind])]
    return "\n\n".join(parts) + "\n"


def _shared_kinds() -> list[type]:
    """Options that more than one function takes, the most usual ones first."""
    every = [kind for name in functions() for kind in describe(name).kinds.values()]
    several = {kind for kind in every if every.count(kind) > 1}
    return sorted(several, key=lambda kind: (-every.count(kind), kind.__name__))


def _objects() -> str:
    parts = ["# Results, corpora, indexes"]
    for room, own in rote._ROOMS.items():
        parts += [f"::: {room}.{name}" for name in own]
    parts = [one + INHERITED * one.endswith(".Index") for one in parts]
    return "\n\n".join(parts) + "\n"


def _table(own: Sequence[type], without: Sequence[str] = ()) -> str:
    rows = []
    for field, hint in option_keywords(own, without):
        told = _cell(field.metadata["help"])
        rows.append(f"| `{field.name}` | `{hint}` | `{field_default(field)!r}` | {told} |")
    return "\n".join(["| keyword | type | default | what |", "|---|---|---|---|", *rows])


def _documented(name: str) -> tuple[str, str]:
    """The first paragraph of a function's docstring, and the others up to its keywords."""
    first, _, rest = documentation(name).partition("\n\nKeywords:")[0].partition("\n\n")
    return first, rest


def _title(kind: Any) -> str:
    return str(kind.SECTION)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")


def _names(room: str) -> list[str]:
    return [name for name, (own, _) in functions().items() if own.partition(".")[0] == room]
