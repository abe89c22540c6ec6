"""Short texts written for rote and bundled with it: example:answers."""

from __future__ import annotations

from pathlib import Path

from rote.core.errors import UnknownName
from rote.corpus._shard import Origin, Part
from rote.corpus.jsonl import inspect, shards

SUFFIXES = ()
_FOLDER = Path(__file__).parent / "examples"

__all__ = ["SUFFIXES", "inspect", "named", "shards"]


def named(rest: str) -> Part:
    """The part for `example:REST`: a JSONL file of the package."""
    path = _FOLDER / f"{rest}.jsonl"
    if not path.is_file():
        raise UnknownName("example", rest, (file.stem for file in _FOLDER.glob("*.jsonl")))
    return Part("jsonl", path, Origin(f"example:{rest}", rest, rest), path.stat().st_size)
