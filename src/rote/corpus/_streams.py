"""Bytes of a file as a stream of pieces, whatever its compression.

Every piece comes with the number of bytes of the file used so far. Damage is
raised as InputError after all that stands before it was given out.
"""

from __future__ import annotations

import codecs
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from rote.core.errors import InputError, OptionError
from rote.corpus._shard import Part

COMPRESSIONS = {".gz": "gz", ".zst": "zst", ".bz2": "bz2", ".xz": "xz"}
MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd", "bz2": b"BZh", "xz": b"\xfd7zXZ\0"}
_KINDS = {"gz": "gzip", "zst": "zstd", "bz2": "bzip2", "xz": "xz"}

# Decompressed text may be hundreds of times as large as what it was made from, and with zstd,
# which cannot be told to stop, 32,000 times: little is read at a time.
_PLAIN, _ZST, _STEP, _PIECE = 2**20, 2**11, 2**16, 2**20

Pieces = Iterator[tuple[bytes, int]]


def check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise OptionError(f"unknown encoding '{encoding}': try utf-8, utf-16 or latin-1") from None


def shard_encoding(encoding: str) -> str:
    """The encoding of what `text_pieces` gives: one in which a newline is one byte."""
    return encoding if "\n".encode(encoding) == b"\n" else "utf-8"


def text_pieces(part: Part, encoding: str) -> Pieces:
    """The decompressed bytes without a byte order mark, lines ending in a plain newline byte."""
    pieces = raw_pieces(part.where, part.compression, part.origin.file)
    if shard_encoding(encoding) != encoding:
        return _transcoded(pieces, encoding, part.origin.file)
    return _without_mark(pieces)


def open_bytes(where: Path | str) -> BinaryIO:
    """A file of this machine, or one that fsspec opens, by its address (`s3://...`)."""
    if isinstance(where, Path):
        return open(where, "rb")
    import fsspec

    return cast(BinaryIO, fsspec.open(where, "rb").open())


def read_span(where: Path | str, start: int, end: int, file: str) -> bytes:
    """Some bytes of a file, which must be there still."""
    try:
        with open_bytes(where) as raw:
            raw.seek(start)
            data = raw.read(end - start)
    except OSError as error:
        raise unreadable(file, error) from error
    if len(data) < end - start:
        raise changed_file_error(file)
    return data


def changed_file_error(file: str) -> InputError:
    """What was read first is not what is there."""
    return InputError(
        "the file has changed since it was first read",
        file=file,
        remedy="Run the command again when nothing writes to the file",
    )


def raw_pieces(path: Path | str, compression: str, file: str) -> Pieces:
    try:
        with open_bytes(path) as raw:
            if compression:
                step = _ZST if compression == "zst" else _STEP
                yield from _members(raw, _stream_maker(compression), step, compression, file)
            else:
                while piece := raw.read(_PLAIN):
                    yield piece, raw.tell()
    except OSError as error:
        raise unreadable(file, error) from error


def unreadable(file: str, error: OSError) -> InputError:
    return InputError(
        f"cannot be read ({(error.strerror or str(error)).lower()})",
        file=file,
        remedy="Check the path and its permissions",
    )


class _Stream:
    """One stream of bzip2 or xz, given out in pieces of bounded size, or a frame of zstd, which
    takes in all that it gets."""

    def __init__(
        self, decompressor: Any, damage: tuple[type[Exception], ...], *, can_stop: bool = True
    ) -> None:
        self._object, self._damage, self._can_stop = decompressor, damage, can_stop

    def pieces(self, data: bytes) -> Iterator[bytes]:
        try:
            yield self._object.decompress(data, *([_PIECE] if self._can_stop else ()))
            while self._can_stop and not self._object.eof and not self._object.needs_input:
                yield self._object.decompress(b"", _PIECE)
        except self._damage as error:
            raise zlib.error(str(error)) from None

    def flush(self) -> bytes:
        return b""

    @property
    def eof(self) -> bool:
        return bool(self._object.eof)

    @property
    def unused(self) -> bytes:
        # Streams of xz are filled up with zeros to a multiple of four bytes; of gzip, by tapes and
        # some tools, the last block.
        unused = bytes(self._object.unused_data)
        return unused.lstrip(b"\0") if self._can_stop else unused


class _Gzip(_Stream):
    """One gzip member: what it does not take in of some bytes at once is given to it again."""

    def __init__(self) -> None:
        super().__init__(zlib.decompressobj(31), ())

    def pieces(self, data: bytes) -> Iterator[bytes]:
        while data and not self.eof:
            yield self._object.decompress(data, _PIECE)
            data = self._object.unconsumed_tail

    def flush(self) -> bytes:
        return bytes(self._object.flush())


