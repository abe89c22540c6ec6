"""What the paths on the command line are: indexes, texts, or results that were made before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rote.core.errors import InputError

_LARGEST = 512 * 2**20
"""Bytes up to which a JSON file is looked into; results are far smaller."""


@dataclass(frozen=True, slots=True)
class Recognized:
    """Paths by key; results have none, they go to the history."""

    indexes: dict[str, Path]
    files: dict[str, Path]
    results: tuple[Path, ...]


def recognize(names: Sequence[str]) -> Recognized:
    """Every name is looked at; what cannot be used is an error before the app starts."""
    indexes: list[Path] = []
    files: list[Path] = []
    results: list[Path] = []
    for name in dict.fromkeys(names):
        kind = _kind(name)
        # In full, so that work in other processes finds it; `bible:kjv` is no path.
        path = Path(name) if kind == "named" else Path(name).resolve()
        {"index": indexes, "results": results}.get(kind, files).append(path)
    return Recognized(_keyed(indexes), _keyed(files), tuple(results))


def _kind(name: str) -> str:
    from rote.annotate.store import is_store
    from rote.corpus import open_corpus
    from rote.index.folders.manifest import is_index

    path = Path(name)
    if path.is_dir() and is_index(path):
        return "index"
    if path.is_dir() and is_store(path):
        return "store"
    if path.suffix == ".json" and path.is_file() and _holds_results(path):
        return "results"
    if name == "-":
        raise InputError("standard input cannot be served", remedy="Write it to a file first")
    # A pattern is looked up now, and again at every use.
    open_corpus([path])
    return "file" if path.exists() or not _is_named(name) else "named"


def _holds_results(path: Path) -> bool:
    """Results and studies are objects with a schema; a file of texts is not."""
    if path.stat().st_size > _LARGEST:
        return False
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return isinstance(data, dict) and "schema" in data and ("panel" in data or "measure" in data)


def _is_named(name: str) -> bool:
    from rote.core import plugins

    reader, colon, _ = name.partition(":")
    return bool(colon) and reader in plugins.members("corpus")


def _keyed(paths: Sequence[Path]) -> dict[str, Path]:
    from rote.corpus._names import short_names

    return dict(zip(short_names(paths, paths), paths))
