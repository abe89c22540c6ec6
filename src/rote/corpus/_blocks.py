"""Cut a stream of bytes into blocks of whole lines, or of whole paragraphs.

Where a block ends depends on the bytes alone, not on the pieces they come in, so
a file gives the same blocks whether it is compressed or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from rote.core.errors import InputError
from rote.corpus._streams import Pieces

MAX_UNIT = 2**30
_BLANK_LINE = re.compile(rb"\n[ \t\r\f\v]*\n")

# Where to cut: behind the last end in data[:limit], else behind the first end at all, else 0.
Cut = Callable[[bytes, int], int]


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines; `size` is the number of bytes of the file that they stand for."""

    data: bytes
    first_line: int
    size: int


def cut_blocks(
    pieces: Pieces, target: int, file: str, unit: Literal["line", "paragraph"] = "line"
) -> Iterator[Block]:
    """Blocks of about `target` bytes that end where a line (or paragraph) ends.

    When the stream breaks off, the whole lines before the break are given out, and
    the error then says in which line it happened.
    """
    cut = _cut_lines if unit == "line" else _cut_paragraphs
    pending: list[bytes] = []
    waiting, need, line, used, told = 0, target, 1, 0, 0
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
            yield Block(data[:end], line, used - told)
            told = used
            line += data.count(b"\n", 0, end)
            data = data[end:]
        pending, waiting = [data], len(data)
        if piece is None:
            break
        if waiting > MAX_UNIT:
            raise _too_long(file, line, unit)
        # A very long line is looked at again only when twice as much of it is there.
        need = max(target, 2 * waiting) if waiting >= target else target
    if broken is not None:
        data = data[: data.rfind(b"\n") + 1]
    if data:
        yield Block(data, line, used - told)
        line += data.count(b"\n")
    if broken is not None:
        raise InputError(broken.problem, file=file, line=line, remedy=broken.remedy)


def _cut_lines(data: bytes, limit: int) -> int:
    return data.rfind(b"\n", 0, limit) + 1 or data.find(b"\n", limit) + 1


def _cut_paragraphs(data: bytes, limit: int) -> int:
    end = data.rfind(b"\n", 0, limit)
    while end > 0:
        before = data.rfind(b"\n", 0, end)
        if before >= 0 and not data[before:end].strip():
            return end + 1
        end = before
    found = _BLANK_LINE.search(data)
    return found.end() if found else 0


def _too_long(file: str, line: int, unit: str) -> InputError:
    return InputError(
        f"a {unit} of more than {MAX_UNIT // 2**30} GiB",
        file=file,
        line=line,
        remedy="Is this the right --format? Split it if so",
    )
