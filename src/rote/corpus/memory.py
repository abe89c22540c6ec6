"""Texts and Documents that are already in memory: lists and dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._fields import Fields
from rote.corpus._options import ReadOptions
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard

SUFFIXES = ()


def inspect(part: Part, options: ReadOptions) -> Fields:
    return Fields()


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    """Runs of texts of about the size of a shard, so that workers get pieces, not the whole."""
    items: Sequence[str | Document] = part.where
    start = size = 0
    for number, item in enumerate(items, 1):
        size += length(item)
        if size >= SHARD_BYTES or number == len(items):
            records = partial(_records, items[start:number], start + 1, part.origin.file)
            yield Shard(part.origin, fields, options, size, records)
            start, size = number, 0


def length(item: object) -> int:
    """Characters of a text; what is no text is reported when it is read."""
    text = item.text if isinstance(item, Document) else item
    return len(text) if isinstance(text, str) else 0


def _records(items: Sequence[object], first: int, file: str) -> Iterator[Numbered]:
    for number, item in enumerate(items, first):
        if isinstance(item, Document):
            yield number, item
        elif isinstance(item, str):
            yield number, {"text": item}
        else:
            remedy = "A list holds strings or Documents"
            problem = f"the text is of type {type(item).__name__}"
            yield number, InputError(problem, file=file, line=number, remedy=remedy)
