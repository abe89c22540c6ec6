"""What readers share: shards of blocks, of values, of small things; samples; lines as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal, Protocol, TypeVar

from rote.core.errors import InputError
from rote.corpus._shard import (
    SHARD_BYTES,
    SKIP,
    Fields,
    Numbered,
    Origin,
    Part,
    ReadOptions,
    Shard,
    failed,
    find_fields,
)
from rote.corpus._streams import Pieces, has_mark, read_span, shard_encoding, text_pieces

MAX_UNIT = 2**30
_BLANK_LINE = re.compile(rb"\n[ \t\r\f\v]*\n")

# Where to cut: behind the last end in data[:limit], else behind the first end at all, else 0.
Cut = Callable[[bytes, int], int]


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines; `size` is the number of bytes of the file that they stand for."""

    data: bytes
    first_line: int
    size: int


def cut_blocks(
    pieces: Pieces, target: int, file: str, unit: Literal["line", "paragraph"] = "line"
) -> Iterator[LineBlock]:
    """Blocks of about `target` bytes that end where a line (or paragraph) ends.

    When the stream breaks off, the whole lines before the break are given out, and
    the error then says in which line it happened.
    """
    cut = _cut_lines if unit == "line" else _cut_paragraphs
    pending: list[bytes] = []
    waiting, need, line, used, reported = 0, target, 1, 0, 0
    broken: InputError | None = None
    while True:
        try:
            piece, used = next(pieces, (None, used))
        except InputError as error:
            piece, broken = None, error
        if piece is not None:
            pending.append(piece)
            waiting += len(piece)
            if waiting < need:
                continue
        data = b"".join(pending)
        while len(data) >= target and (end := cut(data, target)):
            yield LineBlock(data[:end], line, used - reported)
            reported = used
            line += data.count(b"\n", 0, end)
            data = data[end:]
        pending, waiting = [data], len(data)
        if piece is None:
            break
        if waiting > MAX_UNIT:
            raise InputError(
                f"a {unit} of more than {MAX_UNIT // 2**30} GiB",
                file=file,
                line=line,
                remedy="Check --input-format; if it is right, split the file",
            )
        # A very long line is looked at again only when twice as much of it is there.
        need = max(target, 2 * waiting) if waiting >= target else target
    if broken is not None:
        data = data[: data.rfind(b"\n") + 1]
    if data:
        yield LineBlock(data, line, used - reported)
        line += data.count(b"\n")
    if broken is not None:
        located = InputError(broken.problem, file=file, line=line, remedy=broken.remedy)
        raise located from broken.__cause__


def _cut_lines(data: bytes, limit: int) -> int:
    return data.rfind(b"\n", 0, limit) + 1 or data.find(b"\n", limit) + 1


def _cut_paragraphs(data: bytes, limit: int) -> int:
    end = data.rfind(b"\n", 0, limit)
    while end > 0:
        before = data.rfind(b"\n", 0, end)
        if before >= 0 and not data[before:end].strip():
            return end + 1
        end = before
    match = _BLANK_LINE.search(data)
    return match.end() if match else 0


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
    regroup: Callable[[Iterator[LineBlock]], Iterator[LineBlock]] = iter,
) -> Iterator[Shard]:
    """A shard for each block of lines; a file that breaks off ends in a shard that says so.

    Where the bytes of the file are those of the lines, a shard holds but their place.
    """
    origin, encoding = part.origin, shard_encoding(options.encoding)
    pieces = text_pieces(part, options.encoding)
    as_it_is = not part.compression and encoding == options.encoding and regroup is iter
    any_block, start = False, -1
    try:
        for block in regroup(cut_blocks(pieces, SHARD_BYTES, origin.file, unit)):
            any_block = any_block or not block.data.isspace()
            records = partial(parse, block.data, block.first_line, encoding, origin)
            if as_it_is:
                start = has_mark(part) if start < 0 else start
                place = (part.where, start, start + len(block.data))
                records = partial(_at, place, parse, block.first_line, encoding, origin)
                start = place[2]
            yield Shard(origin, fields, options, block.size, records, refers=as_it_is)
        if not any_block:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error), refers=True)


def _at(
    place: tuple[Any, int, int], parse: Parse, first_line: int, encoding: str, origin: Origin
) -> Iterable[Numbered]:
    """The records of some bytes of a file, which are read here."""
    return parse(read_span(*place, origin.file), first_line, encoding, origin)


class Taking(Protocol):
    """Something that is read bit by bit: bytes of the file so far, characters given out so far."""

    used: int
    consumed: int


def taken_shards(
    part: Part,
    fields: Fields,
    options: ReadOptions,
    text: Taking,
    values: Iterator[T],
    records: Callable[[list[T], int], Iterable[Numbered]],
) -> Iterator[Shard]:
    """A shard for each run of values; `records` gets the run, and the number of its first."""
    origin, reported, cut, first = part.origin, 0, SHARD_BYTES, 1
    run: list[T] = []

    def shard() -> Shard:
        return Shard(origin, fields, options, text.used - reported, partial(records, run, first))

    try:
        for value in values:
            run.append(value)
            if text.consumed >= cut:
                yield shard()
                reported, cut, first, run = text.used, cut + SHARD_BYTES, first + len(run), []
        if first == 1 and not run:
            raise empty(origin)
        yield shard()
    except InputError as error:
        yield shard()
        yield Shard(origin, fields, options, 0, partial(failed, error), refers=True)


def blocks_between_blanks(
    data: bytes, first_line: int
) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    """Lines with their numbers in blocks that blank lines part, each with its first number."""
    lines: list[tuple[int, bytes]] = []
    for number, raw in enumerate((*data.split(b"\n"), b""), first_line):
        if raw and not raw.isspace():
            lines.append((number, raw))
        elif lines:
            yield lines[0][0], lines
            lines = []


def runs(sizes: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """First and last of each run of things that together have about the size of a shard."""
    start = size = number = 0
    for number, run_size in enumerate(sizes, 1):
        size += run_size
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


def first_block(part: Part, options: ReadOptions) -> bytes:
    """The first lines of a file; nothing where it cannot be read, which reading will report."""
    pieces = text_pieces(part, options.encoding)
    try:
        return next((block.data for block in cut_blocks(pieces, 2**18, part.origin.file)), b"")
    except InputError:
        return b""


def decode(raw: bytes, encoding: str, number: int, origin: Origin) -> str:
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as error:
        wide = raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw
        likely = "utf-16" if wide else "latin-1"
        raise origin.error(
            f"not valid {encoding}: byte 0x{raw[error.start]:02x} at offset {error.start}",
            number,
            remedy=f"Name the right encoding with --encoding, e.g. {likely}; {SKIP}",
        ) from None


def empty(origin: Origin) -> InputError:
    return origin.error(
        "the file is empty", remedy="Leave it out, or go on without it with --on-error skip"
    )
