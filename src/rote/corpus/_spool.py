"""Temporary copies of what can be read only once, or only from the front."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from rote.core.errors import InputError
from rote.corpus._streams import MAGIC, raw_pieces

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
        magic = raw.read(4)
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
