"""What the readers of line-based formats share: blocks as shards, and lines as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal

from rote.core.errors import InputError
from rote.corpus._blocks import cut_blocks
from rote.corpus._fields import SKIP, Fields, Origin
from rote.corpus._options import ReadOptions
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard, failed
from rote.corpus._streams import shard_encoding, text_pieces

# (bytes, number of their first line, encoding, origin) -> records
Parse = Callable[[bytes, int, str, Origin], Iterable[Numbered]]


def block_shards(
    part: Part,
    fields: Fields,
    options: ReadOptions,
    parse: Parse,
    unit: Literal["line", "paragraph"] = "line",
) -> Iterator[Shard]:
    """A shard for each block of lines; a file that breaks off ends in a shard that says so."""
    origin, encoding = part.origin, shard_encoding(options.encoding)
    pieces = text_pieces(part, options.encoding)
    found = False
    try:
        for block in cut_blocks(pieces, SHARD_BYTES, origin.file, unit):
            found = found or not block.data.isspace()
            records = partial(parse, block.data, block.first_line, encoding, origin)
            yield Shard(origin, fields, options, block.size, records)
        if not found:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error))


def first_block(part: Part, options: ReadOptions, target: int = 2**18) -> bytes:
    """The first lines of a file; nothing where it cannot be read, which reading will report."""
    pieces = text_pieces(part, options.encoding)
    try:
        return next((block.data for block in cut_blocks(pieces, target, part.origin.file)), b"")
    except InputError:
        return b""


def decode(raw: bytes, encoding: str, number: int, origin: Origin) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"not valid {encoding}: byte 0x{raw[error.start]:02x} at offset {error.start}",
            file=origin.file,
            line=number,
            remedy=f"Name the right encoding with --encoding, e.g. {_likely(raw)}; {SKIP}",
        ) from None


def _likely(raw: bytes) -> str:
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw
    return "utf-16" if wide else "latin-1"


def empty(origin: Origin) -> InputError:
    return InputError(
        "the file is empty",
        file=origin.file,
        remedy="Leave it out, or go on without it with --on-error skip",
    )
