"""Tables with a header (.csv, .tsv, .tab); fields in quotes may hold line ends."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rote.core.errors import InputError
from rote.core.progress import several
from rote.corpus._linewise import empty, sampled, taken_shards
from rote.corpus._shard import SKIP, Fields, Numbered, Origin, Part, ReadOptions, Shard
from rote.corpus._streams import shard_encoding, text_pieces

SUFFIXES = (".csv", ".tsv", ".tab")
_FIELD_LIMIT = 2**26
# Stands for a NUL, which csv refuses in some versions of Python; no encoding gives it.
_NUL = "\udc00"
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons"}

Row = tuple[int, "list[str] | InputError"]


def inspect(part: Part, options: ReadOptions) -> Fields:
    table = _CsvRows(part, options)
    try:
        rows = list(islice(table.rows(), 100))
    except InputError:
        return sampled((), options, part.origin)  # reported when it is read
    expected = "\t" if _is_tsv(part) else ","
    is_unexpected = table.delimiter != expected
    note = f"columns are separated by {_DELIMITERS[table.delimiter]}" if is_unexpected else ""
    records = _records(rows, 1, table.names, options.encoding, part.origin)
    return sampled(records, options, part.origin, note)


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    table = _CsvRows(part, options)
    records = partial(_records, header=table.names, encoding=options.encoding, origin=part.origin)
    return taken_shards(part, fields, options, table, table.rows(), records)


class _CsvRows:
    """Rows of a file as they come; `used` counts its bytes, `consumed` characters of its lines.

    The first row names the columns: `names`.
    """

    def __init__(self, part: Part, options: ReadOptions) -> None:
        # The limit of the csv module belongs to the process. Its default is too low for
        # texts; a limit there has to be, or a quote left open would take in the whole file.
        csv.field_size_limit(_FIELD_LIMIT)
        self.used = self.consumed = 0
        self.delimiter = "\t"
        self.names: list[str] = []
        self._part = part
        self._encoding = shard_encoding(options.encoding)
        self._pieces = text_pieces(part, options.encoding)
        self._lines = self._decoded()
        self._damage: InputError | None = None

    def _header(self) -> None:
        """The names of the columns; finds out what separates them."""
        first = next(self._lines, "")
        while first and first.isspace():
            first = next(self._lines, "")
        if not first:
            raise self._damage or empty(self._part.origin)
        if not _is_tsv(self._part):
            self.delimiter = max(_DELIMITERS, key=first.count)
        self._reader = csv.reader(
            chain([first], self._lines), delimiter=self.delimiter, strict=True
        )
        _, header = next(self._body_rows())
        if isinstance(header, InputError):
            raise header
        twice = next((name for name in header if header.count(name) > 1), None)
        if twice is not None:
            raise self._part.origin.error(
                f"two columns are named '{twice}'",
                1,
                field=twice,
                remedy="Rename one of them; the first row must contain the column names",
            )
        self.names += header

    def rows(self) -> Iterator[Row]:
        """Rows with the number of their first line; blank lines are no rows."""
        self._header()
        any_row = False
        for row in self._body_rows():
            any_row = True
            yield row
        if not any_row:
            raise self._part.origin.error(
                "no rows follow the header",
                remedy="The first row has to name the columns; --on-error skip leaves the file out",
            )

    def _body_rows(self) -> Iterator[Row]:
        while True:
            number = self._reader.line_num + 1
            try:
                row = next(self._reader, None)
            except csv.Error as error:
                yield number, self._broken(number, str(error))
                continue
            if row is None:
                break
            if row:
                yield number, row
        if self._damage is not None:
            damage, number = self._damage, self._reader.line_num + 1
            file = self._part.origin.file
            raise InputError(damage.problem, file=file, line=number, remedy=damage.remedy)

    def _broken(self, number: int, why: str) -> InputError:
        limit = "field larger" in why or "end of data" in why
        return self._part.origin.error(
            f"malformed CSV ({'a quote is not closed' if limit else why})",
            number,
            remedy=f'Quotes inside quotes are doubled (""); {SKIP}',
        )

    def _decoded(self) -> Iterator[str]:
        """Lines as text; bytes that do not decode are kept, to be reported with their row."""
        rest = b""
        try:
            for piece, used in self._pieces:
                self.used = used
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield self._line(line + b"\n")
        except InputError as error:
            self._damage = error
            return
        if rest:
            yield self._line(rest)

    def _line(self, raw: bytes) -> str:
        self.consumed += len(raw)
        return raw.decode(self._encoding, "surrogateescape").replace("\0", _NUL)


def _is_tsv(part: Part) -> bool:
    return any(suffix in (".tsv", ".tab") for suffix in Path(part.where).suffixes[-2:])


def _records(
    rows: list[Row], _: int, header: list[str], encoding: str, origin: Origin
) -> Iterator[Numbered]:
    for number, row in rows:
        if isinstance(row, InputError):
            yield number, row
            continue
        try:
            yield number, _row_record(row, header, encoding, number, origin)
        except InputError as error:
            yield number, error


def _row_record(
    row: list[str], header: list[str], encoding: str, number: int, origin: Origin
) -> dict[str, Any]:
    if len(row) != len(header):
        raise origin.error(
            f"the row has {several(len(row), 'column')}, the header {len(header)}",
            number,
            remedy=f"Quote texts that contain the separator; {SKIP}",
        )
    for name, value in zip(header, row):
        if not value.isascii():
            _check(value, name, encoding, number, origin)
    return dict(zip(header, row))


def _check(value: str, name: str, encoding: str, number: int, origin: Origin) -> None:
    """Refuse what was kept in `_Table._line` although it did not decode."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(value[error.start]) - 0xDC00
        nul = value[error.start] == _NUL
        problem = "a NUL byte" if nul else f"not valid {encoding}: byte 0x{code:02x}"
        raise origin.error(
            f"{problem} at character {error.start}",
            number,
            field=name,
            remedy=f"Name the right encoding with --encoding, e.g. "
            f"{'utf-16' if nul else 'latin-1'}; {SKIP}",
        ) from None
