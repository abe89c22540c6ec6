"""A window over a JSON document that moves along as values are taken from it."""

from __future__ import annotations

import codecs
import json
import re
from typing import Any

from rote.core.errors import InputError
from rote.corpus._blocks import MAX_UNIT
from rote.corpus._shard import Part
from rote.corpus._streams import shard_encoding, text_pieces

_SPACE = re.compile(r"[ \t\r\n]*")
_STEP = 2**18
# The longest thing that looks broken at the end of a window only because it is cut: `-Infinity`.
_LITERAL = 16


class JsonText:
    """`used` counts bytes of the file, `taken` characters of the values given out."""

    def __init__(self, part: Part, encoding: str) -> None:
        self.used = self.taken = 0
        self._file = part.origin.file
        self._pieces = text_pieces(part, encoding)
        self._decoder = codecs.getincrementaldecoder(shard_encoding(encoding))()
        self._json = json.JSONDecoder()
        self._window = ""
        self._at = 0
        self._line, self._column = 1, 0  # of the start of the window
        self._ended = False
        self._damage: InputError | None = None

    def peek(self) -> str:
        """The next character that is not white space; nothing at the end."""
        while True:
            self._at = self._space(self._at)
            if self._at < len(self._window) or not self._more():
                return self._window[self._at : self._at + 1]

    def peek_inside(self) -> str:
        """The character after the one that `peek` gives."""
        while True:
            at = self._space(self._at + 1)
            if at < len(self._window) or not self._more():
                return self._window[at : at + 1]

    def take(self, character: str) -> None:
        if self.peek() != character:
            raise self.broken(f"'{character}' expected")
        self._at += 1

    def value(self) -> Any:
        """Parse one value, reading as much as it needs."""
        self.peek()
        while True:
            try:
                value, end = self._json.raw_decode(self._window, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated string")
                ahead = error.pos - self._at  # reading on moves the window
                if (cut or error.pos >= len(self._window) - _LITERAL) and self._more():
                    continue
                self._at += ahead
                raise self.broken(error.msg) from None
            except (ValueError, RecursionError) as error:
                raise self.broken(str(error)) from None
            # A number at the very end of the window may go on behind it.
            length = end - self._at
            if end < len(self._window) or not self._more():
                self.taken += length
                self._at += length
                return value

    def broken(self, why: str) -> InputError:
        """The error for this place; damage further down in the file is the better reason."""
        before = self._window[: self._at]
        line = self._line + before.count("\n")
        column = self._at - before.rfind("\n") + ("\n" not in before) * self._column
        if self._damage is not None:
            found = self._damage
            return InputError(found.problem, file=self._file, line=line, remedy=found.remedy)
        rest = self._window[self._at :]
        cut = self._ended and (not rest.strip() or why.startswith("Unterminated string"))
        what = "the file is cut short" if cut else "broken JSON"
        return InputError(
            f"{what} at column {column} ({why})",
            file=self._file,
            line=line,
            remedy="Repair it; --on-error skip uses the records before it",
        )

    def _space(self, at: int) -> int:
        found = _SPACE.match(self._window, at)
        return found.end() if found else at

    def _more(self) -> bool:
        """Drop what was taken, and read on: at least as much again as is there."""
        dropped = self._window[: self._at]
        self._line += dropped.count("\n")
        self._column = len(dropped) - dropped.rfind("\n") - 1 + ("\n" not in dropped) * self._column
        parts = [self._window[self._at :]]
        length, goal = 0, max(_STEP, len(parts[0]))
        if goal > MAX_UNIT:
            raise self.broken("a value of more than 1 GiB")
        while length < goal and not self._ended:
            parts.append(self._next())
            length += len(parts[-1])
        self._window, self._at = "".join(parts), 0
        return length > 0

    def _next(self) -> str:
        """The next piece as text; after damage nothing more comes."""
        try:
            piece, self.used = next(self._pieces, (None, self.used))
            self._ended = piece is None
            return self._decoder.decode(piece or b"", final=self._ended)
        except InputError as error:
            self._ended, self._damage = True, error
            return ""
        except UnicodeDecodeError as error:
            self._ended = True
            self._damage = InputError(
                f"not valid {error.encoding}: byte 0x{error.object[error.start]:02x} "
                "in what follows",
                remedy="Name the right encoding with --encoding, e.g. latin-1",
            )
            return error.object[: error.start].decode(error.encoding)
