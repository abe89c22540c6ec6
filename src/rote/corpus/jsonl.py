"""One JSON object per line (.jsonl, .ndjson)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rote.core.errors import InputError
from rote.core.json_reader import JsonDecoder, problem_of
from rote.corpus._linewise import block_shards, decode, first_block, sampled
from rote.corpus._shard import SKIP, Fields, Numbered, Origin, Part, ReadOptions, Shard, kind_of
from rote.corpus._streams import shard_encoding

SUFFIXES = (".jsonl", ".ndjson")


def inspect(part: Part, options: ReadOptions, note: str = "") -> Fields:
    data = first_block(part, options)
    encoding = shard_encoding(options.encoding)
    return sampled(records(data, 1, encoding, part.origin), options, part.origin, note)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    return block_shards(part, fields, options, records)


def records(data: bytes, first_line: int, encoding: str, origin: Origin) -> Iterator[Numbered]:
    """Parse a block of lines; blank lines are no records."""
    # Takes less time for short records than json.loads; what it does not accept goes the
    # slow way, which says what is wrong.
    parse = JsonDecoder().raw_decode
    for number, raw in enumerate(data.split(b"\n"), first_line):
        if not raw or raw.isspace():
            continue
        try:
            line = raw.decode(encoding)
            record, end = parse(line)
        except (ValueError, RecursionError):
            record = end = None
        if type(record) is dict and (end == len(line) or line[end:].isspace()):
            yield number, record
            continue
        try:
            yield number, _record(decode(raw, encoding, number, origin), number, origin)
        except InputError as error:
            yield number, error


def _record(line: str, number: int, origin: Origin) -> dict[str, Any]:
    try:
        record = JsonDecoder().decode(line)
        problem = f"the line is {kind_of(record)}, not a JSON object"
    except json.JSONDecodeError as error:
        record, problem = None, f"malformed JSON at column {error.colno} ({error.msg})"
    except (ValueError, RecursionError) as error:
        record, problem = None, f"unusable JSON ({problem_of(error)})"
    if type(record) is dict:
        return record
    remedy = f"Each line must be one JSON object; {SKIP}"
    if number == 1 and line.strip() in ("[", "{"):
        remedy = "For a JSON value over several lines use --input-format json"
    raise origin.error(problem, number, remedy=remedy)
