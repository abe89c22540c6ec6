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
from rote.core.json_reader import parse_json
from rote.corpus.memory import to_rows
from rote.index.index import DEFAULT
from rote.index.query import is_plain, parse

KNOWN = "known"
"""In place of a file: the patterns that come with rote."""

Patterns = Mapping[str, Sequence[str]]


def read_patterns(file: Any) -> Patterns:
    """Names and queries, in the order of the file; from Python also themselves: a dict of names and
    queries, a list or a column of phrases."""
    if not isinstance(file, (str, Path)):
        return _checked(to_rows(file), "patterns")
    file = str(file)
    if file == KNOWN:
        text = (resources.files("rote.search") / "lists" / "patterns.json").read_text("utf-8")
        return _checked(parse_json(text), file)
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
            held = parse_json(text, file)
            _check_phrases(held, file, text)
            return _checked(held, file)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the patterns cannot be read: {error}", file=file) from None
    lines = (line.strip() for line in text.splitlines())
    return _checked([line for line in lines if line and not line.startswith("#")], file)


def _toml(text: str, file: str) -> dict[str, Any]:
    if sys.version_info < (3, 11):
        raise InputError("TOML needs Python 3.11: write the patterns as JSON", file=file)
    import tomllib

    return tomllib.loads(text)


def _checked(held: Any, file: str) -> Patterns:
    if isinstance(held, tuple):
        held = list(held)
    if isinstance(held, list):
        _check_phrases(held, file)
        phrases = [part for one in held for part in (one if isinstance(one, list) else [one])]
        held = {phrase: phrase for phrase in phrases}
    if not isinstance(held, Mapping) or not held:
        raise InputError("no patterns: names with queries, or a list of phrases", file=file)
    found: dict[str, list[str]] = {}
    for name, queries in held.items():
        several = [queries] if isinstance(queries, str) else queries
        if not isinstance(several, list) or not all(isinstance(q, str) for q in several):
            raise InputError("a pattern is a query, or a list of queries", file=file, field=name)
        found[str(name)] = several
    return found


def _check_phrases(held: Any, file: str, text: str | None = None) -> None:
    """Refuse what is no phrase in a list of them; `text`, where it is JSON, tells the line."""
    for number, one in enumerate(held if isinstance(held, list) else ()):
        for part in one if isinstance(one, list) else [one]:
            if not isinstance(part, str):
                raise InputError(
                    f"entry {number + 1:,} of the list holds {json.dumps(part, default=str)}, "
                    "which is no phrase",
                    file=file,
                    line=None if text is None else _line_of(text, number),
                    remedy="A list of phrases holds strings, or lists of strings",
                )


def _line_of(text: str, number: int) -> int:
    """The line in which an entry of a JSON list begins."""
    decoder, place = json.JSONDecoder(), text.index("[") + 1
    for left in range(number, -1, -1):
        while text[place].isspace() or text[place] == ",":
            place += 1
        if left:
            _, place = decoder.raw_decode(text, place)
    return text.count("\n", 0, place) + 1


def layers_of(patterns: Patterns, layer: str = DEFAULT) -> tuple[str, ...]:
    """The layers that these queries read; plain phrases read `layer`."""
    found = [
        name
        for queries in patterns.values()
        for query in queries
        for name in ((layer,) if is_plain(query) else parse(query, layer).layers)
    ]
    return tuple(dict.fromkeys(found))
