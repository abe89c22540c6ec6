"""A JSON array of records, or an object that holds one (.json); read bit by bit."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from rote.core.errors import InputError
from rote.core.json_reader import JsonDecoder, parse_json, problem_of
from rote.corpus import jsonl
from rote.corpus._linewise import MAX_UNIT, sampled, taken_shards
from rote.corpus._shard import SKIP, Fields, Numbered, Origin, Part, ReadOptions, Shard, kind_of
from rote.corpus._streams import shard_encoding, text_pieces

_SPACE = re.compile(r"[ \t\r\n]*")
_STEP = 2**18
# The longest thing that looks broken at the end of a window only because it is cut: `-Infinity`.
_LITERAL = 16


class JsonText:
    """`used` counts bytes of the file, `consumed` characters of the values given out."""

    def __init__(self, part: Part, encoding: str) -> None:
        self.used = self.consumed = 0
        self._file = part.origin.file
        self._pieces = text_pieces(part, encoding)
        self._decoder = codecs.getincrementaldecoder(shard_encoding(encoding))()
        self._json = JsonDecoder()
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
                raise self.broken(problem_of(error)) from None
            # A number at the very end of the window may go on behind it.
            length = end - self._at
            if end < len(self._window) or not self._more():
                self.consumed += length
                self._at += length
                return value

    def broken(self, why: str) -> InputError:
        """The error for this place; damage further down in the file is the better reason."""
        before = self._window[: self._at]
        line = self._line + before.count("\n")
        column = self._at - before.rfind("\n") + ("\n" not in before) * self._column
        if self._damage is not None:
            damage = self._damage
            return InputError(damage.problem, file=self._file, line=line, remedy=damage.remedy)
        rest = self._window[self._at :]
        cut = self._ended and (not rest.strip() or why.startswith("Unterminated string"))
        what = "the file is cut short" if cut else "malformed JSON"
        return InputError(
            f"{what} at column {column} ({why})",
            file=self._file,
            line=line,
            remedy="Fix it; --on-error skip uses the records before it",
        )

    def _space(self, at: int) -> int:
        match = _SPACE.match(self._window, at)
        return match.end() if match else at

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


SUFFIXES = (".json",)
_HEAD = 2**20


def inspect(part: Part, options: ReadOptions) -> Fields:
    if _is_lines(part, options):
        return jsonl.inspect(part, options, note="one object per line, read as jsonl")
    try:
        sample = list(islice(_values(JsonText(part, options.encoding)), 100))
    except InputError:
        sample = []  # reported when it is read
    return sampled(_records(sample, 1, "text", part.origin), options, part.origin)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    if _is_lines(part, options):
        return jsonl.shards(part, fields, options)
    text = JsonText(part, options.encoding)
    records = partial(_records, field=fields.text, origin=part.origin)
    return taken_shards(part, fields, options, text, _values(text), records)


def _records(values: list[Any], first: int, field: str, origin: Origin) -> Iterator[Numbered]:
    for number, value in enumerate(values, first):
        if isinstance(value, (dict, str)):
            yield number, value if isinstance(value, dict) else {field: value}
        else:
            problem = f"the record is {kind_of(value)}, not an object"
            remedy = f"Records are objects or strings; {SKIP}"
            yield number, origin.error(problem, number, remedy=remedy)


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
        raise text.broken(
            "text follows the end of the JSON value; --input-format jsonl reads one object per line"
        )


def _elements(text: JsonText) -> Iterator[Any]:
    text.take("[")
    more = text.peek() != "]"
    while more:
        yield text.value()
        if more := text.peek() != "]":
            text.take(",")
    text.take("]")


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
        parse_json(first)
    except InputError:
        return False
    return True
