"""What readers share: shards of blocks, of values, of small things; samples; lines as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Literal, Protocol, TypeVar

from rote.core.errors import InputError
from rote.corpus._blocks import Block, cut_blocks
from rote.corpus._fields import SKIP, Fields, Origin, find_fields
from rote.corpus._options import ReadOptions
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard, failed
from rote.corpus._streams import shard_encoding, text_pieces

T = TypeVar("T")
_SAMPLE = 100
# (bytes, number of their first line, encoding, origin) -> records
Parse = Callable[[bytes, int, str, Origin], Iterable[Numbered]]


def block_shards(
    part: Part,
    fields: Fields,
    options: ReadOptions,
    parse: Parse,
    unit: Literal["line", "paragraph"] = "line",
    regroup: Callable[[Iterator[Block]], Iterator[Block]] = iter,
) -> Iterator[Shard]:
    """A shard for each block of lines; a file that breaks off ends in a shard that says so."""
    origin, encoding = part.origin, shard_encoding(options.encoding)
    pieces = text_pieces(part, options.encoding)
    found = False
    try:
        for block in regroup(cut_blocks(pieces, SHARD_BYTES, origin.file, unit)):
            found = found or not block.data.isspace()
            records = partial(parse, block.data, block.first_line, encoding, origin)
            yield Shard(origin, fields, options, block.size, records)
        if not found:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error))


class Taking(Protocol):
    """Something that is read bit by bit: bytes of the file so far, characters given out so far."""

    used: int
    taken: int


def taken_shards(
    part: Part,
    fields: Fields,
    options: ReadOptions,
    text: Taking,
    values: Iterator[T],
    records: Callable[[list[T], int], Iterable[Numbered]],
) -> Iterator[Shard]:
    """A shard for each run of values; `records` gets the run, and the number of its first."""
    origin, told, cut, first = part.origin, 0, SHARD_BYTES, 1
    run: list[T] = []

    def shard() -> Shard:
        return Shard(origin, fields, options, text.used - told, partial(records, run, first))

    try:
        for value in values:
            run.append(value)
            if text.taken >= cut:
                yield shard()
                told, cut, first, run = text.used, cut + SHARD_BYTES, first + len(run), []
        if first == 1 and not run:
            raise empty(origin)
        yield shard()
    except InputError as error:
        yield shard()
        yield Shard(origin, fields, options, 0, partial(failed, error))


def runs(sizes: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """First and last of each run of things that together have about the size of a shard."""
    start = size = number = 0
    for number, own in enumerate(sizes, 1):
        size += own
        if size >= SHARD_BYTES:
            yield start, number, size
            start, size = number, 0
    if start < number:
        yield start, number, size


def sampled(
    records: Iterable[Numbered], options: ReadOptions, origin: Origin, note: str = ""
) -> Fields:
    """The fields of the first records."""
    sample = [record for _, record in islice(records, _SAMPLE) if isinstance(record, dict)]
    return find_fields(sample, options, origin.file, note)


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
        raise origin.error(
            f"not valid {encoding}: byte 0x{raw[error.start]:02x} at offset {error.start}",
            number,
            remedy=f"Name the right encoding with --encoding, e.g. {_likely(raw)}; {SKIP}",
        ) from None


def _likely(raw: bytes) -> str:
    wide = raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw
    return "utf-16" if wide else "latin-1"


def empty(origin: Origin) -> InputError:
    return origin.error(
        "the file is empty", remedy="Leave it out, or go on without it with --on-error skip"
    )
