"""A JSON array of records, or an object that holds one (.json); read bit by bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from rote.core.errors import InputError
from rote.corpus import jsonl
from rote.corpus._fields import SKIP, Fields, Origin, find_fields, kind_of
from rote.corpus._json_text import JsonText
from rote.corpus._linewise import empty
from rote.corpus._options import ReadOptions
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard, failed
from rote.corpus._streams import text_pieces

SUFFIXES = (".json",)
_HEAD = 2**20


def inspect(part: Part, options: ReadOptions) -> Fields:
    if _is_lines(part, options):
        return jsonl.inspect(part, options, note="one object per line, read as jsonl")
    try:
        sample = list(islice(_values(JsonText(part, options.encoding)), jsonl.SAMPLE))
    except InputError:
        sample = []  # reported when it is read
    records = [{"text": v} if isinstance(v, str) else v for v in sample]
    found = [record for record in records if isinstance(record, dict)]
    return find_fields(found, options, part.origin.file)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    if _is_lines(part, options):
        return jsonl.shards(part, fields, options)
    return _array_shards(part, fields, options)


def _array_shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    text = JsonText(part, options.encoding)
    origin, told, cut = part.origin, 0, SHARD_BYTES
    values: list[Any] = []
    first = 1

    def shard() -> Shard:
        records = partial(_records, values, first, fields.text, origin)
        return Shard(origin, fields, options, text.used - told, records)

    try:
        for value in _values(text):
            values.append(value)
            if text.taken >= cut:
                yield shard()
                told, cut, first, values = text.used, cut + SHARD_BYTES, first + len(values), []
        if first == 1 and not values:
            raise empty(origin)
        yield shard()
    except InputError as error:
        yield shard()
        yield Shard(origin, fields, options, 0, partial(failed, error))


def _records(values: list[Any], first: int, field: str, origin: Origin) -> Iterator[Numbered]:
    for number, value in enumerate(values, first):
        if isinstance(value, dict):
            yield number, value
        elif isinstance(value, str):
            yield number, {field: value}
        else:
            yield (
                number,
                InputError(
                    f"the record is {kind_of(value)}, not an object",
                    file=origin.file,
                    line=number,
                    remedy=f"Records are objects or strings; {SKIP}",
                ),
            )


def _values(text: JsonText) -> Iterator[Any]:
    """The records of a document, one by one."""
    start = text.peek()
    if start == "[":
        yield from _elements(text)
    elif start == "{":
        yield from _members(text)
    elif start:
        raise text.broken("neither a list nor an object")
    if text.peek():
        raise text.broken("more follows the end; one object per line is read with --format jsonl")


def _elements(text: JsonText) -> Iterator[Any]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield text.value()
        if text.peek() == "]":
            text.take("]")
            return
        text.take(",")


def _members(text: JsonText) -> Iterator[Any]:
    """The elements of the one member that is a list of objects, else the object as one record."""
    text.take("{")
    record: dict[str, Any] = {}
    chosen: str | None = None
    while text.peek() not in ("}", ""):
        name = text.value()
        text.take(":")
        if text.peek() == "[" and text.peek_inside() == "{":
            if chosen is not None:
                raise text.broken(f"two lists of records, '{chosen}' and '{name}'")
            chosen = name
            yield from _elements(text)
        else:
            record[name] = text.value()
        if text.peek() != "}":
            text.take(",")
    text.take("}")
    if chosen is None and record:
        yield record


def _is_lines(part: Part, options: ReadOptions) -> bool:
    """Whether a .json file holds one object per line, as many do."""
    head = b""
    try:
        for piece, _ in text_pieces(part, options.encoding):
            head += piece
            if len(head) >= _HEAD:
                break
    except InputError:
        pass
    first, _, rest = head.lstrip().partition(b"\n")
    if not first.startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        json.loads(first)
    except ValueError:
        return False
    return True
