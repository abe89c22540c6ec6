"""Named patterns: queries in a list that users extend, lists of phrases, and their counts.

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

import numpy as np

from rote.core.errors import InputError
from rote.core.json_reader import CollectorPaused, JsonDecoder, parse_json
from rote.corpus.memory import to_rows
from rote.index.index import DEFAULT, Index
from rote.index.query import is_plain, parse
from rote.search.rows.collocates import dispersion
from rote.search.rows.counts import DOCUMENT, Groups, count_by_group, groups_by, per_million
from rote.search.rows.matches import MatchArrays, find_matches

KNOWN = "known"
"""In place of a file: the patterns that come with rote."""

Patterns = Mapping[str, Sequence[str]]


def read_patterns(file: Any) -> Patterns:
    """Names and queries, in the order of the file; from Python also themselves: a dict of names and
    queries, a list or a column of phrases."""
    if not isinstance(file, (str, Path)):
        return _check_patterns(to_rows(file), "patterns")
    file = str(file)
    if file == KNOWN:
        text = (resources.files("rote.search") / "lists" / "patterns.json").read_text("utf-8")
        return _check_patterns(parse_json(text), file)
    path = Path(file)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"the patterns cannot be read ({why})", file=file) from None
    try:
        if path.suffix == ".toml":
            if sys.version_info < (3, 11):
                raise InputError("TOML needs Python 3.11: write the patterns as JSON", file=file)
            import tomllib

            with CollectorPaused():
                content = tomllib.loads(text)
            return _check_patterns(content.get("patterns", content), file)
        if path.suffix == ".json":
            content = parse_json(text, file)
            _check_phrases(content, file, text)
            return _check_patterns(content, file)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the patterns cannot be read: {error}", file=file) from None
    lines = (line.strip() for line in text.splitlines())
    return _check_patterns([line for line in lines if line and not line.startswith("#")], file)


def _check_patterns(content: Any, file: str) -> Patterns:
    if isinstance(content, tuple):
        content = list(content)
    if isinstance(content, list):
        _check_phrases(content, file)
        phrases = [
            part for entry in content for part in (entry if isinstance(entry, list) else [entry])
        ]
        content = {phrase: phrase for phrase in phrases}
    if not isinstance(content, Mapping) or not content:
        raise InputError("no patterns: names with queries, or a list of phrases", file=file)
    patterns: dict[str, list[str]] = {}
    for name, queries in content.items():
        several = [queries] if isinstance(queries, str) else queries
        if not isinstance(several, list) or not all(isinstance(q, str) for q in several):
            raise InputError("a pattern is a query, or a list of queries", file=file, field=name)
        patterns[str(name)] = several
    return patterns


def _check_phrases(content: Any, file: str, text: str | None = None) -> None:
    """Refuse what is no phrase in a list of them; `text`, where it is JSON, tells the line."""
    for number, entry in enumerate(content if isinstance(content, list) else ()):
        for part in entry if isinstance(entry, list) else [entry]:
            if not isinstance(part, str):
                raise InputError(
                    f"entry {number + 1:,} of the list is {json.dumps(part, default=str)}, which "
                    "is not a phrase",
                    file=file,
                    line=None if text is None else _line_of(text, number),
                    remedy="A list of phrases contains strings, or lists of strings",
                )


def _line_of(text: str, number: int) -> int:
    decoder, place = JsonDecoder(), text.index("[") + 1
    for entries_left in range(number, -1, -1):
        while text[place].isspace() or text[place] == ",":
            place += 1
        if entries_left:
            _, place = decoder.raw_decode(text, place)
    return text.count("\n", 0, place) + 1


def layers_of(patterns: Patterns, layer: str = DEFAULT) -> tuple[str, ...]:
    """The layers that these queries read; plain phrases read `layer`."""
    layers = [
        name
        for queries in patterns.values()
        for query in queries
        for name in ((layer,) if is_plain(query) else parse(query, layer).layers)
    ]
    return tuple(dict.fromkeys(layers))


PATTERN_COLUMNS = ("pattern", "matches", "documents", "per_million", "dp", "juilland_d")


def find_pattern(index: Index, queries: Sequence[str], layer: str) -> MatchArrays:
    """The matches of any of these queries; where several begin at one place, one of them."""
    matches = [find_matches(index, index.parse(query, layer)) for query in queries]
    if len(matches) == 1:
        return matches[0]
    segment, start, end = (
        np.concatenate([getattr(arrays, name) for arrays in matches])
        for name in ("segment", "start", "end")
    )
    _, first = np.unique(segment << 40 | start, return_index=True)
    return MatchArrays(index, matches[0].layer, segment[first], start[first], end[first])


def count_patterns(index: Index, patterns: Patterns, layer: str) -> list[dict[str, Any]]:
    """A row for each pattern, with its dispersion over documents."""
    every = groups_by(index, DOCUMENT)
    rows = []
    for name, queries in patterns.items():
        matches = find_pattern(index, queries, layer)
        spread = dispersion(count_by_group(matches, every), every)
        rows.append(
            {
                "pattern": name,
                "matches": len(matches),
                "documents": len(matches.holding()[0]),
                "per_million": per_million(len(matches), index.items_held("word")),
                "dp": spread["dp"],
                "juilland_d": spread["juilland_d"],
            }
        )
    return rows


def count_patterns_by_group(
    index: Index, patterns: Patterns, layer: str, groups: Groups
) -> list[dict[str, Any]]:
    return [
        {"pattern": name, **row}
        for name, queries in patterns.items()
        for row in count_by_group(find_pattern(index, queries, layer), groups)
    ]
