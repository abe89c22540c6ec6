"""Plain text (.txt, .text, .md): one document per file, line or paragraph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._linewise import block_shards, blocks_between_blanks, decode, empty, runs
from rote.corpus._shard import Fields, Numbered, Origin, Part, ReadOptions, Shard
from rote.corpus._streams import shard_encoding, text_pieces

SUFFIXES = (".txt", ".text", ".md")


def inspect(part: Part, options: ReadOptions) -> Fields:
    is_whole = (part.plain or options.plain) == "file"
    remark = "one document per file (--plain line or paragraph cuts them)" if is_whole else ""
    return Fields(remark=remark)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    plain = part.plain or options.plain
    if plain == "line":
        yield from block_shards(part, fields, options, _lines)
        return
    if plain == "paragraph":
        yield from block_shards(part, fields, options, _paragraphs, "paragraph")
        return
    # Runs of small files: a folder of a hundred thousand is not as many pieces of work.
    files: Sequence[Part] = part.where
    for start, end, size in runs(file.size for file in files):
        records = partial(_files, files[start:end], start + 1, options.encoding)
        yield Shard(part.origin, fields, options, size, records, refers=True)


def _files(files: Sequence[Part], first: int, encoding: str) -> Iterator[Numbered]:
    for number, file in enumerate(files, first):
        try:
            yield number, Document(file.origin.name, _whole(file, encoding), {})
        except InputError as error:
            yield number, error


def _whole(file: Part, encoding: str) -> str:
    data = b"".join(piece for piece, _ in text_pieces(file, encoding))
    encoding = shard_encoding(encoding)
    if not data or data.isspace():
        raise empty(file.origin)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        # Once more by line, for an error that names it.
        lines = enumerate(data.split(b"\n"), 1)
        text = "\n".join(decode(raw, encoding, number, file.origin) for number, raw in lines)
    return text.replace("\r\n", "\n")


def _lines(data: bytes, first_line: int, encoding: str, origin: Origin) -> Iterator[Numbered]:
    """A document for each line that is not blank."""
    for number, raw in enumerate(data.split(b"\n"), first_line):
        try:
            line = decode(raw, encoding, number, origin).removesuffix("\r")
        except InputError as error:
            yield number, error
        else:
            if line and not line.isspace():
                yield number, {"text": line}


def _paragraphs(data: bytes, first_line: int, encoding: str, origin: Origin) -> Iterator[Numbered]:
    """A document for each run of lines between blank ones."""
    for start, lines in blocks_between_blanks(data, first_line):
        try:
            text = [decode(raw, encoding, n, origin).removesuffix("\r") for n, raw in lines]
        except InputError as error:
            yield start, error
        else:
            yield start, {"text": "\n".join(text)}
