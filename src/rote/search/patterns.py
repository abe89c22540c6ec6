"""Named patterns: queries in a list that users extend, and lists of words and phrases.

Three forms of file. JSON: an object of names and queries, a query or a list of them each, or a list
of phrases (strings, or lists of strings, as slop lists are published). TOML: the same in a table
`patterns` (Python 3.11). Anything else: a phrase or a query in each line, which is its own name;
lines that begin with # are left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.index.index import DEFAULT
from rote.index.query import is_plain, parse

KNOWN = "known"
"""In place of a file: the patterns that come with rote."""

Patterns = Mapping[str, Sequence[str]]


def read_patterns(file: str) -> Patterns:
    """Names and queries, in the order of the file."""
    if file == KNOWN:
        text = (resources.files("rote.search") / "lists" / "patterns.json").read_text("utf-8")
        return _checked(json.loads(text), file)
    path = Path(file)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"the patterns cannot be read ({why})", file=file) from None
    try:
        if path.suffix == ".toml":
            held = _toml(text, file)
            return _checked(held.get("patterns", held), file)
        if path.suffix == ".json":
            return _checked(json.loads(text), file)
    except ValueError as error:
        raise InputError(f"the patterns cannot be read: {error}", file=file) from None
    lines = (line.strip() for line in text.splitlines())
    return _checked([line for line in lines if line and not line.startswith("#")], file)


def _toml(text: str, file: str) -> dict[str, Any]:
    if sys.version_info < (3, 11):
        raise InputError("TOML needs Python 3.11: write the patterns as JSON", file=file)
    import tomllib

    return tomllib.loads(text)


def _checked(held: Any, file: str) -> Patterns:
    if isinstance(held, list):
        phrases = [part for one in held for part in (one if isinstance(one, list) else [one])]
        held = {phrase: phrase for phrase in phrases if isinstance(phrase, str)}
    if not isinstance(held, dict) or not held:
        raise InputError("no patterns: names with queries, or a list of phrases", file=file)
    found: dict[str, list[str]] = {}
    for name, queries in held.items():
        several = [queries] if isinstance(queries, str) else queries
        if not isinstance(several, list) or not all(isinstance(q, str) for q in several):
            raise InputError("a pattern is a query, or a list of queries", file=file, field=name)
        found[str(name)] = several
    return found


def layers_of(patterns: Patterns, layer: str = DEFAULT) -> tuple[str, ...]:
    """The layers that these queries read; plain phrases read `layer`."""
    found = [
        name
        for queries in patterns.values()
        for query in queries
        for name in ((layer,) if is_plain(query) else parse(query, layer).layers)
    ]
    return tuple(dict.fromkeys(found))
