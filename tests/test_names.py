"""Names that say what a thing is: no vague ones, no private imports across rooms, no class name
for two classes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import rote
from rote.core import registry

PACKAGE = Path(rote.__file__).parent
VAGUE = set(
    "asked found given held joined kept left made named one other own said seen shown taken told "
    "whole written".split()
)
VAGUE_LEFT = {"measure": 1, "search": 7, "web": 2}
"""Parameters that are left to rename: they only ever fall. Those of `web` are in addresses."""
RECORD_CLASSES = {"Options", "Rows"}
"""Every record file has its own."""

OTHER_MEANINGS = {
    ("report/fragments.py", "templates"),
    ("report/texts/ledger.py", "score"),
    ("report/texts/trace.py", "style"),
    ("web/forms.py", "templates"),
    ("web/job_worker.py", "templates"),
    ("web/routes/files.py", "style"),
    ("web/routes/templates.py", "templates"),
    ("web/routes/trace.py", "limit"),
    ("web/routes/trace.py", "trace"),
    ("web/stored_results.py", "templates"),
}
"""Strings that are called as a measure is and mean something else: a table, a column, a page."""


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """The room of every module, and its code."""
    return [
        (path.relative_to(PACKAGE).parts[0], ast.parse(path.read_text("utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent != PACKAGE
    ]


def assigned_names(module: ast.Module) -> Iterator[str]:
    """Of variables and parameters; without the left of what has a right, and without the other of
    two that a function takes."""
    names = [
        node.id
        for node in ast.walk(module)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    names += [
        node.arg for node in ast.walk(module) if isinstance(node, ast.arg) and node.arg != "other"
    ]
    yield from (name for name in names if name != "left" or "right" not in names)


def private_imports(room: str, module: ast.Module) -> Iterator[str]:
    """Modules of other rooms that a leading underscore keeps to these rooms."""
    for node in ast.walk(module):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            package, *path = name.split(".")
            if package == "rote" and path[:1] != [room] and any(p.startswith("_") for p in path):
                yield name


def test_reports_and_pages_name_no_measure() -> None:
    """What they say of one stands in its record, so that another package's has it as well."""
    named = {
        (path, node.value)
        for room in ("report", "web")
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in registry.names()
    }
    named = {(path.relative_to(PACKAGE).as_posix(), name) for path, name in named}
    assert named <= OTHER_MEANINGS, sorted(named - OTHER_MEANINGS)


def test_no_room_has_a_vague_name() -> None:
    counts = Counter(
        room for room, module in modules() for name in assigned_names(module) if name in VAGUE
    )
    more = {room: count for room, count in counts.items() if count > VAGUE_LEFT.get(room, 0)}
    assert not more, f"name what these variables hold ({', '.join(sorted(VAGUE))}): {more}"


def test_no_room_imports_private_modules_of_others() -> None:
    names = [name for room, module in modules() for name in private_imports(room, module)]
    assert not names, Counter(names)


def test_no_class_name_is_used_again() -> None:
    counts = Counter(
        node.name
        for _, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    )
    repeated = {name for name, count in counts.items() if count > 1}
    assert repeated <= RECORD_CLASSES, sorted(repeated - RECORD_CLASSES)