def _stream_maker(compression: str) -> Callable[[], Any]:
    """What makes the next member, stream or frame of a file."""
    if compression == "gz":
        return _Gzip
    if compression == "bz2":
        import bz2

        return lambda: _Stream(bz2.BZ2Decompressor(), (OSError, ValueError))
    if compression == "xz":
        import lzma

        return lambda: _Stream(lzma.LZMADecompressor(), (lzma.LZMAError,))
    import zstandard

    # Files made with `zstd --long` need a large window.
    machine = zstandard.ZstdDecompressor(max_window_size=2**31)
    return lambda: _Stream(machine.decompressobj(), (zstandard.ZstdError,), can_stop=False)


def _members(
    raw: BinaryIO, new: Callable[[], Any], step: int, compression: str, file: str
) -> Pieces:
    """Decompress member after member (gzip), frame after frame (zstd), stream after stream."""
    kind = _KINDS[compression]
    member, fresh = new(), True
    real = raw.read(len(MAGIC[compression])) == MAGIC[compression]
    raw.seek(0)
    while data := raw.read(step):
        while data:
            try:
                for piece in member.pieces(data):
                    yield piece, raw.tell()
            except zlib.error as error:
                raise _damaged(kind, file, real=real, why=str(error)) from None
            fresh, data = member.eof, member.unused if member.eof else b""
            if fresh:
                member = new()
    if not fresh:
        if rest := member.flush():
            yield rest, raw.tell()
        if not member.eof:
            raise InputError(
                f"the file is truncated: its {kind} data end early",
                file=file,
                remedy="Copy or download it again; --on-error skip uses what comes before the cut",
            )


def _damaged(kind: str, file: str, *, real: bool, why: str) -> InputError:
    if not real:
        return InputError(
            f"the file is not {kind}-compressed, despite its name",
            file=file,
            remedy="Give it the right suffix, or compress it",
        )
    return InputError(
        f"the {kind} data are damaged ({why})",
        file=file,
        remedy="Copy or download it again; --on-error skip uses what comes before the damage",
    )


def has_mark(part: Part) -> int:
    """The length of the byte order mark that a file begins with, 0 for none."""
    with open_bytes(part.where) as raw:
        start = raw.read(len(codecs.BOM_UTF8))
    return len(start) if start == codecs.BOM_UTF8 else 0


def _without_mark(pieces: Pieces) -> Pieces:
    start = b""
    for piece, used in pieces:
        start += piece
        if len(start) >= len(codecs.BOM_UTF8):
            yield start.removeprefix(codecs.BOM_UTF8), used
            yield from pieces
            return
    if start and start != codecs.BOM_UTF8:
        yield start, used


def _transcoded(pieces: Pieces, encoding: str, file: str) -> Pieces:
    """UTF-16 and the like as UTF-8, since lines are found by their newline byte."""
    decoder = codecs.getincrementaldecoder(encoding)()
    used = 0
    try:
        for piece, used in pieces:
            yield decoder.decode(piece).removeprefix("\ufeff").encode("utf-8"), used
        yield decoder.decode(b"", final=True).encode("utf-8"), used
    except UnicodeError as error:
        raise InputError(
            f"not valid {encoding} ({error})",
            file=file,
            remedy="Name the right encoding with --encoding",
        ) from None


STDIN = "standard input"


def spool(pieces: Iterable[bytes]) -> Path:
    """Write pieces to a temporary file, which the caller has to remove."""
    handle, name = tempfile.mkstemp(prefix="rote-")
    try:
        with os.fdopen(handle, "wb") as copy:
            for piece in pieces:
                copy.write(piece)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def spool_stdin() -> Path:
    """All of standard input in a file, so that it can be read twice."""
    return spool(iter(lambda: sys.stdin.buffer.read(2**20), b""))


def sniff(path: Path) -> tuple[str, str]:
    """Reader and compression of a file without a name, by its first bytes."""
    with open(path, "rb") as raw:
        magic = raw.read(max(map(len, MAGIC.values())))
    compression = next((kind for kind, start in MAGIC.items() if magic.startswith(start)), "")
    start = b""
    try:
        for piece, _ in raw_pieces(path, compression, STDIN):
            start += piece
            if len(start) > 64 and not start.isspace():
                break
    except InputError:
        pass  # reported when it is read
    if start.startswith(b"PAR1"):
        return "parquet", compression
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    readers = {b"{": "jsonl", b"[": "json"}
    return readers.get(start[:1], "text"), compression
